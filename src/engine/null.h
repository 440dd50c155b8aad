/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_ENGINE_NULL_H
#define SS_ENGINE_NULL_H

#include "engine/engine.h"

/* The inside of the null engine. */

/** A planted fault "rank:point:op"; rank < 0: none. */
struct ss_null_fault {
    int64_t rank, point, op;
};

/** A collective that was enqueued and whose end is not known yet. */
struct ss_null_pending {
    int op, step;
    int64_t nth;      /**< communication call of this point */
    int64_t after;    /**< last collective whose end its ready depends on */
    int64_t enqueued; /**< what the record calls so */
    int64_t ready;    /**< this rank's own */
    int64_t latest;   /**< the message: the ready of the last rank */
    int64_t seen;     /**< real clock: all had arrived; SS_NO_TIME: not yet */
    struct ss_request request;
};

struct ss_null {
    struct ss_engine base;
    const struct ss_config *config;
    struct ss_comms comms;
    struct ss_engine_work work;
    struct ss_null_fault corrupt, fail, hang;
    bool real; /**< null.clock=real */

    int64_t *cost; /**< [n_ops] planted ns, slow factor and scaling included */
    int64_t *end;  /**< [n_ops] end in this step */
    int64_t *seq;  /**< [n_ops] its last collective in the ring, -1 */
    bool *runs;    /**< [n_ops] in the variant of this block */
    int64_t *scratch; /**< of the exact checks */
    uint64_t scratch_elems;

    /** Collectives in issue order; numbers only grow, slot = number % slots.
     * Ended ones are < head, posted ones < posted, all < tail. */
    struct ss_null_pending *ring;
    int64_t slots, head, posted, tail;

    int64_t lane_end[SS_LANES];
    int64_t lane_seq[SS_LANES]; /**< last collective of the lane */

    struct ss_block_spec spec;
    struct ss_block_record *record;
    int64_t begin, wall_begin;
};

static inline struct ss_null *ss_null_of(struct ss_engine *engine)
{
    return (struct ss_null *)engine;
}

/* null_faults.c */
enum ss_status ss_null_faults_parse(const struct ss_config *config,
                                    struct ss_null *out);
/** Do the faults of this rank and point fit the plan? */
enum ss_status ss_null_faults_check(const struct ss_null *self);
/** Is it planted on this rank, point and op? */
bool ss_null_fault_hits(const struct ss_null *self,
                        const struct ss_null_fault *fault, int op);
/** Called at every op: hangs, or returns the planted error. */
enum ss_status ss_null_faults_enter(const struct ss_null *self, int op);

/* null_cost.c */
enum ss_status ss_null_costs_fill(struct ss_null *self);
/** What this op takes in this step, noise included. */
int64_t ss_null_cost(const struct ss_null *self, int op, int step);

/* null_run.c: the block */
enum ss_status ss_null_block_begin(struct ss_engine *,
                                   const struct ss_block_spec *,
                                   struct ss_block_record *);
enum ss_status ss_null_enqueue(struct ss_engine *, int index, int step);
enum ss_status ss_null_mark(struct ss_engine *, int step, bool join);
enum ss_status ss_null_drain(struct ss_engine *, int64_t deadline_ns);
enum ss_status ss_null_block_end(struct ss_engine *);
enum ss_status ss_null_meet_all(struct ss_engine *);
int64_t ss_null_now(struct ss_engine *);

/* null_check.c */
enum ss_status ss_null_check_all(struct ss_engine *, const char *when,
                                 struct ss_check_row *rows, int max, int *n);
/** Elements of scratch that the checks of a plan take. */
uint64_t ss_null_check_elems(const struct ss_plan *plan);

#endif
