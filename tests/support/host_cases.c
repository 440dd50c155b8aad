/* SPDX-License-Identifier: Apache-2.0 */
/* What the host engine must do on any runtime. It must not know which one. */
#include "support/host_cases.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

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
    CHECK(ss_host_of(rig->engine)->age.steps == STEPS);
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
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const struct ss_rt_ops *honest;
static struct ss_rt_ops bad;

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

/* The first rank makes the table of all. */
static void make_bad(const struct ss_rt_ops *ops)
{
    pthread_mutex_lock(&lock);
    if (!honest) {
        honest = ops;
        bad = *ops;
        bad.icollective = flipping;
    }
    pthread_mutex_unlock(&lock);
}

static enum ss_status bad_link(struct rig *rig, struct ss_rt *rt)
{
    struct ss_rt *dp = rig->comms.dim[SS_DIM_DP];
    struct checked c = {.n = 0};
    make_bad(dp->ops);
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
