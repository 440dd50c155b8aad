/* SPDX-License-Identifier: Apache-2.0 */
/* What carried communication: merged, in words, and bytes that went over
 * sockets beside RDMA, on planted counters. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/paths.h"
#include "analysis/socket_fallback.h"
#include "base/mem.h"
#include "base/str.h"

static struct ss_path_row row(const char *library, const char *carrier,
                              const char *network, const char *devices)
{
    struct ss_path_row out = {.connections = 4, .ranks = 1};
    (void)ss_copy(out.library, sizeof(out.library), library);
    (void)ss_copy(out.carrier, sizeof(out.carrier), carrier);
    (void)ss_copy(out.network, sizeof(out.network), network);
    (void)ss_copy(out.devices, sizeof(out.devices), devices);
    return out;
}

static void rows_of_ranks_become_one(void **state)
{
    (void)state;
    struct ss_path_row rows[] = {row("nccl", "gpudirect", "IB", "mlx5_1"),
                                 row("nccl", "p2p", "NVLink", ""),
                                 row("nccl", "gpudirect", "IB", "mlx5_1,mlx5"),
                                 row("nccl", "gpudirect", "RoCE", "mlx5_1")};
    assert_int_equal(ss_paths_merge(rows, 4), 3);
    assert_string_equal(rows[0].devices, "mlx5_1,mlx5");
    assert_int_equal(rows[0].connections, 8);
    assert_int_equal(rows[0].ranks, 2);
    assert_string_equal(rows[1].network, "NVLink");
    assert_string_equal(rows[2].network, "RoCE");
    assert_int_equal(ss_paths_merge(NULL, 0), 0);
}

static void expect_words(struct ss_path_row *rows, int n, int nodes,
                         const char *words)
{
    struct ss_point_data point[2] = {{.n_paths = n, .path = rows},
                                     {.n_paths = n, .path = rows}};
    struct ss_run_data run = {.n_points = 2,
                              .point = point,
                              .n_nodes = nodes,
                              .transports = "Open MPI 4.1.4"};
    struct ss_path_row all[SS_PATHS_MAX];
    char got[256];
    ss_paths_words(&run, got, sizeof(got));
    assert_string_equal(got, words);
    assert_int_equal(ss_paths_of_run(&run, all), n); /* of both points */
    for (int i = 0; i < n; i++)
        assert_int_equal(all[i].ranks, 1);
}

static void a_sentence_says_what_carried_it(void **state)
{
    (void)state;
    struct ss_path_row ib[] = {
        row("nccl", "p2p", "NVLink", ""),
        row("nccl", "gpudirect", "IB", "m0,m1,m2,m3,m4,m5,m6,m7")};
    expect_words(ib, 2, 2,
                 "NCCL: NVLink in the node, IB x 8 with GPUDirect between");
    expect_words(ib, 1, 1, "NCCL: NVLink in the node");
    struct ss_path_row poor[] = {
        row("nccl", "sockets", "Socket", "eth0"), row("nccl", "memory", "", ""),
        row("nccl", "p2p", "", ""), row("nccl", "rdma", "RoCE", "m0")};
    expect_words(poor, 4, 2,
                 "NCCL: host memory and PCIe peer to peer in the node, sockets "
                 "over eth0 and RoCE without GPUDirect between");
    struct ss_path_row posing = row("nccl", "sockets", "Socket", "lo");
    expect_words(&posing, 1, 1, "NCCL: sockets over lo");
    struct ss_path_row users = row("nccl", "unknown", "", "");
    expect_words(&users, 1, 2,
                 "NCCL: path not known, since NCCL_DEBUG or NCCL_DEBUG_FILE is "
                 "set");
    struct ss_path_row mpi = row("mpi", "pml ob1, btl self tcp", "", "");
    expect_words(&mpi, 1, 2, "Open MPI 4.1.4: pml ob1, btl self tcp");
    struct ss_path_row silent = row("mpi", "unknown", "", "");
    expect_words(&silent, 1, 2, "Open MPI 4.1.4: path not known");
    expect_words(NULL, 0, 2, "Open MPI 4.1.4");
}

/* A node that should have sent 1 GB. */
static bool fallback(double sockets, double rdma, int active)
{
    const struct ss_node_bytes node = {
        .planned = 1e9, .sockets = sockets, .rdma = rdma, .active = active};
    return ss_is_socket_fallback(&node);
}

static void most_of_the_bytes_decide(void **state)
{
    (void)state;
    assert_true(fallback(1.0e9, 0, 1));
    assert_true(fallback(1.0e9, 1.1e9, 8)); /* sockets over IPoIB */
    assert_true(fallback(0.6e9, 0.5e9, 1));
    assert_false(fallback(1.0e9, 0, 0)); /* no port is up: a laptop */
    assert_false(fallback(0.1e9, 1e9, 1));
    assert_false(fallback(0.4e9, 0, 1)); /* through something else, then */
    assert_false(fallback(0.6e9, 1.3e9, 1));
    assert_false(fallback(2e9, 5e9, 1)); /* another job's files on the side */
    const struct ss_node_bytes small = {
        .planned = 9e6, .sockets = 9e6, .active = 1};
    assert_false(ss_is_socket_fallback(&small));
}

/* Two nodes of two ranks; steps that sent 10 MB each, counters as given. */
struct cluster {
    struct ss_rank_row rank[4];
    struct ss_node_row node[2];
    struct ss_point_rank_row member[4];
    struct ss_block_row block[3];
    struct ss_net_row net[12];
    struct ss_point_data point[2];
    struct ss_run_data run;
};

