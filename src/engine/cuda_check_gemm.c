/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products against their CPU twin: a few rows and columns of each shape, on
 * integers (exact up to the one rounding of the result) and on normal data
 * (within rounding). Operands are fetched as doubles and multiplied out here,
 * as plainly as can be, and so is a function that the product takes in. Must
 * not know which algorithm ran.
 */
#include <math.h>

#include "base/mem.h"
#include "engine/cuda.h"
#include "engine/host_twin.h"

#define SLICE 8 /* rows and columns compared */

/* Rows of op(A) and columns of op(B), [SLICE][k] each, and C's elements. */
struct slice {
    int rows, cols;
    double *a, *b;  /* host */
    double *device; /* [k] */
};

static enum ss_status open_slice(struct ss_cuda *self, const struct ss_op *op,
                                 struct slice *s)
{
    size_t k = (size_t)op->k;
    *s = (struct slice){.rows = op->m < SLICE ? (int)op->m : SLICE,
                        .cols = op->n < SLICE ? (int)op->n : SLICE};
    s->a = ss_alloc(SLICE * k, sizeof(double), "rows of a check");
    s->b = ss_alloc(SLICE * k, sizeof(double), "columns of a check");
    if (!s->a || !s->b)
        return SS_ERR_NO_MEMORY;
    return ss_cuda_said(
        self, (int)cudaMalloc((void **)&s->device, k * sizeof(double)),
        "take memory for a check");
}

static void close_slice(struct slice *s)
{
    ss_free(s->a);
    ss_free(s->b);
    (void)cudaFree(s->device);
}

/* Element i of `count` spread evenly over [0, n), both ends included. */
static int64_t spread(int i, int count, int64_t n)
{
    return count > 1 ? (n - 1) * i / (count - 1) : 0;
}

/* `n` elements at ref + first, `stride` apart. */
struct line {
    struct ss_ref ref;
    uint64_t first, stride, n;
};

static enum ss_status fetch(struct ss_cuda *self, const struct slice *s,
                            const struct line *line, double *out)
{
    SS_TRY(
        ss_cuda_said(self,
                     ss_kernel_gather(ss_cuda_at(self, line->ref),
                                      ss_cuda_type(self, line->ref),
                                      line->first, line->stride, line->n,
                                      s->device, self->lane[SS_LANE_COMPUTE]),
                     "fetch operands"));
    SS_TRY(ss_cuda_wait_lane(self, SS_LANE_COMPUTE));
    return ss_cuda_said(self,
                        (int)cudaMemcpy(out, s->device,
                                        line->n * sizeof(double),
                                        cudaMemcpyDeviceToHost),
                        "fetch operands");
}

static enum ss_status fetch_operands(struct ss_cuda *self,
                                     const struct ss_op *op,
                                     const struct slice *s)
{
    uint64_t m = (uint64_t)op->m, n = (uint64_t)op->n, k = (uint64_t)op->k;
    for (int i = 0; i < s->rows; i++) {
        uint64_t row = (uint64_t)spread(i, s->rows, op->m);
        const struct line a = {op->a, op->ta ? row : row * k, op->ta ? m : 1,
                               k};
        SS_TRY(fetch(self, s, &a, s->a + (uint64_t)i * k));
    }
    for (int i = 0; i < s->cols; i++) {
        uint64_t col = (uint64_t)spread(i, s->cols, op->n);
        const struct line b = {op->b, op->tb ? col * k : col, op->tb ? 1 : n,
                               k};
        SS_TRY(fetch(self, s, &b, s->b + (uint64_t)i * k));
    }
    return SS_OK;
}

/* Relative error of a sum of products as the type accumulates them; errors
 * add like a random walk, and tensor cores cut where others round. */
static double accumulation(const struct ss_cuda *self, const struct ss_op *op)
{
    double root = sqrt((double)op->k);
    if (self->storage == SS_DT_F64)
        return 0x1p-52 * root;
    if (self->work.plan->precision == SS_PRECISION_TF32)
        return 0x1p-9 / root * 4; /* each factor was cut to 11 bits */
    return 0x1p-22 * root;
}

static double half_unit(enum ss_dtype dtype)
{
    switch (dtype) {
    case SS_DT_F64:
        return 0x1p-53;
    case SS_DT_BF16:
        return 0x1p-8;
    case SS_DT_FP16:
        return 0x1p-11;
    default:
        return 0x1p-24;
    }
}

/* The element as it should be, and what it may be off. */
struct wanted {
    double value, allowed;
};

static struct wanted multiply(const struct ss_cuda *self,
                              const struct ss_op *op, const double *a,
                              const double *b, bool exact)
{
    enum ss_dtype type = ss_cuda_type(self, op->c);
    double sum = 0, magnitude = 0;
    for (int64_t i = 0; i < op->k; i++) {
        sum += a[i] * b[i];
        magnitude += fabs(a[i] * b[i]);
    }
    if (exact)
        return (struct wanted){.value = ss_twin_round(type, sum)};
    return (struct wanted){.value = sum,
                           .allowed = accumulation(self, op) * magnitude +
                                      2 * half_unit(type) * fabs(sum) +
                                      0x1p-24};
}

/* The same after the function that was taken in; `other` is what that reads
 * beside. It is computed from sums not yet rounded, by a quick tanh. */
static struct wanted after(const struct ss_cuda *self, const struct ss_op *tail,
                           struct wanted product, double other)
{
    double half = half_unit(ss_cuda_type(self, tail->c));
    double size = fabs(product.value), x = product.value;
    double value = tail->map == SS_MAP_GELU ? ss_twin_gelu(x)
                                            : x * ss_twin_gelu_slope(other);
    return (struct wanted){
        .value = value,
        .allowed = 1.2 * (product.allowed + 2 * half * size) +
                   2 * half * fabs(value) + 0x1p-7 * size + 0x1p-24};
}

