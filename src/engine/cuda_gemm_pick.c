/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which of the algorithms that cuBLASLt offers is used for a shape: the first,
 * unless another is measurably faster here. Runs at load, on normal data, and
 * writes where the op writes. Must not know where the shape occurs.
 */
#include "engine/cuda.h"

#define RUNS 3
#define MARGIN 0.98F /* of the first one's time: less is noise */

/* The fastest of a few runs after one to warm up; *ms is 0 if it fails. */
static enum ss_status measure(struct ss_cuda *self, int index,
                              const cublasLtMatmulAlgo_t *algo, float *ms)
{
    cudaStream_t stream = self->lane[SS_LANE_COMPUTE];
    cudaEvent_t from = self->mark[0], to = self->mark[1];
    *ms = 0;
    if (ss_cuda_gemm_run(self, index, algo, false) != SS_OK)
        return SS_OK; /* offered and refused: passed over */
    for (int i = 0; i < RUNS; i++) {
        float one = 0;
        (void)cudaEventRecord(from, stream);
        SS_TRY(ss_cuda_gemm_run(self, index, algo, false));
        (void)cudaEventRecord(to, stream);
        SS_TRY(ss_cuda_wait_lane(self, SS_LANE_COMPUTE));
        SS_TRY(ss_cuda_said(self, (int)cudaEventElapsedTime(&one, from, to),
                            "time a product"));
        if (*ms == 0 || one < *ms)
            *ms = one;
    }
    return SS_OK;
}

enum ss_status ss_cuda_gemm_pick(struct ss_cuda *self, int index,
                                 const cublasLtMatmulHeuristicResult_t *offered,
                                 int n)
{
    struct ss_cuda_gemm *g = &self->gemm[self->op[index].gemm];
    g->candidates = n;
    g->chosen = -1;
    for (int i = 0; i < n; i++) {
        float ms;
        SS_TRY(measure(self, index, &offered[i].algo, &ms));
        if (ms == 0)
            continue;
        if (g->chosen < 0)
            g->first_ms = ms;
        else if (ms >= g->best_ms || ms >= MARGIN * g->first_ms)
            continue;
        g->chosen = i;
        g->best_ms = ms;
    }
    if (g->chosen < 0)
        return ss_cuda_gemm_run(self, index, &offered[0].algo, false);
    g->algo = offered[g->chosen].algo;
    return SS_OK;
}
