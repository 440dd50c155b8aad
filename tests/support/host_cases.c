/* SPDX-License-Identifier: Apache-2.0 */
/* What the host engine must do on any runtime. It must not know which one. */
#include "support/host_cases.h"

#include <math.h>
#include <string.h>

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

static const struct ss_check_row *find(const struct ss_check_row *rows, int n,
                                       const char *check)
{
    for (int i = 0; i < n; i++)
        if (strcmp(rows[i].check, check) == 0)
            return &rows[i];
    return NULL;
}

#define ROWS 24
struct checked {
    struct ss_check_row row[ROWS];
    int n;
};

static enum ss_status check_all(struct rig *rig, const char *when,
                                struct checked *out)
{
    return rig->engine->ops->check_all(rig->engine, when, out->row, ROWS,
                                       &out->n);
}

static enum ss_status all_ok(const struct checked *c)
{
    for (int i = 0; i < c->n; i++)
        if (!c->row[i].ok)
            return ss_fail(SS_ERR_VERIFY, "%s: %s", c->row[i].check,
                           c->row[i].detail);
    return SS_OK;
}

static uint64_t state_word(const struct rig *rig)
{
    static const enum ss_role roles[] = {SS_BUF_WEIGHT, SS_BUF_GRAD,
                                         SS_BUF_MOMENT1, SS_BUF_MOMENT2,
                                         SS_BUF_INPUT};
    const struct ss_host *host = ss_host_of(rig->engine);
    uint64_t word = 0;
    for (size_t r = 0; r < SS_COUNT_OF(roles); r++) {
        size_t bytes =
            (size_t)rig->plan.buffer[roles[r]].elems * host->elem_size;
        const unsigned char *at = host->buffer[roles[r]];
        for (size_t i = 0; i < bytes; i++)
            word = (word ^ at[i]) * UINT64_C(0x100000001b3);
    }
    return word;
}

static enum ss_status passes(struct rig *rig)
{
    struct checked before = {.n = 0}, after = {.n = 0};
    const struct ss_engine_ops *ops = rig->engine->ops;
    bool dp = rig->comms.dim[SS_DIM_DP] != NULL;
    uint64_t start = state_word(rig);
    SS_TRY(check_all(rig, "before", &before));
    SS_TRY(all_ok(&before));
    CHECK(find(before.row, before.n, "gemm"));
    CHECK(!dp || find(before.row, before.n, "all_reduce"));
    CHECK(!find(before.row, before.n, "finite"));
    SS_TRY(ops->reset(rig->engine));
    CHECK(state_word(rig) == start);
    for (int variant = SS_VARIANTS - 1; variant >= 0; variant--)
        SS_TRY(rig_block_all(rig, (enum ss_variant)variant, STEPS));
    CHECK(ss_host_of(rig->engine)->optimizer_steps == STEPS);
    CHECK(state_word(rig) != start);
    SS_TRY(check_all(rig, "after", &after));
    SS_TRY(all_ok(&after));
    CHECK(find(after.row, after.n, "finite"));
    CHECK(find(after.row, after.n, "variance"));
    CHECK(!dp || find(after.row, after.n, "replicas"));
    /* the last variant was comm-only: whole steps are made up for */
    SS_TRY(rig_block_all(rig, SS_COMM_ONLY, STEPS));
    SS_TRY(check_all(rig, "after", &after));
    SS_TRY(all_ok(&after));
    SS_TRY(ops->reset(rig->engine));
    CHECK(state_word(rig) == start);
    return SS_OK;
}

enum ss_status host_checks_pass(struct ss_rt *rt, void *spec)
{
    struct rig rig;
    enum ss_status status = rig_open_all(&rig, rt, spec);
    if (status == SS_OK)
        status = ss_agree_all(rt, passes(&rig));
    rig_close(&rig);
    return status;
}

/* A runtime that flips the lowest bit of one element of what a rank gives to
 * a reduction: what a bad link or memory would do. */
static const struct ss_rt_ops *honest;

static enum ss_status flipping(struct ss_rt *rt, enum ss_coll kind,
                               const void *send, void *recv, size_t count,
                               enum ss_dtype dtype, enum ss_red red, int root,
                               struct ss_request *request)
{
    uint32_t word;
    unsigned char *at = (unsigned char *)recv + (count / 3) * 4;
    if (rt->rank == 1 && dtype == SS_DT_F32 && count > 1) {
        memcpy(&word, at, sizeof(word));
        word ^= 1U << 22; /* of the mantissa: the value stays finite */
        memcpy(at, &word, sizeof(word));
    }
    return honest->icollective(rt, kind, send, recv, count, dtype, red, root,
                               request);
}

static enum ss_status bad_link(struct rig *rig, struct ss_rt *rt)
{
    static struct ss_rt_ops bad;
    struct ss_rt *dp = rig->comms.dim[SS_DIM_DP];
    struct checked c = {.n = 0};
    honest = dp->ops; /* every rank writes the same */
    bad = *honest;
    bad.icollective = flipping;
    SS_TRY(ss_barrier_all(rt));
    dp->ops = &bad;
    enum ss_status status = check_all(rig, "before", &c);
    dp->ops = honest;
    SS_TRY(status);
    const struct ss_check_row *row = find(c.row, c.n, "all_reduce");
    CHECK(row && !row->ok && strstr(row->detail, "expected"));
    CHECK(find(c.row, c.n, "gemm")->ok);
    return ss_barrier_all(rt);
}

