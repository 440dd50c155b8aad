/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The forward pass of one micro-batch: x W^T block by block. Column-split
 * Linears need the whole input, the row-split one leaves partial sums: that is
 * where tensor parallelism communicates. It must not know waits (builder.c).
 */
#include "plan/builder.h"

static void push_activation(struct ss_builder *b, int i, struct ss_span out)
{
    const struct ss_linear *l = &b->model->linear[i];
    struct ss_map_args m = {.stem = l->name,
                            .verb = "gelu",
                            .map = SS_MAP_GELU,
                            .count = b->rows * ss_local_out(b, i),
                            .a = out,
                            .b = ss_span_none(),
                            .c = ss_place_kept(b, b->layer, i, SS_KEPT_ACT),
                            .d = ss_span_none()};
    if (l->join >= 0) {
        m.verb = "swiglu";
        m.map = SS_MAP_MUL_SILU;
        m.a = ss_place_kept(b, b->layer, l->join, SS_KEPT_OUT);
        m.b = out;
    } else if (!l->gelu_after) {
        return;
    }
    ss_push_map(b, &m);
}

static void push_linear(struct ss_builder *b, int i, struct ss_span x,
                        struct ss_span y)
{
    const struct ss_gemm g = {.stem = b->model->linear[i].name,
                              .verb = "fwd",
                              .m = b->rows,
                              .n = ss_local_out(b, i),
                              .k = ss_local_in(b, i),
                              .tb = true,
                              .a = x,
                              .b = ss_place_weight(b, b->layer, i),
                              .c = y};
    ss_push_gemm(b, &g);
}

static void push_columns(struct ss_builder *b, const struct ss_block *block,
                         struct ss_span x)
{
    for (int i = block->first; i < block->row; i++) {
        struct ss_span y = ss_is_sink(b, i)
                               ? ss_place_work(b, SS_SLOT_SINK)
                               : ss_place_kept(b, b->layer, i, SS_KEPT_OUT);
        push_linear(b, i, x, y);
        push_activation(b, i, y);
    }
}

static void push_row(struct ss_builder *b, int row)
{
    const char *name = b->model->linear[row].name;
    struct ss_span x = ss_place_row_input(b, b->layer, row);
    struct ss_span y = ss_place_kept(b, b->layer, row, SS_KEPT_END);
    struct ss_span partial = ss_place_work(b, SS_SLOT_PARTIAL);
    if (b->sp) {
        push_linear(b, row, x, partial);
        ss_push_tp_scatter(b, name, "y.rs", partial, y);
        return;
    }
    push_linear(b, row, x, y);
    if (b->tp > 1)
        ss_push_tp_reduce(b, name, "y.ar", y);
}

static void push_block(struct ss_builder *b, int index)
{
    const struct ss_block *block = &b->block[index];
    struct ss_span x = ss_place_block_input(b, b->layer, index);
    if (b->sp) {
        struct ss_span full = ss_place_work(b, SS_SLOT_XFULL);
        ss_push_tp_gather(b, b->model->linear[block->first].name, "x.ag", x,
                          full);
        x = full;
    }
    push_columns(b, block, x);
    push_row(b, block->row);
}

void ss_plan_forward(struct ss_builder *b)
{
    b->backward = false;
    for (b->layer = 0; b->layer < (int)b->model->layers; b->layer++) {
        for (int block = 0; block < b->n_blocks; block++)
            push_block(b, block);
    }
}
