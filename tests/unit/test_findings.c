/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Faults that the run recorded, points that do not add up, and the first line.
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

static const struct ss_rules rules = {.min_effect = 0.02,
                                      .min_effect_link = 0.05};

/** What a point of the case costs. */
struct cost {
    double whole, compute;   /* ms */
    double slow;             /* factor of the last rank's compute */
    struct ss_terms_row row; /* of a sampled step of whole */
};

static double cost_ms(const struct ss_case_step *at, void *arg)
{
    const struct cost *cost = arg;
    bool last = at->rank == at->meta->size - 1;
    if (at->variant == SS_COMPUTE_ONLY)
        return cost->compute * (last ? cost->slow : 1);
    return cost->whole;
}

static void cost_terms(struct ss_terms_row *row, enum ss_variant variant,
                       void *arg)
{
    const struct cost *cost = arg;
    struct ss_terms_row filled = cost->row;
    if (variant == SS_COMPUTE_ONLY)
        filled =
            (struct ss_terms_row){.step_ns = (int64_t)(cost->compute * 1e6),
                                  .busy_ns = (int64_t)(cost->compute * 1e6)};
    filled.rank = row->rank;
    filled.block = row->block;
    filled.step = row->step;
    *row = filled;
}

static struct ss_point_data *add(struct ss_run_data *run, int size,
                                 struct cost *cost)
{
    struct ss_case_point spec = {.mode = "weak",
                                 .load = "alone",
                                 .size = size,
                                 .base_size = 1,
                                 .blocks = 12,
                                 .sampled = 2,
                                 .steps = 3,
                                 .groups = 1,
                                 .ms = cost_ms,
                                 .arg = cost};
    struct ss_point_data *p = ss_case_add(run, &spec);
    ss_case_add_terms(p, cost_terms, cost);
    p->meta.global_tokens = 1000 * size;
    run->planned_points = run->n_points;
    return p;
}

static void analyse(const struct ss_run_data *run, struct ss_result *out)
{
    struct ss_analysis_args args = {.run = run, .rules = &rules};
    assert_int_equal(ss_analyse(&args, out), SS_OK);
}

static struct cost plain = {.whole = 10,
                            .compute = 10,
                            .slow = 1,
                            .row = {.step_ns = 10000000, .busy_ns = 10000000}};

static struct ss_variable_row variable(const char *name, const char *value,
                                       const char *ranks, int differs)
{
    struct ss_variable_row row = {.differs = differs};
    ss_copy(row.name, sizeof(row.name), name);
    ss_copy(row.value, sizeof(row.value), value);
    ss_copy(row.ranks, sizeof(row.ranks), ranks);
    return row;
}

static void differences_are_one_finding_a_name(void **state)
{
    struct ss_run_data run;
    struct ss_result result;
    (void)state;
    ss_case_open(&run, 4, 2, 1);
    run.variable = ss_alloc(8, sizeof(*run.variable), "variables");
    run.versions = ss_alloc(2, sizeof(*run.versions), "versions");
    run.variable[0] = variable("(cpuset)", "0", "0,2", 1);
    run.variable[1] = variable("(cpuset)", "1", "1,3", 1);
    run.variable[2] = variable("NCCL_ALGO", "Ring", "0-2", 1);
    run.variable[3] = variable("NCCL_ALGO", "(unset)", "3", 1);
    run.variable[4] = variable("OMP_NUM_THREADS", "1", "0", 1);
    run.variable[5] = variable("OMP_NUM_THREADS", "2", "1-3", 1);
    run.variable[6] = variable("UCX_TLS", "all", "all", 0);
    run.n_variables = 7;
    run.versions[0] = variable("libmpi", "4.1.4", "0-1", 1);
    run.versions[1] = variable("libmpi", "4.1.5", "2-3", 1);
    run.n_versions = 2;
    analyse(&run, &result);
    assert_int_equal(result.n_findings, 3);
    assert_int_equal(result.finding[0].kind, SS_ENV_DRIFT);
    assert_int_equal(result.finding[0].severity, SS_WARNING);
    assert_string_equal(result.finding[0].setting, "libmpi");
    assert_string_equal(result.finding[1].setting, "NCCL_ALGO");
    assert_string_equal(result.finding[1].value,
                        "Ring (ranks 0-2); (unset) (ranks 3)");
    assert_string_equal(result.finding[2].setting, "OMP_NUM_THREADS");
    assert_int_equal(result.finding[2].severity, SS_INFO);
    ss_result_free(&result);
    ss_case_close(&run);
}

