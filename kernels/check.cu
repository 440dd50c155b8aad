/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What verification asks of device memory: is every element what it must be,
 * finite, spread as before, equal on replicas. Results are single words, so
 * that only they travel to the host. Never runs inside a timed step.
 */
#include "exact.cuh"

static __device__ __forceinline__ void lower(uint64_t *to, uint64_t value)
{
    atomicMin((unsigned long long *)to, (unsigned long long)value);
}

template <typename T>
static __global__ void compare(const T *data, uint64_t n,
                               struct ss_exact_expect e, uint64_t *wrong)
{
    for (uint64_t i = ss_thread(); i < n; i += ss_threads()) {
        int64_t want;
        if (e.sum)
            want = exact_sum(e.spec, e.first + i);
        else
            want =
                exact_value(e.spec, (int)(i / e.count), e.first + i % e.count);
        /* "not equal" also where the element is no number */
        if (!((double)ss_up(data[i]) == (double)want))
            lower(wrong, i);
    }
}

template <typename T>
static void launch_compare(const void *data, uint64_t n,
                           const struct ss_exact_expect *expect,
                           uint64_t *wrong, cudaStream_t stream)
{
    compare<T><<<ss_blocks(n, SS_STRIDED_BLOCKS), SS_THREADS, 0, stream>>>(
        (const T *)data, n, *expect, wrong);
}

int ss_kernel_compare_exact(const void *data, enum ss_dtype dtype, uint64_t n,
                            const struct ss_exact_expect *expect,
                            uint64_t *wrong, ss_stream stream)
{
    SS_DISPATCH(dtype, launch_compare, data, n, expect, wrong,
                (cudaStream_t)stream);
}

template <typename T>
static __global__ void first_wild(const T *data, uint64_t n, uint64_t *at)
{
    for (uint64_t i = ss_thread(); i < n; i += ss_threads())
        if (!isfinite((double)ss_up(data[i])))
            lower(at, i);
}

template <typename T>
static void launch_wild(const void *data, uint64_t n, uint64_t *at,
                        cudaStream_t stream)
{
    first_wild<T><<<ss_blocks(n, SS_STRIDED_BLOCKS), SS_THREADS, 0, stream>>>(
        (const T *)data, n, at);
}

int ss_kernel_first_wild(const void *data, enum ss_dtype dtype, uint64_t n,
                         uint64_t *at, ss_stream stream)
{
    SS_DISPATCH(dtype, launch_wild, data, n, at, (cudaStream_t)stream);
}

/* The sum of a block's values, in thread 0. */
template <typename V> static __device__ V block_sum(V value)
{
    __shared__ V part[SS_THREADS / 32];
    for (int offset = 16; offset > 0; offset /= 2)
        value += __shfl_down_sync(~0u, value, offset);
    __syncthreads(); /* of an earlier call */
    if (threadIdx.x % 32 == 0)
        part[threadIdx.x / 32] = value;
    __syncthreads();
    value = 0;
    if (threadIdx.x == 0)
        for (int w = 0; w < SS_THREADS / 32; w++)
            value += part[w];
    return value;
}

template <typename T>
static __global__ void moments(const T *data, uint64_t n, double *sums)
{
    double sum = 0, squares = 0;
    for (uint64_t i = ss_thread(); i < n; i += ss_threads()) {
        double x = (double)ss_up(data[i]);
        sum += x;
        squares += x * x;
    }
    sum = block_sum(sum);
    squares = block_sum(squares);
    if (threadIdx.x == 0) {
        atomicAdd(&sums[0], sum);
        atomicAdd(&sums[1], squares);
    }
}

template <typename T>
static void launch_moments(const void *data, uint64_t n, double *sums,
                           cudaStream_t stream)
{
    moments<T><<<ss_blocks(n, SS_STRIDED_BLOCKS), SS_THREADS, 0, stream>>>(
        (const T *)data, n, sums);
}

int ss_kernel_moments(const void *data, enum ss_dtype dtype, uint64_t n,
                      double *sums, ss_stream stream)
{
    SS_DISPATCH(dtype, launch_moments, data, n, sums, (cudaStream_t)stream);
}

static __device__ __forceinline__ uint64_t scramble(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
    return x ^ (x >> 31);
}

/* The word at `i`; the last one may be cut short. */
static __device__ uint64_t word_at(const unsigned char *data, uint64_t bytes,
                                   uint64_t i)
{
    uint64_t word = 0;
    if (8 * i + 8 <= bytes)
        return ((const uint64_t *)data)[i];
    for (uint64_t b = 8 * i; b < bytes; b++)
        word |= (uint64_t)data[b] << (8 * (b - 8 * i));
    return word;
}

static __global__ void hash_words(const unsigned char *data, uint64_t bytes,
                                  uint64_t salt, uint64_t *hash)
{
    uint64_t words = (bytes + 7) / 8;
    unsigned long long sum = 0;
    for (uint64_t i = ss_thread(); i < words; i += ss_threads()) {
        uint64_t key = scramble(salt + (i + 1) * 0x9E3779B97F4A7C15ull);
        sum += scramble(word_at(data, bytes, i) ^ key);
    }
    sum = block_sum(sum);
    if (threadIdx.x == 0)
        atomicAdd((unsigned long long *)hash, sum);
}

int ss_kernel_hash(const void *data, uint64_t bytes, uint64_t salt,
                   uint64_t *hash, ss_stream stream)
{
    if (!ss_aligned(data, 8))
        return (int)cudaErrorMisalignedAddress;
    hash_words<<<ss_blocks((bytes + 7) / 8, SS_STRIDED_BLOCKS), SS_THREADS, 0,
                 (cudaStream_t)stream>>>((const unsigned char *)data, bytes,
                                         salt, hash);
    return (int)cudaGetLastError();
}

template <typename T>
static __global__ void gather(const T *data, uint64_t stride, uint64_t n,
                              double *out)
{
    for (uint64_t i = ss_thread(); i < n; i += ss_threads())
        out[i] = (double)ss_up(data[i * stride]);
}

template <typename T>
static void launch_gather(const void *data, uint64_t first, uint64_t stride,
                          uint64_t n, double *out, cudaStream_t stream)
{
    gather<T><<<ss_blocks(n, SS_STRIDED_BLOCKS), SS_THREADS, 0, stream>>>(
        (const T *)data + first, stride, n, out);
}

int ss_kernel_gather(const void *data, enum ss_dtype dtype, uint64_t first,
                     uint64_t stride, uint64_t n, double *out, ss_stream stream)
{
    SS_DISPATCH(dtype, launch_gather, data, first, stride, n, out,
                (cudaStream_t)stream);
}
