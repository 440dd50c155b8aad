/* SPDX-License-Identifier: Apache-2.0 */
/* The order of logical ranks and the groups on them: pure. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/str.h"
#include "cluster/topology.h"

enum { TOPOLOGY, LAUNCHER, RANDOM };

static struct ss_place place(int mpi_rank, const char *host, const char *bus)
{
    struct ss_place out = {.mpi_rank = mpi_rank, .device = -1};
    (void)ss_copy(out.host, sizeof(out.host), host);
    (void)ss_copy(out.boot_id, sizeof(out.boot_id), "boot");
    (void)ss_copy(out.bus_id, sizeof(out.bus_id), bus);
    return out;
}

static void expect_order(const struct ss_topology *topology,
                         const int *mpi_ranks)
{
    for (int i = 0; i < topology->ranks; i++)
        assert_int_equal(topology->place[i].mpi_rank, mpi_ranks[i]);
}

/* --map-by node, names in natural order, the bus above the MPI rank. */
static void map_by_node(void **state)
{
    (void)state;
    const struct ss_place places[] = {
        place(0, "n10", "0000:1b:00.0"), place(1, "n9", "0000:1b:00.0"),
        place(2, "n10", "0000:0A:00.0"), place(3, "n9", "0000:0a:00.0"),
        place(4, "n10", "0000:3b:00.0")};
    struct ss_topology out;
    assert_int_equal(ss_topology_order(places, 5, TOPOLOGY, 0, &out), SS_OK);
    expect_order(&out, (const int[]){3, 1, 2, 0, 4});
    assert_int_equal(out.nodes, 2);
    assert_int_equal(out.domains, 2);
    assert_int_equal(out.min_devices, 2);
    assert_int_equal(out.max_domain, 3);
    assert_string_equal(out.node_name[0], "n9");
    assert_string_equal(out.node_name[1], "n10");
    assert_int_equal(out.place[1].node, 0);
    assert_int_equal(out.place[2].node, 1);
    ss_topology_free(&out);
    assert_null(out.place);
}

/* CPU shares have no bus: MPI ranks break the tie, and the logical nodes are
 * the same as with the default mapping. */
static void cpu_shares(void **state)
{
    (void)state;
    struct ss_place by_slot[8], by_node[8];
    char host[8];
    struct ss_topology a, b;
    for (int i = 0; i < 8; i++) {
        (void)ss_format(host, sizeof(host), "n%d", 1 + i / 2);
        by_slot[i] = place(i, host, "");
        (void)ss_format(host, sizeof(host), "n%d", 1 + i % 4);
        by_node[i] = place(i, host, "");
    }
    assert_int_equal(ss_topology_order(by_slot, 8, TOPOLOGY, 0, &a), SS_OK);
    assert_int_equal(ss_topology_order(by_node, 8, TOPOLOGY, 0, &b), SS_OK);
    expect_order(&a, (const int[]){0, 1, 2, 3, 4, 5, 6, 7});
    expect_order(&b, (const int[]){0, 4, 1, 5, 2, 6, 3, 7});
    for (int i = 0; i < 8; i++) {
        assert_int_equal(a.place[i].node, b.place[i].node);
        assert_string_equal(a.place[i].host, b.place[i].host);
    }
    ss_topology_free(&a);
    ss_topology_free(&b);
}

