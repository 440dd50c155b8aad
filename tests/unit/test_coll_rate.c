/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bandwidths of collectives against nccl-tests' page PERFORMANCE.md, and lines
 * through planted times: the constants must come back.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/expect.h"
#include "analysis/findings.h"
#include "base/coll_rate.h"
#include "base/mem.h"
#include "base/str.h"
#include "support/near.h"

static void factors_are_those_of_nccl_tests(void **state)
{
    /* AllReduce 2(n-1)/n; ReduceScatter, AllGather, AlltoAll (n-1)/n;
     * Broadcast and SendRecv 1 */
    static const struct {
        enum ss_coll_op op;
        int ranks;
        double factor;
    } published[] = {
        {SS_OP_COLL_ALL_REDUCE, 2, 1},     {SS_OP_COLL_ALL_REDUCE, 4, 1.5},
        {SS_OP_COLL_ALL_REDUCE, 8, 1.75},  {SS_OP_COLL_ALL_REDUCE, 16, 1.875},
        {SS_OP_COLL_ALL_GATHER, 8, 0.875}, {SS_OP_COLL_REDUCE_SCATTER, 2, 0.5},
        {SS_OP_COLL_ALL_TO_ALL, 4, 0.75},  {SS_OP_COLL_BROADCAST, 8, 1},
        {SS_OP_COLL_SENDRECV, 8, 1},
    };
    (void)state;
    for (size_t i = 0; i < sizeof published / sizeof *published; i++)
        assert_true(ss_coll_bus_factor(published[i].op, published[i].ranks) ==
                    published[i].factor);
}

static void a_size_is_the_larger_of_both_ends(void **state)
{
    (void)state;
    assert_int_equal(ss_coll_count(SS_OP_COLL_ALL_REDUCE, 1024, 8, 4), 256);
    assert_int_equal(ss_coll_count(SS_OP_COLL_ALL_GATHER, 1024, 8, 4), 32);
    assert_int_equal(ss_coll_bytes(SS_OP_COLL_ALL_GATHER, 32, 8, 4), 1024);
    assert_int_equal(ss_coll_count(SS_OP_COLL_REDUCE_SCATTER, 1024, 3, 4), 85);
    assert_int_equal(ss_coll_bytes(SS_OP_COLL_REDUCE_SCATTER, 85, 3, 4), 1020);
    /* never nothing */
    assert_int_equal(ss_coll_count(SS_OP_COLL_ALL_TO_ALL, 8, 100, 4), 1);
    assert_int_equal(ss_coll_find("alltoall"), SS_OP_COLL_ALL_TO_ALL);
    assert_int_equal(ss_coll_find("reduce"), -1);
}

enum { MOST = 12, ROWS = 4000 };
static struct ss_coll_row row[MOST];
static struct ss_coll_result coll[MOST];

static void plant(int n, const double *bytes, const double *us)
{
    for (int i = 0; i < n; i++) {
        row[i] = (struct ss_coll_row){.ranks = 4, .bytes = (int64_t)bytes[i]};
        ss_copy(row[i].op, sizeof row[i].op, "all_reduce");
        coll[i] = (struct ss_coll_result){.row = &row[i]};
        coll[i].time_us.median = us[i];
    }
}

static void a_line_comes_back(void **state)
{
    double bytes[9], us[9];
    struct ss_fit_result fit;
    (void)state;
    for (int i = 0; i < 9; i++) { /* 12 us, 25 GB/s */
        bytes[i] = 8 * pow(8, i);
        us[i] = 12 + bytes[i] / 25e3;
    }
    plant(9, bytes, us);
    ss_coll_fit(coll, 9, &fit);
    assert_near(fit.alpha_us, 12, 1e-6);
    assert_near(fit.beta_gbs, 25 * 1.5, 1e-6); /* as busbw */
    assert_true(fit.residual < 1e-9);
    assert_int_equal(fit.kink_bytes, 0);
    ss_coll_fit(coll, 2, &fit); /* two sizes fit any line */
    assert_true(isnan(fit.alpha_us) && isnan(fit.beta_gbs));
}

static void a_change_of_algorithm_is_a_kink_and_no_misfit(void **state)
{
    double bytes[10], us[10];
    struct ss_fit_result fit;
    (void)state;
    for (int i = 0; i < 10; i++) {
        bytes[i] = 64 * pow(4, i);
        us[i] = i < 5 ? 5 + bytes[i] / 2e3 : 40 + bytes[i] / 20e3;
    }
    plant(10, bytes, us);
    ss_coll_fit(coll, 10, &fit);
    assert_int_equal(fit.kink_bytes, 64 * 4 * 4 * 4 * 4 * 4);
    assert_near(fit.alpha_us, 5, 1e-6);
    assert_near(fit.beta_gbs, 20 * 1.5, 1e-6);
    assert_true(fit.residual < 1e-9);
}

static void noise_stays_in_the_residual(void **state)
{
    double bytes[9], us[9];
    struct ss_fit_result fit;
    (void)state;
    for (int i = 0; i < 9; i++) {
        bytes[i] = 8 * pow(8, i);
        us[i] = (12 + bytes[i] / 25e3) * (i % 2 ? 1.02 : 0.98);
    }
    plant(9, bytes, us);
    ss_coll_fit(coll, 9, &fit);
    assert_int_equal(fit.kink_bytes, 0);
    assert_near(fit.alpha_us, 12, 0.5);
    assert_near(fit.residual, 0.02, 0.005);
}

