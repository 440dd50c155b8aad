/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Refuses a plan that an engine could not run: engines trust what passed here
 * and check nothing again. It must not know how plans are built, so that plans
 * of later layouts, and plans made by hand, pass the same gate.
 */
#include "plan/plan.h"

static enum ss_status bad(int index, const struct ss_op *op, const char *what)
    __attribute__((warn_unused_result));
static enum ss_status bad(int index, const struct ss_op *op, const char *what)
{
    return ss_fail(SS_ERR_INTERNAL, "plan op %d (%.15s): %s", index, op->name,
                   what);
}

static bool is_collective(const struct ss_op *op)
{
    return ss_op_is_comm(op) && op->kind != SS_OP_SEND &&
           op->kind != SS_OP_RECV;
}

static enum ss_status check_waits(const struct ss_plan *plan, int index)
{
    const struct ss_op *op = &plan->op[index];
    if (op->n_waits < 0 || op->n_waits > SS_WAITS_MAX)
        return bad(index, op, "impossible number of waits");
    for (int i = 0; i < op->n_waits; i++) {
        int wait = op->wait[i];
        if (wait < 0 || wait >= index)
            return bad(index, op, "waits for an op that is not before it");
        if (plan->op[wait].lane == op->lane)
            return bad(index, op, "waits for an op of its own lane");
        for (int j = 0; j < i; j++) {
            if (plan->op[op->wait[j]].lane == plan->op[wait].lane)
                return bad(index, op, "waits for two ops of one lane");
        }
    }
    return SS_OK;
}

static enum ss_status check_compute(const struct ss_op *op, int index)
{
    bool copies = op->kind == SS_OP_COPY;
    if (op->lane != SS_LANE_COMPUTE && !(copies && op->lane == SS_LANE_INPUT))
        return bad(index, op, "is on a lane that is not for its kind");
    if (op->order != -1)
        return bad(index, op, "has a communication order but no communicator");
    if (op->phase != SS_PHASE_forward && op->phase != SS_PHASE_backward &&
        op->phase != SS_PHASE_optimizer && op->phase != SS_PHASE_input)
        return bad(index, op, "is in a phase that is not for its kind");
    return SS_OK;
}

static enum ss_status check_peer(const struct ss_plan *plan, int index)
{
    const struct ss_op *op = &plan->op[index];
    bool has_peer = !is_collective(op) || op->kind == SS_OP_BROADCAST;
    if (!has_peer && op->peer != -1)
        return bad(index, op, "has a peer but needs none");
    if (!has_peer)
        return SS_OK;
    if (op->peer < 0 || op->peer >= plan->layout.dim[op->dim])
        return bad(index, op, "has a peer outside its communicator");
    if (op->kind != SS_OP_BROADCAST && op->peer == plan->coords.at[op->dim])
        return bad(index, op, "is its own peer");
    return SS_OK;
}

/* `next` counts the communication ops so far. */
static enum ss_status check_comm(const struct ss_plan *plan, int index,
                                 int *next)
{
    const struct ss_op *op = &plan->op[index];
    if ((int)op->dim < 0 || op->dim >= SS_DIMS || plan->layout.dim[op->dim] < 2)
        return bad(index, op, "uses a communicator of fewer than two ranks");
    if ((int)op->lane != SS_LANE_COMM + (int)op->dim)
        return bad(index, op, "is not on the lane of its dimension");
    if (op->phase != ss_dim_phase(op->dim))
        return bad(index, op, "is not in the phase of its dimension");
    if (op->order != (*next)++)
        return bad(index, op, "breaks the order of communication");
    return check_peer(plan, index);
}

/* A fused group is a run of communication ops with one mark. */
static enum ss_status check_fused(const struct ss_plan *plan, int index)
{
    const struct ss_op *op = &plan->op[index];
    if (op->fused < 0)
        return SS_OK;
    if (!ss_op_is_comm(op))
        return bad(index, op, "is fused but does not communicate");
    if (index > 0 && plan->op[index - 1].fused == op->fused)
        return SS_OK;
    for (int i = 0; i < index; i++) {
        if (plan->op[i].fused == op->fused)
            return bad(index, op, "is apart from its fused group");
    }
    return SS_OK;
}

