/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_COMMANDS_CLI_OPTIONS_H
#define SS_COMMANDS_CLI_OPTIONS_H

/*
 * Between cli.c and cli_options.c: which options there are, under which
 * heading they stand, and what is said about a wrong one.
 */
#include "commands/cli.h"

enum ss_cli_key {
    SS_KEY_CONFIG = 'c', /* the one with a short name too */
    SS_KEY_SET = 256,
    SS_KEY_ENGINE,
    SS_KEY_OUT,
    SS_KEY_DRY_RUN,
    SS_KEY_LOG_LEVEL,
    SS_KEY_LOG_RANKS,
    SS_KEY_FORMAT,
    SS_KEY_SHOW_RANKS,
    SS_KEY_N_RANKS,
    SS_KEY_RANK,
    SS_KEY_CHECK,
    SS_KEY_EXCLUDE,
    SS_KEY_RESUME,
    SS_KEY_LOCAL,
    SS_KEY_USAGE,
    SS_KEY_ALIAS /**< + index of an alias */
};

#define SS_CLI_OPTIONS_MAX 48

/** A short flag that stands for a field. */
struct ss_cli_alias {
    const char *flag;
    const char *key; /**< "layout.tp" */
};
/** The alias of an option's key, or of its flag's name; NULL: none. */
const struct ss_cli_alias *ss_cli_alias_of(int key);
const struct ss_cli_alias *ss_cli_alias_named(const char *name, size_t len);

/** The options that a subcommand takes, with headings, for argp. */
void ss_cli_options_fill(unsigned options,
                         struct argp_option out[SS_CLI_OPTIONS_MAX]);
/** One sentence about the word that argp refused. */
enum ss_status ss_cli_refuse(const char *command,
                             const struct argp_option *options,
                             const char *word);

#endif
