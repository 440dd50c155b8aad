/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_SWEEP_SCHEDULE_H
#define SS_SWEEP_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "timing/phase.h"

/** One block to run. */
struct ss_slot {
    enum ss_variant variant;
    bool sampled;
};

/** What a round should hold. */
struct ss_round_args {
    int blocks;       /**< unsampled blocks of each variant */
    int sample_every; /**< 1 sampled block beside so many unsampled; 0: none */
    bool comm;        /**< the plan has communication: comm-only blocks too */
    int64_t number;   /**< of the round, from 0 */
    uint64_t seed;    /**< of the point */
};

/**
 * Pure: the interleaved blocks of one round in random order, equal on all
 * ranks. Sampled blocks (of whole and, for interference, of compute-only) come
 * on top: they are never used for T or E. The last block is a whole one. `slot`
 * holds ss_round_slots() entries.
 */
int ss_round_slots(const struct ss_round_args *args);
enum ss_status ss_round_fill(const struct ss_round_args *args,
                             struct ss_slot *slot);

/** Stored steps of a block: at least min_steps and min_block_ns long, at most
 * 1,000, for a step that takes step_ns. */
int ss_block_steps(int64_t step_ns, int64_t min_block_ns, int min_steps);

/** Unsampled blocks of a first round: `want`, or as many as fit in the
 * budget, at least 1. cycle_ns: one block of each variant. */
int ss_round_first(int64_t budget_ns, int64_t cycle_ns, int want);

#endif
