/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_PROBE_COLL_PASS_H
#define SS_PROBE_COLL_PASS_H

#include "probe/context.h"

/* What the two files of the pass of collectives share. */

/** One kind of group under way, on this rank. */
struct ss_coll_pass {
    struct ss_probe *probe;
    struct ss_coll_lib lib;
    uint64_t size[SS_COLL_SIZES_MAX];
    int n_sizes;
    struct ss_planted_corruption plant;
    int *leader, *scratch;   /**< [ranks], [2 ranks] */
    enum ss_coll_group kind; /**< of the group now */
    struct ss_rt *group;     /**< NULL: this rank is in none */
    bool idlers;             /**< some rank is in none */
    int nodes;               /**< of this group */
    int64_t create_ns;
    double memory; /**< bytes for the buffers of this rank */
    int64_t end_ns;
    int left; /**< collectives still to run, for shares of the time */
};

/* coll_size.c */
/** Bytes of a task in this group. */
uint64_t ss_coll_pass_bytes(const struct ss_coll_pass *pass,
                            const struct ss_coll_task *task);
/** One size: checked, timed, recorded. *spent_ns: what another one of as many
 * bytes would take at least; *typical_ns: a call. Collective over the group. */
enum ss_status ss_coll_pass_size_all(struct ss_coll_pass *pass,
                                     const struct ss_coll_task *task,
                                     int64_t left_ns, int64_t *spent_ns,
                                     int64_t *typical_ns);

#endif
