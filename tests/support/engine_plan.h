/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_TESTS_ENGINE_PLAN_H
#define SS_TESTS_ENGINE_PLAN_H

/*
 * A step by hand, small enough to be followed on paper:
 *
 *   0 gemm0   compute
 *   1 reduce0 dp lane, waits for gemm0
 *   2 gemm1   compute
 *   3 reduce1 dp lane, waits for gemm1
 *   4 adamw   compute, waits for reduce1
 */
#include "plan/plan.h"

enum { GEMM0, REDUCE0, GEMM1, REDUCE1, ADAMW, HAND_OPS };

struct hand_plan {
    struct ss_op op[HAND_OPS];
    struct ss_plan plan;
};

static inline struct ss_op hand_op(enum ss_op_kind kind, enum ss_phase phase,
                                   const char *name, int wait)
{
    struct ss_op op = {.kind = kind,
                       .phase = phase,
                       .layer = -1,
                       .micro = -1,
                       .order = -1,
                       .fused = -1,
                       .count = 1,
                       .elem_size = 4,
                       .bytes = 4,
                       .n_waits = wait >= 0 ? 1 : 0,
                       .wait = {wait}};
    (void)ss_copy(op.name, sizeof(op.name), name);
    if (phase == SS_PHASE_dp_comm)
        op.lane = (enum ss_lane)(SS_LANE_COMM + SS_DIM_DP);
    return op;
}

/** `out` must stay where it is. */
static inline void hand_plan_make(int dp, struct hand_plan *out)
{
    *out = (struct hand_plan){0};
    out->op[GEMM0] = hand_op(SS_OP_GEMM, SS_PHASE_backward, "gemm0", -1);
    out->op[REDUCE0] =
        hand_op(SS_OP_ALL_REDUCE, SS_PHASE_dp_comm, "reduce0", GEMM0);
    out->op[GEMM1] = hand_op(SS_OP_GEMM, SS_PHASE_backward, "gemm1", -1);
    out->op[REDUCE1] =
        hand_op(SS_OP_ALL_REDUCE, SS_PHASE_dp_comm, "reduce1", GEMM1);
    out->op[ADAMW] =
        hand_op(SS_OP_OPTIMIZER, SS_PHASE_optimizer, "adamw", REDUCE1);
    out->op[REDUCE0].order = 0;
    out->op[REDUCE1].order = 1;
    out->plan = (struct ss_plan){
        .op = out->op,
        .n_ops = HAND_OPS,
        .layout = {.dim = {dp, 1, 1, 1, 1}, .micro_batches = 1}};
}

#endif
