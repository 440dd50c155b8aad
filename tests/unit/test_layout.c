/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes to dimensions, ranks to coordinates and back, communicators. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "plan/layout.h"

static struct ss_config config_of(int dp, int tp, int pp, int ep, int cp)
{
    struct ss_config c;
    ss_config_default(&c);
    c.layout_dp = dp;
    c.layout_tp = tp;
    c.layout_pp = pp;
    c.layout_ep = ep;
    c.layout_cp = cp;
    return c;
}

static void axis_grows(void **state)
{
    struct ss_config c = config_of(0, 4, 2, 1, 1);
    struct ss_layout l;
    (void)state;
    assert_int_equal(ss_layout_axis(&c), SS_DIM_DP);
    assert_int_equal(ss_layout_unit(&c), 8);
    assert_int_equal(ss_layout_make(&c, 24, &l), SS_OK);
    assert_int_equal(l.dim[SS_DIM_DP], 3);
    assert_int_equal(l.dim[SS_DIM_TP], 4);
    assert_int_equal(ss_layout_size(&l), 24);
    c.scaling_axis = SS_DIM_TP;
    c.layout_dp = 3;
    assert_int_equal(ss_layout_unit(&c), 6);
    assert_int_equal(ss_layout_make(&c, 24, &l), SS_OK);
    assert_int_equal(l.dim[SS_DIM_DP], 3);
    assert_int_equal(l.dim[SS_DIM_TP], 4);
}

static void other_members_follow(void **state)
{
    struct ss_config c = config_of(0, 2, 1, 1, 1);
    struct ss_layout l;
    (void)state;
    c.layout_sp = 1;
    c.layout_zero = 2;
    c.layout_micro_batches = 5;
    assert_int_equal(ss_layout_make(&c, 2, &l), SS_OK);
    assert_true(l.sp);
    assert_int_equal(l.zero, 2);
    assert_int_equal(l.micro_batches, 5);
}

static void refuses(const struct ss_config *c, int size, const char *part)
{
    struct ss_layout l;
    assert_int_equal(ss_layout_make(c, size, &l), SS_ERR_CONFIG);
    if (!strstr(ss_error_text(), part))
        fail_msg("\"%s\" lacks \"%s\"", ss_error_text(), part);
}

static void refusals(void **state)
{
    struct ss_config c = config_of(0, 4, 1, 1, 1);
    (void)state;
    refuses(&c, 6, "size 6 is not a multiple of 4");
    refuses(&c, 0, "size 0");
    c.layout_dp = 2;
    refuses(&c, 4, "layout.dp 2 x 4 in the other dimensions");
    c = config_of(0, 1048576, 1048576, 1048576, 1048576);
    refuses(&c, 8, "size 8 is not a multiple");
}

static void round_trip(void **state)
{
    const struct ss_layout l = {.dim = {3, 4, 2, 5, 2}};
    (void)state;
    for (int rank = 0; rank < ss_layout_size(&l); rank++) {
        struct ss_coords at;
        ss_layout_coords(&l, rank, &at);
        for (int d = 0; d < SS_DIMS; d++)
            assert_in_range(at.at[d], 0, l.dim[d] - 1);
        assert_int_equal(ss_layout_rank(&l, &at), rank);
    }
}

static void tensor_parallel_ranks_are_neighbours(void **state)
{
    const struct ss_layout l = {.dim = {2, 2, 3, 2, 2}};
    struct ss_coords at;
    (void)state;
    ss_layout_coords(&l, 1, &at);
    assert_int_equal(at.at[SS_DIM_TP], 1);
    ss_layout_coords(&l, 2, &at);
    assert_int_equal(at.at[SS_DIM_CP], 1);
    ss_layout_coords(&l, 4, &at);
    assert_int_equal(at.at[SS_DIM_EP], 1);
    ss_layout_coords(&l, 8, &at);
    assert_int_equal(at.at[SS_DIM_PP], 1);
    ss_layout_coords(&l, 24, &at);
    assert_int_equal(at.at[SS_DIM_DP], 1);
}

/* Same color exactly when all other coordinates agree; so each color has
 * dim[d] ranks. */
static void colors(void **state)
{
    const struct ss_layout l = {.dim = {2, 3, 2, 1, 2}};
    int size = ss_layout_size(&l);
    (void)state;
    for (int d = 0; d < SS_DIMS; d++) {
        for (int a = 0; a < size; a++) {
            struct ss_coords at;
            int members = 0;
            int color = ss_layout_color(&l, a, (enum ss_dim)d);
            for (int b = 0; b < size; b++)
                members += ss_layout_color(&l, b, (enum ss_dim)d) == color;
            assert_int_equal(members, l.dim[d]);
            ss_layout_coords(&l, a, &at);
            at.at[d] = 0;
            assert_int_equal(color, ss_layout_rank(&l, &at));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(axis_grows),
        cmocka_unit_test(other_members_follow),
        cmocka_unit_test(refusals),
        cmocka_unit_test(round_trip),
        cmocka_unit_test(tensor_parallel_ranks_are_neighbours),
        cmocka_unit_test(colors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
