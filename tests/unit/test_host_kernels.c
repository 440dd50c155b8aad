/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels of the host engine against their twins, in both types, and the twins
 * against values from elsewhere (gelu and silu: Python's math, in double).
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "engine/host.h"
#include "engine/host_twin.h"
#include "support/engine_rig.h"

#define N 70001 /* more than two pieces, and odd */

/* A host engine without life around it: four operands of N elements. */
struct bench {
    struct ss_host host;
    struct ss_plan plan;
    struct ss_progress progress;
    double *before[4];
};

static void put(struct bench *b, int buffer, size_t i, double x)
{
    if (b->host.dtype == SS_DT_F64)
        ((double *)b->host.buffer[buffer])[i] = x;
    else
        ((float *)b->host.buffer[buffer])[i] = (float)x;
}

static double get(const struct bench *b, int buffer, size_t i)
{
    return ss_twin_get(b->host.buffer[buffer], b->host.dtype, i);
}

static void bench_open(struct bench *b, enum ss_dtype dtype)
{
    *b = (struct bench){0};
    assert_int_equal(ss_blas_load(&b->host.blas), SS_OK);
    b->host.dtype = dtype;
    b->host.elem_size = ss_dtype_size(dtype);
    b->host.base.progress = &b->progress;
    b->host.work.plan = &b->plan;
    b->plan.layout.dim[SS_DIM_DP] = 4;
    ss_host_normals_fill(&b->host);
    for (int k = 0; k < 4; k++) {
        b->host.buffer[k] = ss_alloc(N, b->host.elem_size, "an operand");
        b->before[k] = ss_alloc(N, sizeof(double), "a copy");
        assert_non_null(b->host.buffer[k]);
        assert_non_null(b->before[k]);
        for (size_t i = 0; i < N; i++)
            put(b, k, i,
                3 * b->host
                        .normal[(i * 7 + (size_t)k * 911) % SS_HOST_NORMALS]);
        /* far out, where tanh and exp are flat or would overflow */
        const double far[] = {0, -0.0, 40, -40, 200, -200, 1e-20, 8.9, -8.9};
        for (size_t i = 0; i < SS_COUNT_OF(far); i++)
            put(b, k, i, far[i]);
        for (size_t i = 0; i < N; i++)
            b->before[k][i] = get(b, k, i);
    }
}

static void bench_close(struct bench *b)
{
    ss_blas_unload(&b->host.blas);
    for (int k = 0; k < 4; k++) {
        ss_free(b->host.buffer[k]);
        ss_free(b->before[k]);
    }
}

static void near(const struct bench *b, double got, double want, size_t i)
{
    double eps = b->host.dtype == SS_DT_F64 ? 1e-13 : 2e-6;
    if (!(fabs(got - want) <= eps * (1 + fabs(want))))
        fail_msg("%s: element %zu is %.17g, expected %.17g",
                 ss_dtype_name(b->host.dtype), i, got, want);
}

static struct ss_op op_of(enum ss_map map, int c)
{
    return (struct ss_op){.kind = SS_OP_ELEMENTWISE,
                          .map = map,
                          .a = {0, 0},
                          .b = {1, 0},
                          .c = {c, 0},
                          .d = {3, 0},
                          .count = N};
}

static double want_of(enum ss_map map, double a, double b)
{
    switch (map) {
    case SS_MAP_GELU:
        return ss_twin_gelu(a);
    case SS_MAP_GELU_BWD:
        return a * ss_twin_gelu_slope(b);
    case SS_MAP_MUL_SILU:
        return ss_twin_silu(a) * b;
    case SS_MAP_ADD:
        return a + b;
    default:
        return a;
    }
}

static void maps_equal_their_twins(void **state)
{
    (void)state;
    const enum ss_map maps[] = {SS_MAP_NONE, SS_MAP_GELU, SS_MAP_GELU_BWD,
                                SS_MAP_MUL_SILU, SS_MAP_ADD};
    for (int wide = 0; wide < 2; wide++) {
        for (size_t m = 0; m < SS_COUNT_OF(maps); m++) {
            /* into c, then over a */
            for (int c = 2; c >= 0; c -= 2) {
                struct bench b;
                struct ss_op op = op_of(maps[m], c);
                bench_open(&b, wide ? SS_DT_F64 : SS_DT_F32);
                assert_int_equal(ss_host_map(&b.host, &op), SS_OK);
                for (size_t i = 0; i < N; i++)
                    near(&b, get(&b, c, i),
                         want_of(maps[m], b.before[0][i], b.before[1][i]), i);
                bench_close(&b);
            }
        }
    }
}

static void the_gate_goes_backwards(void **state)
{
    (void)state;
    for (int wide = 0; wide < 2; wide++) {
        struct bench b;
        struct ss_op op = op_of(SS_MAP_MUL_SILU_BWD, 2);
        bench_open(&b, wide ? SS_DT_F64 : SS_DT_F32);
        assert_int_equal(ss_host_map(&b.host, &op), SS_OK);
        for (size_t i = 0; i < N; i++) {
            double x = b.before[0][i], up = b.before[1][i], g = b.before[2][i];
            near(&b, get(&b, 3, i), g * up * ss_twin_silu_slope(x), i);
            near(&b, get(&b, 2, i), g * ss_twin_silu(x), i);
        }
        bench_close(&b);
    }
}

static void adamw_equals_its_twin(void **state)
{
    (void)state;
    for (int wide = 0; wide < 2; wide++) {
        struct bench b;
        struct ss_op op = op_of(SS_MAP_NONE, 2);
        op.kind = SS_OP_OPTIMIZER;
        bench_open(&b, wide ? SS_DT_F64 : SS_DT_F32);
        for (size_t i = 0; i < N; i++) {
            put(&b, 2, i, 0);
            put(&b, 3, i, 0);
            b.before[2][i] = b.before[3][i] = 0;
        }
        for (int step = 1; step <= 3; step++) {
            assert_int_equal(ss_host_optimizer(&b.host, &op), SS_OK);
            for (size_t i = 0; i < N; i++)
                ss_twin_adamw(&b.before[0][i], &b.before[2][i], &b.before[3][i],
                              b.before[1][i] / 4, SS_ADAMW_LR, step);
        }
        for (size_t i = 0; i < N; i++) {
            near(&b, get(&b, 0, i), b.before[0][i], i);
            near(&b, get(&b, 2, i), b.before[2][i], i);
        }
        bench_close(&b);
    }
}

static void twins_are_what_the_world_says(void **state)
{
    (void)state;
    /* the tanh form of gelu, silu, and AdamW's first step from w = 1, g = 0.5,
     * whose two moments are unbiased to g and g^2: 1 - lr (wd + 1) */
    assert_true(fabs(ss_twin_gelu(1) - 0.84119199060827676) < 1e-15);
    assert_true(fabs(ss_twin_gelu(-2) - -0.04540230591222484) < 1e-15);
    assert_true(fabs(ss_twin_silu(1) - 0.73105857863000488) < 1e-15);
    assert_true(fabs(ss_twin_silu(-3) - -0.14227761953270035) < 1e-15);
    for (double x = -4; x < 4; x += 0.37) {
        double h = 1e-5;
        double gelu = (ss_twin_gelu(x + h) - ss_twin_gelu(x - h)) / (2 * h);
        double silu = (ss_twin_silu(x + h) - ss_twin_silu(x - h)) / (2 * h);
        assert_true(fabs(ss_twin_gelu_slope(x) - gelu) < 1e-8);
        assert_true(fabs(ss_twin_silu_slope(x) - silu) < 1e-8);
    }
    double w = 1, m = 0, v = 0;
    ss_twin_adamw(&w, &m, &v, 0.5, 1e-4, 1);
    assert_true(fabs(w - (1 - 1e-4 * (0.01 + 0.5 / (0.5 + 1e-8)))) < 1e-15);
}

/* Whole, in panels, transposed or not: exactly the same on integers. */
static void panels_give_the_same_product(void **state)
{
    (void)state;
    for (int form = 0; form < 8; form++) {
        struct bench b;
        struct ss_op op = op_of(SS_MAP_NONE, 2);
        op.kind = SS_OP_GEMM;
        op.m = 131, op.n = 60, op.k = 77;
        op.ta = form & 1, op.tb = form & 2, op.accumulate = form & 4;
        bench_open(&b, form & 1 ? SS_DT_F32 : SS_DT_F64);
        for (size_t i = 0; i < N; i++)
            for (int k = 0; k < 3; k++)
                put(&b, k, i, (double)((i * 5 + (size_t)k * 3) % 9) - 4);
        b.host.flop_rate = 1e6; /* so slow that a panel is the smallest */
        b.host.in_flight = 1;   /* something flies: cut it up */
        for (int lane = 0; lane < SS_LANES; lane++)
            b.host.lane[lane] = (struct ss_host_lane){-1, -1};
        const struct ss_twin_product twin = {&op, b.host.buffer[0],
                                             b.host.buffer[1], b.host.dtype};
        assert_int_equal(ss_host_panel_rows(&b.host, &op), 16);
        assert_int_equal(ss_host_gemm(&b.host, &op), SS_OK);
        for (int64_t i = 0; i < op.m * op.n; i++) {
            double magnitude, was = (double)((i * 5 + 6) % 9) - 4;
            double want = ss_twin_gemm(&twin, i / op.n, i % op.n, &magnitude);
            want += op.accumulate ? was : 0;
            assert_true(get(&b, 2, (size_t)i) == want);
        }
        bench_close(&b);
    }
}

static void panels_are_as_long_as_the_rate_says(void **state)
{
    (void)state;
    struct ss_host host = {.flop_rate = 50e9};
    struct ss_op op = {.m = 4096, .n = 1024, .k = 1024};
    /* 0.7 ms x 50 GFLOP/s / (2 x 1024 x 1024) = 16.7 rows */
    assert_int_equal(ss_host_panel_rows(&host, &op), 16);
    op.k = 128; /* 133.5 rows */
    assert_int_equal(ss_host_panel_rows(&host, &op), 128);
    op.m = 100;
    assert_int_equal(ss_host_panel_rows(&host, &op), 100);
}

static void normals_are_normal(void **state)
{
    (void)state;
    struct ss_host host;
    double sum = 0, squares = 0, fourth = 0;
    ss_host_normals_fill(&host);
    for (int i = 0; i < SS_HOST_NORMALS; i++) {
        double x = host.normal[i];
        sum += x;
        squares += x * x;
        fourth += x * x * x * x;
    }
    assert_true(fabs(sum / SS_HOST_NORMALS) < 1e-12);
    assert_true(fabs(squares / SS_HOST_NORMALS - 1) < 1e-12);
    assert_true(fabs(fourth / SS_HOST_NORMALS - 3) < 0.5);
}

static void memory_is_read_from_the_kernel(void **state)
{
    (void)state;
    const char *text = "MemTotal:       16384 kB\nMemFree:  1 kB\n"
                       "MemAvailable:    8192 kB\nBuffers: 3 kB\n";
    assert_true(ss_host_parse_meminfo(text) == 8192 * 1024.0);
    assert_true(ss_host_parse_meminfo("MemFree: 1 kB\n") == -1);
    assert_true(ss_host_parse_meminfo("") == -1);
    assert_true(ss_host_parse_meminfo("MemAvailable: x kB\n") == -1);
    assert_true(ss_host_available() > 0);
}

static void a_thread_is_wanted_only_beside_a_spare_core(void **state)
{
    (void)state;
    struct ss_config config;
    struct ss_place place = {.cores = 8, .sharers = 2};
    ss_config_default(&config);
    assert_false(ss_host_wants_thread(&config, &place, 4));
    assert_true(ss_host_wants_thread(&config, &place, 3));
    config.device_progress = SS_PROGRESS_OFF;
    assert_false(ss_host_wants_thread(&config, &place, 3));
    config.device_progress = SS_PROGRESS_ON;
    assert_true(ss_host_wants_thread(&config, &place, 4));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(twins_are_what_the_world_says),
        cmocka_unit_test(maps_equal_their_twins),
        cmocka_unit_test(the_gate_goes_backwards),
        cmocka_unit_test(adamw_equals_its_twin),
        cmocka_unit_test(panels_give_the_same_product),
        cmocka_unit_test(panels_are_as_long_as_the_rate_says),
        cmocka_unit_test(normals_are_normal),
        cmocka_unit_test(memory_is_read_from_the_kernel),
        cmocka_unit_test(a_thread_is_wanted_only_beside_a_spare_core),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
