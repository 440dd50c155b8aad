/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Are the right ranks accused? Hundreds of simulated runs of 64 ranks with 2 %
 * noise, with and without a rank that is 5 % slow, with and without a constant
 * clock error; then the kinds, factors and severities of clear cases.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/attribution.h"
#include "analysis/result.h"
#include "base/mem.h"
#include "base/random.h"
#include "support/near.h"
#include "support/run_case.h"

#ifdef __SANITIZE_ADDRESS__
#define RUNS 60
#else
#define RUNS 300
#endif
#define RANKS 64
#define BUCKETS 8
#define STEP_MS 20.0
#define CLOCK_ERROR_NS 10000

static const struct ss_rules rules = {.min_effect = 0.02,
                                      .min_effect_link = 0.05};

static void analyse(const struct ss_run_data *run, struct ss_result *out)
{
    struct ss_analysis_args args = {.run = run, .rules = &rules};
    assert_int_equal(ss_analyse(&args, out), SS_OK);
}

static bool accuses(const struct ss_finding *f)
{
    return f->kind == SS_STRAGGLER_RANK || f->kind == SS_SLOW_DEVICE ||
           f->kind == SS_SLOW_NODE;
}

/** A simulated run: one point of all ranks. */
struct sim {
    struct ss_random random;
    int slow; /* -1: none */
    double factor, noise;
    int64_t clock[RANKS]; /* constant error of each rank's clock */
};

static double rank_ms(struct sim *sim, int rank)
{
    double ms = STEP_MS * (1 + sim->noise * ss_random_normal(&sim->random));
    return rank == sim->slow ? ms * sim->factor : ms;
}

static double step_ms(const struct ss_case_step *at, void *arg)
{
    struct sim *sim = arg;
    if (at->variant == SS_COMPUTE_ONLY)
        return rank_ms(sim, at->rank);
    return STEP_MS * 1.06; /* whole: all end with the last; not judged here */
}

static void terms(struct ss_terms_row *row, enum ss_variant variant, void *arg)
{
    (void)variant;
    (void)arg;
    row->step_ns = (int64_t)(STEP_MS * 1.06e6);
}

/** Arrivals of sampled steps: buckets behind the backward pass. */
static void sample_arrivals(struct sim *sim, struct ss_point_data *p, int steps)
{
    static int64_t ready[RANKS * BUCKETS], blocked[RANKS * BUCKETS];
    static int64_t begin[RANKS], scratch[2 * RANKS], last[BUCKETS];
    static struct ss_arrival_stat stat[RANKS];
    int culprit[BUCKETS];
    struct ss_arrivals in = {.ranks = RANKS,
                             .n = BUCKETS,
                             .ready = ready,
                             .blocked = blocked,
                             .begin = begin,
                             .threshold = 40000}; /* 0.2 % of T */
    for (int s = 0; s < steps; s++) {
        for (int r = 0; r < RANKS; r++) {
            double ms = rank_ms(sim, r);
            for (int c = 0; c < BUCKETS; c++)
                ready[r * BUCKETS + c] =
                    (int64_t)(ms * 1e6 * (c + 1) / BUCKETS) + sim->clock[r];
            begin[r] = sim->clock[r];
        }
        ss_arrivals_judge(&in, scratch, culprit, last, stat);
        for (int r = 0; r < RANKS; r++) {
            p->rank[r].sampled_steps++;
            p->rank[r].collectives += BUCKETS;
            p->rank[r].last_arrivals += stat[r].last_arrivals;
            p->rank[r].late_steps += stat[r].last_arrivals > 0;
            p->rank[r].excess_ns += (double)stat[r].excess / steps;
        }
    }
}

/** One run; counts whether the slow rank was named and others accused. */
static void simulate(struct sim *sim, int *named, int *accused)
{
    struct ss_run_data run;
    struct ss_result result;
    struct ss_case_point spec = {.mode = "weak",
                                 .load = "alone",
                                 .size = RANKS,
                                 .base_size = RANKS,
                                 .blocks = 12,
                                 .sampled = 3,
                                 .steps = 3,
                                 .ms = step_ms,
                                 .arg = sim};
    bool hit = false, wrong = false;
    ss_case_open(&run, RANKS, 8, 1);
    struct ss_point_data *p = ss_case_add(&run, &spec);
    ss_case_add_terms(p, terms, sim);
    sample_arrivals(sim, p, 9);
    analyse(&run, &result);
    for (int i = 0; i < result.n_findings; i++) {
        const struct ss_finding *f = &result.finding[i];
        if (accuses(f) && f->rank == sim->slow)
            hit = f->confidence > 0.9;
        else if (accuses(f))
            wrong = true;
    }
    *named += hit;
    *accused += wrong;
    ss_result_free(&result);
    ss_case_close(&run);
}

