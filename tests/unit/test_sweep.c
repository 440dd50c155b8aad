/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pure half of the sweep: which points, in which order, and which blocks
 * make a round. Expected lists are written out by hand from DESIGN sections 2
 * and 8.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "support/config_case.h"
#include "support/torture.h"
#include "sweep/points.h"
#include "sweep/schedule.h"

static void make(const char *sizes, const char *extra, struct ss_config *config,
                 struct ss_model *model)
{
    ss_config_default(config);
    assert_int_equal(ss_config_set(config, "scaling.sizes", sizes), SS_OK);
    assert_int_equal(ss_config_set(config, "model.tokens", "4096"), SS_OK);
    if (extra)
        assert_int_equal(ss_config_set(config, "scaling.modes", extra), SS_OK);
    assert_int_equal(ss_model_resolve(config, model), SS_OK);
}

static void levels_take_the_ends_first(void **state)
{
    int level[9];

    (void)state;
    ss_coarse_levels(9, level);
    const int want[9] = {0, 3, 2, 3, 1, 3, 2, 3, 0};
    assert_memory_equal(level, want, sizeof(want));
    ss_coarse_levels(1, level);
    assert_int_equal(level[0], 0);
}

static void both_modes_at_every_size_coarse_first(void **state)
{
    struct ss_machine machine = {8, 1, 8, 8};
    struct ss_config config;
    struct ss_model model;
    struct ss_sweep sweep;
    int seen[9][2] = {{0}};

    (void)state;
    make("1,2,4,8", NULL, &config, &model);
    assert_int_equal(ss_sweep_plan(&config, &model, &machine, &sweep), SS_OK);
    assert_int_equal(sweep.n, 8);
    assert_int_equal(sweep.base_size, 1);
    /* 8 ranks / 8 x 4096 tokens = 4096: one device's worth */
    assert_int_equal(sweep.global_batch, 4096);
    for (int i = 0; i < 8; i++) {
        const struct ss_sweep_point *p = &sweep.point[i];
        assert_int_equal(p->index, i + 1);
        seen[p->size][p->strong]++;
        if (i < 4) /* the ends of the curve in both modes come first */
            assert_true(p->size == 1 || p->size == 8);
        assert_int_equal(p->alone, p->size == 8);
        if (p->strong)
            assert_int_equal(p->tokens, 4096 / p->size);
        else
            assert_int_equal(p->tokens, 4096);
    }
    for (int s = 1; s <= 8; s *= 2)
        assert_true(seen[s][0] == 1 && seen[s][1] == 1);
    ss_sweep_free(&sweep);
}

static void order_follows_the_seed(void **state)
{
    struct ss_machine machine = {16, 4, 4, 4};
    struct ss_config config;
    struct ss_model model;
    struct ss_sweep a, b, c;
    int differ = 0;

    (void)state;
    make("1,2,4,8,16", NULL, &config, &model);
    assert_int_equal(ss_sweep_plan(&config, &model, &machine, &a), SS_OK);
    assert_int_equal(ss_sweep_plan(&config, &model, &machine, &b), SS_OK);
    config.measure_seed = 2;
    assert_int_equal(ss_sweep_plan(&config, &model, &machine, &c), SS_OK);
    assert_int_equal(a.n, c.n);
    for (int i = 0; i < a.n; i++) {
        assert_int_equal(a.point[i].size, b.point[i].size);
        assert_int_equal(a.point[i].strong, b.point[i].strong);
        differ += a.point[i].size != c.point[i].size ||
                  a.point[i].strong != c.point[i].strong;
    }
    assert_true(differ > 0);
    ss_sweep_free(&a);
    ss_sweep_free(&b);
    ss_sweep_free(&c);
}

static void left_over_ranks_get_a_shifted_pass(void **state)
{
    struct ss_machine machine = {7, 1, 7, 7};
    struct ss_config config;
    struct ss_model model;
    struct ss_sweep sweep;
    int passes[2] = {0};

    (void)state;
    make("1,2,7", "weak", &config, &model);
    assert_int_equal(ss_sweep_plan(&config, &model, &machine, &sweep), SS_OK);
    for (int i = 0; i < sweep.n; i++)
        if (sweep.point[i].size == 2)
            passes[sweep.point[i].pass]++;
    assert_int_equal(passes[0], 1);
    assert_int_equal(passes[1], 1);
    ss_sweep_free(&sweep);
}

static void largest_multi_node_sizes_run_alone_too(void **state)
{
    struct ss_machine machine = {32, 8, 4, 4};
    struct ss_config config;
    struct ss_model model;
    struct ss_sweep sweep;
    int alone[33] = {0};

    (void)state;
    make("1,4,8,16,32", "weak", &config, &model);
    assert_int_equal(ss_sweep_plan(&config, &model, &machine, &sweep), SS_OK);
    for (int i = 0; i < sweep.n; i++)
        alone[sweep.point[i].size] += sweep.point[i].optional;
    assert_int_equal(alone[8], 1);
    assert_int_equal(alone[16], 1);
    assert_int_equal(alone[1] + alone[4] + alone[32], 0);
    /* they come last: the budget may end before */
    assert_true(sweep.point[sweep.n - 1].optional);
    assert_true(sweep.point[sweep.n - 2].optional);
    ss_sweep_free(&sweep);
}

