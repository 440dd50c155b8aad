/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each kernel against its CPU twin, in every type, on lengths that fill no
 * pack and addresses that allow none. Fills, hashes and exact integers must
 * agree to the bit; functions within a few units of their type.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "engine/host_twin.h"
#include "gpu/gpu_skip.h"
#include "kernels/kernels.h"

static const enum ss_dtype types[] = {SS_DT_F32, SS_DT_F64, SS_DT_BF16,
                                      SS_DT_FP16};
#define TYPES (sizeof(types) / sizeof(types[0]))
#define N 10007 /* prime: no pack divides it */

/* Host memory beside its copy on the device, `shift` elements off a boundary.
 */
struct array {
    enum ss_dtype dtype;
    uint64_t n;
    size_t size, shift;
    char *host;
    char *device;
};

static void must(int error)
{
    if (error != 0)
        fail_msg("%s", cudaGetErrorString((cudaError_t)error));
}

static struct array make(enum ss_dtype dtype, uint64_t n, size_t shift)
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

static void drop(struct array *a)
{
    free(a->host);
    must((int)cudaFree(a->device));
}

static void *at(const struct array *a)
{
    return a->device + a->shift;
}

static void upload(const struct array *a)
{
    must((int)cudaMemcpy(at(a), a->host, a->n * a->size,
                         cudaMemcpyHostToDevice));
}

static void download(const struct array *a)
{
    must((int)cudaDeviceSynchronize());
    must((int)cudaMemcpy(a->host, at(a), a->n * a->size,
                         cudaMemcpyDeviceToHost));
}

static double get(const struct array *a, uint64_t i)
{
    return ss_twin_load(a->host, a->dtype, i);
}

