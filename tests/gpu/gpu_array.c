/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays in host and device memory. Must not know kernels. */
#include "gpu/gpu_array.h"

#include "base/random.h"

void must(int error)
{
    if (error != 0)
        fail_msg("%s", cudaGetErrorString((cudaError_t)error));
}

struct array make(enum ss_dtype dtype, uint64_t n, size_t shift)
{
    struct array a = {.dtype = dtype,
                      .n = n,
                      .size = ss_dtype_size(dtype),
                      .shift = shift * ss_dtype_size(dtype)};
    a.host = calloc(n + 1, a.size);
    assert_non_null(a.host);
    must((int)cudaMalloc((void **)&a.device, (n + shift) * a.size));
    must((int)cudaMemset(a.device, 0xff, (n + shift) * a.size));
    return a;
}

void drop(struct array *a)
{
    free(a->host);
    must((int)cudaFree(a->device));
}

void *at(const struct array *a)
{
    return a->device + a->shift;
}

void upload(const struct array *a)
{
    must((int)cudaMemcpy(at(a), a->host, a->n * a->size,
                         cudaMemcpyHostToDevice));
}

void download(const struct array *a)
{
    must((int)cudaDeviceSynchronize());
    must((int)cudaMemcpy(a->host, at(a), a->n * a->size,
                         cudaMemcpyDeviceToHost));
}

double get(const struct array *a, uint64_t i)
{
    return ss_twin_load(a->host, a->dtype, i);
}

struct array normals(enum ss_dtype dtype, size_t shift, double scale,
                     uint64_t seed)
{
    struct array a = make(dtype, N, shift);
    for (uint64_t i = 0; i < N; i++)
        ss_twin_store(a.host, dtype, i,
                      scale * ss_normal_from_word(ss_mix64(seed + i)));
    upload(&a);
    return a;
}

/* Relative error of one rounding to the type, and of fast functions. */
static double unit(enum ss_dtype dtype)
{
    switch (dtype) {
    case SS_DT_F64:
        return 1e-14;
    case SS_DT_BF16:
        return 0x1p-8;
    case SS_DT_FP16:
        return 0x1p-10;
    default:
        return 4e-6;
    }
}

void assert_near(enum ss_dtype dtype, double got, double want, double scale)
{
    double allowed = unit(dtype) * (fabs(want) + scale) + 1e-7 * scale;
    if (!(fabs(got - want) <= allowed))
        fail_msg("%s: got %.9g, the twin says %.9g", ss_dtype_name(dtype), got,
                 want);
}
