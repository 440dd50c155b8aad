/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_KERNELS_KERNELS_H
#define SS_KERNELS_KERNELS_H

#include <stdint.h>

#include "base/dtype.h"

/*
 * The device kernels as plain C: launchers that enqueue on a stream (a
 * cudaStream_t, untyped so that no CUDA header is needed here) and return at
 * once with a cudaError_t as int, 0 when the launch was accepted. Pointers are
 * device memory unless they say host. Each kernel has a CPU twin: those below,
 * and those of engine/host_twin.h.
 */

#ifdef __cplusplus
extern "C" {
#endif

typedef void *ss_stream;

/** A table of standard normals, on the device. */
#define SS_KERNEL_NORMALS 4096

/** A shard [rows, cols] of a matrix whose rows have `pitch` elements; element
 * (r, c) is normal number stream + first + r pitch + c, times sd. */
struct ss_fill {
    uint64_t rows, cols, pitch, first, stream;
    double sd;
};
int ss_kernel_fill_normal(void *data, enum ss_dtype dtype,
                          const struct ss_fill *fill, const double *table,
                          ss_stream stream);
/** Integers of -4 to 4 by a hash of seed + i. */
int ss_kernel_fill_small(void *data, enum ss_dtype dtype, uint64_t n,
                         uint64_t seed, ss_stream stream);

/**
 * Integers whose sum over the ranks is exact in dtype in any order: each is at
 * most SS_EXACT_MAX, and at a given place only one rank in `stride` has any.
 * They depend on rank and place, so that a swapped, missing or doubled
 * contribution shows.
 */
#define SS_EXACT_MAX 3
struct ss_exact_spec {
    int ranks, stride;
};
/** Pure: the spec for so many ranks. */
struct ss_exact_spec ss_exact_spec_make(enum ss_dtype dtype, int ranks);
/** Element i is that of place first + i and this rank. */
int ss_kernel_fill_exact(void *data, enum ss_dtype dtype, uint64_t n,
                         const struct ss_exact_spec *spec, int rank,
                         uint64_t first, ss_stream stream);
/** What must have come out: place and rank of element i. */
struct ss_exact_expect {
    struct ss_exact_spec spec;
    uint64_t count; /**< elements of one rank's part */
    uint64_t first; /**< place of element 0 of each part */
    int sum;        /**< 1: the sum over ranks at first + i; 0: the value of
                         rank i / count at first + i % count */
};
/** *wrong (preset to UINT64_MAX) becomes the least index that differs. */
int ss_kernel_compare_exact(const void *data, enum ss_dtype dtype, uint64_t n,
                            const struct ss_exact_expect *expect,
                            uint64_t *wrong, ss_stream stream);

/** The maps of plan.h; a, b, c, d as there. */
int ss_kernel_gelu(enum ss_dtype dtype, const void *a, void *c, uint64_t n,
                   ss_stream stream);
int ss_kernel_gelu_bwd(enum ss_dtype dtype, const void *a, const void *b,
                       void *c, uint64_t n, ss_stream stream);
int ss_kernel_mul_silu(enum ss_dtype dtype, const void *a, const void *b,
                       void *c, uint64_t n, ss_stream stream);
int ss_kernel_mul_silu_bwd(enum ss_dtype dtype, const void *const ab[2],
                           void *const cd[2], uint64_t n, ss_stream stream);
int ss_kernel_add(enum ss_dtype dtype, const void *a, const void *b, void *c,
                  uint64_t n, ss_stream stream);

/** AdamW as plan.h defines it, over parameters of one flat array. */
struct ss_adamw {
    void *weight, *moment1, *moment2; /**< of dtype */
    const void *grad;                 /**< of grad_dtype */
    enum ss_dtype dtype, grad_dtype;
    uint64_t n;
    double rate, beta1, beta2, eps, decay;
    double gradient_share;   /**< 1 / dp */
    double unbias1, unbias2; /**< 1 / (1 - beta^t) */
};
int ss_kernel_adamw(const struct ss_adamw *args, ss_stream stream);

/** *at (preset to UINT64_MAX) becomes the least index that is not finite. */
int ss_kernel_first_wild(const void *data, enum ss_dtype dtype, uint64_t n,
                         uint64_t *at, ss_stream stream);
/** Adds sum and sum of squares to sums[0], sums[1]. */
int ss_kernel_moments(const void *data, enum ss_dtype dtype, uint64_t n,
                      double *sums, ss_stream stream);
/** Adds to *hash a word that depends on every bit and its place; the order of
 * the additions does not matter. `salt` tells arrays apart. */
int ss_kernel_hash(const void *data, uint64_t bytes, uint64_t salt,
                   uint64_t *hash, ss_stream stream);
/** out[i] = data[first + i stride] as double. */
int ss_kernel_gather(const void *data, enum ss_dtype dtype, uint64_t first,
                     uint64_t stride, uint64_t n, double *out,
                     ss_stream stream);

/* CPU twins, on host memory; written apart from the kernels on purpose. */

/** Rounds to dtype, to nearest even, as the kernels store. */
double ss_twin_round(enum ss_dtype dtype, double x);
/** Element i of host memory of any dtype; and the other way. */
double ss_twin_load(const void *data, enum ss_dtype dtype, uint64_t i);
void ss_twin_store(void *data, enum ss_dtype dtype, uint64_t i, double x);
double ss_twin_normal(const struct ss_fill *fill, const double *table,
                      uint64_t row, uint64_t col);
int ss_twin_small(uint64_t seed, uint64_t i);
int ss_twin_exact(const struct ss_exact_spec *spec, int rank, uint64_t place);
int64_t ss_twin_exact_expected(const struct ss_exact_expect *expect,
                               uint64_t i);
uint64_t ss_twin_hash(const void *data, uint64_t bytes, uint64_t salt);

#ifdef __cplusplus
}
#endif

#endif
