/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The floor of a training step on this device, by a program that shares
 * nothing with stepscale: the products of an MLP in their order, each with the
 * fastest algorithm that cuBLASLt offers for its shape (GELU and its slope in
 * the epilogue), and one AdamW pass, run back to back until clock and power are
 * flat. Anything that trains the same layers on the same device needs this
 * long. Prints a JSON line a case.
 *
 *   nvcc -O3 -arch=native floor.cu -o floor -lcublasLt
 *   floor [--seconds S] LAYERS:HIDDEN:TOKENS[:TP] ...
 */
#include <cublasLt.h>
#include <cuda_runtime.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "floor_kernels.cuh"

#define OFFERED 256
#define FINALISTS 8
#define WORKSPACE ((size_t)256 << 20)
#define STEPS_MAX 65536

#define CUDA(call) must((call) == cudaSuccess, #call)
#define LT(call) must((call) == CUBLAS_STATUS_SUCCESS, #call)

static void must(bool ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "floor: failed: %s (%s)\n", what,
            cudaGetErrorString(cudaGetLastError()));
    exit(1);
}

enum product { FWD1, FWD2, WGRAD2, DGRAD2, WGRAD1, DGRAD1, PRODUCTS };
static const char *const name[] = {"fc1+gelu",     "fc2",    "wgrad2",
                                   "dgrad2+dgelu", "wgrad1", "dgrad1"};

struct shape {
    int64_t m, n, k; /* C[m,n] = op(A)[m,k] op(B)[k,n], row-major */
    bool ta, tb;
    cublasLtMatmulDesc_t desc;
    cublasLtMatrixLayout_t a, b, c;
    cublasLtMatmulAlgo_t algo;
    int offered, chosen;
    float first_ms, best_ms;
};

struct bench {
    int layers;
    int64_t hidden, ffn, tokens;
    bf16 *x, *pre, *act, *w1, *w2, *g1, *g2, *m1, *m2, *dy, *dpre;
    uint64_t params;
    void *workspace;
    cublasLtHandle_t blas;
    cudaEvent_t from, to;
    struct shape shape[PRODUCTS];
};

static bf16 *normal(uint64_t n, float sd)
{
    static uint64_t seed;
    bf16 *x;
    CUDA(cudaMalloc((void **)&x, n * sizeof(*x)));
    fill<<<(unsigned)((n + 255) / 256), 256>>>(x, n, ++seed, sd);
    CUDA(cudaGetLastError());
    return x;
}

static void describe(struct bench *b, int p, int64_t m, int64_t n, int64_t k,
                     bool ta, bool tb)
{
    struct shape *s = &b->shape[p];
    *s = (struct shape){};
    s->m = m, s->n = n, s->k = k, s->ta = ta, s->tb = tb;
    cublasOperation_t first = tb ? CUBLAS_OP_T : CUBLAS_OP_N;
    cublasOperation_t second = ta ? CUBLAS_OP_T : CUBLAS_OP_N;
    LT(cublasLtMatmulDescCreate(&s->desc, CUBLAS_COMPUTE_32F, CUDA_R_32F));
    LT(cublasLtMatmulDescSetAttribute(s->desc, CUBLASLT_MATMUL_DESC_TRANSA,
                                      &first, sizeof(first)));
    LT(cublasLtMatmulDescSetAttribute(s->desc, CUBLASLT_MATMUL_DESC_TRANSB,
                                      &second, sizeof(second)));
    LT(cublasLtMatrixLayoutCreate(&s->a, CUDA_R_16BF, tb ? k : n, tb ? n : k,
                                  tb ? k : n));
    LT(cublasLtMatrixLayoutCreate(&s->b, CUDA_R_16BF, ta ? m : k, ta ? k : m,
                                  ta ? m : k));
    LT(cublasLtMatrixLayoutCreate(&s->c, CUDA_R_16BF, n, m, n));
    if (p != FWD1 && p != DGRAD2)
        return;
    cublasLtEpilogue_t epilogue =
        p == FWD1 ? CUBLASLT_EPILOGUE_GELU_AUX : CUBLASLT_EPILOGUE_DGELU;
    const void *aux = b->pre;
    LT(cublasLtMatmulDescSetAttribute(s->desc, CUBLASLT_MATMUL_DESC_EPILOGUE,
                                      &epilogue, sizeof(epilogue)));
    LT(cublasLtMatmulDescSetAttribute(
        s->desc, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, &n, sizeof(n)));
    LT(cublasLtMatmulDescSetAttribute(
        s->desc, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, &aux, sizeof(aux)));
}

