/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command line, through glibc's argp: fixed options, short flags that are
 * aliases of fields, plain section.key=value words. Nothing here exits: under
 * a launcher every rank parses the same words and one of them speaks.
 */
#include "commands/cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "cluster/agree.h"

enum {
    KEY_SET = 256,
    KEY_ENGINE,
    KEY_OUT,
    KEY_DRY_RUN,
    KEY_LOG_LEVEL,
    KEY_LOG_RANKS,
    KEY_FORMAT,
    KEY_RANKS,
    KEY_RANK,
    KEY_CHECK,
    KEY_EXCLUDE,
    KEY_RESUME,
    KEY_ALIAS /* + index into aliases */
};

/** Short flags: names of fields that are typed most. */
static const struct {
    const char *flag, *key, *help;
} aliases[] = {
    {"model", "model.preset", "model preset"},
    {"dp", "layout.dp", "data-parallel size"},
    {"tp", "layout.tp", "tensor-parallel size"},
    {"pp", "layout.pp", "pipeline stages"},
    {"sizes", "scaling.sizes", "e.g. 1,8,2n,world"},
    {"budget", "measure.budget", "time for the whole job, e.g. 2min"},
    {"precision", "model.precision", "GEMM precision"},
};

struct parse {
    struct ss_cli *cli;
    unsigned options;
    const char *command;
    enum ss_status status;
};

/** The first problem is kept. */
static void keep(struct parse *parse, enum ss_status status)
{
    if (parse->status == SS_OK)
        parse->status = status;
}

static void add_setting(struct parse *parse, const char *text)
{
    struct ss_cli *cli = parse->cli;

    if (cli->n_settings == SS_CLI_WORDS_MAX)
        keep(parse, ss_fail(SS_ERR_CONFIG,
                            "too many settings; put them into a file (%s)",
                            "--config"));
    else
        cli->setting[cli->n_settings++] = text;
}

static void add_alias(struct parse *parse, const char *key, const char *value)
{
    struct ss_cli *cli = parse->cli;

    if (cli->n_aliases == SS_COUNT_OF(cli->alias) ||
        !ss_format(cli->alias[cli->n_aliases], SS_TEXT_MAX, "%s=%s", key,
                   value)) {
        keep(parse, ss_fail(SS_ERR_CONFIG,
                            "value too long or given too often: %s", key));
        return;
    }
    add_setting(parse, cli->alias[cli->n_aliases++]);
}

static void set_format(struct parse *parse, const char *arg)
{
    static const char *const names[] = {"text", "json", "csv"};

    for (size_t i = 0; i < SS_COUNT_OF(names); i++)
        if (strcmp(arg, names[i]) == 0) {
            parse->cli->format = (enum ss_report_format)i;
            parse->cli->format_given = true;
            return;
        }
    keep(parse, ss_fail(SS_ERR_CONFIG,
                        "--format: \"%s\" is none of text, json, csv", arg));
}

static void set_count(struct parse *parse, const char *arg, long *out)
{
    int64_t value;

    if (ss_parse_int(arg, &value) != SS_OK || value < 0 || value > 1000000000)
        keep(parse,
             ss_fail(SS_ERR_CONFIG, "\"%s\" is not a count of ranks", arg));
    else
        *out = (long)value;
}

static void set_ranks(struct parse *parse, const char *arg)
{
    static const char *const names[] = {"worst", "all", "none"};

    if (parse->options & SS_CLI_PLAN) {
        set_count(parse, arg, &parse->cli->n_ranks);
        return;
    }
    for (size_t i = 0; i < SS_COUNT_OF(names); i++)
        if (strcmp(arg, names[i]) == 0) {
            parse->cli->ranks = (enum ss_report_ranks)i;
            return;
        }
    keep(parse, ss_fail(SS_ERR_CONFIG,
                        "--ranks: \"%s\" is none of worst, all, none", arg));
}

