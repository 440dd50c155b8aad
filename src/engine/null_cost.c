/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every op of a plan costs on the null engine: milliseconds from the
 * configuration, scaled in strong scaling as the op shrinks, slowed on the
 * planted slow rank, and noise that any other program can recompute from the
 * stored seed. Must not know how time passes.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/random.h"
#include "engine/null.h"

static double planted_ms(const struct ss_config *config, const struct ss_op *op)
{
    switch (op->kind) {
    case SS_OP_GEMM:
        return config->null_gemm_ms;
    case SS_OP_ELEMENTWISE:
        return config->null_elementwise_ms;
    case SS_OP_OPTIMIZER:
        return config->null_optimizer_ms;
    case SS_OP_COPY:
        return config->null_copy_ms;
    default:
        return config->null_collective_ms;
    }
}

struct base_op {
    const struct ss_op *op;
};

/* The same op at n0 has the same layer and name; micro-batches are alike. */
static int compare_ops(const void *a, const void *b)
{
    const struct ss_op *x = ((const struct base_op *)a)->op;
    const struct ss_op *y = ((const struct base_op *)b)->op;
    if (x->layer != y->layer)
        return x->layer < y->layer ? -1 : 1;
    return strcmp(x->name, y->name);
}

/** Ops of the base plan in an order that can be searched. */
struct base_index {
    struct base_op *at; /* owned; NULL: costs are not scaled */
    size_t n;
};

static enum ss_status index_open(const struct ss_plan *base,
                                 struct base_index *out)
{
    *out = (struct base_index){0};
    if (!base)
        return SS_OK;
    size_t n = (size_t)base->n_ops;
    struct base_op *at = ss_alloc(n, sizeof(*at), "ops of the base size");
    if (!at)
        return SS_ERR_NO_MEMORY;
    for (size_t i = 0; i < n; i++)
        at[i].op = &base->op[i];
    qsort(at, n, sizeof(*at), compare_ops);
    *out = (struct base_index){at, n};
    return SS_OK;
}

/* An op that n0 lacks (the first input gradient runs with tp only) is as dear
 * as its siblings: the FLOPs of a Linear's three GEMMs are equal. */
static const struct ss_op *sibling_of(const struct base_index *index,
                                      const struct ss_op *op)
{
    size_t stem = strcspn(op->name, ".");
    for (size_t i = 0; i < index->n; i++) {
        const struct ss_op *other = index->at[i].op;
        if (other->kind == op->kind && other->layer == op->layer &&
            strcspn(other->name, ".") == stem &&
            strncmp(other->name, op->name, stem) == 0)
            return other;
    }
    return NULL;
}

/* FLOPs of a GEMM, bytes of everything else, over those of the op at n0. */
static double scale_of(const struct base_index *index, const struct ss_op *op)
{
    const struct base_op wanted = {op}, *found;
    const struct ss_op *twin;
    if (!index->at || ss_op_is_comm(op))
        return 1;
    found = bsearch(&wanted, index->at, index->n, sizeof(wanted), compare_ops);
    twin = found ? found->op : sibling_of(index, op);
    if (!twin)
        return 1;
    bool gemm = op->kind == SS_OP_GEMM;
    double mine = gemm ? op->flops : op->bytes;
    double base = gemm ? twin->flops : twin->bytes;
    return base > 0 ? mine / base : 1;
}

enum ss_status ss_null_costs_fill(struct ss_null *self)
{
    const struct ss_config *config = self->config;
    const struct ss_plan *plan = self->work.plan;
    bool slow = config->null_slow_rank == self->work.logical_rank;
    struct base_index index;
    SS_TRY(index_open(self->work.base, &index));
    for (int i = 0; i < plan->n_ops; i++) {
        const struct ss_op *op = &plan->op[i];
        double ms = planted_ms(config, op) * scale_of(&index, op);
        if (slow && !ss_op_is_comm(op))
            ms *= config->null_slow_factor;
        self->cost[i] = llround(ms * (double)SS_NS_PER_MS);
    }
    ss_free(index.at);
    return SS_OK;
}

/* Blocks are numbered, steps within a block too: no two share a word. */
#define STEPS_PER_BLOCK (UINT64_C(1) << 32)

int64_t ss_null_cost(const struct ss_null *self, int op, int step)
{
    int64_t cost = self->cost[op];
    double noise = self->config->null_noise;
    if (noise == 0 || cost == 0 || ss_op_is_comm(&self->work.plan->op[op]))
        return cost;
    const uint64_t words[] = {
        self->work.seed,
        (uint64_t)self->work.point,
        (uint64_t)self->spec.variant,
        (uint64_t)self->spec.number * STEPS_PER_BLOCK + (uint64_t)step,
        (uint64_t)self->work.logical_rank,
        (uint64_t)op,
    };
    double z = ss_normal_from_word(ss_mix_words(words, SS_COUNT_OF(words)));
    double factor = 1 + noise * z;
    return factor <= 0 ? 0 : llround((double)cost * factor);
}
