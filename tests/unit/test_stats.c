/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Order statistics, estimates, steady state and the stopping rule against
 * published tables and values computed independently (numpy 1.24, exact
 * fractions) from the same inputs.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/random.h"
#include "base/str.h"
#include "support/near.h"
#include "timing/stats.h"

static void sorts_and_medians(void **state)
{
    double odd[] = {3, 1, 2}, even[] = {4, 1, 3, 2};
    double many[1000];
    (void)state;
    assert_near(ss_median(odd, 3), 2, 0);
    assert_near(ss_median(even, 4), 2.5, 0);
    for (int i = 0; i < 1000; i++)
        many[i] = (double)((i * 7919) % 1000);
    ss_sort(many, 1000);
    for (int i = 0; i < 1000; i++)
        assert_near(many[i], i, 0);
    assert_true(isnan(ss_median(many, 0)));
}

static void median_of_groups_is_the_slower_one(void **state)
{
    const double four[] = {10, 13, 11, 12}, three[] = {5, 9, 7}, one[] = {1};
    int scratch[4];
    (void)state;
    assert_int_equal(ss_median_group(four, 4, scratch), 3);
    assert_int_equal(ss_median_group(three, 3, scratch), 2);
    assert_int_equal(ss_median_group(one, 1, scratch), 0);
}

/* numpy.quantile([1, 2, 4, 8], q) */
static void quantiles_are_linear(void **state)
{
    const double v[] = {1, 2, 4, 8};
    (void)state;
    assert_near(ss_quantile_sorted(v, 4, 0), 1, 0);
    assert_near(ss_quantile_sorted(v, 4, 0.5), 3, 1e-12);
    assert_near(ss_quantile_sorted(v, 4, 0.9), 6.8, 1e-12);
    assert_near(ss_quantile_sorted(v, 4, 1), 8, 0);
}

/* The table of nonparametric intervals of a median, 95 %, as printed in
 * textbooks (Hoefler and Belli 2015 cite it; Conover, table of the binomial).
 */
static void ranks_are_the_published_ones(void **state)
{
    static const size_t table[][3] = {
        {6, 1, 6},      {7, 1, 7},      {10, 2, 9},   {12, 3, 10},
        {15, 4, 12},    {20, 6, 15},    {25, 8, 18},  {30, 10, 21},
        {40, 14, 27},   {50, 18, 33},   {75, 29, 47}, {100, 40, 61},
        {200, 86, 115}, {500, 228, 273}};
    size_t low = 0, high = 0;
    (void)state;
    for (size_t n = 0; n < 6; n++)
        assert_false(ss_median_ranks(n, &low, &high));
    for (size_t i = 0; i < SS_COUNT_OF(table); i++) {
        assert_true(ss_median_ranks(table[i][0], &low, &high));
        assert_int_equal(low, table[i][1]);
        assert_int_equal(high, table[i][2]);
    }
    assert_true(ss_median_ranks(100000, &low, &high));
    assert_int_equal(low + high, 100001);
    assert_in_range(low, 49688, 49692); /* 50000 - 1.96 sqrt(n) / 2 */
}

/* numpy: x = [1 2 4 3 5 7 6 8]; sum(d[1:] d[:-1]) / sum(d^2) */
static void lag1_is_the_textbook_one(void **state)
{
    const double x[] = {1, 2, 4, 3, 5, 7, 6, 8}, same[] = {2, 2, 2, 2};
    (void)state;
    assert_near(ss_lag1(x, 8), 0.48214285714285715, 1e-12);
    assert_near(ss_lag1(same, 4), 0, 0);
}

static void theil_sen_is_the_median_slope(void **state)
{
    const double t[] = {0, 1, 3, 4, 7, 8, 12};
    const double v[] = {2.1, 3.9, 8.2, 9.8, 16.4, 17.7, 40.0};
    double pairs[21];
    (void)state;
    /* numpy.median of the 21 slopes */
    assert_near(ss_theil_sen(v, t, 7, pairs), 2.0428571428571427, 1e-12);
    const double line[] = {1, 3, 5, 7};
    assert_near(ss_theil_sen(line, NULL, 4, pairs), 2, 1e-12);
}

