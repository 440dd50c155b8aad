/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collectives of a probe over the threads runtime: every one gives the right
 * data in and out of place, a wrong element or a call that did nothing is
 * seen; groups from planted topologies; the options.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/str.h"
#include "config/config.h"
#include "probe/coll.h"

static enum ss_status idle_all(struct ss_coll_lib *lib,
                               const struct ss_coll_task *task, long calls)
{
    (void)lib, (void)task, (void)calls;
    return SS_OK;
}

static enum ss_status verify_task(struct ss_coll_lib *lib,
                                  const struct ss_coll_task *task)
{
    const struct ss_coll_lib_ops *real = lib->ops;
    struct ss_coll_lib_ops lazy = *real;
    struct ss_coll_wrong_at wrong;
    bool last = lib->group->rank == lib->group->size - 1;

    for (int64_t i = 0; i < 3; i++) {
        SS_TRY(ss_coll_verify_all(lib, task, i, i == 1 && last, &wrong));
        if (wrong.found != (i == 1 && last))
            return ss_fail(SS_ERR_INTERNAL, "%s %d of %d, element %d: %g, %g",
                           ss_coll_names()[task->op], lib->group->rank,
                           lib->group->size, (int)wrong.element, wrong.got,
                           wrong.expected);
    }
    /* the result of the call before is still there */
    lazy.run_all = idle_all;
    lib->ops = &lazy;
    enum ss_status status = ss_coll_verify_all(lib, task, 7, false, &wrong);
    lib->ops = real;
    /* in place, root and a lone member hold the answer anyway */
    bool trivial = task->op == SS_OP_COLL_BROADCAST && lib->group->rank == 0;
    if (status == SS_OK && !wrong.found && !trivial)
        return ss_fail(SS_ERR_INTERNAL, "%s: nothing ran, unseen",
                       ss_coll_names()[task->op]);
    return status;
}

static enum ss_status every_op(struct ss_rt *rt, void *arg)
{
    static const uint64_t counts[] = {1, 3, 1000, 5000, 3000000};
    struct ss_coll_lib lib;
    enum ss_status status = ss_coll_mpi_open(&lib);
    int many = *(const int *)arg;

    for (int op = 0; op < SS_COLL_OPS && status == SS_OK; op++)
        for (int i = 0; i < (many ? 5 : 4) && status == SS_OK; i++)
            for (int in_place = 0; in_place < 2 && status == SS_OK;
                 in_place++) {
                struct ss_coll_task task = {(enum ss_coll_op)op, in_place != 0,
                                            counts[i]};
                if (!ss_coll_runs(task.op, task.in_place))
                    continue;
                status = lib.ops->connect_all(&lib, rt);
                if (status == SS_OK)
                    status =
                        lib.ops->reserve(&lib, counts[i] * (uint64_t)rt->size);
                if (status == SS_OK)
                    status = verify_task(&lib, &task);
                lib.ops->disconnect(&lib);
            }
    if (lib.ops)
        lib.ops->close(&lib);
    return status;
}

static void results_are_right_and_wrong_ones_are_seen(void **state)
{
    (void)state;
    for (int n = 2; n <= 5; n++) {
        int many = n == 2;
        if (ss_rt_threads_run(n, 1, every_op, &many) != SS_OK)
            fail_msg("%d ranks: %s", n, ss_error_text());
    }
}

static enum ss_status timed(struct ss_rt *rt, void *arg)
{
    struct ss_coll_task task = {SS_OP_COLL_ALL_REDUCE, false, 10};
    struct ss_coll_times times = {0};
    struct ss_coll_lib lib;
    (void)arg;

    SS_TRY(ss_coll_mpi_open(&lib));
    SS_TRY(lib.ops->connect_all(&lib, rt));
    SS_TRY(lib.ops->reserve(&lib, 10));
    SS_TRY(ss_coll_pilot_all(&lib, &task, &times.typical_ns));
    /* no time left: still enough for an interval */
    SS_TRY(ss_coll_time_all(&lib, &task, 0, &times));
    bool good = times.n_batches == 6 && times.n_calls == 5 && times.calls >= 1;
    SS_TRY(ss_coll_time_all(&lib, &task, INT64_C(3000000000), &times));
    good = good && times.n_batches == SS_COLL_BATCHES &&
           times.n_calls == SS_COLL_CALLS;
    for (int i = 0; i < times.n_batches; i++)
        good = good && times.batch_ns[i] > 0;
    lib.ops->close(&lib);
    return good ? SS_OK
                : ss_fail(SS_ERR_INTERNAL, "%d batches, %d calls",
                          times.n_batches, times.n_calls);
}

static void times_fit_what_is_left(void **state)
{
    (void)state;
    if (ss_rt_threads_run(2, 1, timed, NULL) != SS_OK)
        fail_msg("%s", ss_error_text());
}

