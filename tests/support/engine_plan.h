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

/**
 * A chain across dimensions, with operands, for any engine:
 *
 *   0 gemm   compute
 *   1 over dp, waits for gemm
 *   2 over tp, waits for 1
 *   3 add    compute, waits for 2
 */
enum { CHAIN_GEMM, CHAIN_DP, CHAIN_TP, CHAIN_ADD, CHAIN_OPS };
#define CHAIN_EDGE 16

struct chain_plan {
    struct ss_op op[CHAIN_OPS];
    struct ss_buffer buffer[SS_BUF_ROLES];
    struct ss_plan plan;
};

static inline struct ss_op chain_op(enum ss_op_kind kind, enum ss_dim dim,
                                    int wait)
{
    struct ss_op op = hand_op(kind, SS_PHASE_forward, "chain", wait);
    op.m = op.n = op.k = CHAIN_EDGE;
    op.map = kind == SS_OP_ELEMENTWISE ? SS_MAP_ADD : SS_MAP_NONE;
    op.a = (struct ss_ref){SS_BUF_ACT, 0};
    op.b = (struct ss_ref){SS_BUF_WORK, 0};
    op.c = (struct ss_ref){SS_BUF_GRAD, 0};
    op.d = (struct ss_ref){-1, 0};
    op.count = CHAIN_EDGE * CHAIN_EDGE;
    if (kind == SS_OP_ALL_REDUCE) {
        op.dim = dim;
        op.phase = ss_dim_phase(dim);
        op.lane = (enum ss_lane)(SS_LANE_COMM + (int)dim);
    }
    return op;
}

/** `out` must stay where it is. */
static inline void chain_plan_make(int dp, int tp, struct chain_plan *out)
{
    *out = (struct chain_plan){0};
    out->op[CHAIN_GEMM] = chain_op(SS_OP_GEMM, SS_DIM_DP, -1);
    out->op[CHAIN_DP] = chain_op(SS_OP_ALL_REDUCE, SS_DIM_DP, CHAIN_GEMM);
    out->op[CHAIN_TP] = chain_op(SS_OP_ALL_REDUCE, SS_DIM_TP, CHAIN_DP);
    out->op[CHAIN_ADD] = chain_op(SS_OP_ELEMENTWISE, SS_DIM_DP, CHAIN_TP);
    out->op[CHAIN_DP].order = 0;
    out->op[CHAIN_TP].order = 1;
    for (int i = 0; i < SS_BUF_ROLES; i++) {
        bool used = i == SS_BUF_ACT || i == SS_BUF_WORK || i == SS_BUF_GRAD;
        out->buffer[i] =
            (struct ss_buffer){.name = "operand",
                               .role = (enum ss_role)i,
                               .dtype = SS_DT_F32,
                               .elems = used ? CHAIN_EDGE * CHAIN_EDGE : 0};
    }
    out->plan = (struct ss_plan){
        .op = out->op,
        .n_ops = CHAIN_OPS,
        .buffer = out->buffer,
        .n_buffers = SS_BUF_ROLES,
        .layout = {.dim = {dp, tp, 1, 1, 1}, .micro_batches = 1}};
}

#endif
