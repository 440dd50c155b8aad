/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ss_analyse where something is missing, unfit or unusual: marks apart, bases
 * that cover little, points without samples, clocks, no memory.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/result.h"
#include "base/mem.h"
#include "base/str.h"
#include "support/curve_case.h"
#include "support/near.h"
#include "support/torture.h"

#define EXACT 1e-9

static const struct ss_rules rules = {.min_effect = 0.05,
                                      .min_effect_link = 0.05};

static void analyse(const struct ss_run_data *run, struct ss_result *out)
{
    struct ss_analysis_args args = {.run = run, .rules = &rules};
    assert_int_equal(ss_analyse(&args, out), SS_OK);
}

/* Marks apart between ranks: the group's step runs from the latest mark to
 * the latest mark. */
static void the_latest_mark_ends_the_step(void **state)
{
    struct ss_run_data run;
    struct ss_result result;
    struct ss_case_point spec = {.mode = "weak",
                                 .load = "alone",
                                 .size = 2,
                                 .base_size = 2,
                                 .blocks = CURVE_BLOCKS,
                                 .steps = 1,
                                 .skew_ns = 500000,
                                 .ms = curve_weak_ms};
    (void)state;
    ss_case_open(&run, 2, 2, 1);
    ss_case_add(&run, &spec);
    analyse(&run, &result);
    assert_near(result.point[0].step.median, 110, EXACT);
    /* one step a block, so that the first difference counts; rank 1 (100 ms)
     * starts 0.5 ms late, but rank 0 has 98 ms: no matter */
    assert_near(result.point[0].compute_only_ms, 100, EXACT);
    ss_result_free(&result);
    ss_case_close(&run);
}

/* A base of the same load is taken unless it covers fewer ranks. */
static void the_base_covers_the_group(void **state)
{
    struct ss_run_data run;
    struct ss_result result;
    struct ss_case_point spec = {.mode = "weak",
                                 .load = "alone",
                                 .size = 1,
                                 .base_size = 1,
                                 .blocks = CURVE_BLOCKS,
                                 .steps = CURVE_STEPS,
                                 .groups = 1,
                                 .ms = curve_weak_ms};
    (void)state;
    ss_case_open(&run, 4, 2, 8);
    ss_case_add(&run, &spec); /* rank 0 alone: 100 ms */
    spec.size = 4;
    ss_case_add(&run, &spec);
    analyse(&run, &result);
    assert_near(result.point[1].efficiency.value, 100.0 / 130, EXACT);
    assert_near(result.point[1].e_devices, 1, EXACT);
    ss_result_free(&result);
    spec = (struct ss_case_point){.mode = "weak",
                                  .load = "beside",
                                  .size = 1,
                                  .base_size = 1,
                                  .blocks = CURVE_BLOCKS,
                                  .steps = CURVE_STEPS,
                                  .ms = curve_weak_ms};
    ss_case_add(&run, &spec); /* all four */
    analyse(&run, &result);
    assert_int_equal(result.n_points, 3);
    assert_near(result.point[2].efficiency.value, 0.8, EXACT);
    ss_result_free(&result);
    ss_case_close(&run);
}

static void points_without_samples_are_null(void **state)
{
    struct ss_run_data run;
    struct ss_result result;
    (void)state;
    ss_case_open(&run, 4, 2, 3);
    curve_add(&run, "weak", 4); /* no base */
    run.point[1] = (struct ss_point_data){.meta = {.size = 2, .verified = -1}};
    ss_copy(run.point[1].meta.curve, 48, "mlp dp");
    ss_copy(run.point[1].meta.mode, 8, "strong");
    ss_copy(run.point[1].meta.status, 24, "skipped");
    ss_copy(run.point[1].meta.reason, 160, "too few tokens");
    run.n_points = 2;
    analyse(&run, &result);
    assert_int_equal(result.n_points, 2);
    assert_true(isnan(result.point[0].efficiency.value));
    assert_true(isnan(result.point[0].e_comm));
    assert_near(result.point[0].parallel_efficiency, 108.0 / 130, EXACT);
    assert_string_equal(result.point[1].status, "skipped");
    assert_true(isnan(result.point[1].step.median));
    assert_int_equal(result.point[1].n_ranks, 0);
    assert_int_equal(result.complete, 0); /* 2 of 3 */
    assert_int_equal(result.verdict.exit_code, 11);
    ss_result_free(&result);
    ss_case_close(&run);
    ss_case_open(&run, 2, 2, 1);
    analyse(&run, &result); /* no point at all */
    assert_int_equal(result.n_points, 0);
    assert_string_equal(result.sentence, "no point was measured");
    ss_result_free(&result);
    ss_case_close(&run);
}

