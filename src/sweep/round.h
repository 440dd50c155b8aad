/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_SWEEP_ROUND_H
#define SS_SWEEP_ROUND_H

#include "sweep/context.h"

/**
 * One block of this rank's group, with state restored where the variant
 * changed: meet, run, agree. Collective over the group; every rank of it
 * returns the same status, also when an op failed on one of them.
 */
enum ss_status ss_block_run_all(struct ss_context *context,
                                struct ss_point_run *run,
                                const struct ss_block_spec *spec,
                                struct ss_block_record *record);

/**
 * One round: clocks, blocks in the order of the schedule, clocks; then marks
 * are aligned, sampled blocks reduced, and the medians of the group's steps
 * and their estimates brought up to date. Collective over the world.
 */
enum ss_status ss_round_run_all(struct ss_context *context,
                                struct ss_point_run *run, int blocks,
                                int number);

#endif