/* One product of one layer. */
static cublasStatus_t run(struct bench *b, int p, int layer,
                          const cublasLtMatmulAlgo_t *algo)
{
    const float one = 1, zero = 0;
    struct shape *s = &b->shape[p];
    uint64_t xs = (uint64_t)(b->tokens * b->hidden);
    uint64_t fs = (uint64_t)(b->tokens * b->ffn);
    uint64_t ws = (uint64_t)(b->hidden * b->ffn);
    bf16 *x = b->x + layer * xs, *y = x + xs, *pre = b->pre + layer * fs,
         *act = b->act + layer * fs, *w1 = b->w1 + layer * ws * 2,
         *w2 = w1 + ws, *g1 = b->g1 + layer * ws * 2, *g2 = g1 + ws,
         *dx = b->dy + ((layer + 1) % 2) * xs, *dy = b->dy + (layer % 2) * xs;
    if (layer == b->layers - 1)
        dy = b->dy + 2 * xs; /* of the loss: constant */
    const struct {
        bf16 *a, *b, *c;
    } of[] = {{x, w1, act},      {act, w2, y},     {dy, act, g2},
              {dy, w2, b->dpre}, {b->dpre, x, g1}, {b->dpre, w1, dx}};
    const void *aux = pre;
    if (p == FWD1 || p == DGRAD2)
        LT(cublasLtMatmulDescSetAttribute(
            s->desc, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, &aux,
            sizeof(aux)));
    return cublasLtMatmul(b->blas, s->desc, &one, of[p].b, s->a, of[p].a, s->b,
                          &zero, of[p].c, s->c, of[p].c, s->c, algo,
                          b->workspace, WORKSPACE, 0);
}

/* ms per call of `calls` calls over the layers in turn; 0: refused. */
static float timed(struct bench *b, int p, const cublasLtMatmulAlgo_t *algo,
                   int calls)
{
    float ms;
    if (run(b, p, 0, algo) != CUBLAS_STATUS_SUCCESS)
        return 0;
    CUDA(cudaEventRecord(b->from, 0));
    for (int i = 0; i < calls; i++)
        LT(run(b, p, i % b->layers, algo));
    CUDA(cudaEventRecord(b->to, 0));
    CUDA(cudaEventSynchronize(b->to));
    CUDA(cudaEventElapsedTime(&ms, b->from, b->to));
    return ms / (float)calls;
}

static void warm(struct bench *b, int p, const cublasLtMatmulAlgo_t *algo,
                 float seconds)
{
    for (float spent = 0; spent < seconds * 1000;) {
        float ms = timed(b, p, algo, 50);
        if (ms == 0)
            return;
        spent += ms * 50;
    }
}

