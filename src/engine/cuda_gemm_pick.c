/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a product of one shape is done fastest here: every algorithm that
 * cuBLASLt offers, alone (then the function after it is a launch of its own)
 * and with that function in its epilogue. All are tried once; the best few then
 * run in turn, over the operands of layer after layer, on a device that is as
 * warm and as short of power as in a training step: there the order of two
 * algorithms is often another than on a cool device. Runs at load and writes
 * where the ops write. Must not know what the result is used for.
 */
#include <string.h>

#include "base/clock.h"
#include "engine/cuda.h"

#define OFFERED 64  /* asked for; cuBLASLt gives fewer */
#define FINALISTS 5 /* beside the first offered */
#define CLOSE                                                                  \
    1.15F            /* of the best at first sight: the rest is not looked at  \
                      */
#define ROUNDS 3     /* in which each finalist has a turn of */
#define TURN_MS 20.F /* at least, and */
#define CALLS_MAX 256
#define WARM_NS (500 * SS_NS_PER_MS)
#define MARGIN 0.995F /* of the first one's time: less is noise */

struct entrant {
    struct ss_gemm_choice how;
    float glance, sum; /* ms at first sight; of the turns */
};
struct contest {
    int index; /* of the op */
    struct entrant all[2 * OFFERED];
    int n;
    int final[FINALISTS + 1], n_final;
};

/* The next op of the same shape, round and round. */
static int next_of_shape(const struct ss_cuda *self, int index)
{
    int n = self->work.plan->n_ops, gemm = self->op[index].gemm;
    do
        index = (index + 1) % n;
    while (self->op[index].gemm != gemm);
    return index;
}

static enum ss_status launch(struct ss_cuda *self, int index,
                             const struct ss_gemm_choice *how)
{
    int tail = self->op[index].tail;
    SS_TRY(ss_cuda_gemm_run(self, index, how, false));
    return tail >= 0 && !how->fused ? ss_cuda_issue(self, tail) : SS_OK;
}

/* ms of one of so many calls back to back. */
static enum ss_status timed(struct ss_cuda *self, const struct contest *c,
                            const struct entrant *e, int calls, float *ms)
{
    cudaStream_t stream = self->lane[SS_LANE_COMPUTE];
    cudaEvent_t from = self->mark[0], to = self->mark[1];
    int index = c->index;
    (void)cudaEventRecord(from, stream);
    for (int i = 0; i < calls; i++) {
        SS_TRY(launch(self, index, &e->how));
        index = next_of_shape(self, index);
    }
    (void)cudaEventRecord(to, stream);
    SS_TRY(ss_cuda_wait_lane(self, SS_LANE_COMPUTE));
    SS_TRY(ss_cuda_said(self, (int)cudaEventElapsedTime(ms, from, to),
                        "time a product"));
    *ms /= (float)calls;
    return SS_OK;
}

static void enter(struct ss_cuda *self, struct contest *c, bool fused)
{
    const struct ss_cuda_gemm *g = &self->gemm[self->op[c->index].gemm];
    cublasLtMatmulHeuristicResult_t offered[OFFERED];
    int n = 0;
    (void)ss_cuda_gemm_offers(self, g, fused, offered, OFFERED, &n);
    for (int i = 0; i < n; i++) {
        struct entrant *e = &c->all[c->n];
        *e = (struct entrant){
            .how = {.key = g->choice.key, .fused = fused, .chosen = c->n}};
        memcpy(e->how.algo, &offered[i].algo, sizeof(e->how.algo));
        c->n++;
    }
}

/* One call to load the kernel, the better of two to see; what is offered and
 * then refused drops out. */
static enum ss_status glance(struct ss_cuda *self, struct contest *c)
{
    for (int i = 0; i < c->n; i++) {
        struct entrant *e = &c->all[i];
        float again;
        if (launch(self, c->index, &e->how) != SS_OK) {
            ss_error_set(NULL);
            continue;
        }
        SS_TRY(timed(self, c, e, 1, &e->glance));
        SS_TRY(timed(self, c, e, 1, &again));
        e->glance = again < e->glance ? again : e->glance;
    }
    return SS_OK;
}

