/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products as cuBLASLt is told of them. It thinks in columns: a row-major
 * C = A B is its C' = B' A', so the operands change places and keep their
 * memory. A product that may take in the function after it has a second
 * description, with that function as its epilogue. Must not know the schedule.
 */
#include <string.h>
#include <xxhash.h>

#include "base/str.h"
#include "engine/cuda.h"

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

struct ss_cuda_gemm ss_cuda_gemm_shape(const struct ss_cuda *self, int index)
{
    const struct ss_op *op = &self->work.plan->op[index];
    int tail = self->op[index].tail;
    struct ss_ref end = tail >= 0 ? self->work.plan->op[tail].c : op->c;
    return (struct ss_cuda_gemm){
        .m = op->m,
        .n = op->n,
        .k = op->k,
        .ta = op->ta,
        .tb = op->tb,
        .accumulate = op->accumulate,
        .tail = tail >= 0 ? self->work.plan->op[tail].map : SS_MAP_NONE,
        .in = ss_cuda_type(self, op->a),
        .out = ss_cuda_type(self, op->c),
        .align = {alignment(ss_cuda_at(self, op->a)),
                  alignment(ss_cuda_at(self, op->b)),
                  alignment(ss_cuda_at(self, op->c)),
                  alignment(ss_cuda_at(self, end))},
    };
}

bool ss_cuda_gemm_same(const struct ss_cuda_gemm *a,
                       const struct ss_cuda_gemm *b)
{
    return a->m == b->m && a->n == b->n && a->k == b->k && a->ta == b->ta &&
           a->tb == b->tb && a->accumulate == b->accumulate &&
           a->tail == b->tail && a->in == b->in && a->out == b->out &&
           memcmp(a->align, b->align, sizeof(a->align)) == 0;
}

uint64_t ss_cuda_gemm_key(const struct ss_cuda *self,
                          const struct ss_cuda_gemm *g)
{
    char driver[32], text[400];
    ss_nvml_driver(self->nvml, driver, sizeof(driver));
    (void)ss_format(
        text, sizeof(text),
        "%s, driver %s, cuBLASLt %zu, %lld x %lld x %lld ta %d tb %d adds %d "
        "then %d, %d to %d, precision %d, aligned %u %u %u %u, fuse %d",
        self->device.name, driver, self->lt->cublasLtGetVersion(),
        (long long)g->m, (long long)g->n, (long long)g->k, g->ta, g->tb,
        g->accumulate, (int)g->tail, (int)g->in, (int)g->out,
        self->work.plan->precision, g->align[0], g->align[1], g->align[2],
        g->align[3], self->config->device_fuse);
    return XXH64(text, strlen(text), 0);
}

static cublasStatus_t make_desc(const struct ss_cuda *self,
                                const struct ss_cuda_gemm *g,
                                cublasLtMatmulDesc_t *out)
{
    cudaDataType_t scale = g->in == SS_DT_F64 ? CUDA_R_64F : CUDA_R_32F;
    cublasOperation_t first = g->tb ? CUBLAS_OP_T : CUBLAS_OP_N;
    cublasOperation_t second = g->ta ? CUBLAS_OP_T : CUBLAS_OP_N;
    cublasStatus_t s = self->lt->cublasLtMatmulDescCreate(
        out, compute_type(self, g->in), scale);
    if (s == CUBLAS_STATUS_SUCCESS)
        s = self->lt->cublasLtMatmulDescSetAttribute(
            *out, CUBLASLT_MATMUL_DESC_TRANSA, &first, sizeof(first));
    if (s == CUBLAS_STATUS_SUCCESS)
        s = self->lt->cublasLtMatmulDescSetAttribute(
            *out, CUBLASLT_MATMUL_DESC_TRANSB, &second, sizeof(second));
    return s;
}

/* The epilogue reads or writes what the tail's other operand is. */
static cublasStatus_t make_fused(const struct ss_cuda *self,
                                 struct ss_cuda_gemm *g)
{
    cublasLtEpilogue_t epilogue = g->tail == SS_MAP_GELU
                                      ? CUBLASLT_EPILOGUE_GELU_AUX
                                      : CUBLASLT_EPILOGUE_DGELU;
    cublasStatus_t s = make_desc(self, g, &g->fused);
    if (s == CUBLAS_STATUS_SUCCESS)
        s = self->lt->cublasLtMatmulDescSetAttribute(
            g->fused, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue,
            sizeof(epilogue));
    if (s == CUBLAS_STATUS_SUCCESS)
        s = self->lt->cublasLtMatmulDescSetAttribute(
            g->fused, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, &g->n,
            sizeof(g->n));
    return s;
}

cublasStatus_t ss_cuda_gemm_describe(const struct ss_cuda *self,
                                     struct ss_cuda_gemm *g)
{
    cudaDataType_t in = data_type(g->in), out = data_type(g->out);
    uint64_t m = (uint64_t)g->m, n = (uint64_t)g->n, k = (uint64_t)g->k;
    cublasStatus_t s = make_desc(self, g, &g->desc);
    if (s == CUBLAS_STATUS_SUCCESS && g->tail != SS_MAP_NONE)
        s = make_fused(self, g);
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

void ss_cuda_gemm_forget(const struct ss_cuda *self, struct ss_cuda_gemm *g)
{
    if (g->desc)
        (void)self->lt->cublasLtMatmulDescDestroy(g->desc);
    if (g->fused)
        (void)self->lt->cublasLtMatmulDescDestroy(g->fused);
    if (g->a)
        (void)self->lt->cublasLtMatrixLayoutDestroy(g->a);
    if (g->b)
        (void)self->lt->cublasLtMatrixLayoutDestroy(g->b);
    if (g->c)
        (void)self->lt->cublasLtMatrixLayoutDestroy(g->c);
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
            wants, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, &g->align[3],
            sizeof(g->align[3]));
    return s;
}

cublasStatus_t ss_cuda_gemm_offers(const struct ss_cuda *self,
                                   const struct ss_cuda_gemm *g, bool fused,
                                   cublasLtMatmulHeuristicResult_t *out,
                                   int room, int *n)
{
    cublasLtMatmulPreference_t wants;
    *n = 0;
    cublasStatus_t s = self->lt->cublasLtMatmulPreferenceCreate(&wants);
    if (s != CUBLAS_STATUS_SUCCESS)
        return s;
    s = set_limits(self, wants, g);
    if (s == CUBLAS_STATUS_SUCCESS)
        s = self->lt->cublasLtMatmulAlgoGetHeuristic(
            self->blas, fused ? g->fused : g->desc, g->a, g->b, g->c, g->c,
            wants, room, out, n);
    (void)self->lt->cublasLtMatmulPreferenceDestroy(wants);
    if (s != CUBLAS_STATUS_SUCCESS)
        *n = 0;
    return s;
}
