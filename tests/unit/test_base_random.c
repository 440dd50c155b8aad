/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The generators against published outputs (SplitMix64 and xoshiro256** by
 * their authors' reference code) and against moments; the clock for order.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/random.h"
#include "base/status.h"

static void mix64_is_splitmix64(void **state)
{
    /* Reference: seed 1234567, the first outputs as commonly published. */
    static const uint64_t expected[] = {
        UINT64_C(6457827717110365317), UINT64_C(3203168211198807973),
        UINT64_C(9817491932198370423), UINT64_C(4593380528125082431)};
    (void)state;
    for (uint64_t i = 0; i < 4; i++)
        assert_true(ss_mix64(1234567 + i * UINT64_C(0x9E3779B97F4A7C15)) ==
                    expected[i]);
    assert_true(ss_mix64(0) == UINT64_C(0xE220A8397B1DCDAF));
}

static void xoshiro_matches_its_reference(void **state)
{
    struct ss_random random = {{1, 2, 3, 4}};
    static const uint64_t expected[] = {11520, 0, UINT64_C(1509978240),
                                        UINT64_C(1215971899390074240),
                                        UINT64_C(1216172134540287360)};
    (void)state;
    for (size_t i = 0; i < SS_COUNT_OF(expected); i++)
        assert_true(ss_random_u64(&random) == expected[i]);
}

static void word_order_matters(void **state)
{
    const uint64_t a[] = {1, 2};
    const uint64_t b[] = {2, 1};
    const uint64_t c[] = {1, 2, 0};
    (void)state;
    assert_true(ss_mix_words(a, 2) != ss_mix_words(b, 2));
    assert_true(ss_mix_words(a, 2) != ss_mix_words(c, 3));
    assert_true(ss_mix_words(a, 2) == ss_mix_words(c, 2));
}

/* Mean, variance and kurtosis of 200,000 draws, within 5 sigma. */
static void check_normal(double (*draw)(void *), void *arg)
{
    const int n = 200000;
    double sum = 0;
    double sum2 = 0;
    double sum4 = 0;
    for (int i = 0; i < n; i++) {
        double x = draw(arg);
        assert_true(isfinite(x));
        sum += x;
        sum2 += x * x;
        sum4 += x * x * x * x;
    }
    assert_true(fabs(sum / n) < 5 / sqrt(n));
    assert_true(fabs(sum2 / n - 1) < 5 * sqrt(2.0 / n));
    assert_true(fabs(sum4 / n - 3) < 5 * sqrt(96.0 / n));
}

static double draw_random(void *arg)
{
    return ss_random_normal(arg);
}

static double draw_word(void *arg)
{
    uint64_t *counter = arg;
    return ss_normal_from_word((*counter)++);
}

static void normals_are_normal(void **state)
{
    struct ss_random random;
    uint64_t counter = 0;
    (void)state;
    ss_random_seed(&random, 1);
    check_normal(draw_random, &random);
    check_normal(draw_word, &counter);
}

static void below_is_even_and_shuffle_permutes(void **state)
{
    struct ss_random random;
    int seen[7] = {0};
    int items[7] = {0, 1, 2, 3, 4, 5, 6};
    int at_front[7] = {0};
    (void)state;
    ss_random_seed(&random, 42);
    for (int i = 0; i < 70000; i++)
        seen[ss_random_below(&random, 7)]++;
    for (int i = 0; i < 7; i++)
        assert_in_range(seen[i], 9500, 10500); /* 5 sigma = 463 */
    assert_int_equal(ss_random_below(&random, 1), 0);
    for (int i = 0; i < 70000; i++) {
        ss_random_shuffle(&random, items, 7);
        at_front[items[0]]++;
    }
    for (int i = 0; i < 7; i++)
        assert_in_range(at_front[i], 9500, 10500);
}

static void seeds_differ_and_repeat(void **state)
{
    struct ss_random a;
    struct ss_random b;
    double u;
    (void)state;
    ss_random_seed(&a, 7);
    ss_random_seed(&b, 7);
    assert_true(ss_random_u64(&a) == ss_random_u64(&b));
    ss_random_seed(&b, 8);
    assert_true(ss_random_u64(&a) != ss_random_u64(&b));
    for (int i = 0; i < 1000; i++) {
        u = ss_random_uniform(&a);
        assert_true(u >= 0 && u < 1);
    }
}

static void the_clock_goes_on_and_sleep_is_never_short(void **state)
{
    int64_t start = ss_clock_ns();
    (void)state;
    ss_clock_sleep_until(start + 3 * SS_NS_PER_MS);
    assert_true(ss_clock_ns() - start >= 3 * SS_NS_PER_MS);
    ss_clock_sleep_until(start); /* in the past: returns */
    assert_true(ss_clock_wall_ns() > INT64_C(1600000000) * SS_NS_PER_S);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mix64_is_splitmix64),
        cmocka_unit_test(xoshiro_matches_its_reference),
        cmocka_unit_test(word_order_matters),
        cmocka_unit_test(normals_are_normal),
        cmocka_unit_test(below_is_even_and_shuffle_permutes),
        cmocka_unit_test(seeds_differ_and_repeat),
        cmocka_unit_test(the_clock_goes_on_and_sleep_is_never_short),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
