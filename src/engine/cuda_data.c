/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Device memory of a point and the seeded data in it: the same numbers as the
 * host engine's, where a weight depends on its place in the unsplit matrix and
 * a batch on the data-parallel coordinate. Must not know what is computed.
 */
#include <math.h>

#include "base/mem.h"
#include "base/random.h"
#include "base/units.h"
#include "engine/cuda.h"
#include "engine/host.h"

enum ss_status ss_cuda_normals_open(struct ss_cuda *self)
{
    /* the host engine's table, so that both train alike */
    struct ss_host *host = ss_alloc(1, sizeof(*host), "a table of normals");
    size_t bytes = SS_CUDA_NORMALS * sizeof(double);
    _Static_assert(SS_CUDA_NORMALS == SS_HOST_NORMALS, "one table");
    if (!host)
        return SS_ERR_NO_MEMORY;
    ss_host_normals_fill(host);
    cudaError_t error = cudaMalloc((void **)&self->normals, bytes);
    if (error == cudaSuccess)
        error = cudaMemcpy(self->normals, host->normal, bytes,
                           cudaMemcpyHostToDevice);
    ss_free(host);
    return ss_cuda_said(self, (int)error, "take memory for normals");
}

static size_t bytes_of(const struct ss_buffer *buffer)
{
    return (size_t)buffer->elems * ss_dtype_size(buffer->dtype);
}

static enum ss_status no_memory(const struct ss_cuda *self,
                                const struct ss_buffer *buffer)
{
    char want[24], left[24];
    size_t available = 0, total = 0;
    (void)cudaGetLastError();
    (void)cudaMemGetInfo(&available, &total);
    return ss_fail(
        SS_ERR_NO_MEMORY,
        "cannot allocate %s for %s on device %d (%s, %s available): use a "
        "smaller model or fewer tokens",
        ss_format_bytes((double)bytes_of(buffer), want, sizeof(want)),
        buffer->name, self->device.ordinal, self->device.bus_id,
        ss_format_bytes((double)available, left, sizeof(left)));
}

enum ss_status ss_cuda_buffers_open(struct ss_cuda *self)
{
    const struct ss_plan *plan = self->work.plan;
    for (int i = 0; i < plan->n_buffers; i++) {
        size_t bytes = bytes_of(&plan->buffer[i]);
        cudaError_t error = cudaMalloc(&self->buffer[i], bytes ? bytes : 1);
        if (error == cudaErrorMemoryAllocation)
            return no_memory(self, &plan->buffer[i]);
        SS_TRY(ss_cuda_said(self, (int)error, "take memory"));
    }
    return SS_OK;
}

void ss_cuda_buffers_close(struct ss_cuda *self)
{
    for (int i = 0; i < SS_BUF_ROLES; i++) {
        if (self->buffer[i])
            (void)cudaFree(self->buffer[i]);
        self->buffer[i] = NULL;
    }
}

static enum ss_status fill(struct ss_cuda *self, enum ss_role role, uint64_t at,
                           const struct ss_fill *what)
{
    const struct ss_ref ref = {.buf = (int)role, .at = at};
    return ss_cuda_said(
        self,
        ss_kernel_fill_normal(ss_cuda_at(self, ref), ss_cuda_type(self, ref),
                              what, self->normals, self->lane[SS_LANE_COMPUTE]),
        "fill a buffer");
}

/* One Linear's shard: rows and columns of the unsplit [out, in]. */
static enum ss_status fill_linear(struct ss_cuda *self, int layer, int index,
                                  uint64_t *at)
{
    const struct ss_plan *plan = self->work.plan;
    const struct ss_shard shard = ss_plan_shard(plan, index);
    const uint64_t words[] = {self->work.seed, 1, (uint64_t)layer,
                              (uint64_t)index};
    const struct ss_fill what = {
        .rows = shard.rows,
        .cols = shard.cols,
        .pitch = shard.pitch,
        .first = shard.first,
        .stream = ss_mix_words(words, 4),
        .sd = 1 / sqrt((double)plan->model.linear[index].in)};
    SS_TRY(fill(self, SS_BUF_WEIGHT, *at, &what));
    *at += shard.rows * shard.cols;
    return SS_OK;
}

static enum ss_status fill_flat(struct ss_cuda *self, enum ss_role role,
                                uint64_t stream)
{
    uint64_t n = self->work.plan->buffer[role].elems;
    const struct ss_fill what = {
        .rows = 1, .cols = n, .pitch = n, .stream = stream, .sd = 1};
    return n > 0 ? fill(self, role, 0, &what) : SS_OK;
}

static enum ss_status fill_input(struct ss_cuda *self)
{
    const struct ss_plan *plan = self->work.plan;
    const uint64_t words[] = {
        self->work.seed, 2, (uint64_t)plan->coords.at[SS_DIM_DP],
        plan->layout.sp ? (uint64_t)plan->coords.at[SS_DIM_TP] : 0};
    return fill_flat(self, SS_BUF_INPUT, ss_mix_words(words, 4));
}

enum ss_status ss_cuda_fill(struct ss_cuda *self)
{
    static const enum ss_role zero[] = {SS_BUF_GRAD, SS_BUF_MOMENT1,
                                        SS_BUF_MOMENT2};
    const struct ss_plan *plan = self->work.plan;
    uint64_t at = 0;
    for (int layer = 0; layer < (int)plan->model.layers; layer++)
        for (int i = 0; i < plan->model.n_linears; i++)
            SS_TRY(fill_linear(self, layer, i, &at));
    SS_ASSERT(at == plan->buffer[SS_BUF_WEIGHT].elems);
    SS_TRY(fill_input(self));
    for (size_t i = 0; i < SS_COUNT_OF(zero); i++)
        SS_TRY(
            ss_cuda_said(self,
                         (int)cudaMemsetAsync(self->buffer[zero[i]], 0,
                                              bytes_of(&plan->buffer[zero[i]]),
                                              self->lane[SS_LANE_COMPUTE]),
                         "clear a buffer"));
    return SS_OK;
}

enum ss_status ss_cuda_fill_rest(struct ss_cuda *self)
{
    SS_TRY(fill_flat(self, SS_BUF_ACT, self->work.seed + 3));
    return fill_flat(self, SS_BUF_WORK, self->work.seed + 4);
}