/* device.fuse=on: alone only where nothing else runs. */
static void prefer_fused(struct contest *c)
{
    bool any = false;
    for (int i = 0; i < c->n; i++)
        any = any || (c->all[i].how.fused && c->all[i].glance > 0);
    for (int i = 0; i < c->n && any; i++)
        if (!c->all[i].how.fused)
            c->all[i].glance = 0;
}

/* The first that runs, and the best beside it. */
static void choose_finalists(struct contest *c)
{
    bool in[2 * OFFERED] = {false};
    float least = 0;
    while (c->n_final <= FINALISTS) {
        int best = -1;
        for (int i = 0; i < c->n; i++) {
            float ms = c->all[i].glance;
            if (ms <= 0 || in[i])
                continue;
            if (best < 0 || (c->n_final > 0 && ms < c->all[best].glance))
                best = i;
            least = least == 0 || ms < least ? ms : least;
        }
        if (best < 0 || (c->n_final > 0 && c->all[best].glance > CLOSE * least))
            return;
        in[best] = true;
        c->final[c->n_final++] = best;
    }
}

static int calls_in_turn(const struct entrant *e)
{
    float calls = TURN_MS / e->glance + 1;
    return calls < CALLS_MAX ? (int)calls : CALLS_MAX;
}

/* Once for all shapes: as warm as a training step makes it. */
static enum ss_status warm_up(struct ss_cuda *self, const struct contest *c)
{
    const struct entrant *e = &c->all[c->final[0]];
    int64_t begin = ss_clock_ns();
    float ms;
    while (!self->warm && ss_clock_ns() - begin < WARM_NS)
        SS_TRY(timed(self, c, e, calls_in_turn(e), &ms));
    self->warm = true;
    return SS_OK;
}

static enum ss_status take_turns(struct ss_cuda *self, struct contest *c)
{
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < c->n_final; i++) {
            struct entrant *e = &c->all[c->final[i]];
            float ms;
            SS_TRY(timed(self, c, e, calls_in_turn(e), &ms));
            e->sum += ms / ROUNDS;
        }
    return SS_OK;
}

static struct ss_gemm_choice decide(const struct contest *c)
{
    const struct entrant *first = &c->all[c->final[0]], *best = first;
    for (int i = 1; i < c->n_final; i++) {
        const struct entrant *e = &c->all[c->final[i]];
        if (e->sum < best->sum && e->sum < MARGIN * first->sum)
            best = e;
    }
    struct ss_gemm_choice how = best->how;
    how.candidates = c->n;
    how.first_ms = first->sum;
    how.best_ms = best->sum;
    return how;
}

enum ss_status ss_cuda_gemm_pick(struct ss_cuda *self, int index)
{
    struct ss_cuda_gemm *g = &self->gemm[self->op[index].gemm];
    struct contest c = {.index = index};
    enter(self, &c, false);
    if (g->fused)
        enter(self, &c, true);
    SS_TRY(glance(self, &c));
    if (self->config->device_fuse == SS_FUSE_ON)
        prefer_fused(&c);
    choose_finalists(&c);
    if (c.n_final == 0) {
        /* says why in cuBLASLt's words */
        SS_TRY(ss_cuda_gemm_run(self, index, &c.all[0].how, false));
        return ss_fail(SS_ERR_DEVICE, "no algorithm for %s runs on device %d",
                       self->work.plan->op[index].name, self->device.ordinal);
    }
    if (self->device.slot >= 0)
        c.n_final = 1; /* a shared device: times mean nothing */
    else
        SS_TRY(warm_up(self, &c));
    SS_TRY(take_turns(self, &c));
    g->choice = decide(&c);
    return SS_OK;
}