static void other_orders(void **state)
{
    (void)state;
    struct ss_place places[64];
    struct ss_topology launcher, one, two, three;
    bool moved = false, differs = false;
    for (int i = 0; i < 64; i++)
        places[i] = place(i, i % 2 ? "b" : "a", "");
    assert_int_equal(ss_topology_order(places, 64, LAUNCHER, 0, &launcher),
                     SS_OK);
    assert_int_equal(ss_topology_order(places, 64, RANDOM, 7, &one), SS_OK);
    assert_int_equal(ss_topology_order(places, 64, RANDOM, 7, &two), SS_OK);
    assert_int_equal(ss_topology_order(places, 64, RANDOM, 8, &three), SS_OK);
    int seen[64] = {0};
    for (int i = 0; i < 64; i++) {
        assert_int_equal(launcher.place[i].mpi_rank, i);
        assert_int_equal(launcher.place[i].node, i % 2);
        assert_int_equal(one.place[i].mpi_rank, two.place[i].mpi_rank);
        seen[one.place[i].mpi_rank]++;
        moved = moved || one.place[i].mpi_rank != i / 2 + i % 2 * 32;
        differs = differs || one.place[i].mpi_rank != three.place[i].mpi_rank;
    }
    for (int i = 0; i < 64; i++)
        assert_int_equal(seen[i], 1);
    assert_true(moved && differs);
    assert_int_equal(ss_topology_nodes_of(&one, 0, 64), 2);
    assert_int_equal(ss_topology_nodes_of(&launcher, 3, 1), 1);
    ss_topology_free(&launcher);
    ss_topology_free(&one);
    ss_topology_free(&two);
    ss_topology_free(&three);
}

/* NVLink domains over several nodes stand together, in the order of their
 * first node, although the names interleave. */
static void domains(void **state)
{
    (void)state;
    struct ss_place places[8];
    char host[8];
    struct ss_topology out;
    for (int i = 0; i < 8; i++) {
        (void)ss_format(host, sizeof(host), "n%d", 1 + i / 2);
        places[i] = place(i, host, "");
        places[i].fabric[0] = i / 2 == 3 ? 0 : 77;
        places[i].fabric[1] = i / 2 == 3 ? 0 : 1 + (uint64_t)(i / 2 % 2);
    }
    assert_int_equal(ss_topology_order(places, 8, TOPOLOGY, 0, &out), SS_OK);
    /* n1 and n3 share a domain; n2 has one, and n4 is its own. */
    expect_order(&out, (const int[]){0, 1, 4, 5, 2, 3, 6, 7});
    assert_int_equal(out.domains, 3);
    assert_int_equal(out.max_domain, 4);
    assert_int_equal(out.place[2].domain, 0);
    assert_int_equal(out.place[2].node, 1);
    assert_string_equal(out.node_name[1], "n3");
    assert_int_equal(ss_topology_nodes_of(&out, 0, 4), 2);
    assert_int_equal(ss_topology_nodes_of(&out, 1, 6), 4);
    ss_topology_free(&out);
}

/* Switches come before names, and equal names on two kernels are two nodes. */
static void switches_and_boots(void **state)
{
    (void)state;
    struct ss_place places[] = {place(0, "a", ""), place(1, "b", ""),
                                place(2, "c", ""), place(3, "c", "")};
    static const char *const block[] = {"s9.s2.a", "s9.s1.b", "s10.s0.c",
                                        "s10.s0.c"};
    struct ss_topology out;
    for (int i = 0; i < 4; i++)
        (void)ss_copy(places[i].block, sizeof(places[i].block), block[i]);
    (void)ss_copy(places[2].boot_id, sizeof(places[2].boot_id), "z");
    assert_int_equal(ss_topology_order(places, 4, TOPOLOGY, 0, &out), SS_OK);
    expect_order(&out, (const int[]){1, 0, 3, 2});
    assert_int_equal(out.nodes, 4);
    ss_topology_free(&out);
}

