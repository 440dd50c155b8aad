/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_PROBE_COLL_H
#define SS_PROBE_COLL_H

#include "cluster/topology.h"
#include "engine/coll_lib.h"

/* Collectives of a probe: groups, exact data, one size in one group. */

/* coll_groups.c: pure */
enum ss_coll_group {
    SS_GROUP_WORLD,
    SS_GROUP_DOMAIN,
    SS_GROUP_ONE_PER_NODE,
    SS_GROUP_RAIL,
    SS_GROUP_HALF,
    SS_COLL_GROUPS
};
const char *ss_coll_group_name(enum ss_coll_group kind);
/** leader[r]: the lowest logical rank of r's group, -1: r is in none. False
 * where a kind has no group of two, or the very groups of an earlier kind. */
bool ss_coll_group_make(const struct ss_topology *topology,
                        enum ss_coll_group kind, int *leader, int *scratch);

/* coll_mpi.c: the runtime's collectives on host memory. Local. */
enum ss_status ss_coll_mpi_open(struct ss_coll_lib *out);

/* coll_exact.c */
/** Elements of one rank's input and result. */
uint64_t ss_coll_input(const struct ss_coll_task *task, int ranks);
uint64_t ss_coll_result(const struct ss_coll_task *task, int ranks);
/** The first wrong element. */
struct ss_coll_wrong_at {
    bool found;
    uint64_t element;
    double expected, got;
};
/**
 * One call on exact integers that depend on rank, place and iteration; `flip`
 * plants a wrong element. Of large results a sample is looked at: the ends and
 * stretches in between. Collective over the library's group.
 */
enum ss_status ss_coll_verify_all(struct ss_coll_lib *lib,
                                  const struct ss_coll_task *task,
                                  int64_t iteration, bool flip,
                                  struct ss_coll_wrong_at *out);

/* coll_measure.c */
enum { SS_COLL_BATCHES = 12, SS_COLL_CALLS = 40 };
struct ss_coll_times {
    long calls; /**< of a batch */
    int n_batches, n_calls;
    int64_t batch_ns[SS_COLL_BATCHES], call_ns[SS_COLL_CALLS]; /**< slowest
                                                                  rank's */
    int64_t typical_ns;                                        /**< of a call */
};
/** Time of a call, about: what else is to be decided rests on it. */
enum ss_status ss_coll_pilot_all(struct ss_coll_lib *lib,
                                 const struct ss_coll_task *task,
                                 int64_t *typical_ns);
/** Batches of at least 1 ms, then single calls; fewer where `left_ns` is
 * short, but enough for an interval. */
enum ss_status ss_coll_time_all(struct ss_coll_lib *lib,
                                const struct ss_coll_task *task,
                                int64_t left_ns, struct ss_coll_times *io);

#endif