static void strong_below_min_tokens_is_skipped_with_a_reason(void **state)
{
    struct ss_machine machine = {16, 1, 16, 16};
    struct ss_config config;
    struct ss_model model;
    struct ss_sweep sweep;
    int skipped = 0;

    (void)state;
    make("1,16", "strong", &config, &model);
    assert_int_equal(ss_config_set(&config, "scaling.min_tokens", "1024"),
                     SS_OK);
    assert_int_equal(ss_config_set(&config, "scaling.global_batch", "8192"),
                     SS_OK);
    assert_int_equal(ss_sweep_plan(&config, &model, &machine, &sweep), SS_OK);
    for (int i = 0; i < sweep.n; i++)
        if (sweep.point[i].tokens == 0) {
            skipped++;
            assert_int_equal(sweep.point[i].size, 16);
            assert_non_null(strstr(sweep.point[i].skip, "1024"));
        }
    assert_int_equal(skipped, 1);
    ss_sweep_free(&sweep);
}

static int differences(const struct ss_slot *a, const struct ss_slot *b, int n)
{
    int differ = 0;

    for (int i = 0; i < n; i++)
        differ += a[i].variant != b[i].variant || a[i].sampled != b[i].sampled;
    return differ;
}

static void round_holds_what_was_asked(void **state)
{
    struct ss_round_args args = {
        .blocks = 12, .sample_every = 10, .comm = true, .seed = 7};
    struct ss_slot slot[64], again[64];
    int count[SS_VARIANTS][2] = {{0}};
    int n = ss_round_slots(&args);

    (void)state;
    /* 3 x 12, and 2 sampled ones (12 / 9, rounded up) of two variants */
    assert_int_equal(n, 40);
    assert_int_equal(ss_round_fill(&args, slot), SS_OK);
    for (int i = 0; i < n; i++)
        count[slot[i].variant][slot[i].sampled]++;
    for (int v = 0; v < SS_VARIANTS; v++)
        assert_int_equal(count[v][0], 12);
    assert_int_equal(count[SS_WHOLE][1], 2);
    assert_int_equal(count[SS_COMPUTE_ONLY][1], 2);
    assert_int_equal(count[SS_COMM_ONLY][1], 0);
    assert_int_equal(ss_round_fill(&args, again), SS_OK);
    assert_int_equal(differences(slot, again, n), 0);
    assert_true(slot[n - 1].variant == SS_WHOLE && !slot[n - 1].sampled);
    args.number = 1;
    assert_int_equal(ss_round_fill(&args, again), SS_OK);
    assert_true(differences(slot, again, n) > 0);
}

static void blocks_are_long_enough(void **state)
{
    (void)state;
    assert_int_equal(ss_block_steps(10000000, 200000000, 3), 20);
    assert_int_equal(ss_block_steps(30000000, 200000000, 3), 7);
    assert_int_equal(ss_block_steps(5000000000, 200000000, 3), 3);
    assert_int_equal(ss_block_steps(1000, 200000000, 3), 1000);
    assert_int_equal(ss_block_steps(1000, 0, 5), 5);
    assert_int_equal(ss_round_first(1000, 100, 12), 10);
    assert_int_equal(ss_round_first(1000, 10, 12), 12);
    assert_int_equal(ss_round_first(5, 10, 12), 1);
}

static enum ss_status plan_once(void *arg)
{
    struct ss_machine machine = {32, 8, 4, 4};
    struct ss_sweep sweep;
    struct ss_model model;
    struct ss_config *config = arg;

    SS_TRY(ss_model_resolve(config, &model));
    SS_TRY(ss_sweep_plan(config, &model, &machine, &sweep));
    ss_sweep_free(&sweep);
    return SS_OK;
}

static void no_allocation_failure_leaks(void **state)
{
    struct ss_config config;
    struct ss_model model;

    (void)state;
    make("1,4,8,16,32", NULL, &config, &model);
    assert_true(ss_torture(plan_once, &config) > 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(levels_take_the_ends_first),
        cmocka_unit_test(both_modes_at_every_size_coarse_first),
        cmocka_unit_test(order_follows_the_seed),
        cmocka_unit_test(left_over_ranks_get_a_shifted_pass),
        cmocka_unit_test(largest_multi_node_sizes_run_alone_too),
        cmocka_unit_test(strong_below_min_tokens_is_skipped_with_a_reason),
        cmocka_unit_test(round_holds_what_was_asked),
        cmocka_unit_test(blocks_are_long_enough),
        cmocka_unit_test(no_allocation_failure_leaks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
