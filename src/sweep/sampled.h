/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_SWEEP_SAMPLED_H
#define SS_SWEEP_SAMPLED_H

#include "sweep/context.h"
#include "sweep/samples.h"

/**
 * From the op events of one sampled block (times aligned in place already) to
 * rows of terms, waiting spans and arrival counts. Collective over the
 * communicators of the point: members exchange the ready times of each
 * collective, then the time each was blocked. `block` is its row.
 */
enum ss_status ss_sampled_reduce_all(struct ss_point_run *run,
                                     const struct ss_raw_block *raw, int block);

#endif
