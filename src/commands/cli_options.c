/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list of options: name, operand, one line, heading, and which
 * subcommands take it. What is not taken is not listed and is refused with
 * the nearest one that is. It must not know what an option does.
 */
#include "commands/cli_options.h"

#include <string.h>

/** Headings of --help, in this order. */
enum { MEASURE = 1, SETTINGS, RESULT, START, OTHER = -1 };

static const struct {
    unsigned who; /**< enum ss_cli_options */
    struct argp_option option;
} table[] = {
    {SS_CLI_PLAN,
     {"ranks", SS_KEY_N_RANKS, "N", 0,
      "ranks of the group (default: the "
      "smallest that the layout allows)",
      MEASURE}},
    {SS_CLI_PLAN,
     {"rank", SS_KEY_RANK, "R", 0, "whose plan to print (default 0)", MEASURE}},
    {SS_CLI_ENGINE,
     {"engine", SS_KEY_ENGINE, "NAME", 0,
      "cuda, host or null (run: cuda where every rank has a device, else host)",
      MEASURE}},
    {SS_CLI_LOCAL,
     {"local", SS_KEY_LOCAL, NULL, 0, "this node, without a launcher",
      MEASURE}},
    {SS_CLI_CONFIG,
     {"config", SS_KEY_CONFIG, "FILE.yaml", 0, "settings from a file",
      SETTINGS}},
    {SS_CLI_CONFIG,
     {"set", SS_KEY_SET, "KEY=VALUE", 0,
      "one setting; a plain word section.key=VALUE does the same", SETTINGS}},
    {SS_CLI_RUN, {"out", SS_KEY_OUT, "FILE", 0, "result file", RESULT}},
    {SS_CLI_RESUME,
     {"resume", SS_KEY_RESUME, "FILE", 0,
      "go on with an earlier run: measure what FILE lacks", RESULT}},
    {SS_CLI_REPORT,
     {"format", SS_KEY_FORMAT, "FORMAT", 0, "text, json or csv (default text)",
      RESULT}},
    {SS_CLI_REPORT,
     {"ranks", SS_KEY_SHOW_RANKS, "WHICH", 0,
      "ranks to list: worst, all or none (default worst)", RESULT}},
    {SS_CLI_CHECK,
     {"check", SS_KEY_CHECK, NULL, 0,
      "exit with the code of the verdict in the file", RESULT}},
    {SS_CLI_EXCLUDE,
     {"exclude-file", SS_KEY_EXCLUDE, "FILE", 0,
      "write the bad nodes as srun --exclude takes them", RESULT}},
    {SS_CLI_RUN,
     {"dry-run", SS_KEY_DRY_RUN, NULL, 0,
      "print what would be run, minutes, memory and file size", START}},
    {SS_CLI_RUN,
     {"log-level", SS_KEY_LOG_LEVEL, "LEVEL", 0,
      "error, warn, info, debug or trace (default warn)", START}},
    {SS_CLI_RUN,
     {"log-ranks", SS_KEY_LOG_RANKS, "LIST", 0,
      "ranks that log at that level: all, none or 0,5 (default 0)", START}},
};

static const struct {
    struct ss_cli_alias alias;
    unsigned who;
    const char *operand, *help;
} aliases[] = {
    {{"model", "model.preset"}, SS_CLI_STEP, "PRESET", "shape of the layers"},
    {{"dp", "layout.dp"}, SS_CLI_STEP, "N", "data-parallel size"},
    {{"tp", "layout.tp"}, SS_CLI_STEP, "N", "tensor-parallel size"},
    {{"pp", "layout.pp"}, SS_CLI_STEP, "N", "pipeline stages"},
    {{"precision", "model.precision"}, SS_CLI_STEP, "TYPE", "GEMM precision"},
    {{"sizes", "scaling.sizes"},
     SS_CLI_SIZES,
     "LIST",
     "sizes to measure: 1,8,2n,world (n = nodes' devices)"},
    {{"budget", "measure.budget"},
     SS_CLI_BUDGET,
     "TIME",
     "time for the whole job: 90s, 5min"},
};

