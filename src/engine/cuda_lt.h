/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_ENGINE_CUDA_LT_H
#define SS_ENGINE_CUDA_LT_H

#include <cublasLt.h>

#include "base/status.h"

/*
 * cuBLASLt, loaded at run time: it is half a gigabyte, which a program that
 * only prints a report should not have to map, or even have.
 */
#define SS_LT_FUNCTIONS(X)                                                     \
    X(cublasLtCreate)                                                          \
    X(cublasLtDestroy)                                                         \
    X(cublasLtGetStatusString)                                                 \
    X(cublasLtGetVersion)                                                      \
    X(cublasLtMatmulDescCreate)                                                \
    X(cublasLtMatmulDescDestroy)                                               \
    X(cublasLtMatmulDescSetAttribute)                                          \
    X(cublasLtMatrixLayoutCreate)                                              \
    X(cublasLtMatrixLayoutDestroy)                                             \
    X(cublasLtMatmulPreferenceCreate)                                          \
    X(cublasLtMatmulPreferenceDestroy)                                         \
    X(cublasLtMatmulPreferenceSetAttribute)                                    \
    X(cublasLtMatmulAlgoGetHeuristic)                                          \
    X(cublasLtMatmul)

struct ss_lt {
    void *library;
#define X(name) __typeof__(&(name)) name;
    SS_LT_FUNCTIONS(X)
#undef X
};

/** SS_ERR_ENV says why it cannot be loaded. */
enum ss_status ss_lt_open(struct ss_lt **out);
void ss_lt_close(struct ss_lt *lt);

#endif
