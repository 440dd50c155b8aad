/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ss_analyse on a synthetic run of known costs: every number is worked out by
 * hand beside it.
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

#define EXACT 1e-9

static const struct ss_rules rules = {.min_effect = 0.05,
                                      .min_effect_link = 0.05};

static void analyse(const struct ss_run_data *run, struct ss_result *out)
{
    struct ss_analysis_args args = {.run = run, .rules = &rules};
    assert_int_equal(ss_analyse(&args, out), SS_OK);
}

static void points_come_curve_by_curve(void **state)
{
    static const int size[] = {1, 2, 4, 1, 2, 4};
    struct ss_run_data run;
    struct ss_result result;
    (void)state;
    curve_open(&run);
    analyse(&run, &result);
    assert_int_equal(result.n_points, 6);
    for (int i = 0; i < 6; i++) {
        assert_int_equal(result.point[i].meta->size, size[i]);
        assert_string_equal(result.point[i].meta->mode,
                            i < 3 ? "weak" : "strong");
        assert_string_equal(result.point[i].status, "ok");
    }
    assert_int_equal(result.complete, 1);
    assert_int_equal(result.verdict.result, SS_NONE);
    assert_int_equal(result.verdict.exit_code, 0);
    ss_result_free(&result);
    ss_case_close(&run);
}

static void weak_efficiencies_are_paired(void **state)
{
    struct ss_run_data run;
    struct ss_result result;
    (void)state;
    curve_open(&run);
    analyse(&run, &result);
    const struct ss_point_result *p = &result.point[0];
    /* the slower of the middle two of 100 102 104 110 */
    assert_near(p->step.median, 104, EXACT);
    assert_near(p->step.lo, 104 * (1 - 4e-4), EXACT);
    assert_near(p->step.hi, 104 * (1 + 4e-4), EXACT);
    assert_int_equal(p->step.n, CURVE_BLOCKS);
    assert_near(p->step_min_ms, 100, EXACT);
    assert_near(p->step_max_ms, 110, EXACT);
    assert_int_equal(p->slowest_group, 3);
    assert_near(p->slowest_efficiency, 1, EXACT);
    assert_near(p->efficiency.value, 1, 0);
    assert_near(p->efficiency.lo, 1, 0);
    assert_near(p->e_devices, 1, EXACT);
    assert_near(p->e_comm, 1, EXACT);
    p = &result.point[1];
    /* of two groups the slower: ranks 2, 3 with bases 104, 110 */
    assert_near(p->step.median, 120, EXACT);
    assert_near(p->base_ms, 110, EXACT);
    assert_near(p->efficiency.value, 110.0 / 120, EXACT);
    assert_near(p->e_devices, 1, EXACT);
    assert_near(p->e_comm, 110.0 / 120, EXACT);
    p = &result.point[2];
    assert_near(p->step.median, 130, EXACT);
    assert_near(p->base_ms, 104, EXACT);
    assert_near(p->efficiency.value, 0.8, EXACT);
    assert_near(p->efficiency.lo, 0.8 * (1 - sqrt(2) * 4e-4), EXACT);
    assert_near(p->efficiency.hi, 0.8 * (1 + sqrt(2) * 4e-4), EXACT);
    assert_near(p->e_devices, 104.0 / 110, EXACT);
    assert_near(p->e_comm, 110.0 / 130, EXACT);
    assert_near(p->e_devices * p->e_comm, p->efficiency.value, EXACT);
    ss_result_free(&result);
    ss_case_close(&run);
}

static void strong_efficiencies_take_the_sizes_in(void **state)
{
    struct ss_run_data run;
    struct ss_result result;
    (void)state;
    curve_open(&run);
    analyse(&run, &result);
    assert_near(result.point[4].efficiency.value, 100.0 / 120, EXACT);
    assert_near(result.point[5].efficiency.value, 100.0 / 160, EXACT);
    assert_near(result.point[5].e_devices, 1, EXACT);
    assert_near(result.point[5].e_comm, 100.0 / 160, EXACT);
    /* compute-only 24 ms for a quarter of the FLOPs of 96 ms */
    assert_near(result.point[5].shape_efficiency, 1, EXACT);
    assert_near(result.point[5].parallel_efficiency, 24.0 / 40, EXACT);
    assert_near(result.point[5].tokens_per_s, 25000, 1e-6);
    assert_true(isnan(result.point[5].busy_ms)); /* nothing sampled */
    assert_true(isnan(result.point[5].hidden_share));
    ss_result_free(&result);
    ss_case_close(&run);
}

