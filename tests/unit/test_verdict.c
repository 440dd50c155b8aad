/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The decision: what beats what, and which exit code follows (DESIGN
 * section 5).
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/result.h"
#include "base/str.h"

/** Two weak points and a strong one that was skipped. */
struct verdict_case {
    struct ss_run_data run;
    struct ss_point_row meta[3];
    struct ss_point_result point[3];
    struct ss_finding finding[20];
    struct ss_result result;
    struct ss_rules rules;
    struct ss_verdict verdict;
};

static void open_case(struct verdict_case *c)
{
    static const struct ss_point_result blank = {.status = "ok"};
    *c = (struct verdict_case){.rules = {.min_effect = 0.02}};
    for (int i = 0; i < 3; i++) {
        c->point[i] = blank;
        c->point[i].meta = &c->meta[i];
        c->meta[i].size = 4 << i; /* 4, 8, 16 */
        c->meta[i].verified = 1;
        ss_copy(c->meta[i].mode, sizeof(c->meta[i].mode),
                i < 2 ? "weak" : "strong");
        ss_copy(c->meta[i].load, sizeof(c->meta[i].load), "alone");
        c->point[i].efficiency =
            (struct ss_ratio){0.95 - 0.1 * i, 0.94 - 0.1 * i, 0.96 - 0.1 * i};
        c->point[i].mfu = NAN;
        c->point[i].step =
            (struct ss_estimate){.median = 100, .lo = 99, .hi = 101};
    }
    c->point[2].status = "skipped";
    c->result = (struct ss_result){.run = &c->run,
                                   .complete = 1,
                                   .n_points = 3,
                                   .point = c->point,
                                   .finding = c->finding};
}

static void rule(struct verdict_case *c, const char *metric, int size,
                 double min, double max)
{
    struct ss_rule *r = &c->rules.rule[c->rules.n++];
    *r = (struct ss_rule){.size = size, .min = min, .max = max, .line = 3};
    ss_copy(r->metric, sizeof(r->metric), metric);
}

static int decide(struct verdict_case *c, enum ss_verdict_result expected)
{
    ss_verdict_decide(&c->result, &c->rules, &c->verdict);
    assert_int_equal(c->verdict.result, expected);
    return c->verdict.exit_code;
}

static void add_finding(struct verdict_case *c, enum ss_finding_kind kind,
                        enum ss_severity severity)
{
    c->finding[c->result.n_findings++] = (struct ss_finding){
        .kind = kind, .severity = severity, .rank = 5, .factor = NAN};
}

static void nothing_asked_nothing_wrong(void **state)
{
    struct verdict_case c;
    (void)state;
    open_case(&c);
    add_finding(&c, SS_ENV_DRIFT, SS_WARNING);
    assert_int_equal(decide(&c, SS_NONE), 0);
    assert_int_equal(c.verdict.n_reasons, 0);
    ss_verdict_decide(&c.result, NULL, &c.verdict);
    assert_int_equal(c.verdict.result, SS_NONE);
}

static void limits_that_hold_pass(void **state)
{
    struct verdict_case c;
    (void)state;
    open_case(&c);
    rule(&c, "efficiency", 4, 0.9, NAN);
    rule(&c, "step_ms", 0, NAN, 101);
    assert_int_equal(decide(&c, SS_PASS), 0);
}

static void limits_fail_beyond_the_interval_only(void **state)
{
    struct verdict_case c;
    (void)state;
    open_case(&c);
    rule(&c, "efficiency", 8, 0.861, NAN); /* 0.84 .. 0.86 */
    assert_int_equal(decide(&c, SS_FAIL), 10);
    assert_non_null(strstr(c.verdict.reason[0], "efficiency at 8 ranks"));
    c.rules.rule[0].min = 0.855;
    assert_int_equal(decide(&c, SS_INCONCLUSIVE), 11);
    assert_non_null(strstr(c.verdict.reason[0], "straddles 0.855"));
    c.rules.rule[0].min = 0.84;
    assert_int_equal(decide(&c, SS_PASS), 0);
    c.rules.rule[0].max = 0.83;
    assert_int_equal(decide(&c, SS_FAIL), 10);
}

static void a_violated_limit_beats_an_open_one(void **state)
{
    struct verdict_case c;
    (void)state;
    open_case(&c);
    rule(&c, "mfu", 4, 0.4, NAN); /* not known */
    assert_int_equal(decide(&c, SS_INCONCLUSIVE), 11);
    assert_non_null(strstr(c.verdict.reason[0], "mfu at 4 ranks"));
    rule(&c, "step_ms", 4, NAN, 50);
    assert_int_equal(decide(&c, SS_FAIL), 10);
    assert_int_equal(c.verdict.n_reasons, 1);
}

static void points_that_are_not_there(void **state)
{
    struct verdict_case c;
    (void)state;
    open_case(&c);
    rule(&c, "efficiency", 64, 0.5, NAN);
    assert_int_equal(decide(&c, SS_INCONCLUSIVE), 11);
    assert_non_null(strstr(c.verdict.reason[0], "no point for the rule"));
    c.rules.rule[0].size = 16; /* skipped, and asked for by name */
    assert_int_equal(decide(&c, SS_INCONCLUSIVE), 11);
    c.rules.rule[0].size = -1; /* the largest that was measured: 8 */
    assert_int_equal(decide(&c, SS_PASS), 0);
    c.rules.rule[0].min = 0.9;
    assert_int_equal(decide(&c, SS_FAIL), 10);
    c.point[1].status = "too_few_samples";
    assert_int_equal(decide(&c, SS_INCONCLUSIVE), 11);
    ss_copy(c.rules.rule[0].mode, sizeof(c.rules.rule[0].mode), "strong");
    assert_int_equal(decide(&c, SS_INCONCLUSIVE), 11);
}

