/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_COMMANDS_JOB_H
#define SS_COMMANDS_JOB_H

#include "commands/cli.h"
#include "sweep/sweep.h"

/** What all ranks agreed on before the work. */
struct ss_job_todo {
    const struct ss_cli *cli;
    const struct ss_config *config;
    const char *command_line;
    const struct ss_run_data *before; /**< rank 0, with --resume */
    struct ss_start_guard *guard;     /**< of the start, not ended yet */
};

/** A subcommand that measures: what differs between them. */
struct ss_job_kind {
    const char *name;
    unsigned options; /**< enum ss_cli_options */
    /** The measuring; collective. Leaves parts on disk and says how it ended.
     */
    enum ss_status (*work)(struct ss_rt *rt, const struct ss_job_todo *todo,
                           struct ss_run_outcome *outcome);
    /** Rank 0, after the report was printed; may be NULL. */
    enum ss_status (*after)(const struct ss_cli *cli,
                            const struct ss_result *result);
};

/** The whole subcommand on this rank: its exit code. */
int ss_job(const struct ss_job_kind *kind, int argc, char **argv);
/** Rank 0's forecast, on stderr. */
void ss_job_announce(const char *text);

#endif