/** "tp=2" is what people type for layout.tp=2. */
static enum ss_status not_a_setting(const char *arg)
{
    size_t len = strcspn(arg, "=");

    for (size_t i = 0; arg[len] == '=' && i < SS_COUNT_OF(aliases); i++)
        if (strlen(aliases[i].flag) == len &&
            strncmp(aliases[i].flag, arg, len) == 0)
            return ss_fail(SS_ERR_CONFIG,
                           "\"%s\" is not a setting; did you mean %s%s or "
                           "--%s %s?",
                           arg, aliases[i].key, arg + len, aliases[i].flag,
                           arg + len + 1);
    return ss_fail(
        SS_ERR_CONFIG,
        "\"%s\" is neither an option nor a setting section.key=value", arg);
}

static void take_word(struct parse *parse, const char *arg)
{
    struct ss_cli *cli = parse->cli;

    if ((parse->options & SS_CLI_CONFIG) && ss_config_is_setting(arg))
        add_setting(parse, arg);
    else if (!(parse->options & SS_CLI_OUT))
        keep(parse, not_a_setting(arg));
    else if (cli->n_words == SS_CLI_WORDS_MAX)
        keep(parse,
             ss_fail(SS_ERR_CONFIG, "too many words, from \"%s\" on", arg));
    else
        cli->word[cli->n_words++] = arg;
}

/** Options that are kept as they are typed. */
static const char **plain_option(struct ss_cli *cli, int key)
{
    switch (key) {
    case 'c':
        return &cli->config_file;
    case KEY_ENGINE:
        return &cli->engine;
    case KEY_LOG_RANKS:
        return &cli->log_ranks;
    case KEY_RESUME:
        return &cli->resume;
    case KEY_EXCLUDE:
        return &cli->exclude_file;
    default:
        return NULL;
    }
}