static void faults_come_before_limits(void **state)
{
    struct verdict_case c;
    (void)state;
    open_case(&c);
    rule(&c, "efficiency", 4, 0.9, NAN);
    add_finding(&c, SS_SLOW_DEVICE, SS_ERROR);
    assert_int_equal(decide(&c, SS_FAIL), 10);
    assert_string_equal(c.verdict.reason[0], "slow_device: rank 5");
    c.result.complete = 0; /* also stopped */
    assert_int_equal(decide(&c, SS_FAIL), 10);
    add_finding(&c, SS_LOST_RANK, SS_ERROR);
    assert_int_equal(decide(&c, SS_FAIL), 13);
    assert_string_equal(c.verdict.reason[0], "lost_rank: rank 5");
}

static void a_stopped_run_is_inconclusive(void **state)
{
    struct verdict_case c;
    (void)state;
    open_case(&c);
    c.result.complete = 0;
    ss_copy(c.run.end_reason, sizeof(c.run.end_reason),
            "stopped by SIGTERM after 1 of 3 points");
    assert_int_equal(decide(&c, SS_INCONCLUSIVE), 11);
    assert_string_equal(c.verdict.reason[0], c.run.end_reason);
}

static void failed_verification_fails(void **state)
{
    struct verdict_case c;
    (void)state;
    open_case(&c);
    c.meta[1].verified = 0;
    assert_int_equal(decide(&c, SS_FAIL), 10);
    c.meta[1].verified = -1; /* not checked */
    assert_int_equal(decide(&c, SS_NONE), 0);
}

static void shared_devices_void_performance(void **state)
{
    struct verdict_case c;
    (void)state;
    open_case(&c);
    c.run.share_devices = 1;
    rule(&c, "efficiency", 4, 0.99, NAN);
    assert_int_equal(decide(&c, SS_INCONCLUSIVE), 11);
    assert_non_null(strstr(c.verdict.reason[0], "shared devices"));
}

static void e_comm_fails_nobody_without_overlap(void **state)
{
    struct verdict_case c;
    (void)state;
    open_case(&c);
    c.point[0].e_comm = 0.5;
    rule(&c, "e_comm", 4, 0.9, NAN);
    assert_int_equal(decide(&c, SS_FAIL), 10);
    c.point[0].flags = SS_FLAG_OVERLAP_NOT_MEASURABLE;
    assert_int_equal(decide(&c, SS_INCONCLUSIVE), 11);
}

static void many_reasons_end_in_a_count(void **state)
{
    struct verdict_case c;
    (void)state;
    open_case(&c);
    for (int i = 0; i < 20; i++)
        add_finding(&c, SS_SLOW_DEVICE, SS_ERROR);
    assert_int_equal(decide(&c, SS_FAIL), 10);
    assert_int_equal(c.verdict.n_reasons, 16);
    assert_string_equal(c.verdict.reason[15], "and 5 more");
}

/* Every metric that a rule may name gives a value or is not known; none is
 * missing from the table. */
static void every_metric_can_be_judged(void **state)
{
    static const char *const names[] = {"efficiency",
                                        "e_devices",
                                        "e_comm",
                                        "parallel_efficiency",
                                        "shape_efficiency",
                                        "step_ms",
                                        "compute_only_ms",
                                        "exposed_share",
                                        "hidden_share",
                                        "wait_share",
                                        "transfer_share",
                                        "mfu",
                                        "hfu",
                                        "tokens_per_s",
                                        "tokens_per_s_per_device",
                                        "tflops_per_device"};
    (void)state;
    for (size_t i = 0; i < SS_COUNT_OF(names); i++) {
        struct verdict_case c;
        open_case(&c);
        c.point[0].e_devices = c.point[0].e_comm = 1000;
        c.point[0].parallel_efficiency = c.point[0].shape_efficiency = 1000;
        c.point[0].compute_only_ms = c.point[0].hidden_share = 1000;
        c.point[0].exposed_ms = 1e6;
        c.point[0].sampled_ms = 1;
        c.point[0].wait_persistent_ms = c.point[0].transfer_ms = 1000;
        c.point[0].mfu = c.point[0].hfu = c.point[0].tokens_per_s = 1000;
        c.point[0].tokens_per_s_per_device = 1000;
        c.point[0].tflops_per_device = 1000;
        c.point[0].step.median = 1000;
        c.point[0].step.lo = 995;
        c.point[0].step.hi = 1005;
        c.point[0].efficiency = (struct ss_ratio){1000, 999, 1001};
        rule(&c, names[i], 4, 100, NAN);
        assert_int_equal(decide(&c, SS_PASS), 0);
        c.rules.rule[0].min = NAN;
        c.rules.rule[0].max = 100;
        assert_int_equal(decide(&c, SS_FAIL), 10);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_asked_nothing_wrong),
        cmocka_unit_test(limits_that_hold_pass),
        cmocka_unit_test(limits_fail_beyond_the_interval_only),
        cmocka_unit_test(a_violated_limit_beats_an_open_one),
        cmocka_unit_test(points_that_are_not_there),
        cmocka_unit_test(faults_come_before_limits),
        cmocka_unit_test(a_stopped_run_is_inconclusive),
        cmocka_unit_test(failed_verification_fails),
        cmocka_unit_test(shared_devices_void_performance),
        cmocka_unit_test(e_comm_fails_nobody_without_overlap),
        cmocka_unit_test(many_reasons_end_in_a_count),
        cmocka_unit_test(every_metric_can_be_judged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
