/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_ENGINE_CHECK_H
#define SS_ENGINE_CHECK_H

#include "engine/engine.h"

/*
 * Exact checks of collectives, shared by engines whose data lie in host
 * memory; and the rows in which any check reports.
 */

/** Where the rows of one check_all go. */
struct ss_check_sink {
    struct ss_check_row *rows;
    int max, n;
    int rank; /**< logical */
    const char *when;
};
/** Appends one row; silently drops what does not fit (the first failure does,
 * and one is enough to void a point). */
void ss_check_add(struct ss_check_sink *sink, const char *check, bool ok,
                  const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/**
 * Integers whose sum over the ranks is exact in `dtype`, in any order: the sum
 * over ranks of |x| stays within 2^24 (fp32), 2^53 (fp64). Signs are mixed, and
 * a value depends on rank and position, so that a swapped, missing or doubled
 * contribution shows.
 */
struct ss_exact {
    int64_t amplitude;
    int64_t weight_sum, other_sum; /**< over ranks, of the two weights */
};
void ss_exact_open(enum ss_dtype dtype, int ranks, struct ss_exact *out);
int64_t ss_exact_value(const struct ss_exact *exact, int rank, uint64_t at);
int64_t ss_exact_sum(const struct ss_exact *exact, uint64_t at);

/** One exact collective. `send` is unused by all-reduce (in place in recv).
 * Lengths as in rt.h; dtype I64, F32 or F64. `flip`: a planted fault: the
 * middle element of this rank's result is changed before it is looked at. */
struct ss_coll_check {
    struct ss_rt *rt;
    enum ss_coll kind;
    enum ss_dtype dtype;
    void *send, *recv;
    uint64_t count;
    bool flip;
};
/** The first wrong element. */
struct ss_coll_wrong {
    bool found;
    uint64_t at;
    int64_t expected;
    double got;
};
/** Collective over check->rt; local verdict in *out. */
enum ss_status ss_coll_check_all(const struct ss_coll_check *check,
                                 struct ss_coll_wrong *out);

/** A row of one collective of a plan: `wrong` where one was found, else how
 * many integers were right. `name` is the op's to be named. */
void ss_check_add_coll(struct ss_check_sink *sink, const struct ss_op *op,
                       const char *name, uint64_t count,
                       const struct ss_coll_wrong *wrong);

/** How far the state of a point has moved since it was filled. */
struct ss_state_age {
    int64_t steps;    /**< of the optimizer */
    int last_variant; /**< since then; -1: none */
    bool stale;       /**< checks wrote over it */
};
/** The age of a state that was filled just now. */
void ss_state_age_clear(struct ss_state_age *age);
/** Must it be filled again before a block of `next`? The same on all ranks. */
bool ss_state_age_needs_reset(const struct ss_state_age *age,
                              enum ss_variant next);

#define SS_TRIAL_STEPS 3 /**< that ss_check_plan_all may run */

/** How one engine checks one plan: the order is check_plan.c's, the means are
 * the engine's. Members ending in _all are collective over the point's group.
 */
struct ss_plan_check {
    struct ss_engine *engine;
    const struct ss_plan *plan;
    enum ss_status (*coll_all)(struct ss_engine *, int op,
                               struct ss_check_sink *);
    enum ss_status (*gemms)(struct ss_engine *, struct ss_check_sink *);
    enum ss_status (*state_all)(struct ss_engine *, struct ss_check_sink *);
    struct ss_state_age *age;      /**< NULL: no state, no products */
    struct ss_block_record *trial; /**< SS_TRIAL_STEPS long */
};
/**
 * "after": the state that whole steps left; then the largest collective of
 * each kind and dimension, and the products. Afterwards the state is stale.
 */
enum ss_status ss_check_plan_all(const struct ss_plan_check *check,
                                 struct ss_check_sink *sink);

/** The rt collective that a plan's op is; false when it is none of the four
 * that an engine on host memory runs. */
bool ss_coll_of(enum ss_op_kind kind, enum ss_coll *out);
/** The first op of a plan with this kind and dimension and the largest count;
 * -1: none. */
int ss_coll_largest(const struct ss_plan *plan, enum ss_op_kind kind,
                    enum ss_dim dim);

#endif
