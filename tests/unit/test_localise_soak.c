/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Links that are slow at times, in simulated soaks: who is named, with which
 * times, and that hiccups of hosts accuse nobody.
 */
#include <math.h>
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include "analysis/localise.h"
#include "base/random.h"
#include "base/str.h"
#include "probe/tournament.h"

static void near(double value, double want, double share)
{
    if (!(fabs(value - want) <= share * want))
        fail_msg("%g is not within %g of %g", value, share, want);
}

/* Links that are slow in a tenth of the time: 2 s of each 20. */
struct weather {
    int nodes, who, peer; /* who 99: nobody; peer -1: whatever the partner */
    int one_way;          /* only what `who` sends */
    double noise, factor;
    double wild;    /* share of directions that a hiccup makes 3 times slower */
    int busy;       /* this host has twice as many, -1: none */
    double seconds; /* at 10 rounds a second */
    uint64_t seed;
};
enum { SOAK_MOST = 600 * 32 };

static double soak_cost(const struct weather *w, struct ss_random *random,
                        int from, int to, bool slow)
{
    double cost = 1 + w->noise * ss_random_normal(random);
    bool mine = w->peer < 0 ? from == w->who || (to == w->who && !w->one_way)
                            : (from == w->who && to == w->peer) ||
                                  (from == w->peer && to == w->who);
    double wild = from == w->busy || to == w->busy ? 2 * w->wild : w->wild;

    if (wild > 0 && ss_random_uniform(random) < wild)
        cost *= 3;
    return mine && slow ? w->factor * cost : cost;
}

static void soak(const struct weather *w, struct ss_flickers *found)
{
    static struct ss_link_sample v[SOAK_MOST];
    const struct ss_localise_rule rule = {.nodes = w->nodes,
                                          .min_effect = 0.05,
                                          .family = 0.01,
                                          .resamples = 1000,
                                          .seed = 1};
    struct ss_random random;
    int n = 0, partner[32];

    ss_random_seed(&random, w->seed + 7);
    for (int r = 0; r < 10 * w->seconds; r++) {
        double t = 0.1 * r;
        bool slow = fmod(t, 20) >= 9 && fmod(t, 20) < 11;
        ss_tournament_match(w->nodes, r, partner);
        for (int i = 0; i < w->nodes; i++)
            if (partner[i] >= 0)
                v[n++] = (struct ss_link_sample){
                    i,
                    partner[i],
                    2,
                    r,
                    soak_cost(w, &random, i, partner[i], slow),
                    t};
    }
    assert_int_equal(ss_localise_spells(v, n, &rule, found), SS_OK);
}

static void a_link_slow_at_times_is_named_with_its_times(void **state)
{
    static const int sizes[] = {3, 4, 5, 6, 8, 12, 31};
    (void)state;
    for (size_t i = 0; i < SS_COUNT_OF(sizes); i++) {
        const struct weather w = {.nodes = sizes[i],
                                  .who = 2,
                                  .peer = -1,
                                  .noise = 0.03,
                                  .factor = 5,
                                  .busy = -1,
                                  .seconds = 60};
        struct ss_flickers found;
        soak(&w, &found);
        assert_int_equal(found.n, 1);
        assert_int_equal(found.v[0].node, 2);
        assert_int_equal(found.v[0].peer, -1);
        near(found.v[0].share, 0.1, 0.1);
        near(found.v[0].factor, 5, 0.05);
        assert_true(found.v[0].confidence > 0.95);
        assert_int_equal(found.v[0].n_spells, 3);
        near(found.v[0].spell[1].from, 29, 0.01);
        near(found.v[0].spell[1].to, 31, 0.01);
        ss_flickers_free(&found);
    }
}

static void a_path_slow_at_times_is_not_its_ends(void **state)
{
    const struct weather w = {.nodes = 8,
                              .who = 6,
                              .peer = 2,
                              .noise = 0.03,
                              .factor = 5,
                              .busy = -1,
                              .seconds = 60};
    struct ss_flickers found;
    (void)state;
    soak(&w, &found);
    assert_int_equal(found.n, 1);
    assert_int_equal(found.v[0].node, 2);
    assert_int_equal(found.v[0].peer, 6);
    ss_flickers_free(&found);
}

static void what_it_sends_can_be_slow_at_times(void **state)
{
    const struct weather w = {.nodes = 8,
                              .who = 3,
                              .peer = -1,
                              .one_way = 1,
                              .noise = 0.03,
                              .factor = 3,
                              .busy = -1,
                              .seconds = 60};
    struct ss_flickers found;
    (void)state;
    soak(&w, &found);
    assert_int_equal(found.n, 1);
    assert_int_equal(found.v[0].node, 3);
    near(found.v[0].factor, 3, 0.05);
    assert_int_equal(found.v[0].n_spells, 3);
    ss_flickers_free(&found);
}

/* On a busy machine a tenth of the directions is disturbed. */
static void it_is_found_among_many_hiccups(void **state)
{
    int found_it = 0;
    (void)state;
    for (uint64_t seed = 0; seed < 20; seed++) {
        const struct weather w = {.nodes = 8,
                                  .who = 3,
                                  .peer = -1,
                                  .noise = 0.2,
                                  .factor = 10,
                                  .wild = 0.1,
                                  .busy = 0,
                                  .seconds = 30,
                                  .seed = seed};
        struct ss_flickers found;
        soak(&w, &found);
        found_it += found.n == 1 && found.v[0].node == 3 && found.v[0].peer < 0;
        ss_flickers_free(&found);
    }
    assert_true(found_it >= 19);
}

static void hiccups_of_everybody_are_nobodys_fault(void **state)
{
    int accused = 0;
    (void)state;
    for (uint64_t seed = 0; seed < 200; seed++) {
        const struct weather w = {.nodes = 8,
                                  .who = 99,
                                  .peer = -1,
                                  .noise = 0.03,
                                  .factor = 1,
                                  .wild = 0.03,
                                  .busy = seed % 2 ? 0 : -1,
                                  .seconds = 60,
                                  .seed = seed};
        struct ss_flickers found;
        soak(&w, &found);
        accused += found.n > 0;
        ss_flickers_free(&found);
    }
    assert_true(accused <= 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_link_slow_at_times_is_named_with_its_times),
        cmocka_unit_test(a_path_slow_at_times_is_not_its_ends),
        cmocka_unit_test(what_it_sends_can_be_slow_at_times),
        cmocka_unit_test(it_is_found_among_many_hiccups),
        cmocka_unit_test(hiccups_of_everybody_are_nobodys_fault),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
