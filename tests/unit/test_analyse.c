/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ss_analyse on a synthetic run of known costs: four ranks on two nodes, sizes
 * 1, 2 and 4, weak and strong; every number is worked out by hand beside it.
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
#include "support/near.h"
#include "support/run_case.h"
#include "support/torture.h"

#define BLOCKS 13
#define STEPS 3
#define EXACT 1e-9

/* -6 .. 6 in an order without drift or correlation: medians are exact and the
 * interval, the 3rd to the 11th of 13, is +- 4. */
static const int wobble[BLOCKS] = {0, 5, -3, 2, -6, 4, -1, 6, -4, 1, -5, 3, -2};

/* Weak: T of the group by size and group, ms. */
static const double weak1[] = {100, 102, 104, 110};
static const double weak2[] = {110, 120};
/* Compute alone of each rank: the same at all sizes. */
static const double compute[] = {98, 100, 102, 108};

static double weak_ms(const struct ss_case_step *at, void *arg)
{
    int size = at->meta->size, group = at->rank / size;
    double ms = size == 1 ? weak1[group] : size == 2 ? weak2[group] : 130;
    (void)arg;
    if (at->sampled)
        return at->variant == SS_WHOLE ? 131 : compute[at->rank];
    if (at->variant == SS_COMPUTE_ONLY)
        ms = compute[at->rank];
    if (at->variant == SS_COMM_ONLY)
        ms = 20;
    return ms * (1 + 1e-4 * wobble[at->block]);
}

/* Strong: 100 ms on one device, 60 on two, 40 on four. */
static double strong_ms(const struct ss_case_step *at, void *arg)
{
    static const double t[] = {0, 100, 60, 0, 40};
    double ms = t[at->meta->size];
    (void)arg;
    if (at->variant == SS_COMPUTE_ONLY)
        ms = 96.0 / at->meta->size;
    if (at->variant == SS_COMM_ONLY)
        ms = 5;
    return ms * (1 + 1e-4 * wobble[at->block]);
}

static int64_t ns(double ms)
{
    return (int64_t)llround(ms * 1e6);
}

/* 131 = 105 - r busy + 8 transfer + 12 + r waiting + 1 + 2 + 0.5 + 1.5 + 1 */
static void terms(struct ss_terms_row *row, enum ss_variant variant, void *arg)
{
    (void)arg;
    if (variant == SS_COMPUTE_ONLY) {
        row->step_ns = row->busy_ns = ns(100 - row->rank);
        return;
    }
    row->step_ns = ns(131);
    row->busy_ns = ns(105 - row->rank);
    row->transfer_dp_ns = ns(7);
    row->transfer_tp_ns = ns(1);
    row->waiting_ns = ns(12 + row->rank);
    row->wait_persistent_ns = ns(9);
    row->unsplit_ns = ns(1);
    row->bubble_ns = ns(2);
    row->input_ns = ns(0.5);
    row->launch_ns = ns(1.5);
    row->other_ns = ns(1);
    row->comm_union_ns = ns(20);
    row->phase_forward_ns = ns(33);
    row->phase_dp_comm_ns = ns(25);
}

static void add_size(struct ss_run_data *run, const char *mode, int size)
{
    bool weak = strcmp(mode, "weak") == 0;
    struct ss_case_point spec = {.mode = mode,
                                 .load = size < 4 ? "beside" : "alone",
                                 .size = size,
                                 .base_size = 1,
                                 .blocks = BLOCKS,
                                 .sampled = weak ? 2 : 0,
                                 .steps = STEPS,
                                 .ms = weak ? weak_ms : strong_ms};
    struct ss_point_data *p = ss_case_add(run, &spec);
    double scale = weak ? size : 1;
    p->meta.model_flops = 1e9 * scale;
    p->meta.flops = 1.1e9 * scale;
    p->meta.tokens = 1000;
    p->meta.global_tokens = (int64_t)(1000 * scale);
    for (int r = 0; r < p->n_ranks; r++) {
        p->rank[r].sampled_steps = weak ? 6 : 0;
        p->rank[r].collectives = 30;
        p->rank[r].last_arrivals = r;
        p->rank[r].excess_ns = 1e6 * r;
    }
    if (weak)
        ss_case_add_terms(p, terms, NULL);
}

