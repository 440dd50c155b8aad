/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The subcommands that need no launcher: report, merge, config. They return 0
 * when they did their work, whatever verdict a file holds.
 */
#include <stdio.h>
#include <string.h>

#include "commands/cli.h"
#include "commands/commands.h"
#include "store/store.h"

static int complain(enum ss_status status)
{
    ss_cli_complain(ss_error_text());
    return ss_status_exit_code(status);
}

int ss_command_report(int argc, char **argv)
{
    static struct ss_cli cli;
    struct ss_config config;
    struct ss_rules rules;
    struct ss_story *story;
    enum ss_status status = ss_cli_parse(
        "report", SS_CLI_REPORT | SS_CLI_CHECK | SS_CLI_OUT | SS_CLI_CONFIG,
        argc, argv, true, &cli);
    int code = 0;

    if (status != SS_OK)
        return complain(status);
    if (cli.help)
        return 0;
    if (cli.n_words != 1)
        return complain(ss_fail(SS_ERR_CONFIG,
                                "report wants one result file or .part "
                                "folder, not %zu",
                                cli.n_words));
    if ((status = ss_cli_config_all(&cli, NULL, &config)) != SS_OK ||
        (status = ss_story_rules(&config, &rules)) != SS_OK ||
        (status = ss_story_open(cli.word[0], &rules, &story)) != SS_OK)
        return complain(status);
    status = ss_story_print(story, ss_cli_format(&cli, &config), cli.ranks);
    if (cli.check)
        code = ss_story_result(story)->verdict.exit_code;
    ss_story_close(story);
    return status == SS_OK ? code : complain(status);
}

int ss_command_merge(int argc, char **argv)
{
    static struct ss_cli cli;
    struct ss_merged told;
    enum ss_status status =
        ss_cli_parse("merge", SS_CLI_OUT, argc, argv, true, &cli);

    if (status != SS_OK)
        return complain(status);
    if (cli.help)
        return 0;
    if (cli.n_words < 2)
        return complain(ss_fail(SS_ERR_CONFIG, "merge wants OUT and at least "
                                               "one .part folder or file"));
    status = ss_merge_told(cli.word[0], cli.word + 1, (int)cli.n_words - 1,
                           NULL, &told);
    if (status != SS_OK)
        return complain(status);
    puts(told.text);
    return 0;
}

static enum ss_status list_settings(struct ss_buf *text)
{
    ss_buf_printf(text, "\nSettings: section.key=default (what is accepted)\n");
    return ss_config_help(text, false);
}

int ss_command_config(int argc, char **argv)
{
    static struct ss_cli cli;
    struct ss_config config;
    struct ss_buf text;
    enum ss_status status = ss_cli_parse(
        "config", SS_CLI_CONFIG | SS_CLI_STEP | SS_CLI_SIZES | SS_CLI_BUDGET,
        argc, argv, true, &cli);

    if (status != SS_OK)
        return complain(status);
    if (!cli.help && (status = ss_cli_config_all(&cli, NULL, &config)) != SS_OK)
        return complain(status);
    ss_buf_init(&text, 1 << 20);
    if (!cli.help)
        status = ss_config_dump(&config, &text);
    else if (!cli.usage)
        status = list_settings(&text);
    if (status == SS_OK)
        fputs(ss_buf_text(&text), stdout);
    ss_buf_free(&text);
    return status == SS_OK ? 0 : complain(status);
}
