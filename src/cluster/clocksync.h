/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_CLUSTER_CLOCKSYNC_H
#define SS_CLUSTER_CLOCKSYNC_H

#include "cluster/rt.h"

/**
 * Alignment of the host clocks with rank 0's (DESIGN section 2, Clock). Ranks
 * with one boot id and time namespace share CLOCK_MONOTONIC_RAW; one leader
 * per host measures the offset to the root by least-RTT ping-pong (the sample
 * with the smallest RTT; error <= RTT/2) and gives it to its host.
 * aligned = local + offset.
 */
struct ss_clock_sample {
    int64_t local_ns;  /**< when, on the local clock */
    int64_t offset_ns; /**< root - local at that time */
    int64_t bound_ns;  /**< RTT/2 of the best sample; 0 on the root's host */
};
/** Two samples around a set of blocks: drift is interpolated. */
struct ss_clock_map {
    struct ss_clock_sample before, after;
};

/** One measurement, collective over rt. `rounds` ping-pongs per leader (64). */
enum ss_status ss_clock_sync_all(struct ss_rt *rt, int rounds,
                                 struct ss_clock_sample *out);
/** Pure: a local time on the root's clock; drift is linear between the two
 * samples, and outside them the nearer one holds. */
int64_t ss_clock_align(const struct ss_clock_map *map, int64_t local_ns);
/** Pure: the bound that holds over the whole map. */
int64_t ss_clock_bound(const struct ss_clock_map *map);

#endif
