/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What must hold after whole steps: every number finite, the weights still
 * spread as they were, and the replicas of the data-parallel dimension equal
 * bit for bit, the odd one named. Reads the state; must not change it.
 */
#include <math.h>
#include <xxhash.h>

#include "engine/host.h"
#include "engine/host_twin.h"

static uint64_t elems_of(const struct ss_host *self, enum ss_role role)
{
    return self->work.plan->buffer[role].elems;
}

double ss_host_weight_variance(const struct ss_host *self)
{
    uint64_t n = elems_of(self, SS_BUF_WEIGHT);
    const void *data = self->buffer[SS_BUF_WEIGHT];
    double sum = 0, squares = 0;
    for (uint64_t i = 0; i < n; i++) {
        double x = ss_twin_get(data, self->dtype, i);
        sum += x;
        squares += x * x;
    }
    double mean = sum / (double)n;
    return squares / (double)n - mean * mean;
}

/* Index of the first number that is none, or -1. */
static int64_t first_wild(const struct ss_host *self, enum ss_role role)
{
    uint64_t n = elems_of(self, role);
    for (uint64_t i = 0; i < n; i++)
        if (!isfinite(ss_twin_get(self->buffer[role], self->dtype, i)))
            return (int64_t)i;
    return -1;
}

static void check_finite(const struct ss_host *self, struct ss_check_sink *sink)
{
    static const enum ss_role roles[] = {SS_BUF_WEIGHT, SS_BUF_GRAD,
                                         SS_BUF_MOMENT1, SS_BUF_MOMENT2};
    for (size_t i = 0; i < SS_COUNT_OF(roles); i++) {
        const struct ss_buffer *buffer = &self->work.plan->buffer[roles[i]];
        int64_t at = first_wild(self, roles[i]);
        if (at < 0)
            continue;
        ss_check_add(
            sink, "finite", false, "%s: element %lld is %g", buffer->name,
            (long long)at,
            ss_twin_get(self->buffer[roles[i]], self->dtype, (uint64_t)at));
        return;
    }
    ss_check_add(sink, "finite", true, "weights, gradients and moments");
}

static void check_variance(const struct ss_host *self,
                           struct ss_check_sink *sink)
{
    double now = ss_host_weight_variance(self);
    double ratio = now / self->variance;
    bool ok = fabs(ratio - 1) <= 0.1;
    ss_check_add(sink, "variance", ok,
                 "variance of the weights is %.4g, at the start %.4g", now,
                 self->variance);
}

static uint64_t hash_state(const struct ss_host *self)
{
    static const enum ss_role roles[] = {SS_BUF_WEIGHT, SS_BUF_MOMENT1,
                                         SS_BUF_MOMENT2};
    uint64_t hash = 0;
    for (size_t i = 0; i < SS_COUNT_OF(roles); i++) {
        size_t bytes = (size_t)elems_of(self, roles[i]) * self->elem_size;
        hash = XXH64(self->buffer[roles[i]], bytes, hash);
    }
    return hash;
}

/* How many replicas hold this word. */
static int holders(const uint64_t *words, int n, uint64_t word)
{
    int count = 0;
    for (int i = 0; i < n; i++)
        count += words[i] == word;
    return count;
}

/* Every rank judges itself: odd is who does not hold what most hold, and of
 * two or more camps of equal size everybody, since nobody knows who is right.
 */
static void judge_replica(const struct ss_host *self, uint64_t mine, int n,
                          struct ss_check_sink *sink)
{
    int with_me = holders(self->hashes, n, mine), most = 0, camps = 0;
    for (int i = 0; i < n; i++) {
        int size = holders(self->hashes, n, self->hashes[i]);
        camps = size > most ? 0 : camps;
        most = size > most ? size : most;
        camps += size == most ? 1 : 0;
    }
    bool tie = camps > most; /* more members of largest camps than one has */
    bool ok = with_me == most && !tie;
    ss_check_add(sink, "replicas", ok,
                 ok ? "weights and moments equal those of %d of %d replicas"
                    : "weights or moments are shared by only %d of %d replicas",
                 with_me, n);
}

enum ss_status ss_host_check_state_all(struct ss_engine *engine,
                                       struct ss_check_sink *sink)
{
    struct ss_host *self = ss_host_of(engine);
    struct ss_rt *dp = self->comms.dim[SS_DIM_DP];
    check_finite(self, sink);
    check_variance(self, sink);
    if (!dp)
        return SS_OK;
    uint64_t mine = hash_state(self);
    SS_TRY(ss_allgather_all(dp, &mine, sizeof(mine), self->hashes));
    judge_replica(self, mine, dp->size, sink);
    return SS_OK;
}
