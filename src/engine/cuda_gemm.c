/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products through cuBLASLt. It thinks in columns: a row-major C = A B is its
 * C' = B' A', so the operands change places and keep their memory. Shapes that
 * recur share one description and one algorithm. Must not know the schedule.
 */
#include "base/mem.h"
#include "engine/cuda.h"

#define CANDIDATES 8

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

static cudaDataType_t data_type(enum ss_dtype dtype)
{
    switch (dtype) {
    case SS_DT_F64:
        return CUDA_R_64F;
    case SS_DT_BF16:
        return CUDA_R_16BF;
    case SS_DT_FP16:
        return CUDA_R_16F;
    default:
        return CUDA_R_32F;
    }
}

static cublasComputeType_t compute_type(const struct ss_cuda *self,
                                        enum ss_dtype in)
{
    if (in == SS_DT_F64)
        return CUBLAS_COMPUTE_64F;
    if (self->work.plan->precision == SS_PRECISION_TF32)
        return CUBLAS_COMPUTE_32F_FAST_TF32;
    return CUBLAS_COMPUTE_32F;
}

static unsigned alignment(const void *p)
{
    uintptr_t low = (uintptr_t)p & (~(uintptr_t)p + 1);
    return low > 256 || low == 0 ? 256 : (unsigned)low;
}

static struct ss_cuda_gemm shape_of(const struct ss_cuda *self,
                                    const struct ss_op *op)
{
    return (struct ss_cuda_gemm){
        .m = op->m,
        .n = op->n,
        .k = op->k,
        .ta = op->ta,
        .tb = op->tb,
        .accumulate = op->accumulate,
        .in = ss_cuda_type(self, op->a),
        .out = ss_cuda_type(self, op->c),
        .align = {alignment(ss_cuda_at(self, op->a)),
                  alignment(ss_cuda_at(self, op->b)),
                  alignment(ss_cuda_at(self, op->c))},
    };
}

static bool same(const struct ss_cuda_gemm *a, const struct ss_cuda_gemm *b)
{
    return a->m == b->m && a->n == b->n && a->k == b->k && a->ta == b->ta &&
           a->tb == b->tb && a->accumulate == b->accumulate && a->in == b->in &&
           a->out == b->out && a->align[0] == b->align[0] &&
           a->align[1] == b->align[1] && a->align[2] == b->align[2];
}

static int find(const struct ss_cuda *self, const struct ss_cuda_gemm *shape)
{
    for (int i = 0; i < self->n_gemms; i++)
        if (same(&self->gemm[i], shape))
            return i;
    return -1;
}

static cublasStatus_t describe(const struct ss_cuda *self,
                               struct ss_cuda_gemm *g)
{
    cudaDataType_t in = data_type(g->in), out = data_type(g->out);
    cudaDataType_t scale = g->in == SS_DT_F64 ? CUDA_R_64F : CUDA_R_32F;
    cublasOperation_t first = g->tb ? CUBLAS_OP_T : CUBLAS_OP_N;
    cublasOperation_t second = g->ta ? CUBLAS_OP_T : CUBLAS_OP_N;
    uint64_t m = (uint64_t)g->m, n = (uint64_t)g->n, k = (uint64_t)g->k;
    cublasStatus_t s = self->lt->cublasLtMatmulDescCreate(
        &g->desc, compute_type(self, g->in), scale);
    if (s == CUBLAS_STATUS_SUCCESS)
        s = self->lt->cublasLtMatmulDescSetAttribute(
            g->desc, CUBLASLT_MATMUL_DESC_TRANSA, &first, sizeof(first));
    if (s == CUBLAS_STATUS_SUCCESS)
        s = self->lt->cublasLtMatmulDescSetAttribute(
            g->desc, CUBLASLT_MATMUL_DESC_TRANSB, &second, sizeof(second));
    /* rows x columns in its order, then the leading dimension */
    if (s == CUBLAS_STATUS_SUCCESS)
        s = self->lt->cublasLtMatrixLayoutCreate(
            &g->a, in, g->tb ? k : n, g->tb ? n : k, g->tb ? g->k : g->n);
    if (s == CUBLAS_STATUS_SUCCESS)
        s = self->lt->cublasLtMatrixLayoutCreate(
            &g->b, in, g->ta ? m : k, g->ta ? k : m, g->ta ? g->m : g->k);
    if (s == CUBLAS_STATUS_SUCCESS)
        s = self->lt->cublasLtMatrixLayoutCreate(&g->c, out, n, m, g->n);
    return s;
}

static cublasStatus_t set_limits(const struct ss_cuda *self,
                                 cublasLtMatmulPreference_t wants,
                                 const struct ss_cuda_gemm *g)
{
    static const cublasLtMatmulPreferenceAttributes_t which[] = {
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES};
    size_t workspace = SS_CUDA_WORKSPACE;
    /* partial sums are never rounded to the output's type */
    uint32_t reductions =
        CUBLASLT_REDUCTION_SCHEME_MASK & ~CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE;
    cublasStatus_t s = self->lt->cublasLtMatmulPreferenceSetAttribute(
        wants, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace,
        sizeof(workspace));
    if (s == CUBLAS_STATUS_SUCCESS)
        s = self->lt->cublasLtMatmulPreferenceSetAttribute(
            wants, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &reductions,
            sizeof(reductions));
    for (size_t i = 0; i < SS_COUNT_OF(which) && s == CUBLAS_STATUS_SUCCESS;
         i++)
        s = self->lt->cublasLtMatmulPreferenceSetAttribute(
            wants, which[i], &g->align[i], sizeof(g->align[i]));
    if (s == CUBLAS_STATUS_SUCCESS)
        s = self->lt->cublasLtMatmulPreferenceSetAttribute(
            wants, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, &g->align[2],
            sizeof(g->align[2]));
    return s;
}

