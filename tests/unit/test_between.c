/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes between nodes, against sums done by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/near.h"
#include "sweep/between.h"

/* Ops of 1,200 bytes along dp. */
static double of(enum ss_op_kind kind, int ranks, const int *node, int rank)
{
    struct ss_place place[8] = {{0}};
    struct ss_topology topology = {.ranks = 8, .nodes = 4, .place = place};
    struct ss_op op = {.kind = kind, .dim = SS_DIM_DP, .bytes = 1200};
    struct ss_plan plan = {
        .op = &op, .n_ops = 1, .layout = {.dim = {1, 1, 1, 1, 1}}};
    double out = -1;
    plan.layout.dim[SS_DIM_DP] = ranks;
    for (int i = 0; i < ranks; i++)
        place[i].node = node[i];
    assert_int_equal(ss_between_bytes(&plan, &topology, 0, rank, &out), SS_OK);
    return out;
}

static void each_kind_has_its_least(void **state)
{
    (void)state;
    static const int two[] = {0, 0, 1, 1}, mixed[] = {0, 1, 0, 1};
    static const int uneven[] = {0, 0, 0, 1}, one[] = {2, 2, 2, 2};
    /* a node sends 2 x 1200 x 1/2 and has two members */
    assert_near(of(SS_OP_ALL_REDUCE, 4, two, 0), 600, 1e-9);
    assert_near(of(SS_OP_ALL_REDUCE, 4, mixed, 3), 600, 1e-9);
    assert_near(of(SS_OP_ALL_REDUCE, 4, uneven, 0), 400, 1e-9);
    assert_near(of(SS_OP_ALL_REDUCE, 4, uneven, 3), 1200, 1e-9);
    /* two of four parts of 300 go to the other node, by one of two members */
    assert_near(of(SS_OP_ALL_GATHER, 4, two, 0), 300, 1e-9);
    assert_near(of(SS_OP_REDUCE_SCATTER, 4, two, 0), 300, 1e-9);
    assert_near(of(SS_OP_ALL_TO_ALL, 4, two, 0), 600, 1e-9);
    assert_near(of(SS_OP_BROADCAST, 4, two, 0), 300, 1e-9);
    assert_near(of(SS_OP_GEMM, 4, two, 0), 0, 0);
    for (int kind = SS_OP_ALL_REDUCE; kind <= SS_OP_BROADCAST; kind++)
        assert_near(of((enum ss_op_kind)kind, 4, one, 1), 0, 0);
    assert_near(of(SS_OP_ALL_REDUCE, 1, one, 0), 0, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_kind_has_its_least),
    };
    return cmocka_run_group_tests_name("between", tests, NULL, NULL);
}
