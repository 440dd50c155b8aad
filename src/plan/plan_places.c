/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where every tensor of a rank lies. Weights and gradients are flat and without
 * gaps, because the optimizer and the buckets run over them as one array; all
 * else starts at multiples of 64 elements. It must not know the order of ops.
 */
#include "plan/builder.h"

#define ALIGN 64

int64_t ss_local_in(const struct ss_builder *b, int i)
{
    const struct ss_linear *l = &b->model->linear[i];
    return l->column ? l->in : l->in / b->tp;
}

int64_t ss_local_out(const struct ss_builder *b, int i)
{
    const struct ss_linear *l = &b->model->linear[i];
    return l->column ? l->out / b->tp : l->out;
}

bool ss_is_sink(const struct ss_builder *b, int i)
{
    const struct ss_model *m = b->model;
    if (!m->linear[i].column)
        return false;
    for (int j = 0; j < m->n_linears; j++) {
        if (m->linear[j].source == i || m->linear[j].join == i)
            return false;
    }
    return true;
}

/* Takes `elems` at the end of a region that grows. */
static uint64_t take(uint64_t *end, int64_t elems)
{
    uint64_t at = *end;
    *end += ((uint64_t)elems + ALIGN - 1) / ALIGN * ALIGN;
    return at;
}

static bool has_activation(const struct ss_linear *l)
{
    return l->gelu_after || l->join >= 0;
}

