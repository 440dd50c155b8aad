/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The products of a plan. Those of equal shape share one description and one
 * way of doing it, which comes from the cache or is measured, and is the same
 * on all ranks of a group. Must not know the schedule.
 */
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "engine/cuda.h"

static enum ss_status lt_said(const struct ss_cuda *self, cublasStatus_t status,
                              const struct ss_op *op)
{
    if (status == CUBLAS_STATUS_SUCCESS)
        return SS_OK;
    return ss_fail(SS_ERR_DEVICE,
                   "cuBLASLt cannot multiply %s (%lld x %lld x %lld) on device "
                   "%d: %s",
                   op->name, (long long)op->m, (long long)op->n,
                   (long long)op->k, self->device.ordinal,
                   self->lt->cublasLtGetStatusString(status));
}

static int find(const struct ss_cuda *self, const struct ss_cuda_gemm *shape)
{
    for (int i = 0; i < self->n_gemms; i++)
        if (ss_cuda_gemm_same(&self->gemm[i], shape))
            return i;
    return -1;
}

/* An epilogue's tanh is good for short types only. */
static void pair_up(struct ss_cuda *self)
{
    const struct ss_plan *plan = self->work.plan;
    bool may = self->config->device_fuse != SS_FUSE_OFF &&
               ss_dtype_size(self->storage) == 2;
    for (int i = 0; i < plan->n_ops; i++)
        self->op[i].gemm = self->op[i].tail = self->op[i].head = -1;
    for (int i = 0; i < plan->n_ops && may; i++) {
        int map = ss_cuda_fusable(plan, i);
        self->op[i].tail = map;
        if (map >= 0)
            self->op[map].head = i;
    }
}

static enum ss_status find_shapes(struct ss_cuda *self)
{
    const struct ss_plan *plan = self->work.plan;
    for (int i = 0; i < plan->n_ops; i++) {
        if (plan->op[i].kind != SS_OP_GEMM)
            continue;
        const struct ss_cuda_gemm shape = ss_cuda_gemm_shape(self, i);
        self->op[i].gemm = find(self, &shape);
        if (self->op[i].gemm >= 0)
            continue;
        struct ss_cuda_gemm *g = &self->gemm[self->n_gemms];
        *g = shape;
        self->op[i].gemm = self->n_gemms++;
        SS_TRY(lt_said(self, ss_cuda_gemm_describe(self, g), &plan->op[i]));
        g->choice.key = ss_cuda_gemm_key(self, g);
    }
    return SS_OK;
}

/* Known from before, and does it run? */
static bool remembers(struct ss_cuda *self, int index)
{
    struct ss_cuda_gemm *g = &self->gemm[self->op[index].gemm];
    const struct ss_gemm_choice *known =
        ss_gemm_cache_find(&self->cache, g->choice.key);
    if (!known || (known->fused && !g->fused) ||
        ss_cuda_gemm_run(self, index, known, false) != SS_OK) {
        ss_error_set(NULL);
        return false;
    }
    g->choice = *known;
    return true;
}

static enum ss_status choose(struct ss_cuda *self)
{
    const struct ss_plan *plan = self->work.plan;
    int next = 0; /* shapes are numbered as they first occur */
    for (int i = 0; i < plan->n_ops; i++) {
        if (self->op[i].gemm != next)
            continue;
        next++;
        if (!remembers(self, i))
            SS_TRY(ss_cuda_gemm_pick(self, i));
    }
    return SS_OK;
}

static int count_gemms(const struct ss_plan *plan)
{
    int n = 0;
    for (int i = 0; i < plan->n_ops; i++)
        n += plan->op[i].kind == SS_OP_GEMM;
    return n;
}

static void log_products(const struct ss_cuda *self)
{
    for (int i = 0; i < self->n_gemms; i++) {
        const struct ss_cuda_gemm *g = &self->gemm[i];
        double flops = 2.0 * (double)g->m * (double)g->n * (double)g->k;
        ss_log(SS_LOG_DEBUG, "engine",
               "product %lld x %lld x %lld%s%s%s: algorithm %d of %d%s, %.0f "
               "TFLOP/s (the first offered: %.0f)",
               (long long)g->m, (long long)g->n, (long long)g->k,
               g->ta ? " ta" : "", g->tb ? " tb" : "",
               g->tail != SS_MAP_NONE ? " gelu" : "", g->choice.chosen + 1,
               g->choice.candidates, g->choice.fused ? " fused" : "",
               flops / (double)g->choice.best_ms / 1e9,
               flops / (double)g->choice.first_ms / 1e9);
    }
}

enum ss_status ss_cuda_gemms_open(struct ss_cuda *self)
{
    self->gemm = ss_alloc((size_t)count_gemms(self->work.plan),
                          sizeof(*self->gemm), "shapes of products");
    if (!self->gemm)
        return SS_ERR_NO_MEMORY;
    self->settled = false;
    pair_up(self);
    SS_TRY(find_shapes(self));
    SS_TRY(choose(self));
    log_products(self);
    return SS_OK;
}

void ss_cuda_gemms_close(struct ss_cuda *self)
{
    for (int i = 0; i < self->n_gemms; i++)
        ss_cuda_gemm_forget(self, &self->gemm[i]);
    ss_free(self->gemm);
    self->gemm = NULL;
    self->n_gemms = 0;
}