static void open_run(struct ss_run_data *run)
{
    ss_case_open(run, 4, 2, 8);
    run->peak_flops = 1e11;
    add_size(run, "strong", 4); /* any order comes out sorted */
    add_size(run, "weak", 4);
    add_size(run, "weak", 1);
    add_size(run, "strong", 1);
    add_size(run, "weak", 2);
    add_size(run, "strong", 2);
    run->planned_points = run->n_points;
}

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
    open_run(&run);
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
    open_run(&run);
    analyse(&run, &result);
    const struct ss_point_result *p = &result.point[0];
    /* the slower of the middle two of 100 102 104 110 */
    assert_near(p->step.median, 104, EXACT);
    assert_near(p->step.lo, 104 * (1 - 4e-4), EXACT);
    assert_near(p->step.hi, 104 * (1 + 4e-4), EXACT);
    assert_int_equal(p->step.n, BLOCKS);
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
    open_run(&run);
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
    open_run(&run);
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
    open_run(&run);
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
    open_run(&run);
    analyse(&run, &result);
    const struct ss_point_result *p = &result.point[2];
    assert_near(p->tokens_per_s, 4000 / 0.130, 1e-6);
    assert_near(p->tokens_per_s_per_device, 1000 / 0.130, 1e-6);
    assert_near(p->tflops_per_device, 1e-3 / 0.130, 1e-12);
    assert_near(p->mfu, 1e9 / 0.130 / 1e11, 1e-12);
    assert_near(p->hfu, 1.1e9 / 0.130 / 1e11, 1e-12);
    assert_near(p->clock_bound_us, 1.5, EXACT);
    assert_near(p->comm_create_ms, 2, EXACT);
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
                                 .blocks = BLOCKS,
                                 .steps = STEPS,
                                 .skew_ns = 500000,
                                 .ms = weak_ms};
    (void)state;
    ss_case_open(&run, 2, 2, 1);
    ss_case_add(&run, &spec);
    analyse(&run, &result);
    assert_near(result.point[0].step.median, 110, EXACT);
    /* rank 1 (100 ms) starts 0.5 ms late but rank 0 has 98 ms: no matter */
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
                                 .blocks = BLOCKS,
                                 .steps = STEPS,
                                 .groups = 1,
                                 .ms = weak_ms};
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
                                  .blocks = BLOCKS,
                                  .steps = STEPS,
                                  .ms = weak_ms};
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
    add_size(&run, "weak", 4); /* no base */
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
                                 .steps = STEPS,
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
    add_size(&run, "weak", 4);
    struct ss_point_data *p = &run.point[0];
    for (int b = 0; b < p->n_blocks; b++)
        for (int r = 0; r < 4; r++) {
            struct ss_block_rank_row *row = &p->block_rank[b * 4 + r];
            bool whole = p->block[b].variant == SS_WHOLE;
            row->clock_mhz = whole ? 1400 : 1420;
            row->energy_j = (float)(0.130 * (STEPS + 1) * 500);
            row->power_capped_s = 0;
            row->thermal_capped_s = (float)(0.013 * (STEPS + 1));
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
    open_run(&run);
    assert_true(ss_torture(whole_analysis, &run) > 20);
    ss_case_close(&run);
    assert_int_equal(ss_mem_live(), 0);
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
        cmocka_unit_test(the_latest_mark_ends_the_step),
        cmocka_unit_test(the_base_covers_the_group),
        cmocka_unit_test(points_without_samples_are_null),
        cmocka_unit_test(unfit_samples_are_said),
        cmocka_unit_test(clocks_apart_are_flagged),
        cmocka_unit_test(no_allocation_failure_is_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
