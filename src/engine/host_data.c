/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Seeded normal data. A weight depends on its place in the unsplit matrix, so
 * that any layout trains the same model and replicas start equal; a batch
 * depends on the data-parallel coordinate. Normals come from a table by a
 * hash: filling runs at memory speed, because state is restored often. Must
 * not know what is computed with it.
 */
#include <math.h>
#include <string.h>

#include "base/random.h"
#include "engine/host.h"

void ss_host_normals_fill(struct ss_host *self)
{
    double sum = 0, squares = 0;
    for (int i = 0; i < SS_HOST_NORMALS; i++) {
        const uint64_t words[] = {UINT64_C(0x7374657073), (uint64_t)i};
        self->normal[i] = ss_normal_from_word(ss_mix_words(words, 2));
        sum += self->normal[i];
    }
    double mean = sum / SS_HOST_NORMALS;
    for (int i = 0; i < SS_HOST_NORMALS; i++) {
        self->normal[i] -= mean;
        squares += self->normal[i] * self->normal[i];
    }
    double sd = sqrt(squares / SS_HOST_NORMALS);
    for (int i = 0; i < SS_HOST_NORMALS; i++)
        self->normal[i] /= sd;
}

/* Inlined here: a call per element would triple the time of a fill. */
static inline uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 32)) * UINT64_C(0xD6E8FEB86659FD93);
    x = (x ^ (x >> 32)) * UINT64_C(0xD6E8FEB86659FD93);
    return x ^ (x >> 32);
}

/* n consecutive elements at `at`, of the stream `stream` from `first`. */
static void fill_run(const struct ss_host *self, void *data, uint64_t at,
                     uint64_t n, uint64_t stream, double sd)
{
    for (uint64_t i = 0; i < n; i++) {
        double x = sd * self->normal[mix(stream + i) % SS_HOST_NORMALS];
        if (self->dtype == SS_DT_F64)
            ((double *)data)[at + i] = x;
        else
            ((float *)data)[at + i] = (float)x;
    }
}

/* One Linear's shard: rows and columns of the unsplit [out, in]. */
static uint64_t fill_linear(const struct ss_host *self, int layer, int index,
                            uint64_t at)
{
    const struct ss_plan *plan = self->work.plan;
    const struct ss_shard shard = ss_plan_shard(plan, index);
    const uint64_t words[] = {self->work.seed, 1, (uint64_t)layer,
                              (uint64_t)index};
    uint64_t stream = ss_mix_words(words, 4) + shard.first;
    double sd = 1 / sqrt((double)plan->model.linear[index].in);
    for (uint64_t r = 0; r < shard.rows; r++)
        fill_run(self, self->buffer[SS_BUF_WEIGHT], at + r * shard.cols,
                 shard.cols, stream + r * shard.pitch, sd);
    return shard.rows * shard.cols;
}

static void fill_weights(const struct ss_host *self)
{
    const struct ss_plan *plan = self->work.plan;
    uint64_t at = 0;
    for (int layer = 0; layer < (int)plan->model.layers; layer++)
        for (int i = 0; i < plan->model.n_linears; i++)
            at += fill_linear(self, layer, i, at);
    SS_ASSERT(at == plan->buffer[SS_BUF_WEIGHT].elems);
}

static void fill_input(const struct ss_host *self)
{
    const struct ss_plan *plan = self->work.plan;
    const uint64_t words[] = {
        self->work.seed, 2, (uint64_t)plan->coords.at[SS_DIM_DP],
        plan->layout.sp ? (uint64_t)plan->coords.at[SS_DIM_TP] : 0};
    fill_run(self, self->buffer[SS_BUF_INPUT], 0,
             plan->buffer[SS_BUF_INPUT].elems, ss_mix_words(words, 4), 1);
}

void ss_host_fill(struct ss_host *self)
{
    static const enum ss_role zero[] = {SS_BUF_GRAD, SS_BUF_MOMENT1,
                                        SS_BUF_MOMENT2};
    const struct ss_plan *plan = self->work.plan;
    fill_weights(self);
    fill_input(self);
    for (size_t i = 0; i < SS_COUNT_OF(zero); i++)
        memset(self->buffer[zero[i]], 0,
               (size_t)plan->buffer[zero[i]].elems * self->elem_size);
}