static struct array normals(enum ss_dtype dtype, size_t shift, double scale,
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

static void assert_near(enum ss_dtype dtype, double got, double want,
                        double scale)
{
    double allowed = unit(dtype) * (fabs(want) + scale) + 1e-7 * scale;
    if (!(fabs(got - want) <= allowed))
        fail_msg("%s: got %.9g, the twin says %.9g", ss_dtype_name(dtype), got,
                 want);
}

static double *table_on_device(double *host)
{
    double *device;
    for (int i = 0; i < SS_KERNEL_NORMALS; i++)
        host[i] = ss_normal_from_word((uint64_t)i + 1);
    must((int)cudaMalloc((void **)&device, SS_KERNEL_NORMALS * sizeof(double)));
    must((int)cudaMemcpy(device, host, SS_KERNEL_NORMALS * sizeof(double),
                         cudaMemcpyHostToDevice));
    return device;
}

static void normals_are_filled(void **state)
{
    (void)state;
    static double host[SS_KERNEL_NORMALS];
    double *table = table_on_device(host);
    const struct ss_fill fill = {.rows = 31,
                                 .cols = 77,
                                 .pitch = 1000,
                                 .first = 123,
                                 .stream = UINT64_MAX - 5000,
                                 .sd = 0.125};
    for (size_t t = 0; t < TYPES; t++) {
        struct array a = make(types[t], fill.rows * fill.cols, 1);
        must(ss_kernel_fill_normal(at(&a), a.dtype, &fill, table, NULL));
        download(&a);
        for (uint64_t i = 0; i < a.n; i++) {
            double x =
                ss_twin_normal(&fill, host, i / fill.cols, i % fill.cols);
            assert_true(get(&a, i) == ss_twin_round(a.dtype, x));
        }
        drop(&a);
    }
    must((int)cudaFree(table));
}

static void small_integers_are_filled(void **state)
{
    (void)state;
    for (size_t t = 0; t < TYPES; t++) {
        struct array a = make(types[t], N, 3);
        must(ss_kernel_fill_small(at(&a), a.dtype, N, 99, NULL));
        download(&a);
        for (uint64_t i = 0; i < N; i++)
            assert_true(get(&a, i) == ss_twin_small(99, i));
        drop(&a);
    }
}

static void exact_integers_are_filled(void **state)
{
    (void)state;
    static const int ranks[] = {1, 8, 100, 5000};
    for (size_t t = 0; t < TYPES; t++) {
        for (size_t r = 0; r < 4; r++) {
            struct ss_exact_spec spec = ss_exact_spec_make(types[t], ranks[r]);
            struct array a = make(types[t], N, 0);
            int rank = ranks[r] / 2;
            must(ss_kernel_fill_exact(at(&a), a.dtype, N, &spec, rank, 17,
                                      NULL));
            download(&a);
            for (uint64_t i = 0; i < N; i++)
                assert_true(get(&a, i) == ss_twin_exact(&spec, rank, 17 + i));
            drop(&a);
        }
    }
}

static uint64_t first_wrong(const struct array *a,
                            const struct ss_exact_expect *expect)
{
    uint64_t *word, out;
    must((int)cudaMalloc((void **)&word, sizeof(*word)));
    must((int)cudaMemset(word, 0xff, sizeof(*word)));
    must(ss_kernel_compare_exact(at(a), a->dtype, a->n, expect, word, NULL));
    must((int)cudaDeviceSynchronize());
    must((int)cudaMemcpy(&out, word, sizeof(out), cudaMemcpyDeviceToHost));
    must((int)cudaFree(word));
    return out;
}

static void wrong_sums_are_found(void **state)
{
    (void)state;
    for (size_t t = 0; t < TYPES; t++) {
        for (int sum = 0; sum < 2; sum++) {
            struct ss_exact_expect expect = {
                .spec = ss_exact_spec_make(types[t], 300),
                .count = 1001,
                .first = 5,
                .sum = sum};
            struct array a = make(types[t], N, 1);
            for (uint64_t i = 0; i < N; i++)
                ss_twin_store(a.host, a.dtype, i,
                              (double)ss_twin_exact_expected(&expect, i));
            upload(&a);
            assert_true(first_wrong(&a, &expect) == UINT64_MAX);
            ss_twin_store(a.host, a.dtype, 9001, get(&a, 9001) + 1);
            ss_twin_store(a.host, a.dtype, 7654, NAN);
            upload(&a);
            assert_true(first_wrong(&a, &expect) == 7654);
            drop(&a);
        }
    }
}

static void gelu_and_its_slope(void **state)
{
    (void)state;
    for (size_t t = 0; t < TYPES; t++) {
        for (size_t shift = 0; shift < 2; shift++) {
            struct array g = normals(types[t], shift, 1, 1);
            struct array x = normals(types[t], shift, 3, 2);
            struct array y = make(types[t], N, shift);
            struct array d = make(types[t], N, shift);
            must(ss_kernel_gelu(types[t], at(&x), at(&y), N, NULL));
            must(ss_kernel_gelu_bwd(types[t], at(&g), at(&x), at(&d), N, NULL));
            download(&y);
            download(&d);
            for (uint64_t i = 0; i < N; i++) {
                double u = get(&x, i);
                assert_near(types[t], get(&y, i), ss_twin_gelu(u), 0.1);
                assert_near(types[t], get(&d, i),
                            get(&g, i) * ss_twin_gelu_slope(u), 0.1);
            }
            /* in place, as the backward pass does */
            must(ss_kernel_gelu_bwd(types[t], at(&g), at(&x), at(&g), N, NULL));
            download(&g);
            assert_memory_equal(g.host, d.host, N * g.size);
            drop(&g);
            drop(&x);
            drop(&y);
            drop(&d);
        }
    }
}

static void gelu_survives_large_arguments(void **state)
{
    (void)state;
    static const double x[] = {-60000, -100, -20, -1e-4, 0, 1e-4, 20, 100, 6e4};
    for (size_t t = 0; t < TYPES; t++) {
        struct array a = make(types[t], 9, 0), c = make(types[t], 9, 0);
        for (uint64_t i = 0; i < 9; i++)
            ss_twin_store(a.host, types[t], i, x[i]);
        upload(&a);
        must(ss_kernel_gelu(types[t], at(&a), at(&c), 9, NULL));
        download(&c);
        for (uint64_t i = 0; i < 9; i++)
            assert_near(types[t], get(&c, i), ss_twin_gelu(get(&a, i)), 1e-3);
        drop(&a);
        drop(&c);
    }
}

static void swiglu_and_its_gradients(void **state)
{
    (void)state;
    for (size_t t = 0; t < TYPES; t++) {
        struct array a = normals(types[t], 1, 2, 3),
                     b = normals(types[t], 1, 1, 4);
        struct array g = normals(types[t], 1, 1, 5), c = make(types[t], N, 1);
        struct array d = make(types[t], N, 1), g0 = normals(types[t], 1, 1, 5);
        const void *const ab[2] = {at(&a), at(&b)};
        void *const cd[2] = {at(&g), at(&d)};
        must(ss_kernel_mul_silu(types[t], at(&a), at(&b), at(&c), N, NULL));
        must(ss_kernel_mul_silu_bwd(types[t], ab, cd, N, NULL));
        download(&c);
        download(&d);
        download(&g);
        for (uint64_t i = 0; i < N; i++) {
            double x = get(&a, i), y = get(&b, i), up = get(&g0, i);
            assert_near(types[t], get(&c, i), ss_twin_silu(x) * y, 0.1);
            assert_near(types[t], get(&g, i), up * ss_twin_silu(x), 0.1);
            assert_near(types[t], get(&d, i), up * y * ss_twin_silu_slope(x),
                        0.2);
        }
        must(ss_kernel_add(types[t], at(&a), at(&b), at(&c), N, NULL));
        download(&c);
        for (uint64_t i = 0; i < N; i++)
            assert_true(get(&c, i) ==
                        ss_twin_round(types[t], get(&a, i) + get(&b, i)));
        drop(&a);
        drop(&b);
        drop(&g);
        drop(&g0);
        drop(&c);
        drop(&d);
    }
}

/* Parameters of the twin, rounded to the type after every step. */
struct twin {
    double w[N], m[N], v[N];
};

static void twin_step(struct twin *twin, const struct array *g,
                      enum ss_dtype dtype, int step)
{
    for (uint64_t i = 0; i < N; i++) {
        ss_twin_adamw(&twin->w[i], &twin->m[i], &twin->v[i], get(g, i) / 4,
                      step);
        twin->w[i] = ss_twin_round(dtype, twin->w[i]);
        twin->m[i] = ss_twin_round(dtype, twin->m[i]);
        twin->v[i] = ss_twin_round(dtype, twin->v[i]);
    }
}

static void check_adamw(enum ss_dtype dtype, enum ss_dtype grad, size_t shift)
{
    static struct twin twin;
    struct array w = normals(dtype, shift, 0.02, 6);
    struct array g = normals(grad, shift, 10, 7);
    struct array m = make(dtype, N, shift), v = make(dtype, N, shift);
    must((int)cudaMemset(at(&m), 0, N * m.size));
    must((int)cudaMemset(at(&v), 0, N * v.size));
    memset(&twin, 0, sizeof(twin));
    for (uint64_t i = 0; i < N; i++)
        twin.w[i] = get(&w, i);
    for (int step = 1; step <= 3; step++) {
        const struct ss_adamw args = {
            .weight = at(&w),
            .moment1 = at(&m),
            .moment2 = at(&v),
            .grad = at(&g),
            .dtype = dtype,
            .grad_dtype = grad,
            .n = N,
            .rate = SS_ADAMW_LR,
            .beta1 = SS_ADAMW_BETA1,
            .beta2 = SS_ADAMW_BETA2,
            .eps = SS_ADAMW_EPS,
            .decay = SS_ADAMW_DECAY,
            .gradient_share = 0.25,
            .unbias1 = 1 / (1 - pow(SS_ADAMW_BETA1, step)),
            .unbias2 = 1 / (1 - pow(SS_ADAMW_BETA2, step))};
        must(ss_kernel_adamw(&args, NULL));
        twin_step(&twin, &g, dtype, step);
    }
    download(&w);
    download(&m);
    download(&v);
    for (uint64_t i = 0; i < N; i++) {
        assert_near(dtype, get(&w, i), twin.w[i], 1e-3);
        assert_near(dtype, get(&m, i), twin.m[i], 1e-3);
        assert_near(dtype, get(&v, i), twin.v[i], 1e-3);
    }
    drop(&w);
    drop(&g);
    drop(&m);
    drop(&v);
}

static void adamw_moves_as_its_twin(void **state)
{
    (void)state;
    for (size_t t = 0; t < TYPES; t++)
        for (size_t shift = 0; shift < 2; shift++)
            check_adamw(types[t], types[t], shift);
    check_adamw(SS_DT_BF16, SS_DT_F32, 0);
    check_adamw(SS_DT_FP16, SS_DT_F32, 1);
    const struct ss_adamw odd = {.dtype = SS_DT_F32, .grad_dtype = SS_DT_BF16};
    assert_int_not_equal(ss_kernel_adamw(&odd, NULL), 0);
}

static void wild_numbers_are_found(void **state)
{
    (void)state;
    uint64_t *word, out;
    must((int)cudaMalloc((void **)&word, sizeof(*word)));
    for (size_t t = 0; t < TYPES; t++) {
        struct array a = normals(types[t], 1, 1, 8);
        for (int wild = 0; wild < 2; wild++) {
            must((int)cudaMemset(word, 0xff, sizeof(*word)));
            must(ss_kernel_first_wild(at(&a), a.dtype, N, word, NULL));
            must((int)cudaDeviceSynchronize());
            must((int)cudaMemcpy(&out, word, sizeof(out),
                                 cudaMemcpyDeviceToHost));
            assert_true(out == (wild ? 4321 : UINT64_MAX));
            ss_twin_store(a.host, a.dtype, 4321, INFINITY);
            ss_twin_store(a.host, a.dtype, 9999, NAN);
            upload(&a);
        }
        drop(&a);
    }
    must((int)cudaFree(word));
}

static void moments_are_summed(void **state)
{
    (void)state;
    double *device, out[2];
    must((int)cudaMalloc((void **)&device, sizeof(out)));
    for (size_t t = 0; t < TYPES; t++) {
        struct array a = normals(types[t], 1, 2, 9);
        double sum = 0, squares = 0;
        for (uint64_t i = 0; i < N; i++) {
            sum += get(&a, i);
            squares += get(&a, i) * get(&a, i);
        }
        must((int)cudaMemset(device, 0, sizeof(out)));
        must(ss_kernel_moments(at(&a), a.dtype, N, device, NULL));
        must((int)cudaDeviceSynchronize());
        must((int)cudaMemcpy(out, device, sizeof(out), cudaMemcpyDeviceToHost));
        assert_true(fabs(out[0] - sum) < 1e-8 * N);
        assert_true(fabs(out[1] - squares) < 1e-10 * squares);
        drop(&a);
    }
    must((int)cudaFree(device));
}

static uint64_t hash_of(const struct array *a, uint64_t bytes, uint64_t salt)
{
    uint64_t *word, out;
    must((int)cudaMalloc((void **)&word, sizeof(*word)));
    must((int)cudaMemset(word, 0, sizeof(*word)));
    must(ss_kernel_hash(a->device, bytes, salt, word, NULL));
    must((int)cudaDeviceSynchronize());
    must((int)cudaMemcpy(&out, word, sizeof(out), cudaMemcpyDeviceToHost));
    must((int)cudaFree(word));
    return out;
}

static void hashes_see_every_bit_and_place(void **state)
{
    (void)state;
    struct array a = normals(SS_DT_BF16, 0, 1, 10);
    uint64_t bytes = N * 2, start = ss_twin_hash(a.host, bytes, 1);
    assert_true(hash_of(&a, bytes, 1) == start);
    assert_true(hash_of(&a, bytes, 2) == ss_twin_hash(a.host, bytes, 2));
    assert_true(hash_of(&a, bytes, 2) != start);
    assert_true(hash_of(&a, bytes - 3, 1) ==
                ss_twin_hash(a.host, bytes - 3, 1));
    a.host[bytes - 1] ^= 1;
    upload(&a);
    assert_true(hash_of(&a, bytes, 1) != start);
    a.host[bytes - 1] ^= 1;
    uint64_t word;
    memcpy(&word, a.host, 8); /* two words change places */
    memcpy(a.host, a.host + 8, 8);
    memcpy(a.host + 8, &word, 8);
    upload(&a);
    assert_true(hash_of(&a, bytes, 1) != start);
    assert_true(hash_of(&a, bytes, 1) == ss_twin_hash(a.host, bytes, 1));
    drop(&a);
}

static void columns_are_gathered(void **state)
{
    (void)state;
    for (size_t t = 0; t < TYPES; t++) {
        struct array a = normals(types[t], 0, 1, 11),
                     d = make(SS_DT_F64, 100, 0);
        must(ss_kernel_gather(at(&a), a.dtype, 7, 99, 100, (double *)at(&d),
                              NULL));
        download(&d);
        for (uint64_t i = 0; i < 100; i++)
            assert_true(get(&d, i) == get(&a, 7 + 99 * i));
        drop(&a);
        drop(&d);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(normals_are_filled),
        cmocka_unit_test(small_integers_are_filled),
        cmocka_unit_test(exact_integers_are_filled),
        cmocka_unit_test(wrong_sums_are_found),
        cmocka_unit_test(gelu_and_its_slope),
        cmocka_unit_test(gelu_survives_large_arguments),
        cmocka_unit_test(swiglu_and_its_gradients),
        cmocka_unit_test(adamw_moves_as_its_twin),
        cmocka_unit_test(wild_numbers_are_found),
        cmocka_unit_test(moments_are_summed),
        cmocka_unit_test(hashes_see_every_bit_and_place),
        cmocka_unit_test(columns_are_gathered),
    };
    if (!gpu_is_there())
        return GPU_SKIP;
    return cmocka_run_group_tests_name("gpu kernels", tests, NULL, NULL);
}
