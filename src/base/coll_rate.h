/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_BASE_COLL_RATE_H
#define SS_BASE_COLL_RATE_H

#include <stdint.h>

/*
 * Collectives of a probe, and what their times say as rates: the definitions
 * of nccl-tests, so that numbers can be held against it. The size of a
 * collective is the larger of what a rank sends and what it receives.
 */
enum ss_coll_op {
    SS_OP_COLL_ALL_REDUCE,
    SS_OP_COLL_ALL_GATHER,
    SS_OP_COLL_REDUCE_SCATTER,
    SS_OP_COLL_ALL_TO_ALL,
    SS_OP_COLL_BROADCAST,
    SS_OP_COLL_SENDRECV, /**< a ring: each sends to the next one */
    SS_COLL_OPS
};

/** Names as in files and options, NULL-ended: "all_reduce". */
const char *const *ss_coll_names(void);
/** -1: none of them. */
int ss_coll_find(const char *name);
/** Elements that each rank contributes (of reduce_scatter: receives) for a
 * collective of about `bytes`; at least 1. */
uint64_t ss_coll_count(enum ss_coll_op op, uint64_t bytes, int ranks,
                       int element);
/** The size that such a count has. */
uint64_t ss_coll_bytes(enum ss_coll_op op, uint64_t count, int ranks,
                       int element);
/** busbw over algbw: what would go over the slowest link of a ring. */
double ss_coll_bus_factor(enum ss_coll_op op, int ranks);

#endif