static void simulate_many(bool slow, int64_t clock_error)
{
    struct sim sim = {.factor = 1.05, .noise = 0.02};
    int named = 0, accused = 0;
    ss_random_seed(&sim.random, slow ? 5 : 6);
    for (int i = 0; i < RUNS; i++) {
        sim.slow = slow ? (int)ss_random_below(&sim.random, RANKS) : -1;
        for (int r = 0; r < RANKS; r++)
            sim.clock[r] = ss_random_uniform(&sim.random) < 0.5 ? -clock_error
                                                                : clock_error;
        simulate(&sim, &named, &accused);
    }
    print_message("%d runs: slow rank named in %d, healthy accused in %d\n",
                  RUNS, named, accused);
    if (slow)
        assert_true(named * 100 >= RUNS * 99);
    assert_true(accused * 100 <= RUNS);
}

static void a_slow_rank_is_named(void **state)
{
    (void)state;
    simulate_many(true, 0);
}

static void healthy_ranks_are_not_accused(void **state)
{
    (void)state;
    simulate_many(false, 0);
}

static void a_constant_clock_error_changes_nothing(void **state)
{
    (void)state;
    simulate_many(true, CLOCK_ERROR_NS);
    simulate_many(false, CLOCK_ERROR_NS);
}

/** Clear cases: compute time of each rank by a table, without noise. */
static double table_ms(const struct ss_case_step *at, void *arg)
{
    const double *ms = arg;
    return at->variant == SS_COMPUTE_ONLY ? ms[at->rank] : 30;
}

static void open_table(struct ss_run_data *run, int ranks, int per_node,
                       double *ms)
{
    struct ss_case_point spec = {.mode = "weak",
                                 .load = "alone",
                                 .size = ranks,
                                 .base_size = ranks,
                                 .blocks = 12,
                                 .steps = 3,
                                 .ms = table_ms,
                                 .arg = ms};
    ss_case_open(run, ranks, per_node, 1);
    ss_case_add(run, &spec);
}

static void equal_ranks_are_not_accused(void **state)
{
    double ms[] = {10, 10, 10, 10};
    struct ss_run_data run;
    struct ss_result result;
    (void)state;
    open_table(&run, 4, 2, ms);
    analyse(&run, &result);
    assert_int_equal(result.n_findings, 0);
    ss_result_free(&result);
    ss_case_close(&run);
}

/* The factor is against the others, so two ranks suffice. */
static void one_of_two_has_the_full_factor(void **state)
{
    double ms[] = {10, 15};
    struct ss_run_data run;
    struct ss_result result;
    (void)state;
    open_table(&run, 2, 1, ms);
    analyse(&run, &result);
    assert_int_equal(result.n_findings, 1);
    const struct ss_finding *f = &result.finding[0];
    assert_int_equal(f->kind, SS_STRAGGLER_RANK);
    assert_int_equal(f->severity, SS_ERROR);
    assert_int_equal(f->rank, 1);
    assert_string_equal(f->node, "node1");
    assert_near(f->factor, 1.5, 1e-9);
    assert_near(f->factor_lo, 1.5, 1e-9);
    assert_near(f->factor_hi, 1.5, 1e-9);
    assert_near(f->confidence, 1, 0);
    assert_non_null(strstr(f->evidence, "1.5 times"));
    assert_int_equal(result.verdict.exit_code, 10);
    ss_result_free(&result);
    ss_case_close(&run);
}

static void severity_follows_factor_and_sharing(void **state)
{
    double ms[] = {10, 10, 10.9, 10};
    struct ss_run_data run;
    struct ss_result result;
    (void)state;
    open_table(&run, 4, 4, ms);
    for (int r = 0; r < 4; r++) {
        run.rank[r].device = r;
        ss_copy(run.rank[r].device_name, 64, "NVIDIA H200");
    }
    analyse(&run, &result);
    assert_int_equal(result.finding[0].kind, SS_SLOW_DEVICE);
    assert_int_equal(result.finding[0].severity, SS_WARNING); /* 0.917 */
    assert_string_equal(result.finding[0].device, "2 NVIDIA H200");
    assert_int_equal(result.verdict.exit_code, 0);
    ss_result_free(&result);
    ss_case_close(&run);

    ms[2] = 20;
    open_table(&run, 4, 4, ms);
    for (int r = 0; r < 4; r++) { /* a laptop: 4 ranks take turns on 2 cores */
        run.rank[r].cores = 2;
        run.rank[r].sharers = 4;
    }
    analyse(&run, &result);
    assert_int_equal(result.finding[0].kind, SS_STRAGGLER_RANK);
    assert_int_equal(result.finding[0].severity, SS_WARNING);
    assert_int_equal(result.finding[1].kind, SS_SHARED_CORES);
    assert_int_equal(result.finding[1].severity, SS_INFO);
    assert_string_equal(result.finding[1].value, "4 ranks on 2 cores");
    assert_int_equal(result.n_findings, 2);
    ss_result_free(&result);
    ss_case_close(&run);
}

