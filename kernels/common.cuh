/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the kernels share: element types and the type that each computes in,
 * 16-byte packs, and the dispatch from an enum to a template. Device side only;
 * C code includes kernels.h.
 */
#ifndef SS_KERNELS_COMMON_CUH
#define SS_KERNELS_COMMON_CUH

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "kernels/kernels.h"

#define SS_THREADS 256

/** The type that an element is computed in. */
template <typename T> struct ss_math {
    typedef float type;
};
template <> struct ss_math<double> {
    typedef double type;
};

static __device__ __forceinline__ float ss_up(float x)
{
    return x;
}
static __device__ __forceinline__ double ss_up(double x)
{
    return x;
}
static __device__ __forceinline__ float ss_up(__nv_bfloat16 x)
{
    return __bfloat162float(x);
}
static __device__ __forceinline__ float ss_up(__half x)
{
    return __half2float(x);
}

template <typename T>
static __device__ __forceinline__ T ss_down(typename ss_math<T>::type x);
template <> __device__ __forceinline__ float ss_down<float>(float x)
{
    return x;
}
template <> __device__ __forceinline__ double ss_down<double>(double x)
{
    return x;
}
template <>
__device__ __forceinline__ __nv_bfloat16 ss_down<__nv_bfloat16>(float x)
{
    return __float2bfloat16_rn(x);
}
template <> __device__ __forceinline__ __half ss_down<__half>(float x)
{
    return __float2half_rn(x);
}

/** N elements moved as one access. */
template <typename T, int N> struct alignas(sizeof(T) * N) ss_pack {
    T at[N];
};

static inline bool ss_aligned(const void *p, size_t bytes)
{
    return (uintptr_t)p % bytes == 0;
}

static inline unsigned ss_blocks(uint64_t items, uint64_t most)
{
    uint64_t blocks = (items + SS_THREADS - 1) / SS_THREADS;
    blocks = blocks < most ? blocks : most;
    return (unsigned)(blocks ? blocks : 1);
}

/** Blocks of a kernel that strides over its items. */
#define SS_STRIDED_BLOCKS 4096

static __device__ __forceinline__ uint64_t ss_thread(void)
{
    return (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
}

static __device__ __forceinline__ uint64_t ss_threads(void)
{
    return (uint64_t)gridDim.x * blockDim.x;
}

/** Calls FN<T>(...) for the dtype; other types are refused. */
#define SS_DISPATCH(dtype, FN, ...)                                            \
    switch (dtype) {                                                           \
    case SS_DT_F32:                                                            \
        FN<float>(__VA_ARGS__);                                                \
        break;                                                                 \
    case SS_DT_F64:                                                            \
        FN<double>(__VA_ARGS__);                                               \
        break;                                                                 \
    case SS_DT_BF16:                                                           \
        FN<__nv_bfloat16>(__VA_ARGS__);                                        \
        break;                                                                 \
    case SS_DT_FP16:                                                           \
        FN<__half>(__VA_ARGS__);                                               \
        break;                                                                 \
    default:                                                                   \
        return (int)cudaErrorInvalidValue;                                     \
    }                                                                          \
    return (int)cudaGetLastError()

#endif