static void failed_checks_fail_and_name_the_rank(void **state)
{
    struct ss_run_data run;
    struct ss_result result;
    (void)state;
    ss_case_open(&run, 4, 2, 1);
    struct ss_point_data *p = add(&run, 4, &plain);
    p->check = ss_alloc(3, sizeof(*p->check), "checks");
    p->n_checks = 3;
    for (int i = 0; i < 3; i++) {
        p->check[i] = (struct ss_check_row){.rank = 2, .ok = i == 0};
        ss_copy(p->check[i].check, 24, "all_reduce");
        ss_copy(p->check[i].when, 8, "before");
        ss_copy(p->check[i].detail, 160, "element 7: expected 12, got 13");
    }
    p->meta.verified = 0;
    analyse(&run, &result);
    assert_int_equal(result.n_findings, 1); /* one a rank and check */
    const struct ss_finding *f = &result.finding[0];
    assert_int_equal(f->kind, SS_CORRUPTION);
    assert_int_equal(f->severity, SS_ERROR);
    assert_int_equal(f->rank, 2);
    assert_string_equal(f->node, "node1");
    assert_non_null(strstr(f->evidence, "expected 12, got 13"));
    assert_string_equal(result.point[0].status, "failed");
    assert_int_equal(result.verdict.exit_code, 10);
    assert_int_equal(result.verdict.n_reasons, 2);
    ss_result_free(&result);
    ss_case_close(&run);
}

static void a_hang_names_its_ranks(void **state)
{
    struct ss_run_data run;
    struct ss_result result;
    const int ranks[] = {3, 1};
    struct ss_analysis_args args = {.run = &run,
                                    .rules = &rules,
                                    .hang_sentence = "rank 3 hangs in bucket0",
                                    .hang_ranks = ranks,
                                    .n_hang_ranks = 2};
    (void)state;
    ss_case_open(&run, 4, 2, 1);
    assert_int_equal(ss_analyse(&args, &result), SS_OK);
    assert_int_equal(result.n_findings, 2);
    assert_int_equal(result.finding[0].kind, SS_HANG);
    assert_int_equal(result.finding[0].rank, 3);
    assert_string_equal(result.finding[0].evidence, "rank 3 hangs in bucket0");
    assert_int_equal(result.verdict.exit_code, 13);
    assert_int_equal(result.verdict.result, SS_FAIL);
    assert_string_equal(result.sentence, "rank 3 hangs in bucket0");
    ss_result_free(&result);
    args.hang_lost = 1;
    args.n_hang_ranks = 0;
    add(&run, 4, &plain);
    assert_int_equal(ss_analyse(&args, &result), SS_OK);
    assert_int_equal(result.finding[0].kind, SS_LOST_RANK);
    assert_int_equal(result.finding[0].rank, -1);
    assert_string_equal(result.sentence,
                        "rank 3 hangs in bucket0; 4 devices: parallel "
                        "efficiency 100 %, 10 ms a step");
    ss_result_free(&result);
    ss_case_close(&run);
}