/* Elements that the op touches of operand 0..3 (a..d); 0: must not have it. */
static void operand_sizes(const struct ss_plan *plan, const struct ss_op *op,
                          uint64_t *n)
{
    uint64_t all = ss_op_is_comm(op)
                       ? op->count * (uint64_t)plan->layout.dim[op->dim]
                       : op->count;
    bool binary = op->map == SS_MAP_GELU_BWD || op->map == SS_MAP_MUL_SILU ||
                  op->map == SS_MAP_MUL_SILU_BWD || op->map == SS_MAP_ADD;
    const uint64_t table[SS_OP_KINDS][4] = {
        [SS_OP_GEMM] = {(uint64_t)(op->m * op->k), (uint64_t)(op->k * op->n),
                        op->count, 0},
        [SS_OP_ELEMENTWISE] = {op->count, binary ? op->count : 0, op->count,
                               op->map == SS_MAP_MUL_SILU_BWD ? op->count : 0},
        [SS_OP_OPTIMIZER] = {op->count, op->count, op->count, op->count},
        [SS_OP_COPY] = {op->count, 0, op->count, 0},
        [SS_OP_ALL_REDUCE] = {0, 0, op->count, 0},
        [SS_OP_ALL_GATHER] = {op->count, 0, all, 0},
        [SS_OP_REDUCE_SCATTER] = {all, 0, op->count, 0},
        [SS_OP_ALL_TO_ALL] = {all, 0, all, 0},
        [SS_OP_BROADCAST] = {0, 0, op->count, 0},
        [SS_OP_SEND] = {op->count, 0, 0, 0},
        [SS_OP_RECV] = {0, 0, op->count, 0}};
    for (int i = 0; i < 4; i++)
        n[i] = table[op->kind][i];
}

static enum ss_status check_operands(const struct ss_plan *plan, int index)
{
    const struct ss_op *op = &plan->op[index];
    const struct ss_ref *refs[] = {&op->a, &op->b, &op->c, &op->d};
    uint64_t n[4];
    operand_sizes(plan, op, n);
    for (int i = 0; i < 4; i++) {
        const struct ss_ref *ref = refs[i];
        if (n[i] == 0 && ref->buf < 0)
            continue;
        if (n[i] == 0)
            return bad(index, op, "has an operand too many");
        if (ref->buf < 0 || ref->buf >= plan->n_buffers)
            return bad(index, op, "lacks an operand");
        if (ref->at > plan->buffer[ref->buf].elems ||
            n[i] > plan->buffer[ref->buf].elems - ref->at)
            return bad(index, op, "reaches beyond the end of a buffer");
    }
    return SS_OK;
}

static enum ss_status check_shape(const struct ss_plan *plan, int index)
{
    const struct ss_op *op = &plan->op[index];
    const struct ss_ref *out = op->c.buf >= 0 ? &op->c : &op->a;
    if (op->count == 0)
        return bad(index, op, "is empty");
    if (op->kind == SS_OP_GEMM &&
        (op->m < 1 || op->n < 1 || op->k < 1 ||
         (uint64_t)op->m > op->count / (uint64_t)op->n ||
         (uint64_t)(op->m * op->n) != op->count))
        return bad(index, op, "has a shape that is not its count");
    if (op->kind == SS_OP_ELEMENTWISE &&
        (op->map <= SS_MAP_NONE || op->map > SS_MAP_ADD))
        return bad(index, op, "has no element-wise function");
    SS_TRY(check_operands(plan, index));
    if (op->elem_size != (int)ss_dtype_size(plan->buffer[out->buf].dtype) &&
        op->kind != SS_OP_OPTIMIZER)
        return bad(index, op, "has an element size that is not its buffer's");
    return SS_OK;
}

enum ss_status ss_plan_validate(const struct ss_plan *plan)
{
    int orders = 0;
    for (int i = 0; i < plan->n_ops; i++) {
        const struct ss_op *op = &plan->op[i];
        if ((int)op->kind < 0 || op->kind >= SS_OP_KINDS || (int)op->lane < 0 ||
            op->lane >= SS_LANES)
            return bad(i, op, "has an unknown kind or lane");
        SS_TRY(check_waits(plan, i));
        if (ss_op_is_comm(op))
            SS_TRY(check_comm(plan, i, &orders));
        else
            SS_TRY(check_compute(op, i));
        SS_TRY(check_fused(plan, i));
        SS_TRY(check_shape(plan, i));
    }
    return SS_OK;
}
