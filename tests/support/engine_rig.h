/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_TESTS_ENGINE_RIG_H
#define SS_TESTS_ENGINE_RIG_H

/*
 * An engine at one point, on one rank, as the sweep sets it up: configuration,
 * plan, communicators, engine, record. Rank functions run as threads or MPI
 * ranks, where cmocka's asserts cannot jump: they return a status, and CHECK
 * makes one of a condition.
 */
#include "engine/exec.h"

#define CHECK(cond)                                                            \
    do {                                                                       \
        if (!(cond))                                                           \
            return ss_fail(SS_ERR_VERIFY, "%s:%d: %s", __FILE__, __LINE__,     \
                           #cond);                                             \
    } while (0)

#define RIG_STEPS_MAX 64

struct rig_spec {
    const char *engine;
    int dp, tp, sp, micro;
    /** NULL, or a plan to run instead of a model's (its layout is used). */
    const struct ss_plan *plan;
    const struct ss_plan *base;
    const char *model; /**< preset; NULL: mlp */
    int64_t layers, hidden, tokens, point;
    uint64_t bucket;
    int precision;
    const char *settings[12]; /**< "null.gemm_ms", "10", ..., NULL */
};
struct rig {
    const struct rig_spec *spec;
    struct ss_config config;
    struct ss_place place;
    struct ss_model model;
    struct ss_plan plan;
    bool owns_plan;
    struct ss_comms comms;
    struct ss_engine *engine;
    struct ss_progress progress;
    struct ss_block_record record; /**< RIG_STEPS_MAX steps with events */
    bool connected, loaded;
    /** Of the last block outside the transport: by any library (-1 where a
     * sanitizer owns malloc), and through ss_alloc. */
    long allocations, own_allocations;
};

/** Collective over rt: all ranks succeed or all fail. The rig is closed with
 * rig_close in either case. */
enum ss_status rig_open_all(struct rig *rig, struct ss_rt *rt,
                            const struct rig_spec *spec);
/** meet_all, then one block, sampled. */
enum ss_status rig_block_all(struct rig *rig, enum ss_variant variant,
                             int steps);
void rig_close(struct rig *rig);

/** Wraps the runtimes of a rig so that what they allocate is not counted. */
void rig_mute_transport(struct rig *rig);

#endif
