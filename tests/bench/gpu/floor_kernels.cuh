/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two kernels of the floor, written anew so that it shares nothing with
 * kernels/: seeded normal data, and AdamW over eight parameters a thread.
 */
#pragma once

#include <cuda_bf16.h>
#include <stdint.h>

typedef __nv_bfloat16 bf16;

static __device__ uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
}

static __global__ void fill(bf16 *x, uint64_t n, uint64_t seed, float sd)
{
    uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    uint64_t word = mix(seed * 0x9e3779b97f4a7c15ULL + i + 1);
    float u = ((uint32_t)word + 1.0f) / 4294967808.0f;
    float angle = (uint32_t)(word >> 32) / 4294967296.0f;
    x[i] = __float2bfloat16(sd * sqrtf(-2 * logf(u)) * cospif(2 * angle));
}

struct alignas(16) eight {
    bf16 at[8];
};

static __global__ void adamw(eight *w, const eight *grad, eight *m1, eight *m2,
                             uint64_t packs)
{
    uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= packs)
        return;
    eight g = grad[i], p = w[i], m = m1[i], v = m2[i];
#pragma unroll
    for (int e = 0; e < 8; e++) {
        float x = __bfloat162float(g.at[e]);
        float a = 0.9f * __bfloat162float(m.at[e]) + 0.1f * x;
        float b = 0.999f * __bfloat162float(v.at[e]) + 0.001f * x * x;
        float old = __bfloat162float(p.at[e]);
        m.at[e] = __float2bfloat16(a);
        v.at[e] = __float2bfloat16(b);
        p.at[e] = __float2bfloat16(old - 1e-8f * a / (sqrtf(b) + 1e-8f));
    }
    w[i] = p;
    m1[i] = m;
    m2[i] = v;
}