static error_t on_option(int key, char *arg, struct argp_state *state)
{
    struct parse *parse = state->input;
    struct ss_cli *cli = parse->cli;

    if (key >= KEY_ALIAS && key < KEY_ALIAS + (int)SS_COUNT_OF(aliases)) {
        add_alias(parse, aliases[key - KEY_ALIAS].key, arg);
        return 0;
    }
    const char **plain = plain_option(cli, key);
    if (plain) {
        *plain = arg;
        return 0;
    }
    switch (key) {
    case KEY_SET:
        add_setting(parse, arg);
        return 0;
    case KEY_OUT:
        add_alias(parse, "out.file", arg);
        return 0;
    case KEY_DRY_RUN:
        cli->dry_run = true;
        return 0;
    case KEY_LOG_LEVEL:
        if (!ss_log_parse_level(arg, &cli->log_level))
            keep(parse,
                 ss_fail(
                     SS_ERR_CONFIG,
                     "--log-level: \"%s\" is none of error, warn, info, debug, "
                     "trace",
                     arg));
        return 0;
    case KEY_FORMAT:
        set_format(parse, arg);
        return 0;
    case KEY_RANKS:
        set_ranks(parse, arg);
        return 0;
    case KEY_RANK:
        set_count(parse, arg, &cli->rank);
        return 0;
    case KEY_CHECK:
        cli->check = true;
        return 0;
    case 'h':
        cli->help = true;
        return 0;
    case ARGP_KEY_ARG:
        take_word(parse, arg);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

#define OPTIONS_MAX 32

/** The options that this subcommand takes. */
static void fill_options(unsigned options, struct argp_option *out)
{
    static const struct argp_option config[] = {
        {"config", 'c', "FILE.yaml", 0, "settings from a file", 1},
        {"set", KEY_SET, "KEY=VALUE", 0,
         "one setting; plain KEY=VALUE words do the same", 1},
    };
    static const struct argp_option run[] = {
        {"engine", KEY_ENGINE, "NAME", 0, "cuda, host or null", 2},
        {"out", KEY_OUT, "FILE", 0, "result file", 2},
        {"dry-run", KEY_DRY_RUN, NULL, 0, "print what would be run", 2},
        {"log-level", KEY_LOG_LEVEL, "LEVEL", 0,
         "error, warn, info, debug or trace", 2},
        {"log-ranks", KEY_LOG_RANKS, "LIST", 0,
         "ranks that log at that level: all, none or 0,5 (default 0)", 2},
    };
    static const struct argp_option resume[] = {
        {"resume", KEY_RESUME, "FILE", 0,
         "go on with an earlier run: measure what FILE lacks", 2},
    };
    static const struct argp_option report[] = {
        {"format", KEY_FORMAT, "FORMAT", 0, "text, json or csv", 3},
        {"ranks", KEY_RANKS, "WHICH", 0, "worst, all or none", 3},
        {"check", KEY_CHECK, NULL, 0,
         "exit with the code of the verdict in the file", 3},
    };
    static const struct argp_option plan[] = {
        {"ranks", KEY_RANKS, "N", 0, "ranks of the group", 4},
        {"rank", KEY_RANK, "R", 0, "whose plan to print (default 0)", 4},
    };
    static const struct argp_option exclude[] = {
        {"exclude-file", KEY_EXCLUDE, "FILE", 0,
         "write the bad nodes as srun --exclude takes them", 3},
    };
    static const struct argp_option help = {"help", 'h',         NULL,
                                            0,      "this text", -1};
    size_t n = 0;

#define TAKE(bit, list)                                                        \
    for (size_t i = 0; (options & (bit)) && i < SS_COUNT_OF(list); i++)        \
    out[n++] = (list)[i]
    TAKE(SS_CLI_CONFIG, config);
    TAKE(SS_CLI_RUN, run);
    TAKE(SS_CLI_RESUME, resume);
    TAKE(SS_CLI_REPORT, report);
    TAKE(SS_CLI_PLAN, plan);
    TAKE(SS_CLI_EXCLUDE, exclude);
#undef TAKE
    for (size_t i = 0; (options & SS_CLI_CONFIG) && i < SS_COUNT_OF(aliases);
         i++)
        out[n++] = (struct argp_option){aliases[i].flag, KEY_ALIAS + (int)i,
                                        "VALUE",         0,
                                        aliases[i].help, 5};
    out[n++] = help;
    out[n] = (struct argp_option){0};
}

enum ss_status ss_cli_parse(const char *command, unsigned options, int argc,
                            char **argv, bool speak, struct ss_cli *out)
{
    struct argp_option list[OPTIONS_MAX];
    struct argp argp = {list, on_option, NULL, NULL, NULL, NULL, NULL};
    unsigned flags = ARGP_NO_EXIT | ARGP_NO_HELP;
    char name[64];
    struct parse parse = {out, options, command, SS_OK};

    *out = (struct ss_cli){.log_level = SS_LOG_WARN, .rank = 0};
    fill_options(options, list);
    ss_format(name, sizeof(name), "stepscale %s", command);
    if (!speak)
        flags |= ARGP_NO_ERRS;
    argv[0] = name;
    if (argp_parse(&argp, argc, argv, flags, NULL, &parse) != 0 &&
        parse.status == SS_OK)
        parse.status =
            ss_fail(SS_ERR_CONFIG, "see `stepscale %s --help` for its options",
                    command);
    if (parse.status == SS_OK && out->help && speak) {
        argp_help(&argp, stdout, ARGP_HELP_LONG | ARGP_HELP_PRE_DOC, name);
    }
    argv[0] = NULL;
    return parse.status;
}

/** A file's bytes, or the configuration of a run that is resumed. */
static enum ss_status yaml_bytes(const struct ss_cli *cli, struct ss_buf *yaml)
{
    if (cli->config_file)
        return ss_read_file(cli->config_file, SS_CONFIG_FILE_MAX, yaml);
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

void ss_cli_complain(const char *text)
{
    if (text && *text)
        fprintf(stderr, "stepscale: %s\n", text);
}
