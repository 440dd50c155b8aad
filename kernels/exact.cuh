/* SPDX-License-Identifier: Apache-2.0 */
/* The integers of exact checks, for the kernels that fill and compare. */
#ifndef SS_KERNELS_EXACT_CUH
#define SS_KERNELS_EXACT_CUH

#include "common.cuh"

static __device__ __forceinline__ int exact_value(struct ss_exact_spec spec,
                                                  int rank, uint64_t place)
{
    if (((uint64_t)rank + place) % (uint64_t)spec.stride != 0)
        return 0;
    uint64_t x = (place + 1) * 0x9E3779B97F4A7C15ull +
                 ((uint64_t)rank + 1) * 0xC2B2AE3D27D4EB4Full;
    x ^= x >> 29;
    x *= 0xBF58476D1CE4E5B9ull;
    x ^= x >> 32;
    return (int)(x % (2 * SS_EXACT_MAX + 1)) - SS_EXACT_MAX;
}

/* Only ranks r with (r + place) % stride == 0 contribute. */
static __device__ __forceinline__ int64_t exact_sum(struct ss_exact_spec spec,
                                                    uint64_t place)
{
    int stride = spec.stride;
    int skip = (int)(place % (uint64_t)stride);
    int64_t sum = 0;
    for (int r = (stride - skip) % stride; r < spec.ranks; r += stride)
        sum += exact_value(spec, r, place);
    return sum;
}

#endif