static void controls_give_exposed_and_parallel(void **state)
{
    struct ss_run_data run;
    struct ss_result result;
    (void)state;
    curve_open(&run);
    analyse(&run, &result);
    const struct ss_point_result *p = &result.point[2];
    assert_near(p->compute_only_ms, 108, EXACT); /* the slowest's cadence */
    assert_near(p->comm_only_ms, 20, EXACT);
    assert_near(p->parallel_efficiency, 108.0 / 130, EXACT);
    assert_near(p->shape_efficiency, 102.0 / 108, EXACT); /* base: rank 2 */
    assert_near(p->exposed_ms, 130 - 102, EXACT);         /* mean of ranks */
    p = &result.point[1];
    assert_near(p->exposed_ms, 120 - 105, EXACT); /* ranks 2, 3 only */
    assert_near(p->compute_only_half, 4e-4, 1e-12);
    ss_result_free(&result);
    ss_case_close(&run);
}

static void terms_are_means_of_the_group(void **state)
{
    struct ss_run_data run;
    struct ss_result result;
    (void)state;
    curve_open(&run);
    analyse(&run, &result);
    const struct ss_point_result *p = &result.point[2];
    assert_near(p->sampled_ms, 131, EXACT);
    assert_near(p->busy_ms, 103.5, EXACT);
    assert_near(p->transfer_ms, 8, EXACT);
    assert_near(p->transfer_by[SS_DIM_DP], 7, EXACT);
    assert_near(p->transfer_by[SS_DIM_TP], 1, EXACT);
    assert_near(p->wait_persistent_ms, 9, EXACT);
    assert_near(p->wait_jitter_ms, 4.5, EXACT);
    assert_near(p->unsplit_ms, 1, EXACT);
    assert_near(p->bubble_ms, 2, EXACT);
    assert_near(p->input_ms, 0.5, EXACT);
    assert_near(p->launch_ms, 1.5, EXACT);
    assert_near(p->other_ms, 1, EXACT);
    assert_near(p->interference_ms, 5, EXACT);
    assert_near(p->hidden_share, 0.6, EXACT);
    assert_near(p->phases_ms[SS_PHASE_forward], 33, EXACT);
    assert_near(p->phases_ms[SS_PHASE_dp_comm], 25, EXACT);
    assert_near(p->perturbed_share, 131.0 / 130 - 1, EXACT);
    assert_int_equal(p->flags, 0);
    p = &result.point[1]; /* ranks 2 and 3; 131 over 120 */
    assert_near(p->busy_ms, 102.5, EXACT);
    assert_int_equal(p->flags, SS_FLAG_PERTURBED);
    ss_result_free(&result);
    ss_case_close(&run);
}

static void rates_and_ranks(void **state)
{
    struct ss_run_data run;
    struct ss_result result;
    (void)state;
    curve_open(&run);
    analyse(&run, &result);
    const struct ss_point_result *p = &result.point[2];
    assert_near(p->tokens_per_s, 4000 / 0.130, 1e-6);
    assert_near(p->tokens_per_s_per_device, 1000 / 0.130, 1e-6);
    assert_near(p->tflops_per_device, 1e-3 / 0.130, 1e-12);
    assert_near(p->mfu, 1e9 / 0.130 / 1e11, 1e-12);
    assert_near(p->hfu, 1.1e9 / 0.130 / 1e11, 1e-12);
    assert_near(p->clock_bound_us, 1.5, EXACT);
    assert_near(p->comm_create_ms, 2, EXACT);
    assert_near(p->first_step_ms, 5, EXACT);
    assert_true(isnan(p->clock_mhz) && isnan(p->power_w));
    assert_int_equal(p->n_ranks, 4);
    const struct ss_rank_result *r = &p->rank[3];
    assert_int_equal(r->rank, 3);
    assert_int_equal(r->mpi_rank, 0);
    assert_string_equal(r->node, "node1");
    assert_string_equal(r->device, "cpu 1");
    assert_string_equal(r->uuid, "uuid-3");
    assert_near(r->step_ms, 130, EXACT);
    assert_near(r->compute_only_ms, 108, EXACT);
    assert_near(r->wait_ms, 15, EXACT);
    assert_near(r->excess_ms, 3, EXACT);
    assert_int_equal(r->last_arrivals, 3);
    assert_int_equal(r->collectives, 30);
    assert_int_equal(result.point[0].rank[2].group, 2);
    ss_result_free(&result);
    ss_case_close(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(points_come_curve_by_curve),
        cmocka_unit_test(weak_efficiencies_are_paired),
        cmocka_unit_test(strong_efficiencies_take_the_sizes_in),
        cmocka_unit_test(controls_give_exposed_and_parallel),
        cmocka_unit_test(terms_are_means_of_the_group),
        cmocka_unit_test(rates_and_ranks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
