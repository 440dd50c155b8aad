/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_PROBE_PROBE_H
#define SS_PROBE_PROBE_H

#include <stdbool.h>

#include "base/log.h"
#include "base/str.h"
#include "cluster/rt.h"
#include "cluster/start_guard.h"
#include "config/config.h"

/** What `stepscale probe` asks. */
struct ss_probe_args {
    const struct ss_config *config; /**< resolved, equal on all ranks */
    const char *command_line;
    const char *version; /**< of stepscale */
    char *const *environment;
    bool dry_run;
    enum ss_log_level log_level;
    void (*announce)(const char *text); /**< rank 0; may be NULL */
    const char *net_root;               /**< "/sys" */
    const char *run_id;                 /**< as in struct ss_run_args */
    struct ss_start_guard *guard;       /**< as in struct ss_run_args */
};

/** What it leaves behind; equal on all ranks but for the texts. */
struct ss_probe_outcome {
    char out[512]; /**< the result file, "" before one was chosen */
    char run_id[40];
    char end_reason[160];   /**< "" when all was measured */
    enum ss_status end;     /**< SS_OK, or what ended it early */
    struct ss_buf forecast; /**< rank 0 */
};

/**
 * Measures pairs: the tournament, the second pass over suspects, the soak;
 * each is a part file of its own. Collective over rt. A status other than
 * SS_OK means that nothing was measured.
 */
enum ss_status ss_probe_run_all(struct ss_rt *rt,
                                const struct ss_probe_args *args,
                                struct ss_probe_outcome *outcome);
void ss_probe_outcome_free(struct ss_probe_outcome *outcome);

#endif
