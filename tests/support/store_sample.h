/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_TESTS_STORE_SAMPLE_H
#define SS_TESTS_STORE_SAMPLE_H

#include <stdbool.h>

#include "store/schema.h"

/* Runs and points with every field set, equal for equal arguments. */
struct sample_shape {
    int ranks;
    int blocks_per_variant;
    int steps; /**< of a block */
    bool wide;
};

/** A point; free it with ss_point_data_free. Aborts without memory. */
void sample_point(int index, struct sample_shape shape,
                  struct ss_point_data *out);
/** A run of `ranks` ranks on two nodes and `points` planned points. */
void sample_run(const char *run_id, int ranks, int points,
                struct ss_run_data *out);
/** True when every stored field is equal, bit for bit (NaN equals NaN). */
bool sample_points_equal(const struct ss_point_data *a,
                         const struct ss_point_data *b);
bool sample_runs_equal(const struct ss_run_data *a,
                       const struct ss_run_data *b);

#endif
