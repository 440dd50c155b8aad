/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who came last, and whose fault it was: hand-made cases.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analysis/attribution.h"
#include "base/random.h"

#define RANKS 64
#define N 8

struct arrivals_case {
    int64_t ready[RANKS * N], blocked[RANKS * N], begin[RANKS];
    struct ss_arrivals in;
    int64_t scratch[2 * RANKS];
    int culprit[N];
    int64_t last_ready[N];
    struct ss_arrival_stat stat[RANKS];
};

static void set(struct arrivals_case *c, int ranks, int n, int64_t threshold)
{
    *c = (struct arrivals_case){0};
    c->in = (struct ss_arrivals){.ranks = ranks,
                                 .n = n,
                                 .ready = c->ready,
                                 .blocked = c->blocked,
                                 .begin = c->begin,
                                 .threshold = threshold};
}

static void judge(struct arrivals_case *c)
{
    for (int r = 0; r < RANKS; r++) /* must be overwritten */
        c->stat[r] = (struct ss_arrival_stat){77, 77};
    ss_arrivals_judge(&c->in, c->scratch, c->culprit, c->last_ready, c->stat);
}

static int64_t *ready(struct arrivals_case *c, int rank, int collective)
{
    return &c->ready[rank * c->in.n + collective];
}

static int64_t *blocked(struct arrivals_case *c, int rank, int collective)
{
    return &c->blocked[rank * c->in.n + collective];
}

/* Buckets behind the backward pass, nobody waits in between: rank 2 takes 130
 * instead of 100 for each, so it is 30, 60, ... late; each 30 counts once. */
static void overlapped_buckets_telescope(void **state)
{
    struct arrivals_case c;
    (void)state;
    set(&c, 4, 5, 10);
    for (int r = 0; r < 4; r++)
        for (int i = 0; i < 5; i++)
            *ready(&c, r, i) = (i + 1) * (r == 2 ? 130 : 100);
    judge(&c);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(c.culprit[i], 2);
        assert_int_equal(c.last_ready[i], (i + 1) * 130);
    }
    assert_int_equal(c.stat[2].last_arrivals, 5);
    assert_int_equal(c.stat[2].excess, 150);
    assert_int_equal(c.stat[0].last_arrivals, 0);
    assert_int_equal(c.stat[0].excess, 0);
}

/* The same with less than a threshold per bucket: early ones tie, later ones
 * count, and nothing of the total is lost. */
static void small_delays_add_up(void **state)
{
    struct arrivals_case c;
    (void)state;
    set(&c, 4, 5, 40);
    for (int r = 0; r < 4; r++)
        for (int i = 0; i < 5; i++)
            *ready(&c, r, i) = (i + 1) * (r == 2 ? 130 : 100);
    judge(&c);
    assert_int_equal(c.culprit[0], -1);
    for (int i = 1; i < 5; i++)
        assert_int_equal(c.culprit[i], 2);
    assert_int_equal(c.stat[2].excess, 150);
}

/* Tensor parallel: all wait at each collective, so the group is level again;
 * rank 1 is 30 late each time. */
static void blocking_collectives_are_charged_each(void **state)
{
    struct arrivals_case c;
    (void)state;
    set(&c, 3, 4, 10);
    for (int i = 0; i < 4; i++)
        for (int r = 0; r < 3; r++) {
            int64_t start = i * 150; /* the previous one ended for all */
            *ready(&c, r, i) = start + (r == 1 ? 130 : 100);
            /* it took 20 after the last ready */
            *blocked(&c, r, i) = i == 0 ? 0 : r == 1 ? 20 : 50;
        }
    judge(&c);
    for (int i = 0; i < 4; i++)
        assert_int_equal(c.culprit[i], 1);
    assert_int_equal(c.stat[1].last_arrivals, 4);
    assert_int_equal(c.stat[1].excess, 120);
}

static void equal_ranks_tie(void **state)
{
    struct arrivals_case c;
    (void)state;
    set(&c, 4, 3, 10);
    for (int r = 0; r < 4; r++)
        for (int i = 0; i < 3; i++)
            *ready(&c, r, i) = 100 * (i + 1) + r * 2; /* within the clock */
    judge(&c);
    for (int i = 0; i < 3; i++)
        assert_int_equal(c.culprit[i], -1);
    for (int r = 0; r < 4; r++)
        assert_int_equal(c.stat[r].last_arrivals + c.stat[r].excess, 0);
    set(&c, 4, 3, 0); /* without any doubt of the clock: equal still ties */
    judge(&c);
    assert_int_equal(c.culprit[2], -1);
}

/* Rank 3 is late because it was blocked elsewhere: it passes the arrival on.
 */