static void estimates_a_clean_sample(void **state)
{
    double v[12], scratch[24];
    struct ss_estimate e;
    (void)state;
    /* an order without correlation: 5 1 9 ... */
    static const int order[] = {5, 1, 9, 3, 11, 0, 7, 10, 2, 8, 4, 6};
    for (int i = 0; i < 12; i++)
        v[i] = 100 + 0.01 * order[i];
    ss_estimate_blocks(v, NULL, 12, scratch, &e);
    assert_int_equal(e.flags, 0);
    assert_int_equal(e.n, 12);
    assert_near(e.median, 100.055, 1e-12);
    assert_near(e.lo, 100.02, 1e-12); /* the 3rd and the 10th */
    assert_near(e.hi, 100.09, 1e-12);
    assert_near(e.min, 100, 0);
    assert_near(e.max, 100.11, 1e-12);
    assert_near(ss_half_width(&e), 0.035 / 100.055, 1e-12);
}

static void few_blocks_are_said_to_be_few(void **state)
{
    const double v[] = {1, 1, 1, 1, 1};
    double scratch[24];
    struct ss_estimate e;
    (void)state;
    ss_estimate_blocks(v, NULL, 5, scratch, &e);
    assert_int_equal(e.flags, SS_SAMPLE_TOO_FEW);
    assert_true(isnan(e.lo));
    assert_true(isinf(ss_half_width(&e)));
    ss_estimate_blocks(v, NULL, 0, scratch, &e);
    assert_int_equal(e.flags, SS_SAMPLE_TOO_FEW);
    assert_true(isnan(e.median));
}

/* Runs of eight equal blocks of an order without correlation: pairs, then pairs
 * of pairs are merged; then neighbours are no longer alike enough. */
static void correlated_neighbours_are_merged(void **state)
{
    static const int order[] = {5, 1, 9, 3, 11, 0, 7, 10, 2, 8, 4, 6};
    double v[96], scratch[192];
    struct ss_estimate e;
    (void)state;
    for (int i = 0; i < 96; i++)
        v[i] = 100 + 0.01 * order[i / 8];
    ss_estimate_blocks(v, NULL, 96, scratch, &e);
    assert_true(e.lag1 > 0.5);
    assert_int_equal(e.merges, 2);
    assert_int_equal(e.n, 24);
    assert_int_equal(e.flags, SS_SAMPLE_AUTOCORRELATED);
    assert_near(e.median, 100.055, 1e-9);
}

static void drift_is_not_steady(void **state)
{
    double v[40], scratch[80];
    (void)state;
    for (int i = 0; i < 40; i++)
        v[i] = 100 + 0.05 * i + ((i % 3) - 1) * 0.1; /* 2 % over the point */
    assert_false(ss_steady(v, NULL, 40, scratch));
    for (int i = 0; i < 40; i++)
        v[i] = 100 + (i >= 20) * 1.5 + ((i % 3) - 1) * 0.1; /* a jump */
    assert_false(ss_steady(v, NULL, 40, scratch));
    for (int i = 0; i < 40; i++)
        v[i] = 100 + 0.01 * i + ((i % 3) - 1) * 0.1; /* 0.4 % */
    assert_true(ss_steady(v, NULL, 40, scratch));
    for (int i = 0; i < 40; i++)
        v[i] = 100 + ((i * 17) % 41) * 0.5; /* wide, but going nowhere */
    assert_true(ss_steady(v, NULL, 40, scratch));
    for (int i = 0; i < 40; i++) /* halves 1.5 % apart, scatter 6 % */
        v[i] = 100 + (i % 2 ? 6 : -6) + (i >= 20) * 1.5;
    assert_true(ss_steady(v, NULL, 40, scratch));
}

/* How many of 5,000 samples of n blocks with this noise (AR(1) of rho) and a
 * jump in the middle are called unsteady. */
static int unsteady(size_t n, double noise, double rho, double jump)
{
    enum { TRIALS = 5000, MOST = 64 };
    double v[MOST], scratch[2 * MOST];
    int count = 0;
    for (uint64_t trial = 0; trial < TRIALS; trial++) {
        double x = 0;
        for (size_t i = 0; i < n; i++) {
            const uint64_t words[] = {n, trial, i};
            double e = ss_normal_from_word(ss_mix_words(words, 3));
            x = i ? rho * x + sqrt(1 - rho * rho) * e : e;
            v[i] = 100 * (1 + noise * x + (i >= n / 2 ? jump : 0));
        }
        struct ss_estimate estimate;
        ss_estimate_blocks(v, NULL, n, scratch, &estimate);
        count += (estimate.flags & SS_SAMPLE_NO_STEADY) != 0;
    }
    return count;
}

