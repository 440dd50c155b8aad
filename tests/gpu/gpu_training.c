/* SPDX-License-Identifier: Apache-2.0 */
/* A layout on devices against one host rank. Must not know how many devices. */
#include "gpu/gpu_training.h"

#include <math.h>

#include "base/mem.h"
#include "base/random.h"
#include "engine/cuda.h"

#define STEPS 3

/* A buffer as doubles, and back. */
static enum ss_status fetch(const struct rig *rig, enum ss_role role,
                            double **out, size_t *n)
{
    const struct ss_buffer *buffer = &rig->plan.buffer[role];
    size_t size = ss_dtype_size(buffer->dtype);
    char *raw = ss_alloc(buffer->elems, size, "raw");
    *n = (size_t)buffer->elems;
    *out = ss_alloc(*n, sizeof(double), "values");
    CHECK(raw && *out);
    CHECK(cudaMemcpy(raw, ss_cuda_of(rig->engine)->buffer[role], *n * size,
                     cudaMemcpyDeviceToHost) == cudaSuccess);
    for (size_t i = 0; i < *n; i++)
        (*out)[i] = ss_twin_load(raw, buffer->dtype, i);
    ss_free(raw);
    return SS_OK;
}

enum ss_status gpu_put(const struct rig *rig, enum ss_role role, uint64_t at,
                       const double *x, uint64_t n)
{
    enum ss_dtype dtype = rig->plan.buffer[role].dtype;
    size_t size = ss_dtype_size(dtype);
    char *to = ss_cuda_of(rig->engine)->buffer[role];
    char *raw = ss_alloc(n, size, "raw");
    CHECK(raw);
    for (uint64_t i = 0; i < n; i++)
        ss_twin_store(raw, dtype, i, x[i]);
    CHECK(cudaMemcpy(to + at * size, raw, n * size, cudaMemcpyHostToDevice) ==
          cudaSuccess);
    ss_free(raw);
    return SS_OK;
}

/* The whole batch, as support/host_training.c makes it. */
static double batch_value(int kind, int64_t row, int64_t col)
{
    const uint64_t words[] = {(uint64_t)kind, (uint64_t)row, (uint64_t)col};
    return ss_normal_from_word(ss_mix_words(words, 3));
}

static struct ss_ref input_of(const struct rig *rig, bool backward)
{
    for (int i = 0; i < rig->plan.n_ops; i++) {
        const struct ss_op *op = &rig->plan.op[i];
        if (op->backward == backward && op->a.buf == SS_BUF_INPUT)
            return op->a;
    }
    return (struct ss_ref){.buf = -1};
}

static enum ss_status fill_rows(const struct rig *rig, bool backward)
{
    const struct ss_plan *plan = &rig->plan;
    struct ss_ref ref = input_of(rig, backward);
    int64_t shards = plan->layout.sp ? plan->layout.dim[SS_DIM_TP] : 1;
    int64_t hidden = rig->model.hidden, rows = plan->micro_tokens / shards;
    int64_t first = plan->coords.at[SS_DIM_DP] * plan->micro_tokens;
    double *x = ss_alloc((size_t)(rows * hidden), sizeof(*x), "a batch");
    CHECK(ref.buf >= 0 && x);
    if (plan->layout.sp)
        first += plan->coords.at[SS_DIM_TP] * rows;
    for (int64_t i = 0; i < rows * hidden; i++)
        x[i] = batch_value(backward ? 2 : 1, first + i / hidden, i % hidden);
    enum ss_status status =
        gpu_put(rig, SS_BUF_INPUT, ref.at, x, (uint64_t)(rows * hidden));
    ss_free(x);
    return status;
}

/* The sums of squares of a role's differences and of what it should be. */
static enum ss_status differ(const struct rig *rig, enum ss_role role,
                             const double *whole, double *error)
{
    double *got, off = 0, all = 0;
    size_t n, local = 0;
    int64_t tp = rig->plan.layout.dim[SS_DIM_TP];
    int64_t at = rig->plan.coords.at[SS_DIM_TP];
    SS_TRY(fetch(rig, role, &got, &n));
    for (int i = 0; i < rig->model.layers * rig->model.n_linears; i++) {
        const struct ss_linear *l =
            &rig->model.linear[i % rig->model.n_linears];
        int64_t rows = l->column ? l->out / tp : l->out;
        int64_t cols = l->column ? l->in : l->in / tp;
        for (int64_t e = 0; e < rows * cols; e++) {
            int64_t row = e / cols + (l->column ? at * rows : 0);
            int64_t col = e % cols + (l->column ? 0 : at * cols);
            double want = whole[row * l->in + col];
            double d = got[local++] - want;
            off += d * d;
            all += want * want;
        }
        whole += l->in * l->out;
    }
    ss_free(got);
    *error = sqrt(off / all);
    return SS_OK;
}

enum ss_status gpu_train(struct rig *rig, const struct host_training *t)
{
    double weights, moments;
    SS_TRY(rig->engine->ops->reset(rig->engine));
    SS_TRY(fill_rows(rig, false));
    SS_TRY(fill_rows(rig, true));
    SS_TRY(rig_block_all(rig, SS_WHOLE, STEPS));
    SS_TRY(differ(rig, SS_BUF_WEIGHT, t->state, &weights));
    SS_TRY(differ(rig, SS_BUF_MOMENT1, t->state + t->n, &moments));
    if (weights <= t->tolerance && moments <= t->tolerance)
        return SS_OK;
    return ss_fail(SS_ERR_VERIFY,
                   "weights are off by %.3g of their size, moments by %.3g "
                   "(dp %d tp %d sp %d precision %d)",
                   weights, moments, t->spec.dp, t->spec.tp, t->spec.sp,
                   t->spec.precision);
}
