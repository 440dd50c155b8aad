/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_COMMANDS_JOB_H
#define SS_COMMANDS_JOB_H

#include "commands/cli.h"
#include "sweep/sweep.h"

/** What all ranks agreed on before the work. */
struct ss_job_task {
    const struct ss_cli *cli;
    const struct ss_config *config;
    const char *command_line;
    const struct ss_run_data *before; /**< rank 0, with --resume */
    struct ss_start_guard *guard;     /**< of the start, not ended yet */
    /** Of all stages, where there are several; "": each has its own. */
    char run_id[40], out[512];
};

/** The measuring; collective. Leaves parts on disk and says how it ended; one
 * that leaves no outcome->out has no report. */
typedef enum ss_status (*ss_job_work)(struct ss_rt *rt,
                                      const struct ss_job_task *task,
                                      struct ss_run_outcome *outcome);
/** Rank 0, after the report was printed. */
typedef enum ss_status (*ss_job_after)(const struct ss_cli *cli,
                                       const struct ss_result *result);

/** A part of a job, with a report and a code of its own. */
struct ss_job_stage {
    const char *name;
    ss_job_work work;
    ss_job_after after; /**< may be NULL */
    /** Its share of the settings; may be NULL. */
    void (*adapt)(struct ss_config *config);
};

#define SS_JOB_STAGES 4

/** A subcommand that measures: what differs between them. */
struct ss_job_kind {
    const char *name;
    unsigned options;                 /**< enum ss_cli_options */
    const struct ss_job_stage *stage; /**< [n_stages <= SS_JOB_STAGES] */
    int n_stages;
};

/** The whole subcommand on this rank: its exit code. Several stages share a run
 * id, and the worst of their codes is the job's. */
int ss_job(const struct ss_job_kind *kind, int argc, char **argv);
/** job_finish.c, rank 0: report, file; the code. */
int ss_job_finish(const struct ss_job_stage *stage,
                  const struct ss_job_task *task, const struct ss_rules *rules,
                  const struct ss_run_outcome *outcome);
/** Rank 0's forecast, on stderr. */
void ss_job_announce(const char *text);

/* run.c, probe.c: stages of more than one subcommand */
enum ss_status ss_run_work(struct ss_rt *rt, const struct ss_job_task *task,
                           struct ss_run_outcome *outcome);
enum ss_status ss_probe_work(struct ss_rt *rt, const struct ss_job_task *task,
                             struct ss_run_outcome *outcome);
enum ss_status ss_probe_after(const struct ss_cli *cli,
                              const struct ss_result *result);

#endif