static void ranks_of_a_slow_node_are_one_finding(void **state)
{
    double ms[] = {10, 10, 10, 12, 12.5, 10, 10, 10, 10};
    struct ss_run_data run;
    struct ss_result result;
    (void)state;
    open_table(&run, 9, 3, ms); /* node1: ranks 3, 4, 5: not all slow */
    analyse(&run, &result);
    assert_int_equal(result.n_findings, 2);
    assert_int_equal(result.finding[0].kind, SS_STRAGGLER_RANK);
    assert_int_equal(result.finding[0].rank, 4);
    assert_int_equal(result.finding[1].rank, 3);
    ss_result_free(&result);
    ss_case_close(&run);

    ms[5] = 12.2;
    open_table(&run, 9, 3, ms);
    analyse(&run, &result);
    assert_int_equal(result.n_findings, 1);
    assert_int_equal(result.finding[0].kind, SS_SLOW_NODE);
    assert_int_equal(result.finding[0].rank, -1);
    assert_string_equal(result.finding[0].node, "node1");
    assert_near(result.finding[0].factor, (1.2 + 1.25 + 1.22) / 3, 1e-9);
    assert_non_null(strstr(result.sentence, "30 ms a step"));
    ss_result_free(&result);
    ss_case_close(&run);

    /* one of two nodes: still the slower one */
    double half[] = {12, 12.1, 12, 12.1, 10, 10, 10, 10};
    open_table(&run, 8, 4, half);
    analyse(&run, &result);
    assert_int_equal(result.n_findings, 1);
    assert_int_equal(result.finding[0].kind, SS_SLOW_NODE);
    assert_string_equal(result.finding[0].node, "node0");
    ss_result_free(&result);
    ss_case_close(&run);
}

/* Devices of many speeds: nobody stands out. */
static void a_mixed_machine_accuses_nobody(void **state)
{
    double ms[16];
    struct ss_run_data run;
    struct ss_result result;
    (void)state;
    for (int r = 0; r < 16; r++)
        ms[r] = 10 + 0.2 * r;
    open_table(&run, 16, 4, ms);
    analyse(&run, &result);
    assert_int_equal(result.n_findings, 0);
    ss_result_free(&result);
    ss_case_close(&run);
}

/* Its compute alone is as fast as the others', but it comes late. */
static void a_late_rank_is_a_straggler_too(void **state)
{
    double ms[] = {10, 10, 10, 10};
    struct ss_run_data run;
    struct ss_result result;
    struct ss_case_point spec = {.mode = "weak",
                                 .load = "alone",
                                 .size = 4,
                                 .base_size = 4,
                                 .blocks = 12,
                                 .sampled = 4,
                                 .steps = 5,
                                 .ms = table_ms,
                                 .arg = ms};
    (void)state;
    ss_case_open(&run, 4, 2, 1);
    struct ss_point_data *p = ss_case_add(&run, &spec);
    ss_case_add_terms(p, terms, NULL); /* T = 21.2 ms */
    for (int r = 0; r < 4; r++) {
        p->rank[r].sampled_steps = 20;
        p->rank[r].collectives = 160;
        p->rank[r].late_steps = r == 1 ? 20 : 1;
        p->rank[r].excess_ns = r == 1 ? 5.3e6 : 0;
    }
    analyse(&run, &result);
    const struct ss_finding *f = &result.finding[0];
    assert_int_equal(f->kind, SS_STRAGGLER_RANK);
    assert_int_equal(f->rank, 1);
    assert_near(f->factor, 1 / (1 - 5.3 / 21.2), 1e-6);
    assert_true(isnan(f->factor_lo));
    assert_near(f->confidence, 1, 0);
    assert_non_null(strstr(f->evidence, "20 of 20"));
    ss_result_free(&result);
    p->rank[1].excess_ns = 0.02 * 21e6; /* under the smallest effect */
    analyse(&run, &result);
    for (int i = 0; i < result.n_findings; i++)
        assert_false(accuses(&result.finding[i]));
    ss_result_free(&result);
    p->rank[1].late_steps = INT64_MAX; /* counts that cannot be */
    p->rank[1].sampled_steps = INT64_MAX;
    analyse(&run, &result);
    ss_result_free(&result);
    ss_case_close(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_slow_rank_is_named),
        cmocka_unit_test(healthy_ranks_are_not_accused),
        cmocka_unit_test(a_constant_clock_error_changes_nothing),
        cmocka_unit_test(equal_ranks_are_not_accused),
        cmocka_unit_test(one_of_two_has_the_full_factor),
        cmocka_unit_test(severity_follows_factor_and_sharing),
        cmocka_unit_test(ranks_of_a_slow_node_are_one_finding),
        cmocka_unit_test(a_mixed_machine_accuses_nobody),
        cmocka_unit_test(a_late_rank_is_a_straggler_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