static void place_layer(struct ss_builder *b)
{
    for (int i = 0; i < b->model->n_linears; i++) {
        const struct ss_linear *l = &b->model->linear[i];
        int64_t out = b->rows * ss_local_out(b, i);
        b->weight_at[i] = b->weight_layer;
        b->weight_layer += (uint64_t)(ss_local_in(b, i) * ss_local_out(b, i));
        if (!l->column)
            b->act_at[i][SS_KEPT_END] =
                take(&b->act_layer, b->rows_between * l->out);
        else if (!ss_is_sink(b, i))
            b->act_at[i][SS_KEPT_OUT] = take(&b->act_layer, out);
        if (has_activation(l))
            b->act_at[i][SS_KEPT_ACT] = take(&b->act_layer, out);
    }
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static uint64_t place_work(struct ss_builder *b)
{
    int64_t hidden = b->model->hidden, row_in = 0, gate = 0, sink = 0;
    int64_t full = b->sp ? b->rows * hidden : 0;
    uint64_t end = 0;
    for (int i = 0; i < b->model->n_linears; i++) {
        const struct ss_linear *l = &b->model->linear[i];
        if (!l->column)
            row_in = larger(row_in, ss_local_in(b, i));
        if (l->join >= 0)
            gate = larger(gate, ss_local_out(b, i));
        if (ss_is_sink(b, i))
            sink = larger(sink, ss_local_out(b, i));
    }
    b->work_at[SS_SLOT_DX] = take(&end, b->rows_between * hidden);
    b->work_at[SS_SLOT_DACT] = take(&end, b->rows * row_in);
    b->work_at[SS_SLOT_DJOIN] = take(&end, b->rows * gate);
    b->work_at[SS_SLOT_SINK] = take(&end, b->rows * sink);
    b->work_at[SS_SLOT_XFULL] = take(&end, full);
    b->work_at[SS_SLOT_DYFULL] = take(&end, full);
    b->work_at[SS_SLOT_PARTIAL] = take(&end, full);
    return end;
}

static uint64_t place_constants(struct ss_builder *b)
{
    int64_t core = 0;
    uint64_t end = 0;
    for (int i = 0; i < b->model->n_linears; i++) {
        if (b->model->linear[i].source == SS_SOURCE_CORE)
            core = larger(core, ss_local_in(b, i));
        if (ss_is_sink(b, i))
            core = larger(core, ss_local_out(b, i));
    }
    b->const_at[SS_CONST_X] = take(&end, b->rows_between * b->model->hidden);
    b->const_at[SS_CONST_DY] = take(&end, b->rows_between * b->model->hidden);
    b->const_at[SS_CONST_CORE] = take(&end, b->rows * core);
    return end;
}

static void set_buffer(struct ss_builder *b, enum ss_role role,
                       const char *name, enum ss_dtype dtype, uint64_t elems)
{
    struct ss_buffer *buffer = &b->plan->buffer[role];
    ss_copy(buffer->name, sizeof buffer->name, name);
    buffer->role = role;
    buffer->dtype = dtype;
    buffer->elems = elems;
}

void ss_places_make(struct ss_builder *b)
{
    enum ss_dtype type = ss_plan_storage(b->plan->precision);
    uint64_t layers = (uint64_t)b->model->layers, params;
    place_layer(b);
    params = b->weight_layer * layers;
    set_buffer(b, SS_BUF_WEIGHT, "weight", type, params);
    set_buffer(b, SS_BUF_GRAD, "grad", b->plan->grad_dtype, params);
    set_buffer(b, SS_BUF_MOMENT1, "moment1", type, params);
    set_buffer(b, SS_BUF_MOMENT2, "moment2", type, params);
    set_buffer(b, SS_BUF_ACT, "act", type, b->act_layer * layers);
    set_buffer(b, SS_BUF_WORK, "work", type, place_work(b));
    set_buffer(b, SS_BUF_INPUT, "input", type, place_constants(b));
    b->plan->params = (int64_t)params;
    b->bucket_from = b->bucket_to = params;
}

/* Regions: the slots of WORK, then SS_KEPTS for each Linear of each layer. */
int ss_places_regions(const struct ss_builder *b)
{
    return SS_SLOTS + (int)b->model->layers * b->model->n_linears * SS_KEPTS;
}

static struct ss_span span(enum ss_role role, uint64_t at, int region)
{
    return (struct ss_span){.ref = {.buf = (int)role, .at = at},
                            .region = region};
}

struct ss_span ss_place_weight(const struct ss_builder *b, int layer, int i)
{
    uint64_t at = (uint64_t)layer * b->weight_layer + b->weight_at[i];
    return span(SS_BUF_WEIGHT, at, -1);
}

struct ss_span ss_place_kept(const struct ss_builder *b, int layer, int i,
                             enum ss_kept what)
{
    int region =
        SS_SLOTS + (layer * b->model->n_linears + i) * SS_KEPTS + (int)what;
    if (what == SS_KEPT_GRAD)
        return span(SS_BUF_GRAD, ss_place_weight(b, layer, i).ref.at, region);
    return span(SS_BUF_ACT, (uint64_t)layer * b->act_layer + b->act_at[i][what],
                region);
}

struct ss_span ss_place_work(const struct ss_builder *b, enum ss_slot slot)
{
    return span(SS_BUF_WORK, b->work_at[slot], (int)slot);
}

struct ss_span ss_place_const(const struct ss_builder *b, enum ss_constant what)
{
    return span(SS_BUF_INPUT, b->const_at[what], -1);
}

struct ss_span ss_place_block_input(const struct ss_builder *b, int layer,
                                    int block)
{
    if (block > 0)
        return ss_place_kept(b, layer, b->block[block - 1].row, SS_KEPT_END);
    if (layer > 0)
        return ss_place_kept(b, layer - 1, b->block[b->n_blocks - 1].row,
                             SS_KEPT_END);
    return ss_place_const(b, SS_CONST_X);
}

struct ss_span ss_place_row_input(const struct ss_builder *b, int layer,
                                  int row)
{
    int source = b->model->linear[row].source;
    if (source == SS_SOURCE_CORE)
        return ss_place_const(b, SS_CONST_CORE);
    if (has_activation(&b->model->linear[source]))
        return ss_place_kept(b, layer, source, SS_KEPT_ACT);
    return ss_place_kept(b, layer, source, SS_KEPT_OUT);
}

struct ss_shard ss_plan_shard(const struct ss_plan *plan, int linear)
{
    const struct ss_linear *l = &plan->model.linear[linear];
    uint64_t tp = (uint64_t)plan->layout.dim[SS_DIM_TP];
    uint64_t mine = (uint64_t)plan->coords.at[SS_DIM_TP];
    uint64_t in = (uint64_t)l->in, out = (uint64_t)l->out;
    struct ss_shard shard = {.rows = out, .cols = in, .pitch = in};
    if (l->column) {
        shard.rows = out / tp;
        shard.first = mine * shard.rows * in;
    } else {
        shard.cols = in / tp;
        shard.first = mine * shard.cols;
    }
    return shard;
}