/* All that is offered once; the best few in turn, under load. */
static void choose(struct bench *b, int p)
{
    static cublasLtMatmulHeuristicResult_t offer[OFFERED];
    struct shape *s = &b->shape[p];
    float quick[OFFERED], sum[FINALISTS] = {0};
    int final[FINALISTS], finals = 0;
    size_t workspace = WORKSPACE;
    cublasLtMatmulPreference_t wants;
    LT(cublasLtMatmulPreferenceCreate(&wants));
    LT(cublasLtMatmulPreferenceSetAttribute(
        wants, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace,
        sizeof(workspace)));
    LT(cublasLtMatmulAlgoGetHeuristic(b->blas, s->desc, s->a, s->b, s->c, s->c,
                                      wants, OFFERED, offer, &s->offered));
    LT(cublasLtMatmulPreferenceDestroy(wants));
    must(s->offered > 0, "an algorithm is offered");
    for (int i = 0; i < s->offered; i++)
        quick[i] = timed(b, p, &offer[i].algo, 3);
    while (finals < FINALISTS) {
        int best = -1;
        for (int i = 0; i < s->offered; i++)
            if (quick[i] > 0 && (best < 0 || quick[i] < quick[best]))
                best = i;
        if (best < 0)
            break;
        quick[best] = 0;
        final[finals++] = best;
    }
    must(finals > 0, "an algorithm runs");
    warm(b, p, &offer[final[0]].algo, 0.5F);
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < finals; i++)
            sum[i] += timed(b, p, &offer[final[i]].algo, 48) / 3;
    int best = 0;
    for (int i = 0; i < finals; i++)
        best = sum[i] < sum[best] ? i : best;
    s->algo = offer[final[best]].algo;
    s->chosen = final[best];
    s->best_ms = sum[best];
    s->first_ms = timed(b, p, &offer[0].algo, 48);
}

static void optimize(struct bench *b)
{
    uint64_t packs = b->params / 8;
    adamw<<<(unsigned)((packs + 255) / 256), 256>>>(
        (eight *)b->w1, (const eight *)b->g1, (eight *)b->m1, (eight *)b->m2,
        packs);
}

static void step(struct bench *b)
{
    for (int l = 0; l < b->layers; l++)
        for (int p = FWD1; p <= FWD2; p++)
            LT(run(b, p, l, &b->shape[p].algo));
    for (int l = b->layers - 1; l >= 0; l--)
        for (int p = WGRAD2; p < (l > 0 ? PRODUCTS : DGRAD1); p++)
            LT(run(b, p, l, &b->shape[p].algo));
    optimize(b);
}

