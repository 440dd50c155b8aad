/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_SWEEP_RESUME_H
#define SS_SWEEP_RESUME_H

#include "config/config.h"
#include "store/store.h"
#include "sweep/points.h"

/**
 * Do configuration and hardware of this job equal those of the earlier run?
 * Pure. SS_ERR_CONFIG with the first difference and the count of the others.
 * Output, rules, deadlines and the budget may differ.
 */
enum ss_status ss_resume_compare(const struct ss_config *config,
                                 const struct ss_run_data *now,
                                 const struct ss_run_data *before);
/**
 * Marks the points that the earlier run has measured; skipped ones that could
 * be run, failed and hung ones are missing. Returns how many are missing. Pure.
 */
int ss_resume_mark(const struct ss_run_data *before, struct ss_sweep *sweep);

struct ss_context;
/** With --resume: refuses another job, takes the earlier run's id and marks the
 * points that it has. Collective; without it does nothing. */
enum ss_status ss_resume_all(struct ss_context *context);

#endif
