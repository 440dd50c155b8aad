/* SPDX-License-Identifier: Apache-2.0 */
/* Any layout against one rank. It must not know which runtime it runs on. */
#include "support/host_cases.h"

#include <math.h>

#include "base/mem.h"
#include "base/random.h"
#include "cluster/agree.h"
#include "engine/host.h"
#include "engine/host_twin.h"

#define STEPS 3

static void put(const struct ss_host *host, enum ss_role role, uint64_t at,
                double x)
{
    if (host->dtype == SS_DT_F64)
        ((double *)host->buffer[role])[at] = x;
    else
        ((float *)host->buffer[role])[at] = (float)x;
}

static double get(const struct ss_host *host, enum ss_role role, uint64_t at)
{
    return ss_twin_get(host->buffer[role], host->dtype, at);
}

/* An element of the whole batch (kind 1) or of its output gradient (2). */
static double batch_value(int kind, int64_t row, int64_t col)
{
    const uint64_t words[] = {(uint64_t)kind, (uint64_t)row, (uint64_t)col};
    return ss_normal_from_word(ss_mix_words(words, 3));
}

/* Fills [rows, hidden] at `ref` of the input buffer with rows `first`... of
 * the whole batch. */
static void fill_rows(const struct rig *rig, struct ss_ref ref, int kind,
                      int64_t first, double scale)
{
    const struct ss_host *host = ss_host_of(rig->engine);
    const struct ss_layout *layout = &rig->plan.layout;
    int64_t shards = layout->sp ? layout->dim[SS_DIM_TP] : 1;
    int64_t hidden = rig->model.hidden;
    int64_t rows = rig->plan.micro_tokens / shards;
    for (int64_t i = 0; i < rows * hidden; i++)
        put(host, SS_BUF_INPUT, ref.at + (uint64_t)i,
            scale * batch_value(kind, first + i / hidden, i % hidden));
}

/* The first op of a pass that reads the input buffer reads it from here. */
static struct ss_ref input_of(const struct rig *rig, bool backward)
{
    for (int i = 0; i < rig->plan.n_ops; i++) {
        const struct ss_op *op = &rig->plan.op[i];
        if (op->backward == backward && op->a.buf == SS_BUF_INPUT)
            return op->a;
    }
    return (struct ss_ref){.buf = -1};
}

/* This rank's rows of the batch; gradients are averaged over dp, so that one
 * rank alone, which sums, gets a gradient of 1 / dp. */
static enum ss_status fill_batch(const struct rig *rig, double scale)
{
    struct ss_ref x = input_of(rig, false), dy = input_of(rig, true);
    const struct ss_plan *plan = &rig->plan;
    CHECK(x.buf >= 0 && dy.buf >= 0);
    int64_t first = plan->coords.at[SS_DIM_DP] * plan->micro_tokens;
    if (plan->layout.sp)
        first += plan->coords.at[SS_DIM_TP] * plan->micro_tokens /
                 plan->layout.dim[SS_DIM_TP];
    fill_rows(rig, x, 1, first, 1);
    fill_rows(rig, dy, 2, first, scale);
    return SS_OK;
}

static enum ss_status run_alone(struct rig *rig, struct host_training *t)
{
    const struct ss_host *host = ss_host_of(rig->engine);
    SS_TRY(rig->engine->ops->reset(rig->engine));
    SS_TRY(fill_batch(rig, 1.0 / t->spec.dp));
    SS_TRY(rig_block_all(rig, SS_WHOLE, STEPS));
    t->n = rig->plan.buffer[SS_BUF_WEIGHT].elems;
    t->state = ss_alloc(2 * t->n, sizeof(double), "state of one rank");
    if (!t->state)
        return SS_ERR_NO_MEMORY;
    for (size_t i = 0; i < t->n; i++) {
        t->state[i] = get(host, SS_BUF_WEIGHT, i);
        t->state[t->n + i] = get(host, SS_BUF_MOMENT1, i);
    }
    return SS_OK;
}

enum ss_status host_train_alone(struct ss_rt *solo, void *training)
{
    struct host_training *t = training;
    struct rig_spec spec = t->spec;
    struct rig rig;
    spec.dp = spec.tp = 1;
    spec.sp = 0;
    spec.tokens *= t->spec.dp;
    enum ss_status status = rig_open_all(&rig, solo, &spec);
    if (status == SS_OK)
        status = run_alone(&rig, t);
    rig_close(&rig);
    return status;
}

/* Where this rank's shard of a Linear lies in the unsplit one. */
struct shard {
    int64_t rows, cols, first_row, first_col, in;
};

static struct shard shard_of(const struct rig *rig, int linear)
{
    const struct ss_linear *l = &rig->model.linear[linear];
    int64_t tp = rig->plan.layout.dim[SS_DIM_TP];
    int64_t at = rig->plan.coords.at[SS_DIM_TP];
    struct shard s = {l->out, l->in, 0, 0, l->in};
    if (l->column) {
        s.rows /= tp;
        s.first_row = at * s.rows;
    } else {
        s.cols /= tp;
        s.first_col = at * s.cols;
    }
    return s;
}

/* Largest difference of a shard that begins at `local` here and whose Linear
 * begins at `whole` there. */
static double worst_of(const struct rig *rig, enum ss_role role,
                       const struct shard *s, int64_t local,
                       const double *whole)
{
    const struct ss_host *host = ss_host_of(rig->engine);
    double worst = 0;
    for (int64_t e = 0; e < s->rows * s->cols; e++) {
        int64_t row = s->first_row + e / s->cols;
        int64_t col = s->first_col + e % s->cols;
        double got = get(host, role, (uint64_t)(local + e));
        worst = fmax(worst, fabs(got - whole[row * s->in + col]));
    }
    return worst;
}

static enum ss_status compare_state(const struct rig *rig,
                                    const struct host_training *t)
{
    int64_t local = 0, whole = 0;
    double weights = 0, moments = 0;
    for (int i = 0; i < rig->model.layers * rig->model.n_linears; i++) {
        int linear = i % rig->model.n_linears;
        struct shard s = shard_of(rig, linear);
        const double *w = t->state + whole, *m = w + t->n;
        weights = fmax(weights, worst_of(rig, SS_BUF_WEIGHT, &s, local, w));
        moments = fmax(moments, worst_of(rig, SS_BUF_MOMENT1, &s, local, m));
        local += s.rows * s.cols;
        whole += rig->model.linear[linear].in * rig->model.linear[linear].out;
    }
    CHECK((size_t)whole == t->n);
    if (weights <= t->tolerance && moments <= t->tolerance)
        return SS_OK;
    return ss_fail(SS_ERR_VERIFY,
                   "weights differ from one rank's by %g, moments by %g "
                   "(dp %d tp %d sp %d)",
                   weights, moments, t->spec.dp, t->spec.tp, t->spec.sp);
}

static enum ss_status run_split(struct rig *rig, struct host_training *t)
{
    SS_TRY(rig->engine->ops->reset(rig->engine));
    SS_TRY(fill_batch(rig, 1));
    SS_TRY(rig_block_all(rig, SS_WHOLE, STEPS));
    return compare_state(rig, t);
}

enum ss_status host_train_split(struct ss_rt *rt, void *training)
{
    struct host_training *t = training;
    struct rig rig;
    enum ss_status status = rig_open_all(&rig, rt, &t->spec);
    if (status == SS_OK)
        status = ss_agree_all(rt, run_split(&rig, t));
    rig_close(&rig);
    return status;
}