static void waiting_for_others_passes_on(void **state)
{
    struct arrivals_case c;
    (void)state;
    set(&c, 4, 2, 10);
    for (int r = 0; r < 4; r++)
        for (int i = 0; i < 2; i++)
            *ready(&c, r, i) = 100 * (i + 1) + (r == 3 ? 50 : 0);
    *blocked(&c, 3, 0) = 50;
    judge(&c);
    assert_int_equal(c.culprit[0], -2 - 3);
    assert_int_equal(c.culprit[1], -2 - 3);
    assert_int_equal(c.stat[3].last_arrivals, 0);
    assert_int_equal(c.stat[3].excess, 0);
    /* part of it its own: that part counts */
    *blocked(&c, 3, 0) = 20;
    judge(&c);
    assert_int_equal(c.culprit[0], 3);
    assert_int_equal(c.stat[3].excess, 30);
    assert_int_equal(c.stat[3].last_arrivals, 2);
}

/* Late once, then as fast as the others: still last, charged once. */
static void an_old_delay_is_not_charged_again(void **state)
{
    struct arrivals_case c;
    (void)state;
    set(&c, 4, 3, 10);
    for (int r = 0; r < 4; r++)
        for (int i = 0; i < 3; i++)
            *ready(&c, r, i) = 100 * (i + 1) + (r == 0 ? 40 : 0);
    judge(&c);
    assert_int_equal(c.stat[0].last_arrivals, 3);
    assert_int_equal(c.stat[0].excess, 40);
}

/* More work than the others, but an early begin made it good: nothing is owed
 * when it later has to wait for somebody. */
static void what_was_made_good_is_not_owed(void **state)
{
    struct arrivals_case c;
    (void)state;
    set(&c, 4, 2, 10);
    for (int r = 0; r < 4; r++) {
        c.begin[r] = r == 0 ? -50 : 0;
        *ready(&c, r, 0) = 100;
        *ready(&c, r, 1) = r == 0 ? 240 : 200;
    }
    *blocked(&c, 0, 1) = 40;
    judge(&c);
    assert_int_equal(c.culprit[0], -1);
    assert_int_equal(c.culprit[1], -2 - 0);
    assert_int_equal(c.stat[0].excess, 0);
}

/* Begins differ: only what was done since the begin is own work. */
static void begins_are_taken_off(void **state)
{
    struct arrivals_case c;
    (void)state;
    set(&c, 3, 1, 10);
    for (int r = 0; r < 3; r++) {
        c.begin[r] = r == 1 ? 60 : 0;
        *ready(&c, r, 0) = c.begin[r] + 100;
    }
    judge(&c);
    assert_int_equal(c.culprit[0], -2 - 1);
    assert_int_equal(c.stat[1].excess, 0);
}

/* Of two ranks the median lies midway. */
static void two_ranks_share_the_distance(void **state)
{
    struct arrivals_case c;
    (void)state;
    set(&c, 2, 1, 10);
    *ready(&c, 0, 0) = 100;
    *ready(&c, 1, 0) = 150;
    judge(&c);
    assert_int_equal(c.culprit[0], 1);
    assert_int_equal(c.stat[1].excess, 25);
    set(&c, 1, 1, 0);
    judge(&c);
    assert_int_equal(c.culprit[0], -1);
}

/* Noise everywhere: charges stay small against a rank that is really slow. */
static void noise_does_not_build_up(void **state)
{
    struct arrivals_case c;
    struct ss_random random;
    int64_t slow = 0, worst = 0, sum[RANKS] = {0};
    (void)state;
    ss_random_seed(&random, 3);
    for (int step = 0; step < 200; step++) {
        set(&c, RANKS, N, 30);
        for (int r = 0; r < RANKS; r++)
            for (int i = 0; i < N; i++) {
                double own = 1000 + 20 * ss_random_normal(&random);
                own *= r == 5 ? 1.05 : 1;
                *ready(&c, r, i) =
                    (i ? *ready(&c, r, i - 1) : 0) + (int64_t)own;
            }
        judge(&c);
        for (int r = 0; r < RANKS; r++)
            sum[r] += c.stat[r].excess;
    }
    for (int r = 0; r < RANKS; r++) {
        if (r == 5)
            slow = sum[r];
        else if (sum[r] > worst)
            worst = sum[r];
        assert_true(sum[r] >= 0);
    }
    assert_in_range(slow / 200, 370, 420); /* 8 x 50 */
    assert_true(worst / 200 < 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(overlapped_buckets_telescope),
        cmocka_unit_test(small_delays_add_up),
        cmocka_unit_test(blocking_collectives_are_charged_each),
        cmocka_unit_test(equal_ranks_tie),
        cmocka_unit_test(waiting_for_others_passes_on),
        cmocka_unit_test(an_old_delay_is_not_charged_again),
        cmocka_unit_test(what_was_made_good_is_not_owed),
        cmocka_unit_test(begins_are_taken_off),
        cmocka_unit_test(two_ranks_share_the_distance),
        cmocka_unit_test(noise_does_not_build_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