/* Twelve batches of 100 calls and some single calls of one size and group. */
static int64_t put(struct ss_coll_row *at, int first, int ranks, int64_t bytes,
                   double us)
{
    for (int i = 0; i < 12 + 21; i++) {
        at[i] = (struct ss_coll_row){.first_rank = first,
                                     .ranks = ranks,
                                     .nodes = 2,
                                     .bytes = bytes,
                                     .per_call = i >= 12,
                                     .sample = i < 12 ? i : i - 12,
                                     .calls = i < 12 ? 100 : 1,
                                     .verified = 1,
                                     .counted_bytes = 500000000,
                                     .counted_ns = 1e8,
                                     .wire_bits = 80e9};
        at[i].duration_ns = 1e3 * us * (double)at[i].calls;
        if (i >= 12)
            at[i].duration_ns = 1e3 * (us + i - 12);
        ss_copy(at[i].op, sizeof at[i].op, "all_reduce");
        ss_copy(at[i].library, sizeof at[i].library, "mpi");
        ss_copy(at[i].group, sizeof at[i].group, "world");
    }
    return 12 + 21;
}

static void rows_become_numbers(void **state)
{
    static struct ss_coll_row rows[ROWS];
    struct ss_point_data point = {.coll = rows};
    struct ss_run_data run = {.n_points = 1, .point = &point};
    struct ss_result out = {0};
    (void)state;
    for (int group = 0; group < 2; group++) /* any order */
        for (int i = 3; i >= 0; i--)
            point.n_colls += put(rows + point.n_colls, 8 * group, 8,
                                 INT64_C(64) << (8 * i), 10 * pow(10, i));
    assert_int_equal(ss_reduce_colls(&run, &out), SS_OK);
    assert_int_equal(out.n_colls, 8);
    assert_int_equal(out.n_fits, 2);
    assert_int_equal(out.coll[5].row->first_rank, 8);
    assert_int_equal(out.coll[5].row->bytes, 64 << 8);
    assert_near(out.coll[5].time_us.median, 100, 1e-9);
    assert_int_equal(out.coll[5].time_us.n, 12);
    assert_near(out.coll[5].p5_us, 101, 1e-9);
    assert_near(out.coll[5].p95_us, 119, 1e-9);
    assert_near(out.coll[5].algbw_gbs, 64 * 256 / 100e3, 1e-12);
    assert_near(out.coll[5].busbw_gbs, 1.75 * 64 * 256 / 100e3, 1e-12);
    assert_true(isnan(out.coll[4].algbw_gbs)); /* small: latency only */
    assert_near(out.coll[5].wire_share, 0.5, 1e-12);
    /* bounds on 10 GB/s: a flat ring; two nodes of four */
    assert_near(out.coll[5].wire_flat, out.coll[5].busbw_gbs / 10, 1e-12);
    assert_near(out.coll[5].wire_tree, out.coll[5].wire_flat * 4 / 7, 1e-12);
    ss_free(out.coll);
    ss_free(out.fit);
}

static void what_hardware_should_reach(void **state)
{
    struct ss_node_row node[2] = {{.name = "n0"}, {.name = "n1"}};
    struct ss_rank_row rank[2] = {{.device_name = "NVIDIA H200"},
                                  {.device_name = "NVIDIA Unheard"}};
    struct ss_port_row port[4];
    struct ss_point_data point = {.n_ports = 4, .port = port};
    struct ss_run_data run = {.n_points = 1,
                              .point = &point,
                              .n_nodes = 2,
                              .node = node,
                              .n_ranks = 2,
                              .rank = rank};
    struct ss_coll_row r = {.ranks = 2, .nodes = 2, .library = "mpi"};
    struct ss_coll_result c = {.row = &r, .expected_gbs = NAN};
    (void)state;
    for (int i = 0; i < 4; i++) {
        port[i] = (struct ss_port_row){.node = i / 2, .gbit = 200};
        ss_copy(port[i].state, sizeof port[i].state,
                i == 3 ? "DOWN" : "ACTIVE");
    }
    ss_expect_coll(&run, &c); /* the weakest node: one port of HDR */
    assert_near(c.expected_gbs, 25 * 0.9927, 1e-9);
    assert_non_null(strstr(c.expected_from, "RDMA ports: 200 Gbit/s a node"));
    r.wire_bits = 400e6; /* by hand */
    ss_expect_coll(&run, &c);
    assert_near(c.expected_gbs, 0.05 * 0.9415, 1e-9);
    r.wire_bits = 0; /* nothing known: nothing expected */
    point.n_ports = 0;
    c.expected_gbs = NAN;
    ss_expect_coll(&run, &c);
    assert_true(isnan(c.expected_gbs));
    assert_non_null(strstr(c.expected_from, "probe.wire"));
    r.nodes = 1; /* inside a domain: NVLink, where it is known */
    ss_copy(r.library, sizeof r.library, "nccl");
    ss_expect_coll(&run, &c);
    assert_near(c.expected_gbs, 370, 0);
    r.first_rank = 1;
    c.expected_gbs = NAN;
    ss_expect_coll(&run, &c);
    assert_true(isnan(c.expected_gbs));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(factors_are_those_of_nccl_tests),
        cmocka_unit_test(a_size_is_the_larger_of_both_ends),
        cmocka_unit_test(a_line_comes_back),
        cmocka_unit_test(a_change_of_algorithm_is_a_kink_and_no_misfit),
        cmocka_unit_test(noise_stays_in_the_residual),
        cmocka_unit_test(rows_become_numbers),
        cmocka_unit_test(what_hardware_should_reach),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
