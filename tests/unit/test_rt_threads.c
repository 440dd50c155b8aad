/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The runtime cases over threads, at counts that MPI tests share and at 400
 * ranks; then what only threads can show: a failure at every call of a
 * sequence, without a hang.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "cluster/agree.h"
#include "support/rt_cases.h"

static void run_cases(int n, int hosts)
{
    for (size_t i = 0; i < rt_cases_count; i++) {
        enum ss_status status =
            ss_rt_threads_run(n, hosts, rt_cases[i].run, NULL);
        if (status != SS_OK)
            fail_msg("%s at %d ranks: %s: %s", rt_cases[i].name, n,
                     ss_status_name(status), ss_error_text());
    }
    assert_int_equal(ss_mem_live(), 0);
}

static void small_counts(void **state)
{
    (void)state;
    static const int counts[] = {1, 2, 3, 4, 8};
    for (size_t i = 0; i < SS_COUNT_OF(counts); i++)
        run_cases(counts[i], 1 + counts[i] / 3);
}

static void four_hundred(void **state)
{
    (void)state;
    run_cases(400, 50);
}

/* Above 1,024 ranks lengths are gathered over host leaders. */
static enum ss_status gather_large(struct ss_rt *rt, void *arg)
{
    int root = *(int *)arg;
    size_t lens[2048], len = (size_t)(rt->rank % 3) * sizeof(int);
    int mine[2] = {rt->rank, -rt->rank}, *all = NULL;
    SS_TRY(ss_gatherv_all(rt, mine, len, (void **)&all, lens, root));
    for (int i = 0, at = 0; rt->rank == root && i < rt->size; i++) {
        RT_CHECK(lens[i] == (size_t)(i % 3) * sizeof(int));
        if (i % 3 > 0)
            RT_CHECK(all[at++] == i);
        if (i % 3 > 1)
            RT_CHECK(all[at++] == -i);
    }
    ss_free(all);
    return SS_OK;
}

static void gather_over_leaders(void **state)
{
    (void)state;
    for (int root = 0; root < 1030; root += 515) {
        enum ss_status status =
            ss_rt_threads_run(1030, 17, gather_large, &root);
        if (status != SS_OK)
            fail_msg("root %d: %s", root, ss_error_text());
    }
    assert_int_equal(ss_mem_live(), 0);
}

struct plan {
    long fail_at;
    int rank;
};

/* Two agreements, a split and a gather between them, as a set-up does it. */
static enum ss_status sequence(struct ss_rt *rt, void *arg)
{
    const struct plan *plan = arg;
    struct ss_rt *half = NULL;
    size_t lens[8];
    void *all = NULL;
    struct ss_request request = {0};
    int64_t one = 1;
    if (rt->rank == plan->rank)
        ss_rt_threads_fail_at(rt, plan->fail_at);
    SS_TRY(ss_agree_all(rt, SS_OK));
    enum ss_status status = ss_split_all(rt, rt->rank % 2, 0, &half);
    SS_TRY_GOTO(ss_agree_all(rt, status), status, out);
    SS_TRY_GOTO(ss_barrier_all(half), status, out);
    SS_TRY_GOTO(rt->ops->icollective(rt, SS_COLL_ALL_REDUCE, NULL, &one, 1,
                                     SS_DT_I64, SS_RED_SUM, 0, &request),
                status, out);
    SS_TRY_GOTO(rt->ops->wait(rt, &request), status, out);
    SS_TRY_GOTO(ss_gatherv_all(rt, &one, sizeof(one), &all, lens, 1), status,
                out);
    status =
        ss_agree_all(rt, rt->rank == 3 ? ss_fail(SS_ERR_IO, "full") : SS_OK);
    if (status == SS_ERR_IO)
        status = SS_OK;
out:
    ss_free(all);
    ss_rt_close(half);
    return status;
}

static void every_call_fails_once(void **state)
{
    (void)state;
    int failures = 0;
    for (int rank = 0; rank < 4; rank++) {
        enum ss_status status = SS_ERR_TRANSPORT;
        for (long n = 1; status != SS_OK; n++, failures++) {
            struct plan plan = {n, rank};
            assert_true(n < 100);
            status = ss_rt_threads_run(4, 2, sequence, &plan);
            assert_true(status == SS_OK || status == SS_ERR_TRANSPORT);
            if (status != SS_OK)
                assert_non_null(strstr(ss_error_text(), "planted failure"));
            assert_int_equal(ss_mem_live(), 0);
        }
    }
    assert_true(failures > 40);
}

