/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Data parallelism: gradients travel in buckets, whole Linears each, as soon as
 * the last backward pass has finished them; and the optimizer at the end. The
 * pass finishes gradients in the reverse of their order in memory, so a bucket
 * is one contiguous range that grows downwards.
 */
#include "plan/builder.h"

static void push_bucket(struct ss_builder *b, struct ss_span last)
{
    char name[16];
    struct ss_draft d;
    ss_format(name, sizeof name, "bucket%d", b->buckets);
    d = ss_draft_make(b, SS_OP_ALL_REDUCE, SS_PHASE_dp_comm, name, "");
    d.op.lane = (enum ss_lane)(SS_LANE_COMM + SS_DIM_DP);
    d.op.dim = SS_DIM_DP;
    d.op.count = b->bucket_to - b->bucket_from;
    d.op.elem_size = (int)ss_dtype_size(b->plan->grad_dtype);
    d.op.bytes = (double)d.op.count * d.op.elem_size;
    /* `last` is the lowest of the range and was written after all others. */
    ss_draft_write(&d, &d.op.c, last);
    ss_builder_push(b, &d);
    b->bucket_to = b->bucket_from;
    b->buckets++;
}

void ss_plan_bucket(struct ss_builder *b, int layer, int i)
{
    struct ss_span grad = ss_place_kept(b, layer, i, SS_KEPT_GRAD);
    uint64_t bytes;
    if (b->plan->layout.dim[SS_DIM_DP] == 1 ||
        b->micro < b->plan->layout.micro_batches - 1)
        return;
    b->bucket_from = grad.ref.at;
    bytes =
        (b->bucket_to - b->bucket_from) * ss_dtype_size(b->plan->grad_dtype);
    if (bytes >= b->plan->bucket_bytes || b->bucket_from == 0)
        push_bucket(b, grad);
}

void ss_plan_optimizer(struct ss_builder *b)
{
    const struct ss_buffer *buffer = b->plan->buffer;
    struct ss_draft d;
    b->micro = -1;
    b->layer = -1;
    b->backward = false;
    d = ss_draft_make(b, SS_OP_OPTIMIZER, SS_PHASE_optimizer, "adamw", "");
    d.op.a = (struct ss_ref){.buf = SS_BUF_WEIGHT};
    d.op.b = (struct ss_ref){.buf = SS_BUF_GRAD};
    d.op.c = (struct ss_ref){.buf = SS_BUF_MOMENT1};
    d.op.d = (struct ss_ref){.buf = SS_BUF_MOMENT2};
    d.op.count = (uint64_t)b->plan->params;
    d.op.elem_size = (int)ss_dtype_size(buffer[SS_BUF_WEIGHT].dtype);
    /* weight and both moments are read and written, the gradient read */
    d.op.bytes =
        (double)b->plan->params *
        (6 * d.op.elem_size + (double)ss_dtype_size(buffer[SS_BUF_GRAD].dtype));
    d.joins = true;
    ss_builder_push(b, &d);
}
