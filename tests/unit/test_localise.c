/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Localisation on simulated matrices, where the culprit is known: what is
 * named, and that nobody is named without cause.
 */
#include <math.h>
#include <stdio.h>
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include "base/mem.h"
#include "support/sim_pairs.h"

static void one_fault(const struct ss_localised *found, int place, int a, int b)
{
    assert_int_equal(found->n, 1);
    assert_int_equal(found->fault[0].place, place);
    assert_int_equal(found->fault[0].a, a);
    assert_int_equal(found->fault[0].b, b);
    assert_true(found->fault[0].p < 0.01);
    assert_true(found->fault[0].confidence > 0.95);
}

static void near(double value, double want, double share)
{
    if (!(fabs(value - want) <= share * want))
        fail_msg("%g is not within %g of %g", value, share, want);
}

static void a_slow_node_is_named_at_any_size(void **state)
{
    static const int sizes[] = {3, 4, 5, 8, 33, 128, 1000};
    (void)state;
    for (size_t i = 0; i < SS_COUNT_OF(sizes); i++) {
        struct sim_cluster c;
        struct ss_localised found;
        int who = sizes[i] / 2;
        sim_open(&c, sizes[i], 0.02, i);
        c.send[who] = c.receive[who] = 5;
        sim_probe(&c, sizes[i] > 200 ? 200 : 1000, &found);
        one_fault(&found, SS_FAULT_NODE, who, -1);
        near(found.fault[0].factor, 5, 0.05);
        assert_true(found.fault[0].lo <= 5.1 && found.fault[0].hi >= 4.9);
        near(found.healthy, 1, 0.03);
        ss_localised_free(&found);
        sim_close(&c);
    }
}

static void a_slow_path_is_not_its_ends(void **state)
{
    static const int sizes[] = {3, 4, 8, 16};
    (void)state;
    for (size_t i = 0; i < SS_COUNT_OF(sizes); i++)
        for (int both = 0; both < 2; both++) {
            struct sim_cluster c;
            struct ss_localised found;
            sim_open(&c, sizes[i], 0.02, i);
            c.slow_from = both ? 0 : sizes[i] - 1;
            c.slow_to = 1;
            c.slow_path = 4;
            c.both_ways = both;
            sim_probe(&c, 1000, &found);
            one_fault(&found, both ? SS_FAULT_PATH : SS_FAULT_ONE_WAY,
                      c.slow_from, 1);
            near(found.fault[0].factor, 4, 0.05);
            ss_localised_free(&found);
            sim_close(&c);
        }
}

static void a_node_that_only_sends_slowly(void **state)
{
    struct sim_cluster c;
    struct ss_localised found;
    (void)state;
    sim_open(&c, 8, 0.03, 5);
    c.send[6] = 1.6;
    sim_probe(&c, 1000, &found);
    one_fault(&found, SS_FAULT_NODE_SENDS, 6, -1);
    near(found.fault[0].factor, 1.6, 0.06);
    ss_localised_free(&found);
    c.send[6] = 1;
    c.receive[0] = 2.5;
    sim_probe(&c, 1000, &found);
    one_fault(&found, SS_FAULT_NODE_RECEIVES, 0, -1);
    ss_localised_free(&found);
    sim_close(&c);
}

static void several_at_once_each_get_their_name(void **state)
{
    struct sim_cluster c;
    struct ss_localised found;
    (void)state;
    sim_open(&c, 16, 0.02, 9);
    c.send[3] = c.receive[3] = 5;
    c.send[11] = c.receive[11] = 2;
    c.slow_from = 7;
    c.slow_to = 8;
    c.slow_path = 3;
    sim_probe(&c, 1000, &found);
    assert_int_equal(found.n, 3);
    assert_int_equal(found.fault[0].a, 3);
    assert_int_equal(found.fault[1].place, SS_FAULT_PATH);
    assert_int_equal(found.fault[1].b, 8);
    assert_int_equal(found.fault[2].a, 11);
    ss_localised_free(&found);
    sim_close(&c);
}

static void half_of_a_cluster_can_be_slow(void **state)
{
    struct sim_cluster c;
    struct ss_localised found;
    (void)state;
    sim_open(&c, 8, 0.02, 9);
    for (int i = 0; i < 4; i++)
        c.send[2 * i] = c.receive[2 * i] = 5;
    sim_probe(&c, 200, &found);
    assert_int_equal(found.n, 4);
    for (int i = 0; i < 4; i++)
        assert_int_equal(found.fault[i].a % 2, 0);
    ss_localised_free(&found);
    sim_close(&c);
}