/* With 3 MADs of six values each, 3 % of healthy points of 12 blocks were. */
static void noise_is_steady_and_a_jump_is_not(void **state)
{
    static const size_t blocks[] = {6, 12, 18, 36, 64};
    (void)state;
    for (size_t i = 0; i < SS_COUNT_OF(blocks); i++) {
        assert_in_range(unsteady(blocks[i], 0.05, 0, 0), 0, 5);
        if (blocks[i] >= 12)
            assert_in_range(unsteady(blocks[i], 0.005, 0, 0.05), 4950, 5000);
    }
    assert_in_range(unsteady(64, 0.05, 0.5, 0), 0, 25);
}

/* More blocks than bins: the slope comes from bins. */
static void drift_is_seen_in_many_blocks(void **state)
{
    static double v[400], t[400], scratch[800];
    (void)state;
    for (int i = 0; i < 400; i++) {
        t[i] = 1e9 * i;
        v[i] = 100 + 0.004 * i;
    }
    assert_false(ss_steady(v, t, 400, scratch));
}

static void ratios_combine_in_quadrature(void **state)
{
    struct ss_estimate a = {.median = 80, .lo = 77.6, .hi = 82.4}; /* 3 % */
    struct ss_estimate b = {.median = 100, .lo = 96, .hi = 104};   /* 4 % */
    struct ss_ratio r;
    (void)state;
    ss_ratio_of(&a, &b, &r);
    assert_near(r.value, 0.8, 1e-12);
    assert_near(r.lo, 0.8 * 0.95, 1e-12);
    assert_near(r.hi, 0.8 * 1.05, 1e-12);
    b.lo = NAN;
    ss_ratio_of(&a, &b, &r);
    assert_true(isnan(r.lo) && isnan(r.hi));
    assert_near(r.value, 0.8, 1e-12);
}

static struct ss_estimate with_half(double half)
{
    return (struct ss_estimate){.median = 1, .lo = 1 - half, .hi = 1 + half};
}

static void stops_for_one_reason_at_a_time(void **state)
{
    const struct ss_stop_rule rule = {0.01, 12, 100};
    struct ss_estimate e[2] = {with_half(0.005), with_half(0.02)};
    size_t next;
    (void)state;
    assert_int_equal(ss_stop_decide(&rule, e, 2, 12, 10, 100, &next),
                     SS_STOP_NO);
    assert_int_equal(next, 6);
    assert_int_equal(ss_stop_decide(&rule, e, 2, 40, 10, 1000, &next),
                     SS_STOP_NO);
    assert_int_equal(next, 20);
    assert_int_equal(ss_stop_decide(&rule, e, 2, 80, 80, 100, &next),
                     SS_STOP_NO);
    assert_int_equal(next, 20); /* up to max_blocks and the budget alike */
    assert_int_equal(ss_stop_decide(&rule, e, 2, 80, 90, 100, &next),
                     SS_STOP_NO);
    assert_int_equal(next, 9); /* what the budget has room for */
    assert_int_equal(ss_stop_decide(&rule, e, 2, 12, 100, 100, &next),
                     SS_STOP_BUDGET);
    assert_int_equal(ss_stop_decide(&rule, e, 2, 100, 10, 100, &next),
                     SS_STOP_BLOCKS);
    e[1] = with_half(0.0099);
    assert_int_equal(ss_stop_decide(&rule, e, 2, 12, 10, 100, &next),
                     SS_STOP_PRECISE);
    assert_int_equal(ss_stop_decide(&rule, e, 2, 6, 10, 100, &next),
                     SS_STOP_NO);
    assert_int_equal(next, 6); /* up to min_blocks, whatever the width */
    e[0].lo = NAN;
    assert_int_equal(ss_stop_decide(&rule, e, 1, 12, 10, 1000, &next),
                     SS_STOP_NO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sorts_and_medians),
        cmocka_unit_test(median_of_groups_is_the_slower_one),
        cmocka_unit_test(quantiles_are_linear),
        cmocka_unit_test(ranks_are_the_published_ones),
        cmocka_unit_test(lag1_is_the_textbook_one),
        cmocka_unit_test(theil_sen_is_the_median_slope),
        cmocka_unit_test(estimates_a_clean_sample),
        cmocka_unit_test(few_blocks_are_said_to_be_few),
        cmocka_unit_test(correlated_neighbours_are_merged),
        cmocka_unit_test(drift_is_not_steady),
        cmocka_unit_test(noise_is_steady_and_a_jump_is_not),
        cmocka_unit_test(drift_is_seen_in_many_blocks),
        cmocka_unit_test(ratios_combine_in_quadrature),
        cmocka_unit_test(stops_for_one_reason_at_a_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
