/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One op of the plan as one launch on its lane. Returns as soon as the launch
 * is accepted. Must not know what the op waits for.
 */
#include <math.h>

#include "engine/cuda.h"

static int map(struct ss_cuda *self, const struct ss_op *op, ss_stream stream)
{
    enum ss_dtype dtype = ss_cuda_type(self, op->c);
    const void *a = ss_cuda_at(self, op->a), *b = ss_cuda_at(self, op->b);
    void *c = ss_cuda_at(self, op->c), *d = ss_cuda_at(self, op->d);
    const void *const ab[2] = {a, b};
    void *const cd[2] = {c, d};
    switch (op->map) {
    case SS_MAP_GELU:
        return ss_kernel_gelu(dtype, a, c, op->count, stream);
    case SS_MAP_GELU_BWD:
        return ss_kernel_gelu_bwd(dtype, a, b, c, op->count, stream);
    case SS_MAP_MUL_SILU:
        return ss_kernel_mul_silu(dtype, a, b, c, op->count, stream);
    case SS_MAP_MUL_SILU_BWD:
        return ss_kernel_mul_silu_bwd(dtype, ab, cd, op->count, stream);
    case SS_MAP_ADD:
        return ss_kernel_add(dtype, a, b, c, op->count, stream);
    case SS_MAP_NONE:
        break;
    }
    /* a copy is the map of no function */
    return (int)cudaMemcpyAsync(c, a, op->count * ss_dtype_size(dtype),
                                cudaMemcpyDeviceToDevice, (cudaStream_t)stream);
}

static int optimizer(struct ss_cuda *self, const struct ss_op *op,
                     ss_stream stream)
{
    double step = (double)++self->age.steps;
    const struct ss_adamw args = {
        .weight = ss_cuda_at(self, op->a),
        .grad = ss_cuda_at(self, op->b),
        .moment1 = ss_cuda_at(self, op->c),
        .moment2 = ss_cuda_at(self, op->d),
        .dtype = ss_cuda_type(self, op->a),
        .grad_dtype = ss_cuda_type(self, op->b),
        .n = op->count,
        .rate = SS_ADAMW_LR,
        .beta1 = SS_ADAMW_BETA1,
        .beta2 = SS_ADAMW_BETA2,
        .eps = SS_ADAMW_EPS,
        .decay = SS_ADAMW_DECAY,
        .gradient_share = 1.0 / self->work.plan->layout.dim[SS_DIM_DP],
        .unbias1 = 1 / (1 - pow(SS_ADAMW_BETA1, step)),
        .unbias2 = 1 / (1 - pow(SS_ADAMW_BETA2, step)),
    };
    return ss_kernel_adamw(&args, stream);
}

static enum ss_status communicate(struct ss_cuda *self, const struct ss_op *op,
                                  cudaStream_t stream)
{
    bool sends_only = op->kind == SS_OP_SEND;
    const struct ss_nccl_call call = {
        .kind = op->kind,
        .dim = op->dim,
        .dtype = ss_cuda_type(self, sends_only ? op->a : op->c),
        .send = ss_cuda_at(self, op->a),
        .recv = ss_cuda_at(self, op->c),
        .count = op->count,
        .peer = op->peer,
    };
    return ss_nccl_enqueue(self->nccl, &call, stream);
}

enum ss_status ss_cuda_issue(struct ss_cuda *self, int index)
{
    const struct ss_op *op = &self->work.plan->op[index];
    cudaStream_t stream = self->lane[op->lane];
    if (ss_op_is_comm(op))
        return communicate(self, op, stream);
    if (op->kind == SS_OP_GEMM)
        return ss_cuda_gemm(self, index, false);
    if (ss_cuda_is_taken_in(self, index))
        return SS_OK;
    int error = op->kind == SS_OP_OPTIMIZER ? optimizer(self, op, stream)
                                            : map(self, op, stream);
    return ss_cuda_said(self, error, op->name);
}