/* An error on one rank wakes those that wait for it. */
static enum ss_status leaves(struct ss_rt *rt, void *arg)
{
    enum ss_status *seen = arg;
    if (rt->rank == 2)
        return ss_fail(SS_ERR_DEVICE, "burnt");
    seen[rt->rank] = ss_barrier_all(rt);
    return seen[rt->rank];
}

static void an_error_wakes_the_others(void **state)
{
    (void)state;
    enum ss_status seen[4] = {SS_OK};
    assert_int_equal(ss_rt_threads_run(4, 1, leaves, seen), SS_ERR_DEVICE);
    assert_string_equal(ss_error_text(), "burnt");
    assert_int_equal(seen[0], SS_ERR_TRANSPORT);
    assert_int_equal(seen[3], SS_ERR_TRANSPORT);
}

static enum ss_status aborts(struct ss_rt *rt, void *arg)
{
    (void)arg;
    if (rt->rank == 1)
        rt->ops->abort(rt, 13);
    char byte;
    return rt->ops->recv(rt, &byte, 1, 1, 0);
}

static void abort_ends_the_world(void **state)
{
    (void)state;
    assert_int_equal(ss_rt_threads_run(3, 1, aborts, NULL), SS_ERR_TRANSPORT);
    assert_non_null(
        strstr(ss_error_text(), "rank 1 ended the job with code 13"));
}

/* Rank 0 leaves in peace; the others wait for a barrier that never comes. */
static enum ss_status forgets(struct ss_rt *rt, void *arg)
{
    (void)arg;
    return rt->rank == 0 ? SS_OK : ss_barrier_all(rt);
}

static void deadlock_is_seen(void **state)
{
    (void)state;
    assert_int_equal(ss_rt_threads_run(4, 1, forgets, NULL), SS_ERR_TRANSPORT);
    assert_non_null(strstr(ss_error_text(), "deadlock"));
}

static enum ss_status differs(struct ss_rt *rt, void *arg)
{
    (void)arg;
    int64_t value = 0;
    return rt->rank == 1
               ? ss_barrier_all(rt)
               : ss_allreduce_all(rt, &value, 1, SS_DT_I64, SS_RED_SUM);
}

static void different_calls_are_seen(void **state)
{
    (void)state;
    assert_int_equal(ss_rt_threads_run(3, 1, differs, NULL), SS_ERR_TRANSPORT);
    assert_non_null(strstr(ss_error_text(), "another collective"));
}

static enum ss_status too_long(struct ss_rt *rt, void *arg)
{
    (void)arg;
    char data[4] = "";
    if (rt->rank == 0)
        return rt->ops->send(rt, data, 4, 1, 0);
    RT_CHECK(rt->ops->recv(rt, data, 2, 0, 0) == SS_ERR_TRANSPORT);
    return SS_OK;
}

static void long_messages_are_refused(void **state)
{
    (void)state;
    assert_int_equal(ss_rt_threads_run(2, 1, too_long, NULL), SS_OK);
}

/* Want of memory on one rank is everyone's status, and nobody hangs. */
static enum ss_status starved_split(struct ss_rt *rt, void *arg)
{
    (void)arg;
    struct ss_rt *child = NULL;
    if (rt->rank == 1)
        ss_mem_fail_at(1);
    enum ss_status status = ss_split_all(rt, 0, 0, &child);
    ss_mem_fail_at(0);
    status = ss_agree_all(rt, status);
    RT_CHECK(status == SS_ERR_NO_MEMORY);
    RT_CHECK(strncmp(ss_error_text(), "rank 1 on ", 10) == 0);
    ss_rt_close(child);
    return SS_OK;
}

static void a_starved_rank_takes_part(void **state)
{
    (void)state;
    if (ss_rt_threads_run(3, 1, starved_split, NULL) != SS_OK)
        fail_msg("%s", ss_error_text());
    assert_int_equal(ss_mem_live(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_counts),
        cmocka_unit_test(four_hundred),
        cmocka_unit_test(gather_over_leaders),
        cmocka_unit_test(every_call_fails_once),
        cmocka_unit_test(an_error_wakes_the_others),
        cmocka_unit_test(abort_ends_the_world),
        cmocka_unit_test(deadlock_is_seen),
        cmocka_unit_test(different_calls_are_seen),
        cmocka_unit_test(long_messages_are_refused),
        cmocka_unit_test(a_starved_rank_takes_part),
    };
    return cmocka_run_group_tests_name("rt_threads", tests, NULL, NULL);
}