/* --- groups ----------------------------------------------------------------
 */

enum { MOST = 12 };

/* leaders as "0022", "-" for none; "" where the kind is left out */
static const char *leaders(const char *nodes, const char *domains,
                           enum ss_coll_group kind)
{
    static char text[MOST + 1];
    struct ss_place place[MOST] = {0};
    struct ss_topology t = {.ranks = (int)strlen(nodes), .place = place};
    int leader[MOST], scratch[2 * MOST];

    for (int r = 0; r < t.ranks; r++) {
        place[r].node = nodes[r] - '0';
        place[r].domain = domains[r] - '0';
    }
    if (!ss_coll_group_make(&t, kind, leader, scratch))
        return "";
    for (int r = 0; r < t.ranks; r++)
        text[r] = leader[r] < 0 ? '-' : (char)('0' + leader[r]);
    text[t.ranks] = '\0';
    return text;
}

static void groups_follow_the_topology(void **state)
{
    (void)state;
    /* four nodes of two, domains are nodes */
    const char *n = "00112233";
    assert_string_equal(leaders(n, n, SS_GROUP_WORLD), "00000000");
    assert_string_equal(leaders(n, n, SS_GROUP_DOMAIN), "00224466");
    assert_string_equal(leaders(n, n, SS_GROUP_ONE_PER_NODE), "0-0-0-0-");
    assert_string_equal(leaders(n, n, SS_GROUP_RAIL), "01010101");
    assert_string_equal(leaders(n, n, SS_GROUP_HALF), "00004444");
    /* a domain of two nodes */
    assert_string_equal(leaders(n, "00001111", SS_GROUP_DOMAIN), "00004444");
    assert_string_equal(leaders(n, "00001111", SS_GROUP_RAIL), "01230123");
    assert_string_equal(leaders(n, "00001111", SS_GROUP_HALF), "");
    /* uneven nodes: the odd one out has no partner on its rail */
    assert_string_equal(leaders("00011", "00011", SS_GROUP_RAIL), "01-01");
    assert_string_equal(leaders("00011", "00011", SS_GROUP_HALF), "00222");
    /* one node; one rank a node: nothing is measured twice */
    assert_string_equal(leaders("0000", "0000", SS_GROUP_DOMAIN), "");
    assert_string_equal(leaders("0000", "0000", SS_GROUP_RAIL), "");
    assert_string_equal(leaders("0123", "0123", SS_GROUP_ONE_PER_NODE), "");
    assert_string_equal(leaders("0123", "0123", SS_GROUP_RAIL), "");
    assert_string_equal(leaders("01", "01", SS_GROUP_HALF), "");
}

static void options_are_read(void **state)
{
    struct ss_planted_corruption plant;
    uint64_t size[SS_COLL_SIZES_MAX];
    unsigned ops;
    int n;
    (void)state;
    assert_int_equal(ss_config_coll_ops("all", &ops), SS_OK);
    assert_int_equal(ops, (1u << SS_COLL_OPS) - 1);
    assert_int_equal(ss_config_coll_ops("none", &ops), SS_OK);
    assert_int_equal(ops, 0);
    assert_int_equal(ss_config_coll_ops("sendrecv, all_gather", &ops), SS_OK);
    assert_int_equal(ops,
                     1u << SS_OP_COLL_SENDRECV | 1u << SS_OP_COLL_ALL_GATHER);
    assert_int_equal(ss_config_coll_ops("allreduce", &ops), SS_ERR_CONFIG);
    assert_non_null(strstr(ss_error_text(), "did you mean all_reduce?"));
    assert_int_equal(ss_config_coll_sizes("8,2G", size, SS_COLL_SIZES_MAX, &n),
                     SS_OK);
    assert_int_equal(size[1], INT64_C(1) << 31);
    assert_int_equal(ss_config_coll_sizes("8,8", size, SS_COLL_SIZES_MAX, &n),
                     SS_ERR_CONFIG);
    assert_int_equal(ss_config_coll_sizes("3G", size, SS_COLL_SIZES_MAX, &n),
                     SS_ERR_CONFIG);
    assert_int_equal(ss_config_corrupt("2:alltoall:1", &plant), SS_OK);
    assert_int_equal(plant.rank, 2);
    assert_int_equal(plant.op, SS_OP_COLL_ALL_TO_ALL);
    assert_int_equal(plant.iteration, 1);
    static const char *const wrong[] = {
        "2",           "2:alltoall",     "x:alltoall:1", "2:nothing:1",
        "2:alltoall:", "2:alltoall:1:2", "-1:alltoall:1"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(ss_config_corrupt(wrong[i], &plant), SS_ERR_CONFIG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_are_right_and_wrong_ones_are_seen),
        cmocka_unit_test(times_fit_what_is_left),
        cmocka_unit_test(groups_follow_the_topology),
        cmocka_unit_test(options_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
