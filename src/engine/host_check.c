/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The checks of the host engine: every kind of collective on exact integers,
 * at the plan's own size and in its own buffers; every shape of GEMM exactly
 * on integers and within rounding on normal data; and the state that whole
 * steps left. What they overwrite is restored before the next block.
 */
#include <math.h>

#include "base/random.h"
#include "engine/host.h"
#include "engine/host_twin.h"

#define CHECK_ELEMS_MAX (UINT64_C(4) << 20)
#define SHAPES_MAX 16
#define SLICE 8 /* rows and columns compared */

static enum ss_status check_coll_all(struct ss_engine *engine, int index,
                                     struct ss_check_sink *sink)
{
    struct ss_host *self = ss_host_of(engine);
    const struct ss_op *op = &self->work.plan->op[index];
    struct ss_rt *rt = self->comms.dim[op->dim];
    bool whole = op->kind == SS_OP_ALL_REDUCE;
    uint64_t most =
        whole ? CHECK_ELEMS_MAX : CHECK_ELEMS_MAX / (uint64_t)rt->size;
    struct ss_coll_wrong wrong;
    struct ss_coll_check check = {
        .rt = rt,
        .dtype = self->dtype,
        .send = ss_host_at(self, op->a),
        .recv = ss_host_at(self, op->c),
        .count = op->count < most ? op->count : most,
    };
    (void)ss_coll_of(op->kind, &check.kind); /* load refused every other op */
    SS_TRY(ss_coll_check_all(&check, &wrong));
    ss_check_add_coll(sink, op, op->name, check.count, &wrong);
    return SS_OK;
}

static void put(const struct ss_host *self, void *data, uint64_t at, double x)
{
    if (self->dtype == SS_DT_F64)
        ((double *)data)[at] = x;
    else
        ((float *)data)[at] = (float)x;
}

/* Integers of -4 to 4: sums of up to 2^20 products are exact in fp32. */
static void fill(const struct ss_host *self, void *data, uint64_t n,
                 uint64_t stream, bool exact)
{
    for (uint64_t i = 0; i < n; i++) {
        uint64_t word = ss_mix64(stream + i);
        double x = exact ? (double)(word % 9) - 4
                         : self->normal[word % SS_HOST_NORMALS];
        put(self, data, i, x);
    }
}

/* How far an element may be off: nothing for integers; for normal data the
 * rounding of k products, whose errors add like a random walk. */
static double tolerance(const struct ss_host *self, const struct ss_op *op,
                        double magnitude, bool exact)
{
    double eps = self->dtype == SS_DT_F64 ? 0x1p-52 : 0x1p-23;
    return exact ? 0 : eps * sqrt((double)op->k) * magnitude;
}

/* Element i of `count` spread evenly over [0, n), both ends included. */
static int64_t spread(int i, int count, int64_t n)
{
    return count > 1 ? (n - 1) * i / (count - 1) : 0;
}

static bool compare_gemm(const struct ss_host *self, const struct ss_op *op,
                         bool exact, struct ss_check_sink *sink)
{
    const struct ss_twin_product twin = {op, ss_host_at(self, op->a),
                                         ss_host_at(self, op->b), self->dtype};
    const void *c = ss_host_at(self, op->c);
    int rows = op->m < SLICE ? (int)op->m : SLICE;
    int cols = op->n < SLICE ? (int)op->n : SLICE;
    for (int i = 0; i < rows * cols; i++) {
        int64_t row = spread(i / cols, rows, op->m);
        int64_t col = spread(i % cols, cols, op->n);
        double magnitude;
        double want = ss_twin_gemm(&twin, row, col, &magnitude);
        uint64_t at = (uint64_t)(row * op->n + col);
        double got = ss_twin_get(c, self->dtype, at);
        if (fabs(got - want) <= tolerance(self, op, magnitude, exact))
            continue;
        ss_check_add(sink, "gemm", false,
                     "%s: element %lld,%lld is %.9g, expected %.9g%s", op->name,
                     (long long)row, (long long)col, got, want,
                     exact ? " exactly" : "");
        return false;
    }
    return true;
}

static enum ss_status check_shape(struct ss_host *self, const struct ss_op *op,
                                  struct ss_check_sink *sink, bool *ok)
{
    struct ss_op alone = *op; /* nothing to add to */
    alone.accumulate = false;
    for (int exact = 1; exact >= 0 && *ok; exact--) {
        fill(self, ss_host_at(self, op->a), (uint64_t)(op->m * op->k), 11,
             exact);
        fill(self, ss_host_at(self, op->b), (uint64_t)(op->k * op->n), 1013,
             exact);
        SS_TRY(ss_host_gemm(self, &alone));
        *ok = compare_gemm(self, &alone, exact, sink);
    }
    return SS_OK;
}

static bool same_shape(const struct ss_op *a, const struct ss_op *b)
{
    return b->kind == SS_OP_GEMM && a->m == b->m && a->n == b->n &&
           a->k == b->k && a->ta == b->ta && a->tb == b->tb;
}

static bool seen_before(const struct ss_plan *plan, int index)
{
    for (int i = 0; i < index; i++)
        if (same_shape(&plan->op[index], &plan->op[i]))
            return true;
    return false;
}

static enum ss_status check_gemms(struct ss_engine *engine,
                                  struct ss_check_sink *sink)
{
    struct ss_host *self = ss_host_of(engine);
    const struct ss_plan *plan = self->work.plan;
    bool ok = true;
    int shapes = 0;
    for (int i = 0; i < plan->n_ops && shapes < SHAPES_MAX && ok; i++) {
        if (plan->op[i].kind != SS_OP_GEMM || seen_before(plan, i))
            continue;
        SS_TRY(check_shape(self, &plan->op[i], sink, &ok));
        shapes++;
    }
    if (ok && shapes > 0)
        ss_check_add(sink, "gemm", true, "%d shapes, a slice of each", shapes);
    return SS_OK;
}

enum ss_status ss_host_check_all(struct ss_engine *engine, const char *when,
                                 struct ss_check_row *rows, int max, int *n)
{
    struct ss_host *self = ss_host_of(engine);
    struct ss_check_sink sink = {.rows = rows,
                                 .max = max,
                                 .rank = self->work.logical_rank,
                                 .when = when};
    const struct ss_plan_check check = {
        .engine = engine,
        .plan = self->work.plan,
        .coll_all = check_coll_all,
        .gemms = check_gemms,
        .state_all = ss_host_check_state_all,
        .age = &self->age,
        .trial = &self->trial,
    };
    enum ss_status status = ss_check_plan_all(&check, &sink);
    *n = sink.n;
    return status;
}
