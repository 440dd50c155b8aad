/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds the plan of one rank: checks, places, passes, optimizer, sums. Pure:
 * the same arguments give the same plan on every rank and every machine. It
 * must not know engines, MPI or time.
 */
#include "plan/plan.h"

#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "plan/builder.h"

/* An upper bound, exact but for the first Linears' input gradients. */
static int64_t count_ops(const struct ss_builder *b)
{
    const struct ss_model *m = b->model;
    int per_layer = 3 * m->n_linears;
    int64_t buckets =
        b->plan->layout.dim[SS_DIM_DP] > 1 ? m->layers * m->n_linears : 0;
    for (int i = 0; i < m->n_linears; i++) {
        if (m->linear[i].gelu_after || m->linear[i].join >= 0)
            per_layer += 2;
    }
    if (b->tp > 1)
        per_layer += (b->sp ? 5 : 2) * b->n_blocks;
    return per_layer * m->layers * b->plan->layout.micro_batches + buckets + 1;
}

static enum ss_status start(struct ss_builder *b,
                            const struct ss_plan_args *args)
{
    struct ss_plan *plan = b->plan;
    plan->model = *args->model;
    plan->layout = args->layout;
    plan->coords = args->coords;
    plan->tokens = args->tokens;
    plan->micro_tokens = args->tokens / args->layout.micro_batches;
    plan->precision = args->precision;
    plan->grad_dtype = ss_plan_grad_type(args->grad_dtype);
    plan->bucket_bytes = args->bucket_bytes;
    b->model = &plan->model;
    b->tp = plan->layout.dim[SS_DIM_TP];
    b->sp = plan->layout.sp && b->tp > 1;
    b->rows = plan->micro_tokens;
    b->rows_between = b->sp ? b->rows / b->tp : b->rows;
    plan->n_buffers = SS_BUF_ROLES;
    plan->buffer = ss_alloc(SS_BUF_ROLES, sizeof *plan->buffer, "plan buffers");
    return plan->buffer ? SS_OK : SS_ERR_NO_MEMORY;
}

static enum ss_status open_ops(struct ss_builder *b)
{
    int64_t n = count_ops(b);
    if (n > SS_PLAN_OPS_MAX)
        return ss_fail(SS_ERR_CONFIG,
                       "a step would have %" PRId64 " ops, more than %d; use "
                       "fewer micro-batches or layers",
                       n, SS_PLAN_OPS_MAX);
    return ss_builder_open(b, (int)n);
}

static void sum_up(struct ss_plan *plan)
{
    double ranks = ss_layout_size(&plan->layout);
    plan->model_flops = ss_model_flops_per_token(&plan->model) *
                        (double)plan->tokens * plan->layout.dim[SS_DIM_DP] /
                        ranks;
    for (int i = 0; i < plan->n_ops; i++) {
        const struct ss_op *op = &plan->op[i];
        plan->flops += op->flops;
        plan->phase_flops[op->phase] += op->flops;
        plan->phase_bytes[op->phase] += op->bytes;
        if (ss_op_is_comm(op))
            plan->comm_bytes[op->dim] += op->bytes;
    }
}

enum ss_status ss_plan_build(const struct ss_plan_args *args,
                             struct ss_plan *out)
{
    struct ss_builder b = {.plan = out};
    enum ss_status status;
    memset(out, 0, sizeof *out);
    SS_TRY(ss_plan_blocks(args->model, b.block, &b.n_blocks));
    SS_TRY(ss_plan_check(args));
    SS_TRY_GOTO(start(&b, args), status, free_plan);
    ss_places_make(&b);
    SS_TRY_GOTO(open_ops(&b), status, free_plan);
    for (b.micro = 0; b.micro < out->layout.micro_batches; b.micro++) {
        ss_plan_forward(&b);
        ss_plan_backward(&b);
    }
    ss_plan_optimizer(&b);
    sum_up(out);
    ss_builder_close(&b);
    return SS_OK;

free_plan:
    ss_builder_close(&b);
    ss_plan_free(out);
    return status;
}

void ss_plan_free(struct ss_plan *plan)
{
    ss_free(plan->op);
    ss_free(plan->buffer);
    memset(plan, 0, sizeof *plan);
}

double ss_plan_memory(const struct ss_plan *plan)
{
    double bytes = 0;
    for (int i = 0; i < plan->n_buffers; i++)
        bytes += (double)plan->buffer[i].elems *
                 (double)ss_dtype_size(plan->buffer[i].dtype);
    return bytes;
}