static cublasStatus_t offers(const struct ss_cuda *self,
                             const struct ss_cuda_gemm *g,
                             cublasLtMatmulHeuristicResult_t *offered, int *n)
{
    cublasLtMatmulPreference_t wants;
    cublasStatus_t s = self->lt->cublasLtMatmulPreferenceCreate(&wants);
    if (s != CUBLAS_STATUS_SUCCESS)
        return s;
    s = set_limits(self, wants, g);
    if (s == CUBLAS_STATUS_SUCCESS)
        s = self->lt->cublasLtMatmulAlgoGetHeuristic(self->blas, g->desc, g->a,
                                                     g->b, g->c, g->c, wants,
                                                     CANDIDATES, offered, n);
    (void)self->lt->cublasLtMatmulPreferenceDestroy(wants);
    if (s == CUBLAS_STATUS_SUCCESS && *n == 0)
        s = CUBLAS_STATUS_NOT_SUPPORTED;
    return s;
}

/* The shape of op `index`, described and with an algorithm. */
static enum ss_status add(struct ss_cuda *self, int index,
                          const struct ss_cuda_gemm *shape)
{
    cublasLtMatmulHeuristicResult_t offered[CANDIDATES];
    const struct ss_op *op = &self->work.plan->op[index];
    struct ss_cuda_gemm *g = &self->gemm[self->n_gemms];
    int n = 0;
    *g = *shape;
    self->op[index].gemm = self->n_gemms++;
    SS_TRY(lt_said(self, describe(self, g), op));
    SS_TRY(lt_said(self, offers(self, g, offered, &n), op));
    return ss_cuda_gemm_pick(self, index, offered, n);
}

static int count_gemms(const struct ss_plan *plan)
{
    int n = 0;
    for (int i = 0; i < plan->n_ops; i++)
        n += plan->op[i].kind == SS_OP_GEMM;
    return n;
}

enum ss_status ss_cuda_gemms_open(struct ss_cuda *self)
{
    const struct ss_plan *plan = self->work.plan;
    self->gemm = ss_alloc((size_t)count_gemms(plan), sizeof(*self->gemm),
                          "shapes of products");
    if (!self->gemm)
        return SS_ERR_NO_MEMORY;
    for (int i = 0; i < plan->n_ops; i++) {
        self->op[i].gemm = -1;
        if (plan->op[i].kind != SS_OP_GEMM)
            continue;
        const struct ss_cuda_gemm shape = shape_of(self, &plan->op[i]);
        self->op[i].gemm = find(self, &shape);
        if (self->op[i].gemm < 0)
            SS_TRY(add(self, i, &shape));
    }
    return SS_OK;
}

void ss_cuda_gemms_close(struct ss_cuda *self)
{
    for (int i = 0; i < self->n_gemms; i++) {
        struct ss_cuda_gemm *g = &self->gemm[i];
        if (g->desc)
            (void)self->lt->cublasLtMatmulDescDestroy(g->desc);
        if (g->a)
            (void)self->lt->cublasLtMatrixLayoutDestroy(g->a);
        if (g->b)
            (void)self->lt->cublasLtMatrixLayoutDestroy(g->b);
        if (g->c)
            (void)self->lt->cublasLtMatrixLayoutDestroy(g->c);
    }
    ss_free(self->gemm);
    self->gemm = NULL;
    self->n_gemms = 0;
}

enum ss_status ss_cuda_gemm_run(struct ss_cuda *self, int index,
                                const cublasLtMatmulAlgo_t *algo, bool alone)
{
    static const float zero_f = 0, one_f = 1;
    static const double zero_d = 0, one_d = 1;
    const struct ss_op *op = &self->work.plan->op[index];
    const struct ss_cuda_gemm *g = &self->gemm[self->op[index].gemm];
    bool wide = g->in == SS_DT_F64, adds = g->accumulate && !alone;
    const void *alpha = wide ? (const void *)&one_d : &one_f;
    const void *none = wide ? (const void *)&zero_d : &zero_f;
    void *c = ss_cuda_at(self, op->c);
    cublasStatus_t status = self->lt->cublasLtMatmul(
        self->blas, g->desc, alpha, ss_cuda_at(self, op->b), g->a,
        ss_cuda_at(self, op->a), g->b, adds ? alpha : none, c, g->c, c, g->c,
        algo, self->workspace, SS_CUDA_WORKSPACE, self->lane[SS_LANE_COMPUTE]);
    return lt_said(self, status, op);
}

enum ss_status ss_cuda_gemm(struct ss_cuda *self, int index, bool alone)
{
    const struct ss_cuda_gemm *g = &self->gemm[self->op[index].gemm];
    return ss_cuda_gemm_run(self, index, &g->algo, alone);
}
