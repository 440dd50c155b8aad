/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What must hold after whole steps: every number finite, the weights still
 * spread as they were, and the replicas of the data-parallel dimension equal
 * bit for bit, the odd one named. Reads the state on the device; must not
 * change it.
 */
#include <math.h>

#include "engine/cuda.h"

static uint64_t elems_of(const struct ss_cuda *self, enum ss_role role)
{
    return self->work.plan->buffer[role].elems;
}

static enum ss_dtype type_of(const struct ss_cuda *self, enum ss_role role)
{
    return self->work.plan->buffer[role].dtype;
}

enum ss_status ss_cuda_weight_variance(struct ss_cuda *self, double *out)
{
    double sums[2], n = (double)elems_of(self, SS_BUF_WEIGHT);
    SS_TRY(ss_cuda_word_set(self, 0));
    SS_TRY(ss_cuda_said(self,
                        ss_kernel_moments(self->buffer[SS_BUF_WEIGHT],
                                          type_of(self, SS_BUF_WEIGHT),
                                          elems_of(self, SS_BUF_WEIGHT),
                                          (double *)self->words,
                                          self->lane[SS_LANE_COMPUTE]),
                        "sum up the weights"));
    SS_TRY(ss_cuda_word_get(self, sums, sizeof(sums)));
    *out = sums[1] / n - sums[0] / n * (sums[0] / n);
    return SS_OK;
}

/* Index of the first number that is none, or UINT64_MAX. */
static enum ss_status first_wild(struct ss_cuda *self, enum ss_role role,
                                 uint64_t *at)
{
    SS_TRY(ss_cuda_word_set(self, 0xff));
    SS_TRY(ss_cuda_said(self,
                        ss_kernel_first_wild(self->buffer[role],
                                             type_of(self, role),
                                             elems_of(self, role), self->words,
                                             self->lane[SS_LANE_COMPUTE]),
                        "look for numbers that are none"));
    return ss_cuda_word_get(self, at, sizeof(*at));
}

static enum ss_status check_finite(struct ss_cuda *self,
                                   struct ss_check_sink *sink)
{
    static const enum ss_role roles[] = {SS_BUF_WEIGHT, SS_BUF_GRAD,
                                         SS_BUF_MOMENT1, SS_BUF_MOMENT2};
    for (size_t i = 0; i < SS_COUNT_OF(roles); i++) {
        uint64_t at;
        SS_TRY(first_wild(self, roles[i], &at));
        if (at == UINT64_MAX)
            continue;
        ss_check_add(sink, "finite", false, "%s: element %llu is no number",
                     self->work.plan->buffer[roles[i]].name,
                     (unsigned long long)at);
        return SS_OK;
    }
    ss_check_add(sink, "finite", true, "weights, gradients and moments");
    return SS_OK;
}

static enum ss_status check_variance(struct ss_cuda *self,
                                     struct ss_check_sink *sink)
{
    double now;
    SS_TRY(ss_cuda_weight_variance(self, &now));
    ss_check_add(sink, "variance", fabs(now / self->variance - 1) <= 0.1,
                 "variance of the weights is %.4g, at the start %.4g", now,
                 self->variance);
    return SS_OK;
}

static enum ss_status hash_state(struct ss_cuda *self, uint64_t *hash)
{
    static const enum ss_role roles[] = {SS_BUF_WEIGHT, SS_BUF_MOMENT1,
                                         SS_BUF_MOMENT2};
    SS_TRY(ss_cuda_word_set(self, 0));
    for (size_t i = 0; i < SS_COUNT_OF(roles); i++) {
        uint64_t bytes =
            elems_of(self, roles[i]) * ss_dtype_size(type_of(self, roles[i]));
        SS_TRY(ss_cuda_said(self,
                            ss_kernel_hash(self->buffer[roles[i]], bytes, i + 1,
                                           self->words,
                                           self->lane[SS_LANE_COMPUTE]),
                            "hash the state"));
    }
    return ss_cuda_word_get(self, hash, sizeof(*hash));
}

/* How many replicas hold this word. */
static int holders(const uint64_t *words, int n, uint64_t word)
{
    int count = 0;
    for (int i = 0; i < n; i++)
        count += words[i] == word;
    return count;
}

/* Odd is who does not hold what more than half hold; where no word has that
 * many, nobody knows who is right. */
static enum ss_status check_replicas_all(struct ss_cuda *self, struct ss_rt *dp,
                                         struct ss_check_sink *sink)
{
    uint64_t mine = 0;
    enum ss_status status = hash_state(self, &mine);
    /* one that cannot hash still takes part: it holds what nobody does */
    SS_TRY(ss_allgather_all(dp, &mine, sizeof(mine), self->hashes));
    SS_TRY(status);
    int with_me = holders(self->hashes, dp->size, mine);
    bool ok = 2 * with_me > dp->size;
    ss_check_add(sink, "replicas", ok,
                 ok ? "weights and moments equal those of %d of %d replicas"
                    : "weights or moments are shared by only %d of %d replicas",
                 with_me, dp->size);
    return SS_OK;
}

enum ss_status ss_cuda_check_state_all(struct ss_engine *engine,
                                       struct ss_check_sink *sink)
{
    struct ss_cuda *self = ss_cuda_of(engine);
    struct ss_rt *dp = self->comms.dim[SS_DIM_DP];
    SS_TRY(check_finite(self, sink));
    SS_TRY(check_variance(self, sink));
    return dp ? check_replicas_all(self, dp, sink) : SS_OK;
}
