/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_TESTS_GPU_SKIP_H
#define SS_TESTS_GPU_SKIP_H

#include <cuda_runtime.h>
#include <stdbool.h>
#include <stdio.h>

#define GPU_SKIP 77 /* what CTest takes for "skipped" */

/** False, with the reason on stdout, where there is no device. */
static inline bool gpu_is_there(void)
{
    int n = 0;
    cudaError_t error = cudaGetDeviceCount(&n);
    if (error == cudaSuccess && n > 0)
        return true;
    printf("skipped: no CUDA device (%s)\n", error == cudaSuccess
                                                 ? "none is visible"
                                                 : cudaGetErrorString(error));
    return false;
}

#endif
