/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command line, through glibc's argp: fixed options, short flags that are
 * aliases of fields, plain section.key=value words. Nothing here exits: under
 * a launcher every rank parses the same words and one of them speaks.
 */
#include "commands/cli.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "commands/cli_options.h"
#include "commands/commands.h"

struct parse {
    struct ss_cli *cli;
    unsigned options;
    const char *command;
    const struct argp_option *list;
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
        keep(parse,
             ss_fail(SS_ERR_CONFIG, "%s: given too often or too long", key));
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

static void set_count(struct parse *parse, const char *option, const char *arg,
                      int64_t lo, long *out)
{
    int64_t value;

    if (ss_parse_int(arg, &value) != SS_OK || value < lo ||
        value > SS_CLI_RANKS_MAX)
        keep(parse, ss_fail(SS_ERR_CONFIG,
                            "--%s: \"%.40s\" is not a whole number from "
                            "%lld to %d",
                            option, arg, (long long)lo, SS_CLI_RANKS_MAX));
    else
        *out = (long)value;
}

static void set_ranks(struct parse *parse, const char *arg)
{
    static const char *const names[] = {"worst", "all", "none"};

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
    const struct ss_cli_alias *alias = ss_cli_alias_named(arg, len);

    if (alias && arg[len] == '=')
        return ss_fail(SS_ERR_CONFIG,
                       "\"%s\" is not a setting; did you mean %s%s or "
                       "--%s %s?",
                       arg, alias->key, arg + len, alias->flag, arg + len + 1);
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
    case SS_KEY_CONFIG:
        return &cli->config_file;
    case SS_KEY_ENGINE:
        return &cli->engine;
    case SS_KEY_LOG_RANKS:
        return &cli->log_ranks;
    case SS_KEY_RESUME:
        return &cli->resume;
    case SS_KEY_EXCLUDE:
        return &cli->exclude_file;
    default:
        return NULL;
    }
}

/** Options without a value. */
static bool *switch_option(struct ss_cli *cli, int key)
{
    switch (key) {
    case SS_KEY_DRY_RUN:
        return &cli->dry_run;
    case SS_KEY_CHECK:
        return &cli->check;
    case SS_KEY_LOCAL:
        return &cli->local;
    case SS_KEY_USAGE:
        return &cli->usage;
    case 'h':
        return &cli->help;
    default:
        return NULL;
    }
}

static void set_log_level(struct parse *parse, const char *arg)
{
    if (!ss_log_parse_level(arg, &parse->cli->log_level))
        keep(parse, ss_fail(SS_ERR_CONFIG,
                            "--log-level: \"%s\" is none of error, warn, "
                            "info, debug, trace",
                            arg));
}

static error_t on_option(int key, char *arg, struct argp_state *state)
{
    struct parse *parse = state->input;
    struct ss_cli *cli = parse->cli;
    const char **plain = plain_option(cli, key);
    bool *on = switch_option(cli, key);
    const struct ss_cli_alias *alias = ss_cli_alias_of(key);

    SS_ASSERT(cli);
    if (plain)
        *plain = arg;
    else if (on)
        *on = true;
    else if (alias)
        add_alias(parse, alias->key, arg);
    if (plain || on || alias)
        return 0;
    switch (key) {
    case SS_KEY_SET:
        add_setting(parse, arg);
        return 0;
    case SS_KEY_OUT:
        add_alias(parse, "out.file", arg);
        return 0;
    case SS_KEY_LOG_LEVEL:
        set_log_level(parse, arg);
        return 0;
    case SS_KEY_FORMAT:
        set_format(parse, arg);
        return 0;
    case SS_KEY_SHOW_RANKS:
        set_ranks(parse, arg);
        return 0;
    case SS_KEY_N_RANKS:
        set_count(parse, "ranks", arg, 1, &cli->n_ranks);
        return 0;
    case SS_KEY_RANK:
        set_count(parse, "rank", arg, 0, &cli->rank);
        return 0;
    case ARGP_KEY_ARG:
        take_word(parse, arg);
        return 0;
    case ARGP_KEY_ERROR:
        if (parse->status == SS_OK)
            keep(parse, ss_cli_refuse(parse->command, parse->list,
                                      state->argv[state->next - 1]));
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void print_help(const struct ss_command *command, struct argp *argp,
                       char *name, bool short_form)
{
    char doc[1024];

    ss_format(doc, sizeof(doc), "%s.\vExample: %s%s%s", command->words,
              command->example, command->more ? "\n\n" : "",
              command->more ? command->more : "");
    doc[0] = (char)toupper((unsigned char)doc[0]);
    argp->doc = doc;
    argp->args_doc = command->operands;
    argp_help(argp, stdout,
              short_form
                  ? ARGP_HELP_USAGE
                  : ARGP_HELP_SHORT_USAGE | ARGP_HELP_DOC | ARGP_HELP_LONG,
              name);
}

enum ss_status ss_cli_parse(const char *command, unsigned options, int argc,
                            char **argv, bool speak, struct ss_cli *out)
{
    struct argp_option list[SS_CLI_OPTIONS_MAX];
    struct argp argp = {list, on_option, NULL, NULL, NULL, NULL, NULL};
    unsigned flags = ARGP_NO_EXIT | ARGP_NO_HELP | ARGP_NO_ERRS;
    char name[64];
    struct parse parse = {out, options, command, list, SS_OK};

    *out = (struct ss_cli){.log_level = SS_LOG_WARN, .rank = 0};
    ss_cli_options_fill(options, list);
    ss_format(name, sizeof(name), "stepscale %s", command);
    argv[0] = name;
    if (argp_parse(&argp, argc, argv, flags, NULL, &parse) != 0 &&
        parse.status == SS_OK)
        parse.status =
            ss_fail(SS_ERR_CONFIG, "see `stepscale %s --help` for its options",
                    command);
    argv[0] = NULL;
    if (parse.status == SS_OK && (out->help || out->usage) && speak)
        print_help(ss_command_find(command), &argp, name, out->usage);
    out->help = out->help || out->usage;
    return parse.status;
}

void ss_cli_complain(const char *text)
{
    if (text && *text)
        fprintf(stderr, "stepscale: %s\n", text);
}