const struct ss_cli_alias *ss_cli_alias_of(int key)
{
    size_t i = (size_t)(key - SS_KEY_ALIAS);

    return key >= SS_KEY_ALIAS && i < SS_COUNT_OF(aliases) ? &aliases[i].alias
                                                           : NULL;
}

const struct ss_cli_alias *ss_cli_alias_named(const char *name, size_t len)
{
    for (size_t i = 0; i < SS_COUNT_OF(aliases); i++)
        if (strlen(aliases[i].alias.flag) == len &&
            strncmp(aliases[i].alias.flag, name, len) == 0)
            return &aliases[i].alias;
    return NULL;
}

/** A heading stands where a subcommand has options under it. */
static size_t put_heading(int group, const char *words, struct argp_option *out,
                          size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (out[i].group == group) {
            out[n++] = (struct argp_option){.doc = words, .group = group};
            break;
        }
    return n;
}

void ss_cli_options_fill(unsigned options,
                         struct argp_option out[SS_CLI_OPTIONS_MAX])
{
    size_t n = 0;

    for (size_t i = 0; i < SS_COUNT_OF(table); i++)
        if (options & table[i].who)
            out[n++] = table[i].option;
    for (size_t i = 0; i < SS_COUNT_OF(aliases); i++)
        if (options & aliases[i].who)
            out[n++] = (struct argp_option){
                aliases[i].alias.flag, SS_KEY_ALIAS + (int)i,
                aliases[i].operand,    0,
                aliases[i].help,       MEASURE};
    n = put_heading(MEASURE, "What:", out, n);
    n = put_heading(SETTINGS, "Settings:", out, n);
    n = put_heading(RESULT, "Result:", out, n);
    n = put_heading(START, "This start:", out, n);
    out[n++] = (struct argp_option){"help", 'h', NULL, 0, "this text", OTHER};
    out[n++] = (struct argp_option){"usage", SS_KEY_USAGE,           NULL,
                                    0,       "the options in short", OTHER};
    out[n] = (struct argp_option){0};
}

static bool is_end(const struct argp_option *option)
{
    return !option->name && !option->doc;
}

/** The option of which `word` is the whole name, or NULL. */
static const struct argp_option *named(const struct argp_option *options,
                                       const char *name, size_t len)
{
    for (; !is_end(options); options++)
        if ((len == 1 && options->key == name[0]) ||
            (options->name && strlen(options->name) == len &&
             strncmp(options->name, name, len) == 0))
            return options;
    return NULL;
}

static const char *nearest(const struct argp_option *options, const char *name)
{
    const char *names[SS_CLI_OPTIONS_MAX];
    size_t n = 0;

    for (; !is_end(options); options++)
        if (options->name)
            names[n++] = options->name;
    names[n] = NULL;
    return ss_nearest(name, names);
}

/** How many names begin like this: two or more cannot be told apart. */
static int beginnings(const struct argp_option *options, const char *name)
{
    int n = 0;

    for (; !is_end(options); options++)
        n += options->name && strncmp(options->name, name, strlen(name)) == 0;
    return n;
}

enum ss_status ss_cli_refuse(const char *command,
                             const struct argp_option *options,
                             const char *word)
{
    const char *name = word + strspn(word, "-");
    size_t len = strcspn(name, "=");
    const struct argp_option *known = named(options, name, len);
    char bare[64];

    if (known && known->arg)
        return ss_fail(SS_ERR_CONFIG, "--%s wants a value: --%s=%s",
                       known->name, known->name, known->arg);
    if (known)
        return ss_fail(SS_ERR_CONFIG, "--%s takes no value", known->name);
    ss_format(bare, sizeof(bare), "%.*s", (int)len, name);
    const char *near = nearest(options, bare);
    if (near)
        return ss_fail(SS_ERR_CONFIG,
                       "unknown option %.80s; did you mean --%s? `stepscale "
                       "%s --help` lists all",
                       word, near, command);
    return ss_fail(
        SS_ERR_CONFIG, "%s option %.80s; `stepscale %s --help` lists all",
        *bare && beginnings(options, bare) > 1 ? "ambiguous" : "unknown", word,
        command);
}