/* One element, and how it is told of. */
struct place {
    int index; /* of the op */
    const struct ss_op *op;
    struct ss_ref in;
    int64_t row, col;
};

static enum ss_status compare_one(struct ss_cuda *self, const struct slice *s,
                                  const struct place *at, struct wanted want,
                                  struct ss_check_sink *sink, bool *ok)
{
    const struct line c = {at->in, (uint64_t)(at->row * at->op->n + at->col), 1,
                           1};
    double got;
    SS_TRY(fetch(self, s, &c, &got));
    if (!*ok || fabs(got - want.value) <= want.allowed)
        return SS_OK;
    *ok = false;
    ss_check_add(sink, "gemm", false,
                 "%s: element %lld,%lld is %.9g, expected %.9g%s", at->op->name,
                 (long long)at->row, (long long)at->col, got, want.value,
                 want.allowed == 0 ? " exactly" : "");
    return SS_OK;
}

/* What the product leaves, and what it makes of that in its epilogue. */
static enum ss_status compare_element(struct ss_cuda *self,
                                      const struct slice *s, struct place at,
                                      struct wanted want,
                                      struct ss_check_sink *sink, bool *ok)
{
    int map = self->op[at.index].tail;
    const struct ss_op *tail = NULL;
    double other = 0;
    if (map >= 0 && ss_cuda_is_taken_in(self, map))
        tail = &self->work.plan->op[map];
    if (!tail || tail->map == SS_MAP_GELU)
        SS_TRY(compare_one(self, s, &at, want, sink, ok));
    if (!tail)
        return SS_OK;
    if (tail->map == SS_MAP_GELU_BWD) {
        const struct line b = {tail->b, (uint64_t)(at.row * at.op->n + at.col),
                               1, 1};
        SS_TRY(fetch(self, s, &b, &other));
    }
    at.in = tail->c;
    return compare_one(self, s, &at, after(self, tail, want, other), sink, ok);
}

static enum ss_status compare(struct ss_cuda *self, int index,
                              const struct slice *s, bool exact,
                              struct ss_check_sink *sink, bool *ok)
{
    const struct ss_op *op = &self->work.plan->op[index];
    uint64_t k = (uint64_t)op->k;
    for (int i = 0; i < s->rows * s->cols && *ok; i++) {
        const struct place at = {.index = index,
                                 .op = op,
                                 .in = op->c,
                                 .row = spread(i / s->cols, s->rows, op->m),
                                 .col = spread(i % s->cols, s->cols, op->n)};
        const double *a = s->a + (uint64_t)(i / s->cols) * k;
        const double *b = s->b + (uint64_t)(i % s->cols) * k;
        SS_TRY(compare_element(self, s, at, multiply(self, op, a, b, exact),
                               sink, ok));
    }
    return SS_OK;
}

static enum ss_status fill(struct ss_cuda *self, struct ss_ref ref, uint64_t n,
                           uint64_t seed, bool exact)
{
    cudaStream_t stream = self->lane[SS_LANE_COMPUTE];
    void *data = ss_cuda_at(self, ref);
    enum ss_dtype type = ss_cuda_type(self, ref);
    const struct ss_fill normal = {
        .rows = 1, .cols = n, .pitch = n, .stream = seed, .sd = 1};
    int error = exact ? ss_kernel_fill_small(data, type, n, seed, stream)
                      : ss_kernel_fill_normal(data, type, &normal,
                                              self->normals, stream);
    return ss_cuda_said(self, error, "fill operands");
}

static enum ss_status check_shape(struct ss_cuda *self, int index,
                                  const struct slice *s,
                                  struct ss_check_sink *sink, bool *ok)
{
    const struct ss_op *op = &self->work.plan->op[index];
    int tail = self->op[index].tail;
    for (int exact = 1; exact >= 0 && *ok; exact--) {
        if (tail >= 0 && self->work.plan->op[tail].b.buf >= 0)
            SS_TRY(fill(self, self->work.plan->op[tail].b,
                        (uint64_t)(op->m * op->n), 29, false));
        SS_TRY(fill(self, op->a, (uint64_t)(op->m * op->k), 11, exact));
        SS_TRY(fill(self, op->b, (uint64_t)(op->k * op->n), 1013, exact));
        SS_TRY(ss_cuda_gemm(self, index, true));
        SS_TRY(fetch_operands(self, op, s));
        SS_TRY(compare(self, index, s, exact, sink, ok));
    }
    return SS_OK;
}

static bool is_first_of_shape(const struct ss_cuda *self, int index)
{
    int gemm = self->op[index].gemm;
    for (int i = 0; i < index; i++)
        if (self->op[i].gemm == gemm)
            return false;
    return gemm >= 0;
}

enum ss_status ss_cuda_check_gemms(struct ss_engine *engine,
                                   struct ss_check_sink *sink)
{
    struct ss_cuda *self = ss_cuda_of(engine);
    const struct ss_plan *plan = self->work.plan;
    bool ok = true;
    int shapes = 0;
    for (int i = 0; i < plan->n_ops && ok; i++) {
        struct slice slice;
        if (!is_first_of_shape(self, i))
            continue;
        enum ss_status status = open_slice(self, &plan->op[i], &slice);
        if (status == SS_OK)
            status = check_shape(self, i, &slice, sink, &ok);
        close_slice(&slice);
        SS_TRY(status);
        shapes++;
    }
    if (ok && shapes > 0)
        ss_check_add(sink, "gemm", true,
                     "%d shapes, exact on integers, within rounding on normal "
                     "data",
                     shapes);
    return SS_OK;
}
