/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kinds of op with their FLOPs and bytes: the one place that counts them.
 * It must not know where in the step an op stands.
 */
#include "plan/builder.h"

struct ss_span ss_span_none(void)
{
    return (struct ss_span){.ref = {.buf = -1}, .region = -1};
}

static size_t size_of(const struct ss_builder *b, struct ss_ref ref)
{
    return ss_dtype_size(b->plan->buffer[ref.buf].dtype);
}

static enum ss_phase pass_of(const struct ss_builder *b)
{
    return b->backward ? SS_PHASE_backward : SS_PHASE_forward;
}

void ss_push_gemm(struct ss_builder *b, const struct ss_gemm *g)
{
    struct ss_draft d =
        ss_draft_make(b, SS_OP_GEMM, pass_of(b), g->stem, g->verb);
    struct ss_op *op = &d.op;
    double m = (double)g->m, n = (double)g->n, k = (double)g->k;
    op->m = g->m;
    op->n = g->n;
    op->k = g->k;
    op->ta = g->ta;
    op->tb = g->tb;
    op->accumulate = g->accumulate;
    ss_draft_read(&d, &op->a, g->a);
    ss_draft_read(&d, &op->b, g->b);
    ss_draft_write(&d, &op->c, g->c);
    op->count = (uint64_t)(g->m * g->n);
    op->elem_size = (int)size_of(b, op->c);
    op->flops = 2 * m * n * k;
    op->bytes = m * k * (double)size_of(b, op->a) +
                k * n * (double)size_of(b, op->b) +
                m * n * (double)op->elem_size * (g->accumulate ? 2 : 1);
    ss_builder_push(b, &d);
}

/* Reads and writes of one element of a map. */
static int map_traffic(enum ss_map map)
{
    switch (map) {
    case SS_MAP_GELU:
        return 2;
    case SS_MAP_MUL_SILU_BWD:
        return 5;
    default:
        return 3;
    }
}

void ss_push_map(struct ss_builder *b, const struct ss_map_args *m)
{
    struct ss_draft d =
        ss_draft_make(b, SS_OP_ELEMENTWISE, pass_of(b), m->stem, m->verb);
    struct ss_op *op = &d.op;
    op->map = m->map;
    ss_draft_read(&d, &op->a, m->a);
    ss_draft_read(&d, &op->b, m->b);
    ss_draft_write(&d, &op->c, m->c);
    ss_draft_write(&d, &op->d, m->d);
    op->count = (uint64_t)m->count;
    op->elem_size = (int)size_of(b, op->c);
    op->bytes = (double)m->count * op->elem_size * map_traffic(m->map);
    ss_builder_push(b, &d);
}

/* With sp every tp collective has the same message: a full [rows, hidden]. */
static struct ss_draft tp_draft(const struct ss_builder *b,
                                enum ss_op_kind kind, const char *stem,
                                const char *verb, int64_t rows)
{
    struct ss_draft d = ss_draft_make(b, kind, SS_PHASE_tp_comm, stem, verb);
    d.op.lane = (enum ss_lane)(SS_LANE_COMM + SS_DIM_TP);
    d.op.dim = SS_DIM_TP;
    d.op.count = (uint64_t)(rows * b->model->hidden);
    d.op.elem_size = (int)ss_dtype_size(b->plan->buffer[SS_BUF_ACT].dtype);
    d.op.bytes = (double)(b->rows * b->model->hidden) * (double)d.op.elem_size;
    return d;
}

void ss_push_tp_reduce(struct ss_builder *b, const char *stem, const char *verb,
                       struct ss_span full)
{
    struct ss_draft d = tp_draft(b, SS_OP_ALL_REDUCE, stem, verb, b->rows);
    ss_draft_write(&d, &d.op.c, full);
    ss_builder_push(b, &d);
}

void ss_push_tp_gather(struct ss_builder *b, const char *stem, const char *verb,
                       struct ss_span shard, struct ss_span full)
{
    struct ss_draft d =
        tp_draft(b, SS_OP_ALL_GATHER, stem, verb, b->rows_between);
    ss_draft_read(&d, &d.op.a, shard);
    ss_draft_write(&d, &d.op.c, full);
    ss_builder_push(b, &d);
}

void ss_push_tp_scatter(struct ss_builder *b, const char *stem,
                        const char *verb, struct ss_span full,
                        struct ss_span shard)
{
    struct ss_draft d =
        tp_draft(b, SS_OP_REDUCE_SCATTER, stem, verb, b->rows_between);
    ss_draft_read(&d, &d.op.a, full);
    ss_draft_write(&d, &d.op.c, shard);
    ss_builder_push(b, &d);
}
