/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matchings, and whole probes over the threads runtime: nodes with one rank,
 * nodes whose other ranks wait, ranks of one node, a soak.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/str.h"
#include "cluster/rt.h"
#include "probe/tournament.h"
#include "support/probe_cases.h"

static void everybody_meets_everybody_once(void **state)
{
    static int partner[200];
    static unsigned char met[200][200];
    (void)state;
    for (int n = 2; n < 40; n++) {
        memset(met, 0, sizeof met);
        int rounds = ss_tournament_rounds(n, -1);
        assert_int_equal(rounds, n % 2 ? n : n - 1);
        for (int r = 0; r < rounds; r++) {
            ss_tournament_match(n, r, partner);
            int out = 0;
            for (int i = 0; i < n; i++) {
                out += partner[i] < 0;
                if (partner[i] < 0)
                    continue;
                assert_int_equal(partner[partner[i]], i);
                assert_int_not_equal(partner[i], i);
                met[i][partner[i]]++;
            }
            assert_int_equal(out, n % 2);
        }
        for (int i = 0; i < n; i++)
            for (int k = 0; k < n; k++)
                assert_int_equal(met[i][k], i != k);
    }
}

static void rounds_grow_with_the_logarithm(void **state)
{
    (void)state;
    assert_int_equal(ss_tournament_rounds(1, 0), 0);
    assert_int_equal(ss_tournament_rounds(2, 0), 1);
    assert_int_equal(ss_tournament_rounds(8, 0), 7);
    assert_int_equal(ss_tournament_rounds(64, 0), 22);
    assert_int_equal(ss_tournament_rounds(1024, 0), 34);
    assert_int_equal(ss_tournament_rounds(64, 5), 5);
    assert_int_equal(ss_tournament_rounds(64, 1000), 63);
    assert_int_equal(ss_tournament_repeats(1), 9);
    assert_int_equal(ss_tournament_repeats(3), 3);
    assert_int_equal(ss_tournament_repeats(7), 1);
}

/* a pair that has time comes back later; batches stay long enough to tell */
static void more_time_is_more_meetings(void **state)
{
    int64_t batch;
    (void)state;
    /* 60 s, 8 nodes, 3 libraries: 2.857 s a pair */
    assert_int_equal(ss_tournament_laps(7, 2857142857, 45, 8, &batch), 5);
    assert_int_equal(batch, 2857142857 / 77);
    assert_int_equal(ss_tournament_laps(7, 428571428, 15, 8, &batch), 2);
    assert_int_equal(batch, 428571428 / 23);
    assert_int_equal(ss_tournament_laps(7, 1000000, 15, 8, &batch), 1);
    /* two nodes meet 9 times, whatever the time */
    assert_int_equal(ss_tournament_laps(1, 1000000, 15, 8, &batch), 9);
}

static void suspects_meet_the_good_and_paths_meet_again(void **state)
{
    bool suspect[9] = {[2] = true, [5] = true, [6] = true};
    int path[2][2] = {{2, 5}, {2, 6}}, partner[9], last[4];
    const struct ss_suspects_list list = {
        .nodes = 9, .suspect = suspect, .path = path, .n_paths = 2};
    (void)state;
    for (int cycle = 0; cycle < 4; cycle++) {
        assert_true(ss_second_match(&list, cycle, 0, partner));
        for (int i = 0; i < 9; i++)
            if (suspect[i]) {
                assert_true(partner[i] >= 0 && !suspect[partner[i]]);
                assert_int_equal(partner[partner[i]], i);
            }
        last[cycle] = partner[2];
        assert_true(ss_second_match(&list, cycle, 1, partner));
        assert_int_equal(partner[2], 5);
        assert_true(ss_second_match(&list, cycle, 2, partner));
        assert_int_equal(partner[2], 6);
        assert_false(ss_second_match(&list, cycle, 3, partner));
    }
    assert_true(last[0] != last[1] || last[1] != last[2]);
    suspect[2] = suspect[5] = suspect[6] = false;
    const struct ss_suspects_list none = {.nodes = 9, .suspect = suspect};
    assert_false(ss_second_match(&none, 0, 0, partner));
    assert_false(ss_second_match(&none, 0, 1, partner));
}

static const char *const *the_settings;
static char the_out[64];

static enum ss_status on_rank(struct ss_rt *rt, void *arg)
{
    (void)arg;
    return probe_case_all(rt, the_out, the_settings);
}

static void probe_over_threads(int ranks, int hosts,
                               const char *const *settings, const char *level,
                               int n)
{
    static const char *const mpi[] = {"mpi", NULL};
    char folder[] = "/tmp/ss-probe-XXXXXX", command[128];
    assert_non_null(mkdtemp(folder));
    ss_format(the_out, sizeof the_out, "%s/a.h5", folder);
    the_settings = settings;
    if (ss_rt_threads_run(ranks, hosts, on_rank, NULL) != SS_OK)
        fail_msg("%s", ss_error_text());
    assert_string_equal(probe_case_check(the_out, level, n, mpi), "");
    ss_format(command, sizeof command, "rm -rf %s", folder);
    assert_int_equal(system(command), 0);
}

static void nodes_are_paired_and_their_other_ranks_wait(void **state)
{
    static const char *const settings[] = {
        "measure.budget=100ms", "probe.sizes=8,64k", "probe.ucx=no", NULL};
    (void)state;
    probe_over_threads(5, 5, settings, "node", 5);
    probe_over_threads(6, 3, settings, "node", 3);
    probe_over_threads(3, 1, settings, "device", 3);
}

static void a_soak_goes_on_for_its_time(void **state)
{
    static const char *const settings[] = {"measure.budget=100ms",
                                           "probe.sizes=64k", "probe.ucx=no",
                                           "probe.soak=500ms", NULL};
    (void)state;
    probe_over_threads(4, 4, settings, "node", 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everybody_meets_everybody_once),
        cmocka_unit_test(rounds_grow_with_the_logarithm),
        cmocka_unit_test(more_time_is_more_meetings),
        cmocka_unit_test(suspects_meet_the_good_and_paths_meet_again),
        cmocka_unit_test(nodes_are_paired_and_their_other_ranks_wait),
        cmocka_unit_test(a_soak_goes_on_for_its_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
