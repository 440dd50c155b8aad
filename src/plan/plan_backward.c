/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The backward pass of one micro-batch, from the last block to the first. For
 * each Linear dW (+)= dy^T x and dx = dy W; plan.h says in which order, and
 * why. The gradient that enters is a constant, in the place of a loss; so the
 * first op is made to wait for the forward pass' result, as a loss would. It
 * must not know waits otherwise (builder.c).
 */
#include "plan/builder.h"

/* One block on its way back. */
struct step {
    const struct ss_block *block;
    struct ss_span x, dy, dx; /* as held between blocks */
    struct ss_span x_full, dy_full;
    bool wants_dx;
};

static void push_wgrad(struct ss_builder *b, int i, struct ss_span dy,
                       struct ss_span x)
{
    const struct ss_gemm g = {.stem = b->model->linear[i].name,
                              .verb = "wgrad",
                              .m = ss_local_out(b, i),
                              .n = ss_local_in(b, i),
                              .k = b->rows,
                              .ta = true,
                              .accumulate = b->micro > 0,
                              .a = dy,
                              .b = x,
                              .c = ss_place_kept(b, b->layer, i, SS_KEPT_GRAD)};
    ss_push_gemm(b, &g);
    ss_plan_bucket(b, b->layer, i);
}

static void push_dgrad(struct ss_builder *b, int i, struct ss_span dy,
                       struct ss_span dx, bool accumulate)
{
    const struct ss_gemm g = {.stem = b->model->linear[i].name,
                              .verb = "dgrad",
                              .m = b->rows,
                              .n = ss_local_in(b, i),
                              .k = ss_local_out(b, i),
                              .accumulate = accumulate,
                              .a = dy,
                              .b = ss_place_weight(b, b->layer, i),
                              .c = dx};
    ss_push_gemm(b, &g);
}

static void push_row(struct ss_builder *b, const struct step *s)
{
    int row = s->block->row;
    struct ss_span x = ss_place_row_input(b, b->layer, row);
    struct ss_span dx = ss_place_work(b, SS_SLOT_DACT);
    if (b->tp == 1)
        push_wgrad(b, row, s->dy_full, x);
    push_dgrad(b, row, s->dy_full, dx, false);
    if (b->tp > 1)
        push_wgrad(b, row, s->dy_full, x);
}

/* Turns the gradient of the row Linear's input, in place, into that of the
 * column Linear's output (and of the gate's). */
static void push_activation(struct ss_builder *b, const struct step *s)
{
    int i = b->model->linear[s->block->row].source;
    const struct ss_linear *l = i >= 0 ? &b->model->linear[i] : NULL;
    struct ss_map_args m = {.map = SS_MAP_GELU_BWD, .d = ss_span_none()};
    if (!l || (!l->gelu_after && l->join < 0))
        return;
    m.stem = l->name;
    m.verb = "gelu.bwd";
    m.count = b->rows * ss_local_out(b, i);
    m.a = m.c = ss_place_work(b, SS_SLOT_DACT);
    m.b = ss_place_kept(b, b->layer, i, SS_KEPT_OUT);
    if (l->join >= 0) {
        m.verb = "swiglu.bwd";
        m.map = SS_MAP_MUL_SILU_BWD;
        m.a = ss_place_kept(b, b->layer, l->join, SS_KEPT_OUT);
        m.d = ss_place_work(b, SS_SLOT_DJOIN);
    }
    ss_push_map(b, &m);
}

/* Where the gradient of a column Linear's output is. */
static struct ss_span column_dy(const struct ss_builder *b,
                                const struct step *s, int i)
{
    int source = b->model->linear[s->block->row].source;
    if (source == SS_SOURCE_CORE || ss_is_sink(b, i))
        return ss_place_const(b, SS_CONST_CORE);
    if (source == i)
        return ss_place_work(b, SS_SLOT_DACT);
    return ss_place_work(b, SS_SLOT_DJOIN);
}

static void push_columns(struct ss_builder *b, const struct step *s)
{
    int last = s->block->row - 1;
    for (int i = last; i >= s->block->first; i--) {
        struct ss_span dy = column_dy(b, s, i);
        push_wgrad(b, i, dy, s->x_full);
        if (s->wants_dx)
            push_dgrad(b, i, dy, s->dx, i < last);
    }
}

/* All input gradients first, so that their sum travels during the weight
 * gradients. */
static void push_columns_tp(struct ss_builder *b, const struct step *s)
{
    const char *name = b->model->linear[s->block->first].name;
    struct ss_span sum = b->sp ? ss_place_work(b, SS_SLOT_PARTIAL) : s->dx;
    int last = s->block->row - 1;
    for (int i = last; i >= s->block->first; i--)
        push_dgrad(b, i, column_dy(b, s, i), sum, i < last);
    if (b->sp)
        ss_push_tp_scatter(b, name, "dx.rs", sum, s->dx);
    else
        ss_push_tp_reduce(b, name, "dx.ar", sum);
    for (int i = last; i >= s->block->first; i--)
        push_wgrad(b, i, column_dy(b, s, i), s->x_full);
}

/* sp: both ends of the block are gathered again before its GEMMs. */
static void push_gathers(struct ss_builder *b, struct step *s)
{
    s->dy_full = ss_place_work(b, SS_SLOT_DYFULL);
    s->x_full = ss_place_work(b, SS_SLOT_XFULL);
    ss_push_tp_gather(b, b->model->linear[s->block->row].name, "dy.ag", s->dy,
                      s->dy_full);
    ss_push_tp_gather(b, b->model->linear[s->block->first].name, "x.ag2", s->x,
                      s->x_full);
}

static void push_block(struct ss_builder *b, struct step *s)
{
    s->dy_full = s->dy;
    s->x_full = s->x;
    if (b->sp)
        push_gathers(b, s);
    push_row(b, s);
    push_activation(b, s);
    if (b->tp > 1)
        push_columns_tp(b, s);
    else
        push_columns(b, s);
}

/* What a loss would be: nothing of the backward pass starts before the end of
 * the forward pass. */
static void wait_for_output(struct ss_builder *b)
{
    int row = b->block[b->n_blocks - 1].row;
    b->loss = ss_place_kept(b, (int)b->model->layers - 1, row, SS_KEPT_END);
}

void ss_plan_backward(struct ss_builder *b)
{
    struct ss_span dy = ss_place_const(b, SS_CONST_DY);
    b->backward = true;
    wait_for_output(b);
    for (b->layer = (int)b->model->layers - 1; b->layer >= 0; b->layer--) {
        for (int i = b->n_blocks - 1; i >= 0; i--) {
            struct step s = {.block = &b->block[i],
                             .x = ss_place_block_input(b, b->layer, i),
                             .dy = dy,
                             .dx = ss_place_work(b, SS_SLOT_DX),
                             .wants_dx = b->layer > 0 || i > 0 || b->tp > 1};
            push_block(b, &s);
            dy = s.dx;
        }
    }
    b->layer = -1;
}
