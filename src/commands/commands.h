/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_COMMANDS_COMMANDS_H
#define SS_COMMANDS_COMMANDS_H

#include <stdbool.h>

#include "base/status.h"

/**
 * One subcommand: parses its arguments, calls rooms in order, prints to stdout
 * and returns the process exit code of this rank (DESIGN section 5). argv[0] is
 * the subcommand's own name.
 */
struct ss_command {
    const char *name;
    const char *operands; /**< "FILE"; options are listed by themselves */
    const char *words;    /**< one line for --help */
    const char *example;  /**< a whole command line */
    const char *more;     /**< the end of its own --help, or NULL */
    int (*run)(int argc, char **argv);
};

/** The table, NULL-ended by name. */
const struct ss_command *ss_command_table(void);
/** A subcommand by its name, or NULL. */
const struct ss_command *ss_command_find(const char *name);

int ss_command_run(int argc, char **argv);
int ss_command_probe(int argc, char **argv);
int ss_command_validate(int argc, char **argv);
int ss_command_check(int argc, char **argv);
int ss_command_plan(int argc, char **argv);
int ss_command_report(int argc, char **argv);
int ss_command_merge(int argc, char **argv);
int ss_command_config(int argc, char **argv);

/** "stepscale 0.1.0" and what is built in, a line each. */
void ss_print_version(void);
/** The version alone: "0.1.0". */
const char *ss_version(void);
/** Usage of the whole program, or its first line only. */
void ss_print_help(void);
void ss_print_usage(void);

#endif