static int by_size(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* Median step of the last half of `seconds` of steps back to back. */
static float sustained(struct bench *b, float seconds, int *n)
{
    static float ms[STEPS_MAX];
    float spent = 0;
    *n = 0;
    while (spent < seconds * 1000 && *n < STEPS_MAX) {
        cudaEvent_t mark[33];
        int batch = 0;
        for (int i = 0; i < 33; i++)
            CUDA(cudaEventCreate(&mark[i]));
        CUDA(cudaEventRecord(mark[0], 0));
        while (batch < 32 && *n + batch < STEPS_MAX) {
            step(b);
            CUDA(cudaEventRecord(mark[++batch], 0));
        }
        CUDA(cudaEventSynchronize(mark[batch]));
        for (int i = 0; i < batch; i++) {
            CUDA(cudaEventElapsedTime(&ms[*n], mark[i], mark[i + 1]));
            spent += ms[(*n)++];
        }
        for (int i = 0; i < 33; i++)
            CUDA(cudaEventDestroy(mark[i]));
    }
    int half = *n / 2;
    qsort(ms + half, (size_t)(*n - half), sizeof(*ms), by_size);
    *n -= half;
    return ms[half + *n / 2];
}

/* GB/s of the AdamW pass (14 bytes a parameter) and of a copy of as much. */
static void bandwidth(struct bench *b, double *pass, double *copy)
{
    float best = 0, ms;
    size_t bytes = (size_t)b->params * sizeof(bf16);
    for (int kind = 0; kind < 2; kind++) {
        best = 0;
        for (int i = 0; i < 12; i++) {
            CUDA(cudaEventRecord(b->from, 0));
            if (kind == 0)
                optimize(b);
            else
                CUDA(cudaMemcpyAsync(b->m2, b->m1, bytes,
                                     cudaMemcpyDeviceToDevice, 0));
            CUDA(cudaEventRecord(b->to, 0));
            CUDA(cudaEventSynchronize(b->to));
            CUDA(cudaEventElapsedTime(&ms, b->from, b->to));
            best = best == 0 || ms < best ? ms : best;
        }
        if (kind == 0)
            *pass = 14.0 * (double)b->params / best / 1e6;
        else
            *copy = 2.0 * (double)bytes / best / 1e6;
    }
}

static void open_bench(struct bench *b)
{
    int64_t h = b->hidden, f = b->ffn, t = b->tokens;
    uint64_t layers = (uint64_t)b->layers;
    b->params = layers * 2 * (uint64_t)(h * f);
    b->x = normal((layers + 1) * (uint64_t)(t * h), 1);
    b->pre = normal(layers * (uint64_t)(t * f), 1);
    b->act = normal(layers * (uint64_t)(t * f), 1);
    b->w1 = normal(b->params, 0.5F / sqrtf((float)h));
    b->g1 = normal(b->params, 1);
    b->m1 = normal(b->params, 0);
    b->m2 = normal(b->params, 0);
    b->dy = normal(3 * (uint64_t)(t * h), 1);
    b->dpre = normal((uint64_t)(t * f), 1);
    CUDA(cudaMalloc(&b->workspace, WORKSPACE));
    CUDA(cudaEventCreate(&b->from));
    CUDA(cudaEventCreate(&b->to));
    LT(cublasLtCreate(&b->blas));
    describe(b, FWD1, t, f, h, false, true);
    describe(b, FWD2, t, h, f, false, true);
    describe(b, WGRAD2, h, f, t, true, false);
    describe(b, DGRAD2, t, f, h, false, false);
    describe(b, WGRAD1, f, h, t, true, false);
    describe(b, DGRAD1, t, h, f, false, false);
}

static void close_bench(struct bench *b)
{
    void *memory[] = {b->x,  b->pre, b->act, b->w1,   b->g1,
                      b->m1, b->m2,  b->dy,  b->dpre, b->workspace};
    for (size_t i = 0; i < sizeof(memory) / sizeof(*memory); i++)
        CUDA(cudaFree(memory[i]));
    LT(cublasLtDestroy(b->blas));
}

static void report(const struct bench *b, int tp, float ms, int n, double pass,
                   double copy)
{
    double products = 0;
    printf("{\"case\": \"mlp:%d:%lld:%lld\", \"tp\": %d, \"step_ms\": %.3f, "
           "\"steps\": %d, \"adamw_gbs\": %.0f, \"copy_gbs\": %.0f, "
           "\"products\": {",
           b->layers, (long long)b->hidden, (long long)b->tokens, tp, ms, n,
           pass, copy);
    for (int p = 0; p < PRODUCTS; p++) {
        const struct shape *s = &b->shape[p];
        double flops = 2.0 * (double)s->m * (double)s->n * (double)s->k;
        products += s->best_ms * (b->layers - (p == DGRAD1));
        printf("%s\"%s\": {\"offered\": %d, \"chosen\": %d, \"first_ms\": "
               "%.4f, \"ms\": %.4f, \"tflops\": %.0f}",
               p ? ", " : "", name[p], s->offered, s->chosen, s->first_ms,
               s->best_ms, flops / s->best_ms / 1e9);
    }
    printf("}, \"products_ms\": %.3f}\n", products);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    float seconds = 10;
    for (int i = 1; i < argc; i++) {
        static struct bench b;
        long long hidden, tokens;
        int tp = 1, n;
        double pass, copy;
        if (!strcmp(argv[i], "--seconds") && i + 1 < argc) {
            seconds = strtof(argv[++i], NULL);
            continue;
        }
        b = (struct bench){};
        if (sscanf(argv[i], "%d:%lld:%lld:%d", &b.layers, &hidden, &tokens,
                   &tp) < 3 ||
            b.layers < 1 || hidden < 8 || tokens < 8 || tp < 1) {
            fprintf(stderr, "floor: not LAYERS:HIDDEN:TOKENS[:TP]: %s\n",
                    argv[i]);
            return 2;
        }
        b.hidden = hidden;
        b.tokens = tokens;
        b.ffn = 4 * hidden / tp;
        open_bench(&b);
        for (int p = 0; p < PRODUCTS; p++)
            choose(&b, p);
        float ms = sustained(&b, seconds, &n);
        bandwidth(&b, &pass, &copy);
        report(&b, tp, ms, n, pass, copy);
        close_bench(&b);
    }
    return 0;
}
