/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_SWEEP_SAMPLES_H
#define SS_SWEEP_SAMPLES_H

/*
 * What one rank keeps of the blocks of one point until they are gathered.
 * Grows only between rounds, never inside a block.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "store/schema.h"
#include "timing/record.h"
#include "timing/stats.h"

/** A block of the current round, before its clock is known at both ends. */
struct ss_raw_block {
    enum ss_variant variant;
    bool sampled, done;
    struct ss_block_record record; /**< marks; events when sampled */
};

/** A blocked span and whom it waited for. */
struct ss_wait {
    int64_t terms; /**< row */
    int64_t ns;
    int culprit; /**< rank in the group, -1: nobody */
};

struct ss_samples {
    int n_blocks, cap_blocks;
    struct ss_block_row *block;
    struct ss_block_rank_row *mine; /**< [n_blocks] */
    int64_t n_steps, cap_steps;
    uint64_t *step_ns; /**< [n_steps] own cadence */
    int64_t *end_ns;   /**< [n_steps] aligned */
    int64_t n_terms, cap_terms;
    struct ss_terms_row *terms;
    int64_t n_waits, cap_waits;
    struct ss_wait *wait;
    /* medians of the group's steps, unsampled blocks, by variant */
    int n_medians[SS_VARIANTS], cap_medians;
    double *median[SS_VARIANTS], *middle[SS_VARIANTS];
    struct ss_estimate estimate[SS_VARIANTS];
    /* arrivals */
    int group_size;
    int64_t *late_steps;   /**< [group_size] as seen from here */
    int64_t sampled_steps; /**< of the whole variant */
    int64_t last_arrivals, collectives, excess[SS_DIMS];
};

enum ss_status ss_samples_open(int group_size, struct ss_samples **out);
void ss_samples_close(struct ss_samples *samples);
/** Room for `blocks` more blocks of at most `steps` stored steps each. */
enum ss_status ss_samples_reserve(struct ss_samples *samples, int blocks,
                                  int64_t steps);
/** Appends a block whose marks are aligned in place already. */
void ss_samples_add(struct ss_samples *samples, const struct ss_raw_block *raw,
                    int round);
/** Appends a terms row; SS_ERR_NO_MEMORY. */
enum ss_status ss_samples_add_terms(struct ss_samples *samples,
                                    const struct ss_terms_row *row);
enum ss_status ss_samples_add_wait(struct ss_samples *samples,
                                   const struct ss_wait *wait);
enum ss_status ss_samples_add_median(struct ss_samples *samples,
                                     enum ss_variant variant, double median,
                                     double middle);
/** Sets wait_persistent of every terms row: waits whose culprit was late in
 * over half of the sampled steps. */
void ss_samples_split_waiting(struct ss_samples *samples);

#endif