/* With three replicas or more the odd one is known; of two nobody is. */
static enum ss_status odd_replica(struct rig *rig, struct ss_rt *rt)
{
    struct checked c = {.n = 0};
    const struct ss_host *host = ss_host_of(rig->engine);
    SS_TRY(rig->engine->ops->reset(rig->engine));
    SS_TRY(rig_block_all(rig, SS_WHOLE, STEPS));
    if (rt->rank == 1) {
        unsigned char *weight = host->buffer[SS_BUF_WEIGHT];
        weight[5] ^= 1;
    }
    SS_TRY(check_all(rig, "after", &c));
    const struct ss_check_row *row = find(c.row, c.n, "replicas");
    CHECK(row);
    CHECK(row->ok == (rt->size > 2 && rt->rank != 1));
    CHECK(row->rank == rt->rank);
    return SS_OK;
}

static enum ss_status wild_number(struct rig *rig, struct ss_rt *rt)
{
    struct checked c = {.n = 0};
    SS_TRY(rig_block_all(rig, SS_WHOLE, STEPS));
    if (rt->rank == 0)
        put(ss_host_of(rig->engine), SS_BUF_MOMENT2, 7, NAN);
    SS_TRY(check_all(rig, "after", &c));
    const struct ss_check_row *row = find(c.row, c.n, "finite");
    CHECK(row && row->ok == (rt->rank != 0));
    CHECK(rt->rank != 0 || strstr(row->detail, "element 7 is"));
    return SS_OK;
}

static enum ss_status grown_weights(struct rig *rig, struct ss_rt *rt)
{
    struct checked c = {.n = 0};
    const struct ss_host *host = ss_host_of(rig->engine);
    uint64_t n = rig->plan.buffer[SS_BUF_WEIGHT].elems;
    SS_TRY(rig_block_all(rig, SS_WHOLE, STEPS));
    for (uint64_t i = 0; i < n; i++)
        put(host, SS_BUF_WEIGHT, i, 1.06 * get(host, SS_BUF_WEIGHT, i));
    SS_TRY(check_all(rig, "after", &c));
    const struct ss_check_row *row = find(c.row, c.n, "variance");
    CHECK(row && !row->ok);
    return ss_barrier_all(rt);
}

enum ss_status host_checks_fail(struct ss_rt *rt, void *spec)
{
    static enum ss_status (*const faults[])(struct rig *, struct ss_rt *) = {
        bad_link, odd_replica, wild_number, grown_weights};
    struct rig rig;
    enum ss_status status = rig_open_all(&rig, rt, spec);
    for (size_t i = 0; status == SS_OK && i < SS_COUNT_OF(faults); i++)
        status = ss_agree_all(rt, faults[i](&rig, rt));
    rig_close(&rig);
    return status;
}

static enum ss_status allocates_nothing(struct rig *rig)
{
    rig_mute_transport(rig);
    for (int variant = 0; variant < SS_VARIANTS; variant++) {
        SS_TRY(rig_block_all(rig, (enum ss_variant)variant, 2));
        SS_TRY(rig_block_all(rig, (enum ss_variant)variant, 4));
        CHECK(rig->own_allocations == 0);
        CHECK(rig->allocations <= 0);
    }
    return SS_OK;
}

enum ss_status host_blocks_allocate_nothing(struct ss_rt *rt, void *spec)
{
    struct rig rig;
    enum ss_status status = rig_open_all(&rig, rt, spec);
    if (status == SS_OK)
        status = ss_agree_all(rt, allocates_nothing(&rig));
    rig_close(&rig);
    return status;
}

/* An op starts after its lane's previous end and after all its waits; a
 * collective's ready is the end of the last of these, and not the enqueue. */
static enum ss_status check_event(const struct rig *rig, int step, int index)
{
    const struct ss_op_event *row = &rig->record.event[step * rig->record.ops];
    const struct ss_op *op = &rig->plan.op[index];
    const struct ss_op_event *e = &row[index];
    int64_t awaited = rig->record.begin_ns;
    CHECK(e->enqueued <= e->start && e->start <= e->end);
    for (int i = 0; i < op->n_waits; i++) {
        int64_t end = row[op->wait[i]].end;
        awaited = end > awaited ? end : awaited;
    }
    CHECK(e->start >= awaited);
    CHECK(!ss_op_is_comm(op) || e->ready == awaited);
    for (int i = index - 1; i >= 0; i--) {
        if (rig->plan.op[i].lane != op->lane)
            continue;
        CHECK(e->start >= row[i].end);
        break;
    }
    return SS_OK;
}

static enum ss_status in_order(struct rig *rig)
{
    SS_TRY(rig_block_all(rig, SS_WHOLE, 4));
    for (int step = 0; step < 4; step++) {
        for (int i = 0; i < rig->plan.n_ops; i++)
            SS_TRY(check_event(rig, step, i));
        const struct ss_op_event *row =
            &rig->record.event[step * rig->record.ops];
        CHECK(rig->record.mark[step] >= row[rig->plan.n_ops - 1].end);
    }
    return SS_OK;
}

enum ss_status host_events_in_order(struct ss_rt *rt, void *spec)
{
    struct rig rig;
    enum ss_status status = rig_open_all(&rig, rt, spec);
    if (status == SS_OK)
        status = ss_agree_all(rt, in_order(&rig));
    rig_close(&rig);
    return status;
}
