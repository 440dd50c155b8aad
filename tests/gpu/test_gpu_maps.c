/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Element-wise kernels and AdamW against their CPU twins, in every type, on
 * lengths that fill no pack and addresses that allow none: within a few units
 * of the type.
 */
#include "engine/host_twin.h"
#include "gpu/gpu_array.h"

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

#define RATE 1e-4 /* so that every type can tell */

/* Parameters of the twin, rounded to the type after every step. */
struct twin {
    double w[N], m[N], v[N];
};

static void twin_step(struct twin *twin, const struct array *g,
                      enum ss_dtype dtype, int step)
{
    for (uint64_t i = 0; i < N; i++) {
        ss_twin_adamw(&twin->w[i], &twin->m[i], &twin->v[i], get(g, i) / 4,
                      RATE, step);
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
            .rate = RATE,
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gelu_and_its_slope),
        cmocka_unit_test(gelu_survives_large_arguments),
        cmocka_unit_test(swiglu_and_its_gradients),
        cmocka_unit_test(adamw_moves_as_its_twin),
    };
    if (!gpu_is_there())
        return GPU_SKIP;
    return cmocka_run_group_tests_name("gpu maps", tests, NULL, NULL);
}
