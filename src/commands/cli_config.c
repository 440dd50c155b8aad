/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The configuration of this process: a file that rank 0 reads, the environment,
 * the words of the command line. All ranks parse the same bytes. Must not know
 * what a setting means.
 */
#include <stdio.h>
#include <string.h>

#include "cluster/agree.h"
#include "commands/cli.h"

/** A file's bytes, or the configuration of a run that is resumed. */
static enum ss_status yaml_bytes(const struct ss_cli *cli, struct ss_buf *yaml)
{
    if (cli->config_file)
        return ss_read_named_file(cli->config_file, SS_CONFIG_FILE_MAX, yaml);
    ss_buf_append(yaml, cli->yaml, strlen(cli->yaml));
    return ss_buf_status(yaml);
}

/** Rank 0 reads the file; all get the same bytes and parse the same text. */
static enum ss_status read_yaml_all(const struct ss_cli *cli, struct ss_rt *rt,
                                    struct ss_buf *yaml)
{
    enum ss_status status = SS_OK;
    int64_t len = 0;

    if (!rt)
        return yaml_bytes(cli, yaml);
    if (rt->rank == 0) {
        status = yaml_bytes(cli, yaml);
        len = (int64_t)yaml->len;
    }
    SS_TRY(ss_agree_all(rt, status));
    SS_TRY(ss_bcast_all(rt, &len, sizeof(len), 0));
    if (rt->rank != 0) {
        static const char zeros[4096];
        for (int64_t at = 0; at < len; at += (int64_t)sizeof(zeros))
            ss_buf_append(yaml, zeros,
                          len - at < (int64_t)sizeof(zeros) ? (size_t)(len - at)
                                                            : sizeof(zeros));
    }
    SS_TRY(ss_agree_all(rt, ss_buf_status(yaml)));
    return len > 0 ? ss_bcast_all(rt, yaml->data, (size_t)len, 0) : SS_OK;
}

/** One problem is said by the status; several are listed before it. */
static bool is_list(const struct ss_buf *problems)
{
    const char *end = strchr(ss_buf_text(problems), '\n');

    return end && end[1];
}

extern char **environ;

/** What was meant as a setting and is none would be missed in silence. */
static void warn_of_variables(void)
{
    struct ss_buf odd;

    ss_buf_init(&odd, 1 << 16);
    if (ss_config_odd_variables(environ, &odd) == SS_OK)
        fputs(ss_buf_text(&odd), stderr);
    ss_buf_free(&odd);
}

enum ss_status ss_cli_config_all(const struct ss_cli *cli, struct ss_rt *rt,
                                 struct ss_config *out)
{
    struct ss_buf yaml, problems;
    const char *name = cli->config_file ? cli->config_file : cli->resume;
    struct ss_config_sources sources = {.yaml_name = name,
                                        .environment = environ,
                                        .settings = cli->setting,
                                        .n_settings = cli->n_settings};
    enum ss_status status = SS_OK;

    ss_buf_init(&yaml, SS_CONFIG_FILE_MAX + 1);
    ss_buf_init(&problems, 1 << 20);
    if (name) {
        SS_TRY_GOTO(read_yaml_all(cli, rt, &yaml), status, out);
        sources.yaml = ss_buf_text(&yaml);
        sources.yaml_len = yaml.len;
    }
    if (!rt || rt->rank == 0)
        warn_of_variables();
    status = ss_config_resolve(&sources, out, &problems);
    if (status != SS_OK && (!rt || rt->rank == 0) && is_list(&problems))
        fputs(ss_buf_text(&problems), stderr);
    if (rt)
        status = ss_agree_all(rt, status);
out:
    ss_buf_free(&problems);
    ss_buf_free(&yaml);
    return status;
}

enum ss_report_format ss_cli_format(const struct ss_cli *cli,
                                    const struct ss_config *config)
{
    static const enum ss_report_format by_field[] = {
        [SS_OUT_TEXT] = SS_FORMAT_TEXT,
        [SS_OUT_JSON] = SS_FORMAT_JSON,
        [SS_OUT_CSV] = SS_FORMAT_CSV,
        [SS_OUT_NONE] = SS_FORMAT_TEXT};

    return cli->format_given ? cli->format : by_field[config->out_format];
}
