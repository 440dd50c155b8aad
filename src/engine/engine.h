/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_ENGINE_ENGINE_H
#define SS_ENGINE_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "cluster/rt.h"
#include "cluster/topology.h"
#include "cluster/watchdog.h"
#include "config/config.h"
#include "plan/plan.h"
#include "store/schema.h"
#include "timing/record.h"

#define SS_ENGINE_VERSION 1

enum ss_engine_cap {
    SS_CAP_VIRTUAL = 1, /**< its clock is not the wall's */
    SS_CAP_DEVICE = 2,  /**< drives an accelerator */
    SS_CAP_DATA = 4,    /**< computes on real data */
    SS_CAP_ASYNC = 8    /**< enqueue returns before the op is done */
};

struct ss_engine;

struct ss_engine_args {
    const struct ss_config *config;
    struct ss_rt *world;          /**< logical order is not known yet */
    const struct ss_place *place; /**< from ss_place_detect_all */
};

/** The communicators of one point on this rank. The engine borrows them until
 * disconnect. NULL where the dimension's size is 1. */
struct ss_comms {
    struct ss_rt *group;
    struct ss_rt *dim[SS_DIMS];
};

/** What an engine computes at a point. Borrowed until unload. */
struct ss_engine_work {
    const struct ss_plan *plan;
    /** Strong scaling: the plan of the same rank at the base size n0, by whose
     * ops planted costs are scaled; NULL: unscaled (n0 and weak). */
    const struct ss_plan *base;
    int point;        /**< index in the planned order */
    int logical_rank; /**< in the world */
    uint64_t seed;
};

struct ss_block_spec {
    enum ss_variant variant;
    int steps;           /**< including the first, which is dropped */
    bool sampled;        /**< fill record->event */
    int64_t number;      /**< of the block in this point: seeds noise */
    int64_t deadline_ns; /**< host clock; 0: none */
};

/**
 * The engine table (after fio's ioengine_ops): engine_list.c refuses a table
 * whose version is another or which lacks a required member. Every member is
 * required unless it says "may be NULL". Members ending in _all are collective
 * over the point's group; all others are local.
 *
 * Life: open, describe, { connect_all, load, [reset, {meet_all, block}...,
 * check_all] ..., unload, disconnect } per point, close. A block is
 * block_begin, { enqueue per op, mark } per step, drain, block_end: see exec.c,
 * the only caller of these five. No allocation between block_begin and
 * block_end.
 */
struct ss_engine_ops {
    const char *name;
    unsigned version, caps;
    /** Can it run here? SS_ERR_ENV with the reason if not. */
    enum ss_status (*open)(const struct ss_engine_args *, struct ss_engine **);
    /** Fills the device fields of a place; memory available to this rank in
     * bytes; peak dense FLOP/s at `precision` (NaN: unknown) and its source. */
    enum ss_status (*describe)(struct ss_engine *, struct ss_place *,
                               double *memory_bytes);
    double (*peak_flops)(struct ss_engine *, int precision, char *source,
                         size_t size);
    enum ss_status (*connect_all)(struct ss_engine *, const struct ss_comms *,
                                  int64_t *create_ns);
    enum ss_status (*load)(struct ss_engine *, const struct ss_engine_work *);
    /** State (weights, moments, batch) back to the seeded start. */
    enum ss_status (*reset)(struct ss_engine *);
    /** Barrier of the group; a virtual clock moves to the group's latest. */
    enum ss_status (*meet_all)(struct ss_engine *);
    enum ss_status (*block_begin)(struct ss_engine *,
                                  const struct ss_block_spec *,
                                  struct ss_block_record *);
    /** Issues op `index` of the plan in `step` on its lane, after the ops of
     * its waits that run in this variant. */
    enum ss_status (*enqueue)(struct ss_engine *, int index, int step);
    /** Marks the end of the step on the compute lane; with `join` after all
     * lanes (comm-only has no compute op that waits for them). */
    enum ss_status (*mark)(struct ss_engine *, int step, bool join);
    /** Returns when all is done, or SS_ERR_TIMEOUT past the deadline. */
    enum ss_status (*drain)(struct ss_engine *, int64_t deadline_ns);
    /** Fills the record, times on the host clock (or the virtual one). */
    enum ss_status (*block_end)(struct ss_engine *);
    /** Its clock: host ns, or virtual ns. */
    int64_t (*now)(struct ss_engine *);
    /**
     * Exact checks (DESIGN section 4), all of them, `when` = "before" or
     * "after": each collective of the plan on integer data, a GEMM slice
     * against its CPU twin, and after "whole": finite, variance within 10 %,
     * replicas equal. Appends a row per failed check and one per kind that
     * passed. A failed check is SS_OK with ok = 0 in a row.
     */
    enum ss_status (*check_all)(struct ss_engine *, const char *when,
                                struct ss_check_row *rows, int max, int *n);
    /** 1: communication progresses beside compute here. */
    int (*overlap_measurable)(struct ss_engine *);
    /** What carries communication since connect_all, as far as this rank
     * knows: a row a kind. Returns how many, at most `max`. May be NULL. */
    int (*paths)(struct ss_engine *, struct ss_path_row *rows, int max);
    void (*unload)(struct ss_engine *);
    void (*disconnect)(struct ss_engine *);
    /** From any thread: makes pending communication return. May be NULL. */
    void (*abort)(struct ss_engine *);
    /** From any thread, when ranks hang: what the library under the engine
     * knows of it, as text; takes at most 2 s. May be NULL. */
    void (*explain)(struct ss_engine *, struct ss_buf *out);
    void (*close)(struct ss_engine *);
};

/** Stands in progress->collective while a rank has done its part of a
 * communicator's creation, and waits for the others'. */
#define SS_CONNECTING (INT64_C(1) << 41)

struct ss_engine {
    const struct ss_engine_ops *ops;
    struct ss_progress *progress; /**< set by the caller; never NULL */
};

/** First thing in a process, before it has a second thread: what libraries of
 * engines read from the environment when they are loaded. */
void ss_engine_prepare(void);
/** All engines of this build, NULL-ended; each table was checked. */
const struct ss_engine_ops *const *ss_engine_list(void);
/** By name; SS_ERR_CONFIG (did you mean) or SS_ERR_ENV when not built in. */
enum ss_status ss_engine_find(const char *name,
                              const struct ss_engine_ops **out);
/** Pure: checks a table; returns NULL or what is wrong with it. */
const char *ss_engine_check_ops(const struct ss_engine_ops *ops);

extern const struct ss_engine_ops ss_engine_host;
extern const struct ss_engine_ops ss_engine_null;
extern const struct ss_engine_ops ss_engine_cuda; /**< where it is built */

#endif
