/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_PROBE_PAIR_H
#define SS_PROBE_PAIR_H

#include "probe/lane.h"
#include "store/schema.h"

/** What is asked of one meeting of two ranks. */
struct ss_pair_plan {
    const uint64_t *sizes; /**< growing; see ss_config_messages */
    int n_sizes;
    int64_t slice_ns; /**< for one direction of one size */
    int samples;      /**< batches of a direction */
    bool quick;       /**< one way of the largest size only, no counters */
    size_t message;   /**< of a batch, and how many; 0: found by growing */
    int64_t count;
};

/** Where rows go: their common columns are set by the caller. */
struct ss_pair_rows {
    struct ss_pair_row common; /**< of a one-way row from a to b */
    struct ss_pair_row *row;   /**< owned */
    int64_t n, cap;
    uint64_t cut_bytes; /**< smallest size that the largest was cut to, 0 */
};

/**
 * One meeting over a connected lane: the master (a) times and writes rows, the
 * other does as it is told. `net_root`: where byte counters are, "/sys".
 */
enum ss_status ss_pair_lead(struct ss_lane *lane,
                            const struct ss_pair_plan *plan,
                            const char *net_root, struct ss_pair_rows *rows);
enum ss_status ss_pair_follow(struct ss_lane *lane, const char *net_root);

#endif
