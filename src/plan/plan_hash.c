/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plan as one word, for files and for agreement between ranks, and the order
 * of its communication as one word per dimension. Built from numbers, not from
 * memory images, so that padding and builds do not matter.
 */
#include <string.h>

#include "base/random.h"
#include "plan/plan.h"

static void add(uint64_t *hash, uint64_t word)
{
    *hash = ss_mix64(*hash ^ word);
}

static void add_text(uint64_t *hash, const char *text)
{
    add(hash, strlen(text));
    for (; *text; text++)
        add(hash, (unsigned char)*text);
}

static void add_ref(uint64_t *hash, struct ss_ref ref)
{
    add(hash, (uint64_t)(int64_t)ref.buf);
    add(hash, ref.buf < 0 ? 0 : ref.at);
}

static uint64_t place_word(const struct ss_op *op)
{
    return (uint64_t)op->kind | (uint64_t)op->phase << 8 |
           (uint64_t)op->lane << 16 | (uint64_t)op->dim << 24 |
           (uint64_t)op->ta << 32 | (uint64_t)op->tb << 33 |
           (uint64_t)op->accumulate << 34 | (uint64_t)op->backward << 35 |
           (uint64_t)op->map << 40 | (uint64_t)op->elem_size << 48;
}

static void add_op(uint64_t *hash, const struct ss_op *op)
{
    const int small[] = {op->layer, op->micro, op->peer,
                         op->order, op->fused, op->n_waits};
    add(hash, place_word(op));
    add(hash, (uint64_t)op->m);
    add(hash, (uint64_t)op->n);
    add(hash, (uint64_t)op->k);
    add(hash, op->count);
    add_ref(hash, op->a);
    add_ref(hash, op->b);
    add_ref(hash, op->c);
    add_ref(hash, op->d);
    for (size_t i = 0; i < SS_COUNT_OF(small); i++)
        add(hash, (uint64_t)(int64_t)small[i]);
    for (int i = 0; i < op->n_waits; i++)
        add(hash, (uint64_t)op->wait[i]);
}

uint64_t ss_plan_hash(const struct ss_plan *plan)
{
    uint64_t hash = 0;
    add_text(&hash, plan->model.name);
    for (int d = 0; d < SS_DIMS; d++)
        add(&hash, (uint64_t)plan->layout.dim[d]);
    add(&hash, (uint64_t)plan->layout.zero);
    add(&hash, plan->layout.sp);
    add(&hash, (uint64_t)plan->layout.micro_batches);
    add(&hash, (uint64_t)plan->tokens);
    add(&hash, (uint64_t)plan->precision);
    add(&hash, (uint64_t)plan->grad_dtype);
    add(&hash, plan->bucket_bytes);
    for (int i = 0; i < plan->n_buffers; i++)
        add(&hash, plan->buffer[i].elems);
    for (int i = 0; i < plan->n_ops; i++)
        add_op(&hash, &plan->op[i]);
    return hash;
}

/* Sends and receives differ between their two ends by nature. */
static bool is_collective(const struct ss_op *op)
{
    return ss_op_is_comm(op) && op->kind != SS_OP_SEND &&
           op->kind != SS_OP_RECV;
}

uint64_t ss_plan_order_word(const struct ss_plan *plan, enum ss_dim dim)
{
    uint64_t hash = 0;
    for (int i = 0; i < plan->n_ops; i++) {
        const struct ss_op *op = &plan->op[i];
        if (!is_collective(op) || op->dim != dim)
            continue;
        add(&hash, (uint64_t)op->kind);
        add(&hash, op->count);
        add(&hash, (uint64_t)op->elem_size);
        add(&hash, (uint64_t)op->order);
        add(&hash, (uint64_t)(int64_t)op->fused);
        add(&hash, (uint64_t)(int64_t)op->peer);
    }
    return hash;
}
