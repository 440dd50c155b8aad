/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Seeded data: normals for timed steps (the same numbers as the host engine
 * trains on, whatever the layout), small integers for GEMM checks, and
 * integers whose sums are exact for collectives. Runs at memory speed, because
 * state is restored often. Must not know what is computed with the data.
 */
#include "exact.cuh"

/* As the host engine mixes, so that both fill alike. */
static __device__ __forceinline__ uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 32)) * 0xD6E8FEB86659FD93ull;
    x = (x ^ (x >> 32)) * 0xD6E8FEB86659FD93ull;
    return x ^ (x >> 32);
}

template <typename T> static __device__ T narrow(double x)
{
    return ss_down<T>((typename ss_math<T>::type)x);
}

template <typename T>
static __global__ void fill_normal(T *data, struct ss_fill f,
                                   const double *__restrict__ table)
{
    uint64_t n = f.rows * f.cols;
    for (uint64_t i = ss_thread(); i < n; i += ss_threads()) {
        uint64_t row = i / f.cols, col = i - row * f.cols;
        uint64_t number = f.stream + f.first + row * f.pitch + col;
        data[i] = narrow<T>(f.sd * table[mix(number) % SS_KERNEL_NORMALS]);
    }
}

template <typename T>
static void launch_normal(void *data, const struct ss_fill *fill,
                          const double *table, cudaStream_t stream)
{
    unsigned blocks = ss_blocks(fill->rows * fill->cols, SS_STRIDED_BLOCKS);
    fill_normal<T><<<blocks, SS_THREADS, 0, stream>>>((T *)data, *fill, table);
}

int ss_kernel_fill_normal(void *data, enum ss_dtype dtype,
                          const struct ss_fill *fill, const double *table,
                          ss_stream stream)
{
    SS_DISPATCH(dtype, launch_normal, data, fill, table, (cudaStream_t)stream);
}

template <typename T>
static __global__ void fill_small(T *data, uint64_t n, uint64_t seed)
{
    for (uint64_t i = ss_thread(); i < n; i += ss_threads())
        data[i] = narrow<T>((double)((int)(mix(seed + i) % 9) - 4));
}

template <typename T>
static void launch_small(void *data, uint64_t n, uint64_t seed,
                         cudaStream_t stream)
{
    fill_small<T><<<ss_blocks(n, SS_STRIDED_BLOCKS), SS_THREADS, 0, stream>>>(
        (T *)data, n, seed);
}

int ss_kernel_fill_small(void *data, enum ss_dtype dtype, uint64_t n,
                         uint64_t seed, ss_stream stream)
{
    SS_DISPATCH(dtype, launch_small, data, n, seed, (cudaStream_t)stream);
}

template <typename T>
static __global__ void fill_exact(T *data, uint64_t n,
                                  struct ss_exact_spec spec, int rank,
                                  uint64_t first)
{
    for (uint64_t i = ss_thread(); i < n; i += ss_threads())
        data[i] = narrow<T>((double)exact_value(spec, rank, first + i));
}

template <typename T>
static void launch_exact(void *data, uint64_t n,
                         const struct ss_exact_spec *spec, int rank,
                         uint64_t first, cudaStream_t stream)
{
    fill_exact<T><<<ss_blocks(n, SS_STRIDED_BLOCKS), SS_THREADS, 0, stream>>>(
        (T *)data, n, *spec, rank, first);
}

int ss_kernel_fill_exact(void *data, enum ss_dtype dtype, uint64_t n,
                         const struct ss_exact_spec *spec, int rank,
                         uint64_t first, ss_stream stream)
{
    SS_DISPATCH(dtype, launch_exact, data, n, spec, rank, first,
                (cudaStream_t)stream);
}