/* exposed 2 ms by controls; transfer 2 ms by events; then they part. */
static void numbers_that_do_not_add_up_are_said(void **state)
{
    struct ss_run_data run;
    struct ss_result result;
    struct cost cost = {.whole = 10,
                        .compute = 8,
                        .slow = 1,
                        .row = {.step_ns = 10000000,
                                .busy_ns = 8000000,
                                .transfer_dp_ns = 2000000,
                                .comm_union_ns = 4000000}};
    (void)state;
    ss_case_open(&run, 4, 2, 1);
    add(&run, 4, &cost);
    analyse(&run, &result);
    assert_int_equal(result.n_findings, 0);
    assert_near(result.point[0].hidden_share, 0.5, 1e-12);
    ss_result_free(&result);
    ss_case_close(&run);

    cost.row.transfer_dp_ns = 1700000; /* 3 % of T unexplained, and apart */
    cost.row.other_ns = 300000;
    ss_case_open(&run, 4, 2, 1);
    add(&run, 4, &cost)->meta.overlap_measurable = 0;
    analyse(&run, &result);
    assert_int_equal(result.n_findings, 2);
    assert_int_equal(result.finding[0].kind, SS_ACCOUNTING);
    assert_int_equal(result.finding[0].severity, SS_WARNING);
    assert_string_equal(result.finding[0].value, "3.0 %");
    assert_string_equal(result.finding[1].value, "3.0 %");
    assert_true(isnan(result.point[0].hidden_share));
    assert_int_equal(result.point[0].flags, SS_FLAG_OVERLAP_NOT_MEASURABLE);
    assert_int_equal(result.verdict.exit_code, 0);
    ss_result_free(&result);
    ss_case_close(&run);
}

/* 10 ms on one device; 12.5 on four: rank 3 takes 11.25, dp 1, jitter 0.25. */
static void the_sentence_says_where_time_went(void **state)
{
    struct ss_run_data run;
    struct ss_result result;
    struct cost four = {.whole = 12.5,
                        .compute = 10,
                        .slow = 1.125,
                        .row = {.step_ns = 12500000,
                                .busy_ns = 10250000,
                                .transfer_dp_ns = 1000000,
                                .waiting_ns = 1250000,
                                .wait_persistent_ns = 1187500,
                                .comm_union_ns = 4000000}};
    (void)state;
    ss_case_open(&run, 4, 2, 3);
    add(&run, 1, &plain);
    analyse(&run, &result);
    assert_string_equal(result.sentence,
                        "1 device: 10 ms a step, 100000 tokens/s");
    ss_result_free(&result);
    struct ss_point_data *p = add(&run, 4, &four);
    analyse(&run, &result);
    assert_string_equal(result.sentence,
                        "4 devices: 80 % of ideal; 10 % waiting for rank 3 "
                        "(node1), 8 % dp transfer, 2 % interference, 1 % "
                        "jitter");
    ss_result_free(&result);
    ss_copy(p->meta.mode, sizeof(p->meta.mode), "strong");
    ss_copy(run.point[0].meta.mode, sizeof(p->meta.mode), "strong");
    analyse(&run, &result);
    assert_non_null(
        strstr(result.sentence, "4 devices: 20 % of ideal (strong scaling); "));
    ss_result_free(&result);
    ss_copy(p->meta.mode, sizeof(p->meta.mode), "weak");
    ss_copy(run.point[0].meta.mode, sizeof(p->meta.mode), "weak");
    ss_copy(p->meta.axis, sizeof(p->meta.axis), "tp");
    ss_copy(p->meta.status, sizeof(p->meta.status), "no_steady_state");
    run.n_points = 2;
    run.point[0].meta.base_size = 99; /* no base any more */
    ss_copy(run.point[0].meta.status, 24, "no_steady_state");
    analyse(&run, &result);
    assert_non_null(strstr(result.sentence,
                           "4 devices: parallel efficiency 90 %, 12.5 ms"));
    assert_non_null(strstr(result.sentence, "(times had not settled)"));
    ss_result_free(&result);
    ss_case_close(&run);
}

static void every_kind_has_a_name(void **state)
{
    (void)state;
    for (int k = 0; k < SS_FINDING_KINDS; k++)
        assert_non_null(ss_finding_name((enum ss_finding_kind)k));
    assert_string_equal(ss_finding_name(SS_SLOW_DEVICE), "slow_device");
    assert_string_equal(ss_finding_name(SS_CLOCK_SHIFTED), "clock_shifted");
    assert_string_equal(ss_severity_name(SS_WARNING), "warning");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(differences_are_one_finding_a_name),
        cmocka_unit_test(failed_checks_fail_and_name_the_rank),
        cmocka_unit_test(a_hang_names_its_ranks),
        cmocka_unit_test(numbers_that_do_not_add_up_are_said),
        cmocka_unit_test(the_sentence_says_where_time_went),
        cmocka_unit_test(every_kind_has_a_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
