/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RDMA ports: what a rate's text says, counters that rise, stand still or are
 * reset, and how rates are held against peers and generations.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/findings.h"
#include "base/mem.h"
#include "base/str.h"
#include "health/ports.h"
#include "support/near.h"

static void a_rate_is_read(void **state)
{
    int lanes;
    (void)state;
    assert_near(ss_port_rate("200 Gb/sec (4X HDR)", &lanes), 200, 0);
    assert_int_equal(lanes, 4);
    assert_near(ss_port_rate("2.5 Gb/sec (1X SDR)", &lanes), 2.5, 0);
    assert_int_equal(lanes, 1);
    assert_near(ss_port_rate("100 Gb/sec", &lanes), 100, 0);
    assert_int_equal(lanes, 0);
    assert_near(ss_port_rate("", &lanes), 0, 0);
}

static void only_what_rose_is_counted(void **state)
{
    struct ss_port_row then_row = {.port = "a/1"};
    struct ss_port_row now_row[2] = {{.port = "a/1"}, {.port = "new/1"}};
    uint64_t then_count[1][SS_PORT_COUNTERS] = {{5, 5, 5, 5}};
    uint64_t now_count[2][SS_PORT_COUNTERS] = {{7, 5, 0, 6}, {9, 9}};
    struct ss_ports before = {1, &then_row, then_count};
    struct ss_ports after = {2, now_row, now_count};
    (void)state;
    ss_ports_compare(&before, &after);
    assert_int_equal(now_row[0].error_count, 3);
    assert_string_equal(now_row[0].errors,
                        "symbol_error +2, port_rcv_errors +1");
    assert_int_equal(now_row[1].error_count, 0); /* no before */
}

/* Nodes with one active port each, by its rate; who is accused, as "n1 4". */
static const char *accused(const char *const *rate, int n)
{
    static char text[128];
    static struct ss_node_row node[4];
    static struct ss_port_row port[4];
    struct ss_point_data point = {.n_ports = n, .port = port};
    struct ss_run_data run = {
        .n_points = 1, .point = &point, .n_nodes = n, .node = node};
    struct ss_findings list = {.run = &run};
    size_t at = 0;
    text[0] = '\0';
    for (int i = 0; i < n; i++) {
        ss_format(node[i].name, sizeof node[i].name, "n%d", i);
        port[i] = (struct ss_port_row){.node = i};
        ss_copy(port[i].port, sizeof port[i].port, "mlx5_0/1");
        ss_copy(port[i].state, sizeof port[i].state, "ACTIVE");
        ss_copy(port[i].rate, sizeof port[i].rate, rate[i]);
        port[i].gbit = ss_port_rate(rate[i], &port[i].lanes);
    }
    assert_int_equal(ss_find_ports(&list), SS_OK);
    for (int i = 0; i < list.n; i++) {
        assert_int_equal(list.v[i].kind, SS_PORT_RATE);
        ss_format(text + at, sizeof text - at, "%s%s %g", at ? ", " : "",
                  list.v[i].node, list.v[i].factor);
        at += strlen(text + at);
    }
    ss_free(list.v);
    return text;
}

static void rates_are_held_against_peers_and_generation(void **state)
{
    static const char *const alike[] = {"200 Gb/sec (4X HDR)",
                                        "200 Gb/sec (4X HDR)"};
    static const char *const one[] = {
        "400 Gb/sec (4X NDR)", "100 Gb/sec (4X EDR)", "400 Gb/sec (4X NDR)"};
    static const char *const half[] = {"100 Gb/sec (2X HDR)",
                                       "200 Gb/sec (2X NDR)"};
    static const char *const single[] = {"25 Gb/sec (1X EDR)"};
    static const char *const strange[] = {"77 Gb/sec"};
    (void)state;
    assert_string_equal(accused(alike, 2), "");
    assert_string_equal(accused(one, 3), "n1 4");
    assert_string_equal(accused(half, 1), ""); /* HDR100 is sold */
    assert_string_equal(accused(half + 1, 1), "");
    assert_string_equal(accused(single, 1), "n0 4"); /* no peer is needed */
    assert_string_equal(accused(strange, 1), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rate_is_read),
        cmocka_unit_test(only_what_rose_is_counted),
        cmocka_unit_test(rates_are_held_against_peers_and_generation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