static void a_slow_cluster_has_no_culprit(void **state)
{
    struct sim_cluster c;
    struct ss_localised found;
    (void)state;
    for (int n = 2; n < 20; n++) {
        sim_open(&c, n, 0.02, 3);
        c.all = 5;
        sim_probe(&c, 200, &found);
        assert_int_equal(found.n, 0);
        near(found.healthy, 5, 0.05);
        ss_localised_free(&found);
        sim_close(&c);
    }
}

/** 10,000 healthy matrices: accusations in fewer than 1 %. */
static void count_accusations(uint64_t seeds, double noise, double wild,
                              double wild_cost)
{
    static const int sizes[] = {2, 3, 4, 5, 7, 8, 12, 16, 24, 32};
    int accused = 0, all = 0;
    for (uint64_t seed = 0; seed < seeds; seed++)
        for (size_t i = 0; i < SS_COUNT_OF(sizes); i++) {
            struct sim_cluster c;
            struct ss_localised found;
            sim_open(&c, sizes[i], noise, seed * 100 + i);
            c.wild = wild;
            c.wild_cost = wild_cost;
            sim_probe(&c, 0, &found);
            accused += found.n > 0;
            all++;
            ss_localised_free(&found);
            sim_close(&c);
        }
    print_message("noise %g, %g %% wild: %d of %d accused\n", noise, 100 * wild,
                  accused, all);
    assert_true(accused < all / 100);
}

static void the_healthy_are_left_alone(void **state)
{
    (void)state;
    count_accusations(1000, 0.05, 0, 1);
    count_accusations(200, 0.2, 0, 1);
}

static void the_healthy_are_left_alone_in_rough_weather(void **state)
{
    (void)state;
    count_accusations(400, 0.03, 0.05, 2);
}

static void small_effects_are_found_above_the_noise(void **state)
{
    int found_it = 0;
    (void)state;
    for (uint64_t seed = 0; seed < 100; seed++) {
        struct sim_cluster c;
        struct ss_localised found;
        sim_open(&c, 8, 0.02, seed);
        c.send[4] = c.receive[4] = 1.2;
        sim_probe(&c, 0, &found);
        found_it += found.n == 1 && found.fault[0].a == 4 &&
                    found.fault[0].place == SS_FAULT_NODE;
        ss_localised_free(&found);
        sim_close(&c);
    }
    assert_true(found_it >= 95);
}

static void odd_input_says_nothing(void **state)
{
    const struct ss_link_sample odd[] = {
        {.from = 0, .to = 0, .cost = 1},   {.from = 0, .to = 9, .cost = 1},
        {.from = -1, .to = 1, .cost = 1},  {.from = 0, .to = 1, .cost = 0},
        {.from = 1, .to = 0, .cost = NAN}, {.from = 1, .to = 0, .cost = -1}};
    const struct ss_localise_rule rule = {
        .nodes = 4, .min_effect = 0.05, .family = 0.01, .resamples = 10};
    struct ss_localised found;
    (void)state;
    assert_int_equal(ss_localise(odd, (int)SS_COUNT_OF(odd), &rule, &found),
                     SS_OK);
    assert_int_equal(found.n, 0);
    assert_int_equal(ss_localise(odd, 0, &rule, &found), SS_OK);
    assert_int_equal(found.n, 0);
    assert_true(isnan(found.healthy));
    assert_int_equal(ss_mem_live(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_slow_node_is_named_at_any_size),
        cmocka_unit_test(a_slow_path_is_not_its_ends),
        cmocka_unit_test(a_node_that_only_sends_slowly),
        cmocka_unit_test(several_at_once_each_get_their_name),
        cmocka_unit_test(half_of_a_cluster_can_be_slow),
        cmocka_unit_test(a_slow_cluster_has_no_culprit),
        cmocka_unit_test(the_healthy_are_left_alone),
        cmocka_unit_test(the_healthy_are_left_alone_in_rough_weather),
        cmocka_unit_test(small_effects_are_found_above_the_noise),
        cmocka_unit_test(odd_input_says_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
