/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of many ranks at once against published examples and exact fractions.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/near.h"
#include "timing/stats.h"

/* R: p.adjust(c(0.01, 0.04, 0.03, 0.005), "holm") = 0.03 0.06 0.06 0.02, the
 * example that Wikipedia works through; and 1..5 % gives 5 8 9 9 9 %. */
static void holm_steps_down(void **state)
{
    const double p[] = {0.01, 0.04, 0.03, 0.005};
    const double q[] = {0.01, 0.02, 0.03, 0.04, 0.05};
    const double big[] = {0.6, 0.9};
    double a[5];
    int scratch[5];
    (void)state;
    ss_holm(p, 4, a, scratch);
    assert_near(a[0], 0.03, 1e-12);
    assert_near(a[1], 0.06, 1e-12);
    assert_near(a[2], 0.06, 1e-12);
    assert_near(a[3], 0.02, 1e-12);
    ss_holm(q, 5, a, scratch);
    assert_near(a[0], 0.05, 1e-12);
    assert_near(a[1], 0.08, 1e-12);
    assert_near(a[2], 0.09, 1e-12);
    assert_near(a[4], 0.09, 1e-12);
    ss_holm(big, 2, a, scratch);
    assert_near(a[1], 1, 0);
}

/* 56 / 1024 (Conover's deer, 8 of 10), 11 / 1024, 1 / 4096. */
static void sign_test_is_binomial(void **state)
{
    (void)state;
    assert_near(ss_sign_test(8, 10), 56.0 / 1024, 1e-12);
    assert_near(ss_sign_test(9, 10), 11.0 / 1024, 1e-12);
    assert_near(ss_sign_test(12, 12), 1.0 / 4096, 1e-15);
    assert_near(ss_sign_test(0, 10), 1, 1e-12);
    assert_near(ss_sign_test(0, 0), 1, 0);
}

/* Exact tails of sums of uniform positions, by convolution in fractions: the
 * bound lies above, and is exact where every block says slowest. */
static void position_tail_bounds_the_exact_one(void **state)
{
    static const struct {
        size_t ranks, blocks;
        double mean, exact;
    } c[] = {
        {2, 12, 0.75, 0.000244140625},
        {4, 5, 0.875, 0.0009765625},
        {8, 12, 0.8, 7.459375774487853e-05},
        {64, 12, 0.75, 0.001035526880163667},
        {2, 12, 17.0 / 24, 0.003173828125},
    };
    (void)state;
    for (size_t i = 0; i < SS_COUNT_OF(c); i++) {
        double p = ss_position_tail(c[i].mean, c[i].blocks, c[i].ranks);
        assert_true(p >= c[i].exact * (1 - 1e-9));
        assert_true(p < c[i].exact * 15);
    }
    assert_near(ss_position_tail(0.75, 12, 2), 1.0 / 4096, 1e-12);
    assert_near(ss_position_tail(0.875, 5, 4), 1.0 / 1024, 1e-12);
    assert_near(ss_position_tail(0.5, 12, 64), 1, 0);
    assert_near(ss_position_tail(0.3, 12, 64), 1, 0);
    assert_near(ss_position_tail(0.9, 0, 64), 1, 0);
    assert_near(ss_position_tail(0.9, 5, 1), 1, 0);
    assert_true(ss_position_tail(0.999, 40, 16384) < 1e-80);
}

/* Critical values as printed in every table of Student's t. */
static void student_tail_is_the_tabulated_one(void **state)
{
    (void)state;
    assert_near(ss_student_tail(2.200985, 11), 0.025, 1e-7);
    assert_near(ss_student_tail(3.105807, 11), 0.005, 1e-8);
    assert_near(ss_student_tail(5.893430, 5), 0.001, 1e-9);
    assert_near(ss_student_tail(1.959964, 1e9), 0.025, 1e-7);
    assert_near(ss_student_tail(1, 1), 0.25, 1e-12); /* Cauchy */
    assert_near(ss_student_tail(0, 7), 0.5, 1e-12);
    assert_near(ss_student_tail(-2.200985, 11), 0.975, 1e-7);
    assert_near(ss_student_tail(1e200, 11), 0, 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(holm_steps_down),
        cmocka_unit_test(sign_test_is_binomial),
        cmocka_unit_test(position_tail_bounds_the_exact_one),
        cmocka_unit_test(student_tail_is_the_tabulated_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
