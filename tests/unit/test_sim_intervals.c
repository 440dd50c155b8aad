/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Do the printed intervals hold? Points are simulated with the stopping rule
 * in the loop, for independent step noise and for AR(1) noise of 0.5 on every
 * rank, blocks of 3 to 10 steps following each other at once (in a real run
 * other variants lie between them, which is kinder). The truth is the median
 * over steps of the maximum over ranks, from one long simulation.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/random.h"
#include "timing/stats.h"

#ifdef __SANITIZE_ADDRESS__
#define POINTS 2000
#else
#define POINTS 10000
#endif
#define RANKS 8
#define MAX_BLOCKS 400
#define SD 0.03 /* of one rank's step: some points stop early, some late */
#define COVER 0.92
#define WIDTH 1.3

struct world {
    struct ss_random random;
    int ranks;
    double rho, at[RANKS];
    double spare;
    bool has_spare;
};

/* Marsaglia's polar method: both values are used, as speed matters here. */
static double normal(struct world *w)
{
    double x, y, s;
    if (w->has_spare) {
        w->has_spare = false;
        return w->spare;
    }
    do {
        x = 2 * ss_random_uniform(&w->random) - 1;
        y = 2 * ss_random_uniform(&w->random) - 1;
        s = x * x + y * y;
    } while (s >= 1 || s == 0);
    double f = sqrt(-2 * log(s) / s);
    w->spare = y * f;
    w->has_spare = true;
    return x * f;
}

static double step(struct world *w)
{
    double worst = -1e9, fresh = sqrt(1 - w->rho * w->rho);
    for (int r = 0; r < w->ranks; r++) {
        w->at[r] = w->rho * w->at[r] + fresh * normal(w);
        worst = w->at[r] > worst ? w->at[r] : worst;
    }
    return 1 + SD * worst;
}

static void begin(struct world *w)
{
    for (int r = 0; r < w->ranks; r++)
        w->at[r] = normal(w);
}

static double truth(struct world *w)
{
    enum { STEPS = 400001 };
    double *v = ss_alloc(STEPS, sizeof(*v), "steps");
    assert_non_null(v);
    begin(w);
    for (int i = 0; i < STEPS; i++)
        v[i] = step(w);
    double median = ss_median(v, STEPS);
    ss_free(v);
    return median;
}

static double block(struct world *w, int steps)
{
    double v[10];
    step(w); /* dropped */
    for (int i = 0; i < steps; i++)
        v[i] = step(w);
    return ss_median(v, (size_t)steps);
}

static void measure(struct world *w, struct ss_estimate *e)
{
    static const struct ss_stop_rule rule = {0.01, 12, MAX_BLOCKS};
    double v[MAX_BLOCKS], scratch[2 * MAX_BLOCKS];
    size_t n = 0, next = rule.min_blocks;
    int steps = 3 + (int)ss_random_below(&w->random, 8);
    begin(w);
    do {
        for (; next > 0; next--)
            v[n++] = block(w, steps);
        ss_estimate_blocks(v, NULL, n, scratch, e);
    } while (ss_stop_decide(&rule, e, 1, n, 0, INT64_MAX, &next) == SS_STOP_NO);
}

/* One quantity over all points. */
struct tally {
    const char *name;
    double truth, width, *value;
    int covered, n;
};

static void count(struct tally *t, double value, double lo, double hi)
{
    t->value[t->n++] = value;
    t->width += hi - lo;
    t->covered += lo <= t->truth && t->truth <= hi;
}

static void judge(struct tally *t, double rho)
{
    size_t n = (size_t)t->n;
    ss_sort(t->value, n);
    double spread = ss_quantile_sorted(t->value, n, 0.975) -
                    ss_quantile_sorted(t->value, n, 0.025);
    double share = (double)t->covered / (double)t->n;
    double ratio = t->width / (double)t->n / spread;
    print_message("rho %.1f %-10s covered %.3f, width / spread %.2f\n", rho,
                  t->name, share, ratio);
    if (share < COVER || ratio > WIDTH)
        fail_msg("%s: covered %.4f, width over spread %.3f", t->name, share,
                 ratio);
    ss_free(t->value);
}

static void simulate(double rho, uint64_t seed)
{
    const char *wanted = getenv("SS_SIM_POINTS");
    int points = wanted ? (int)strtol(wanted, NULL, 10) : POINTS;
    struct world one = {.ranks = 1, .rho = rho},
                 all = {.ranks = RANKS, .rho = rho};
    struct tally t[3] = {{.name = "T(1)"}, {.name = "T(8)"}, {.name = "E(8)"}};
    ss_random_seed(&one.random, seed);
    ss_random_seed(&all.random, seed + 1);
    t[0].truth = truth(&one);
    t[1].truth = truth(&all);
    t[2].truth = t[0].truth / t[1].truth;
    for (int i = 0; i < 3; i++)
        t[i].value = ss_alloc((size_t)points, sizeof(double), "values");
    for (int i = 0; i < points; i++) {
        struct ss_estimate a, b;
        struct ss_ratio e;
        measure(&one, &a);
        measure(&all, &b);
        ss_ratio_of(&a, &b, &e);
        count(&t[0], a.median, a.lo, a.hi);
        count(&t[1], b.median, b.lo, b.hi);
        count(&t[2], e.value, e.lo, e.hi);
    }
    for (int i = 0; i < 3; i++)
        judge(&t[i], rho);
}

static void intervals_cover_with_independent_noise(void **state)
{
    (void)state;
    simulate(0, 11);
}

static void intervals_cover_with_correlated_noise(void **state)
{
    (void)state;
    simulate(0.5, 13);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(intervals_cover_with_independent_noise),
        cmocka_unit_test(intervals_cover_with_correlated_noise),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
