/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels that fill and check against their CPU twins, in every type, on
 * lengths that fill no pack and addresses that allow none: they must agree to
 * the bit.
 */
#include "base/random.h"
#include "gpu/gpu_array.h"

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
        cmocka_unit_test(wild_numbers_are_found),
        cmocka_unit_test(moments_are_summed),
        cmocka_unit_test(hashes_see_every_bit_and_place),
        cmocka_unit_test(columns_are_gathered),
    };
    if (!gpu_is_there())
        return GPU_SKIP;
    return cmocka_run_group_tests_name("gpu kernels", tests, NULL, NULL);
}
