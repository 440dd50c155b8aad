/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_SWEEP_SWEEP_H
#define SS_SWEEP_SWEEP_H

#include <stdbool.h>

#include "base/log.h"
#include "base/str.h"
#include "cluster/rt.h"
#include "cluster/start_guard.h"
#include "config/config.h"
#include "store/schema.h"

/** What `stepscale run` asks of the sweep. */
struct ss_run_args {
    const struct ss_config *config; /**< resolved, equal on all ranks */
    const char *engine;             /**< "cuda", "host", "null" or NULL: auto */
    const char *command_line;
    const char *version; /**< of stepscale */
    /** &environ: an engine that sets variables may move it. May be NULL. */
    char **const *environment;
    bool dry_run;
    enum ss_log_level log_level;
    void (*announce)(
        const char *text); /**< rank 0, before measuring; may be NULL */
    const char *net_root;  /**< "/sys" */
    /** The path of an earlier run to go on with, equal on all ranks; NULL: a
     * new one. */
    const char *resume;
    const struct ss_run_data *before; /**< rank 0: that run, without samples */
    /** Ended when the watchdog runs; may be NULL. */
    struct ss_start_guard *guard;
    const char *run_id; /**< rank 0: of a job with several files; "", NULL: new
                         */
};

/** What it leaves behind; equal on all ranks but for the texts. */
struct ss_run_outcome {
    char out[512]; /**< the result file, "" before one was chosen */
    char run_id[40];
    char end_reason[160];   /**< "" when all planned points were run */
    enum ss_status end;     /**< SS_OK, or what ended the sweep early */
    struct ss_buf forecast; /**< rank 0: points, minutes, memory, file size */
};

/**
 * The sweep: agrees on configuration and program, finds the ranks' places,
 * plans the points, measures each and writes it as a part file of its own.
 * Collective over rt (the world as the launcher ordered it). A status other
 * than SS_OK means that nothing was measured (wrong configuration, no device,
 * no memory, output folder) and is equal on all ranks, with the text of the
 * rank that failed. What happens later is in outcome->end: finished parts are
 * on disk.
 */
enum ss_status ss_sweep_run_all(struct ss_rt *rt,
                                const struct ss_run_args *args,
                                struct ss_run_outcome *outcome);
void ss_run_outcome_free(struct ss_run_outcome *outcome);

#endif