static void count(struct cluster *c, int node, const char *name, double bytes,
                  int active)
{
    struct ss_net_row *net = &c->net[c->point[0].n_nets++];
    bool rdma = strchr(name, '/') != NULL;
    *net = (struct ss_net_row){.node = node,
                               .tx_bytes = (uint64_t)bytes,
                               .active = active,
                               .physical = strncmp(name, "eth", 3) == 0};
    (void)ss_copy(net->interface, sizeof(net->interface), name);
    (void)ss_copy(net->kind, sizeof(net->kind), rdma ? "rdma" : "net");
}

static void plant(struct cluster *c)
{
    *c = (struct cluster){.run = {.n_ranks = 4, .n_nodes = 2, .n_points = 2}};
    for (int i = 0; i < 4; i++) {
        c->rank[i].node = i / 2;
        c->member[i].between_bytes = 5e6;
    }
    (void)ss_copy(c->node[0].name, sizeof(c->node[0].name), "n1");
    (void)ss_copy(c->node[1].name, sizeof(c->node[1].name), "n2");
    c->block[0] = (struct ss_block_row){.variant = SS_WHOLE, .steps = 9};
    c->block[1] =
        (struct ss_block_row){.variant = SS_COMPUTE_ONLY, .steps = 1000};
    c->block[2] = (struct ss_block_row){.variant = SS_COMM_ONLY, .steps = 9};
    for (int p = 0; p < 2; p++)
        c->point[p] = (struct ss_point_data){.meta = {.nodes = 2 - p},
                                             .n_ranks = 4,
                                             .rank = c->member,
                                             .n_blocks = 3,
                                             .block = c->block,
                                             .net = c->net};
    c->run.rank = c->rank;
    c->run.node = c->node;
    c->run.point = c->point;
}

static struct ss_findings find(struct cluster *c)
{
    struct ss_findings list = {.run = &c->run};
    c->point[1].n_nets = c->point[0].n_nets; /* a point of one node: ignored */
    assert_int_equal(ss_find_socket_fallback(&list), SS_OK);
    return list;
}

static void bytes_over_sockets_are_a_finding(void **state)
{
    (void)state;
    struct cluster c;
    plant(&c);
    /* 20 steps of 10 MB; a bond and lo count again what eth0, eth1 sent */
    count(&c, 0, "eth0", 120e6, 1);
    count(&c, 0, "eth1", 90e6, 1);
    count(&c, 0, "bond0", 210e6, 1);
    count(&c, 0, "lo", 900e6, 1);
    count(&c, 0, "mlx5_0/1", 1e6, 1);
    count(&c, 0, "mlx5_1/1", 0, -1);
    count(&c, 1, "eth0", 1e6, 1);
    count(&c, 1, "mlx5_0/1", 205e6, 1);
    struct ss_findings list = find(&c);
    assert_int_equal(list.n, 1);
    assert_int_equal(list.v->kind, SS_SOCKET_FALLBACK);
    assert_int_equal(list.v->severity, SS_ERROR);
    assert_string_equal(list.v->node, "n1");
    assert_string_equal(list.v->link, "mlx5_0/1");
    assert_string_equal(
        list.v->evidence,
        "n1 sent 210 MB over sockets (most by eth0) and 1 MB by RDMA "
        "ports, where the plan sends at least 200 MB to other nodes; 1 RDMA "
        "port is active there: mlx5_0/1; so on 1 of 2 nodes");
    ss_free(list.v);
    count(&c, 1, "veth9", 300e6, 0); /* no hardware: the busiest stands */
    c.net[6].physical = 0;
    list = find(&c);
    assert_int_equal(list.n, 1);
    assert_string_equal(list.v->node, "");
    assert_non_null(strstr(list.v->evidence, "n2 sent 300 MB over sockets "
                                             "(most by veth9)"));
    assert_non_null(strstr(list.v->evidence, "so on 2 of 2 nodes"));
    ss_free(list.v);
}

static void nothing_is_said_without_rdma_or_with_it(void **state)
{
    (void)state;
    struct cluster c;
    plant(&c);
    count(&c, 0, "eth0", 210e6, 1);
    count(&c, 1, "eth0", 210e6, 1);
    struct ss_findings list = find(&c);
    assert_int_equal(list.n, 0);
    count(&c, 0, "mlx5_0/1", 0, -1); /* a port that is down */
    count(&c, 1, "mlx5_0/1", 0, 0);  /* of which nothing is known */
    list = find(&c);
    assert_int_equal(list.n, 0);
    plant(&c);
    count(&c, 0, "eth0", 210e6, 1);
    count(&c, 0, "mlx5_0/1", 0, 1);
    for (int i = 0; i < 4; i++)
        c.member[i].between_bytes = NAN; /* an older file, a filler */
    list = find(&c);
    assert_int_equal(list.n, 0);
    ss_free(list.v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_of_ranks_become_one),
        cmocka_unit_test(a_sentence_says_what_carried_it),
        cmocka_unit_test(most_of_the_bytes_decide),
        cmocka_unit_test(bytes_over_sockets_are_a_finding),
        cmocka_unit_test(nothing_is_said_without_rdma_or_with_it),
    };
    return cmocka_run_group_tests_name("paths", tests, NULL, NULL);
}
