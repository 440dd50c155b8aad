/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_TESTS_RUN_CASE_H
#define SS_TESTS_RUN_CASE_H

#include "store/schema.h"
#include "timing/phase.h"

/*
 * Run data in memory for tests of the analysis: ranks, points, step times from
 * a function. All allocations must succeed (SS_ASSERT).
 */

/** Step time of a rank in ms. */
struct ss_case_step {
    const struct ss_point_row *meta;
    enum ss_variant variant;
    int rank, block, step; /**< block: counted within variant and sampled */
    int sampled;
};
typedef double ss_case_ms(const struct ss_case_step *step, void *arg);

/** `ranks` ranks, `per_node` on each node, of one CPU core each; names node0,
 * node1, ... Room for `points` points. */
void ss_case_open(struct ss_run_data *run, int ranks, int per_node, int points);
void ss_case_close(struct ss_run_data *run);

struct ss_case_point {
    const char *mode, *load;
    int size, base_size;
    int blocks;      /**< unsampled, of each variant */
    int sampled;     /**< sampled blocks of whole and of compute-only */
    int steps;       /**< in each block */
    int groups;      /**< 0: as many as fit */
    int64_t skew_ns; /**< mark0 of rank r is r x skew_ns late */
    ss_case_ms *ms;
    void *arg;
};
/** Appends a point; ranks beyond the groups are idle. */
struct ss_point_data *ss_case_add(struct ss_run_data *run,
                                  const struct ss_case_point *spec);
/** Adds a terms row for every sampled step of ranks in groups; fill sets all
 * but rank, block, step. */
typedef void ss_case_terms(struct ss_terms_row *row, enum ss_variant variant,
                           void *arg);
void ss_case_add_terms(struct ss_point_data *point, ss_case_terms *fill,
                       void *arg);

#endif