static void adopt(struct ss_cuda *self, const struct ss_gemm_choice *choice)
{
    for (int i = 0; i < self->n_gemms; i++)
        if (self->gemm[i].choice.key == choice->key)
            self->gemm[i].choice = *choice;
}

/* One rank of a node keeps what was found; who cannot says so once. */
static void keep(struct ss_cuda *self)
{
    if (!self->products[0] || !self->cache.changed ||
        self->place.local_rank != 0)
        return;
    if (ss_gemm_cache_write(&self->cache, self->products) == SS_OK)
        return;
    ss_log(SS_LOG_INFO, "engine", "measured again next time: %s",
           ss_error_text());
    ss_error_set(NULL);
    self->products[0] = '\0';
}

/* What measuring has won, over the products of a step as they occur. */
static void tell(const struct ss_cuda *self)
{
    double first = 0, best = 0;
    int n = 0, pairs = 0, fused = 0;
    for (int i = 0; i < self->work.plan->n_ops; i++) {
        if (self->op[i].gemm < 0)
            continue;
        const struct ss_gemm_choice *c = &self->gemm[self->op[i].gemm].choice;
        n++;
        first += (double)c->first_ms;
        best += (double)c->best_ms;
        pairs += self->op[i].tail >= 0;
        fused += c->fused;
    }
    if (best > 0)
        ss_log(SS_LOG_INFO, "engine",
               "%d products of %d shapes take %.3f ms a step as measured, "
               "%.3f ms as first offered; GELU is in the epilogue of %d of %d",
               n, self->n_gemms, best, first, fused, pairs);
}

enum ss_status ss_cuda_gemms_settle_all(struct ss_cuda *self)
{
    struct ss_rt *group = self->comms.group;
    int n = self->n_gemms;
    if (self->settled)
        return SS_OK;
    if (group)
        SS_TRY(ss_bcast_all(group, &n, sizeof(n), 0));
    for (int i = 0; i < n && group; i++) {
        struct ss_gemm_choice choice = {0};
        if (group->rank == 0)
            choice = self->gemm[i].choice;
        SS_TRY(ss_bcast_all(group, &choice, sizeof(choice), 0));
        adopt(self, &choice);
    }
    self->settled = true;
    for (int i = 0; i < self->n_gemms; i++)
        SS_TRY(ss_gemm_cache_put(&self->cache, &self->gemm[i].choice));
    if (self->cache.changed)
        tell(self);
    keep(self);
    return SS_OK;
}

/* The operands of one launch. */
struct call {
    const struct ss_cuda_gemm *gemm;
    cublasLtMatmulDesc_t desc;
    void *c; /* the result */
};

/* Fused: the result is the tail's, and the operand that is left is what the
 * epilogue reads (GELU's input, backward) or writes (the same, forward). */
static enum ss_status prepare(const struct ss_cuda *self, int index, bool fused,
                              struct call *out)
{
    const struct ss_op *op = &self->work.plan->op[index];
    *out = (struct call){.gemm = &self->gemm[self->op[index].gemm]};
    out->desc = fused ? out->gemm->fused : out->gemm->desc;
    out->c = ss_cuda_at(self, op->c);
    if (!fused)
        return SS_OK;
    const struct ss_op *tail = &self->work.plan->op[self->op[index].tail];
    const void *other =
        tail->map == SS_MAP_GELU ? out->c : ss_cuda_at(self, tail->b);
    out->c = ss_cuda_at(self, tail->c);
    return lt_said(self,
                   self->lt->cublasLtMatmulDescSetAttribute(
                       out->desc, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER,
                       &other, sizeof(other)),
                   op);
}

enum ss_status ss_cuda_gemm_run(struct ss_cuda *self, int index,
                                const struct ss_gemm_choice *choice, bool alone)
{
    static const float zero_f = 0, one_f = 1;
    static const double zero_d = 0, one_d = 1;
    const struct ss_op *op = &self->work.plan->op[index];
    struct call call;
    SS_TRY(prepare(self, index, choice->fused, &call));
    const struct ss_cuda_gemm *g = call.gemm;
    bool wide = g->in == SS_DT_F64, adds = g->accumulate && !alone;
    const void *alpha = wide ? (const void *)&one_d : &one_f;
    const void *none = wide ? (const void *)&zero_d : &zero_f;
    cublasLtMatmulAlgo_t algo;
    _Static_assert(sizeof(algo) == sizeof(choice->algo), "one opaque word");
    memcpy(&algo, choice->algo, sizeof(algo));
    cublasStatus_t status = self->lt->cublasLtMatmul(
        self->blas, call.desc, alpha, ss_cuda_at(self, op->b), g->a,
        ss_cuda_at(self, op->a), g->b, adds ? alpha : none, call.c, g->c,
        call.c, g->c, &algo, self->workspace, SS_CUDA_WORKSPACE,
        self->lane[SS_LANE_COMPUTE]);
    return lt_said(self, status, op);
}

enum ss_status ss_cuda_gemm(struct ss_cuda *self, int index, bool alone)
{
    const struct ss_cuda_gemm *g = &self->gemm[self->op[index].gemm];
    return ss_cuda_gemm_run(self, index, &g->choice, alone);
}

bool ss_cuda_is_taken_in(const struct ss_cuda *self, int index)
{
    int head = self->op[index].head;
    return head >= 0 && self->gemm[self->op[head].gemm].choice.fused;
}