/* Input order is no information: any permutation gives the same result. */
static void ten_thousand(void **state)
{
    (void)state;
    enum { N = 10000, PER_NODE = 8 };
    struct ss_place *places = ss_alloc(N, sizeof(*places), "places");
    struct ss_topology out;
    char host[16], bus[16];
    assert_non_null(places);
    for (int i = 0; i < N; i++) {
        int logical = (int)((long)i * 7919 % N); /* coprime: a permutation */
        (void)ss_format(host, sizeof(host), "node%d", logical / PER_NODE);
        (void)ss_format(bus, sizeof(bus), "0000:%02x:00.0",
                        (unsigned)(logical % PER_NODE));
        places[i] = place(i, host, bus);
    }
    assert_int_equal(ss_topology_order(places, N, TOPOLOGY, 0, &out), SS_OK);
    assert_int_equal(out.nodes, N / PER_NODE);
    for (int i = 0; i < N; i++) {
        (void)ss_format(host, sizeof(host), "node%d", i / PER_NODE);
        assert_string_equal(out.place[i].host, host);
        assert_int_equal((long)out.place[i].mpi_rank * 7919 % N, i);
        assert_int_equal(out.place[i].node, i / PER_NODE);
    }
    assert_int_equal(ss_topology_nodes_of(&out, 4, 8), 2);
    ss_topology_free(&out);
    ss_free(places);
}

static void starved(void **state)
{
    (void)state;
    const struct ss_place one = place(0, "a", "");
    struct ss_topology out = {.ranks = -5};
    enum ss_status status = SS_ERR_NO_MEMORY;
    long before = ss_mem_live();
    for (long n = 1; status != SS_OK; n++) {
        assert_int_equal(ss_mem_live(), before);
        ss_mem_fail_at(n);
        status = ss_topology_order(&one, 1, TOPOLOGY, 0, &out);
        assert_true(status == SS_OK || out.ranks == -5);
    }
    ss_mem_fail_at(0);
    ss_topology_free(&out);
    assert_int_equal(ss_mem_live(), before);
}

struct grouped {
    int world, size, unit, pass;
    struct ss_grouping want;
};

static void groupings(void **state)
{
    (void)state;
    /* want: size, first, count, passes, filler first and size */
    static const struct grouped cases[] = {
        {8, 2, 1, 0, {2, 0, 4, 1, 8, 0}},
        {10, 4, 2, 0, {4, 0, 2, 2, 8, 2}},
        {10, 4, 2, 1, {4, 2, 2, 2, 0, 2}},
        {10, 4, 4, 0, {4, 0, 2, 2, 8, 0}}, /* two ranks idle */
        {11, 4, 2, 0, {4, 0, 2, 2, 8, 2}}, /* one idle behind the filler */
        {3, 3, 1, 1, {3, 0, 1, 1, 3, 0}},
        {3, 4, 1, 0, {4, 0, 0, 1, 0, 0}}, /* larger than the world */
    };
    for (size_t i = 0; i < SS_COUNT_OF(cases); i++) {
        struct ss_grouping got;
        ss_grouping_make(cases[i].world, cases[i].size, cases[i].unit,
                         cases[i].pass, &got);
        assert_memory_equal(&got, &cases[i].want, sizeof(got));
    }
}

static void members(void **state)
{
    (void)state;
    static const int first[] = {0, 0, 0, 0, 1, 1, 1, 1, -2, -2, -1};
    static const int shifted[] = {-2, -2, -1, 0, 0, 0, 0, 1, 1, 1, 1};
    struct ss_grouping a, b;
    ss_grouping_make(11, 4, 2, 0, &a);
    ss_grouping_make(11, 4, 2, 1, &b);
    for (int rank = 0; rank < 11; rank++) {
        assert_int_equal(ss_grouping_of(&a, rank), first[rank]);
        assert_int_equal(ss_grouping_of(&b, rank), shifted[rank]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(map_by_node),
        cmocka_unit_test(cpu_shares),
        cmocka_unit_test(other_orders),
        cmocka_unit_test(domains),
        cmocka_unit_test(switches_and_boots),
        cmocka_unit_test(ten_thousand),
        cmocka_unit_test(starved),
        cmocka_unit_test(groupings),
        cmocka_unit_test(members),
    };
    return cmocka_run_group_tests_name("topology", tests, NULL, NULL);
}