static double few_ms(const struct ss_case_step *at, void *arg)
{
    double drift = *(const double *)arg;
    return 50 * (1 + drift * at->block);
}

static void unfit_samples_are_said(void **state)
{
    struct ss_run_data run;
    struct ss_result result;
    double drift = 0;
    struct ss_case_point spec = {.mode = "weak",
                                 .load = "alone",
                                 .size = 2,
                                 .base_size = 2,
                                 .blocks = 11,
                                 .steps = CURVE_STEPS,
                                 .ms = few_ms,
                                 .arg = &drift};
    (void)state;
    ss_case_open(&run, 2, 2, 3);
    ss_case_add(&run, &spec);
    drift = 0.003;
    spec.blocks = 20;
    spec.size = spec.base_size = 1;
    ss_case_add(&run, &spec);
    analyse(&run, &result);
    assert_string_equal(result.point[1].status, "too_few_samples");
    assert_string_equal(result.point[0].status, "no_steady_state");
    ss_result_free(&result);
    ss_case_close(&run);
}

static void clocks_apart_are_flagged(void **state)
{
    struct ss_run_data run;
    struct ss_result result;
    (void)state;
    ss_case_open(&run, 4, 2, 1);
    curve_add(&run, "weak", 4);
    struct ss_point_data *p = &run.point[0];
    for (int b = 0; b < p->n_blocks; b++)
        for (int r = 0; r < 4; r++) {
            struct ss_block_rank_row *row = &p->block_rank[b * 4 + r];
            bool whole = p->block[b].variant == SS_WHOLE;
            row->clock_mhz = whole ? 1400 : 1420;
            row->energy_j = (float)(0.130 * (CURVE_STEPS + 1) * 500);
            row->power_capped_s = 0;
            row->thermal_capped_s = (float)(0.013 * (CURVE_STEPS + 1));
        }
    analyse(&run, &result);
    assert_near(result.point[0].clock_mhz, 1400, 1e-6);
    assert_near(result.point[0].power_w, 500, 1e-3);
    assert_near(result.point[0].capped_share, 0.1, 1e-5);
    assert_true(result.point[0].flags & SS_FLAG_CLOCK_SHIFTED);
    /* rank 3 is 8 % slow as well: the larger factor comes first */
    assert_int_equal(result.n_findings, 2);
    assert_int_equal(result.finding[0].kind, SS_STRAGGLER_RANK);
    assert_int_equal(result.finding[0].rank, 3);
    assert_near(result.finding[0].factor, 1.08, EXACT);
    assert_int_equal(result.finding[1].kind, SS_CLOCK_SHIFTED);
    ss_result_free(&result);
    ss_case_close(&run);
}

static enum ss_status whole_analysis(void *arg)
{
    struct ss_analysis_args args = {.run = arg, .rules = &rules};
    struct ss_result result;
    enum ss_status status = ss_analyse(&args, &result);
    ss_result_free(&result);
    return status;
}

static void no_allocation_failure_is_lost(void **state)
{
    struct ss_run_data run;
    (void)state;
    curve_open(&run);
    assert_true(ss_torture(whole_analysis, &run) > 20);
    ss_case_close(&run);
    assert_int_equal(ss_mem_live(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_latest_mark_ends_the_step),
        cmocka_unit_test(the_base_covers_the_group),
        cmocka_unit_test(points_without_samples_are_null),
        cmocka_unit_test(unfit_samples_are_said),
        cmocka_unit_test(clocks_apart_are_flagged),
        cmocka_unit_test(no_allocation_failure_is_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
