/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counters from planted sysfs trees: units, order, wraps, resets, devices
 * that come and go, files that lie.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "health/net_counters.h"
#include "support/store_folder.h"
#include "support/torture.h"

static void make_folders(const char *root, const char *path)
{
    char part[256];
    for (const char *p = strchr(path, '/'); p; p = strchr(p + 1, '/')) {
        snprintf(part, sizeof part, "%.*s", (int)(p - path), path);
        mkdir(folder_path(root, part), 0700);
    }
}

static void plant(const char *root, const char *path, const char *text)
{
    make_folders(root, path);
    folder_put(root, path, text, strlen(text));
}

static void plant_net(const char *root, const char *name, const char *rx,
                      const char *tx)
{
    char path[256];
    snprintf(path, sizeof path, "class/net/%s/statistics/rx_bytes", name);
    plant(root, path, rx);
    snprintf(path, sizeof path, "class/net/%s/statistics/tx_bytes", name);
    plant(root, path, tx);
}

static void plant_port(const char *root, const char *port, const char *rx,
                       const char *tx)
{
    char path[256];
    snprintf(path, sizeof path, "class/infiniband/%s/counters/port_rcv_data",
             port);
    plant(root, path, rx);
    snprintf(path, sizeof path, "class/infiniband/%s/counters/port_xmit_data",
             port);
    plant(root, path, tx);
}

static void expect(const struct ss_net_row *row, const char *interface,
                   const char *kind, uint64_t rx, uint64_t tx)
{
    assert_string_equal(row->interface, interface);
    assert_string_equal(row->kind, kind);
    assert_int_equal(row->rx_bytes, rx);
    assert_int_equal(row->tx_bytes, tx);
}

static void all_devices_are_read_in_order(void **state)
{
    struct ss_net_snapshot got;
    plant_net(*state, "eth10", "30\n", "40\n");
    plant_net(*state, "eth9", "18446744073709551615\n", "20\n");
    plant_port(*state, "mlx5_1/ports/2", "7\n", "8\n");
    plant_port(*state, "mlx5_1/ports/1", "5\n", "6\n");
    assert_int_equal(ss_net_read(*state, &got), SS_OK);
    assert_int_equal(got.n, 4);
    expect(&got.row[0], "eth9", "net", UINT64_MAX, 20);
    expect(&got.row[1], "eth10", "net", 30, 40);
    expect(&got.row[2], "mlx5_1/1", "rdma", 20, 24);
    expect(&got.row[3], "mlx5_1/2", "rdma", 28, 32);
    ss_net_free(&got);
}

static void state_and_hardware_are_read(void **state)
{
    struct ss_net_snapshot got;
    plant_net(*state, "eth0", "1\n", "2\n");
    plant(*state, "class/net/eth0/operstate", "up\n");
    plant(*state, "class/net/eth0/device/vendor", "0x15b3\n");
    plant_net(*state, "eth1", "1\n", "2\n");
    plant(*state, "class/net/eth1/operstate", "down\n");
    plant_net(*state, "eth2", "1\n", "2\n");
    plant_port(*state, "mlx5_0/ports/1", "5\n", "6\n");
    plant(*state, "class/infiniband/mlx5_0/ports/1/state", "4: ACTIVE\n");
    plant_port(*state, "mlx5_1/ports/1", "5\n", "6\n");
    plant(*state, "class/infiniband/mlx5_1/ports/1/state", "1: DOWN\n");
    plant_port(*state, "mlx5_2/ports/1", "5\n", "6\n");
    assert_int_equal(ss_net_read(*state, &got), SS_OK);
    assert_int_equal(got.n, 6);
    static const int active[] = {1, -1, 0, 1, -1, 0};
    static const int physical[] = {1, 0, 0, 1, 1, 1};
    for (int i = 0; i < 6; i++) {
        assert_int_equal(got.row[i].active, active[i]);
        assert_int_equal(got.row[i].physical, physical[i]);
    }
    ss_net_free(&got);
}

static void broken_devices_cost_their_row_only(void **state)
{
    struct ss_net_snapshot got;
    plant_net(*state, "eth0", "1\n", "2\n");
    plant_net(*state, "eth1", "\n", "2\n");
    plant_net(*state, "eth2", "-5\n", "2\n");
    plant_net(*state, "eth3", "99999999999999999999999\n", "2\n");
    plant_net(*state, "eth4", "12 apples\n", "2\n");
    plant(*state, "class/net/bonding_masters", "bond0\n");
    plant(*state, "class/net/eth5/address", "00:00\n");
    plant(*state, "class/infiniband/mlx5_0/node_type", "1\n");
    assert_int_equal(ss_net_read(*state, &got), SS_OK);
    assert_int_equal(got.n, 1);
    expect(&got.row[0], "eth0", "net", 1, 2);
    ss_net_free(&got);
}

static void no_sysfs_gives_no_rows(void **state)
{
    struct ss_net_snapshot got;
    assert_int_equal(ss_net_read(*state, &got), SS_OK);
    assert_int_equal(got.n, 0);
    ss_net_free(&got);
}

static void differences_allow_for_wraps(void **state)
{
    struct ss_net_row before[] = {
        {.interface = "a", .kind = "net", .rx_bytes = 100, .tx_bytes = 7},
        {.interface = "b", .kind = "net", .rx_bytes = 4294967290},
        {.interface = "c", .kind = "net", .rx_bytes = UINT64_C(1) << 40},
        {.interface = "d/1", .kind = "rdma", .rx_bytes = 4294967295ULL * 4},
        {.interface = "gone", .kind = "net", .rx_bytes = 5}};
    struct ss_net_row after[] = {
        {.interface = "a", .kind = "net", .rx_bytes = 350, .tx_bytes = 7},
        {.interface = "b", .kind = "net", .rx_bytes = 10},
        {.interface = "c", .kind = "net", .rx_bytes = 12},
        {.interface = "d/1", .kind = "rdma", .rx_bytes = 8},
        {.interface = "new", .kind = "net", .rx_bytes = 9, .tx_bytes = 1}};
    struct ss_net_snapshot first = {.n = 5, .row = before};
    struct ss_net_snapshot second = {.n = 5, .row = after};
    struct ss_net_snapshot got;
    (void)state;
    assert_int_equal(ss_net_delta(&first, &second, &got), SS_OK);
    assert_int_equal(got.n, 5);
    expect(&got.row[0], "a", "net", 250, 0);
    expect(&got.row[1], "b", "net", 16, 0);    /* 32 bits wrapped */
    expect(&got.row[2], "c", "net", 12, 0);    /* reset */
    expect(&got.row[3], "d/1", "rdma", 12, 0); /* 3 words of 4 bytes */
    expect(&got.row[4], "new", "net", 9, 1);
    ss_net_free(&got);
}

static enum ss_status read_and_subtract(void *root)
{
    struct ss_net_snapshot now = {0};
    struct ss_net_snapshot none = {0};
    struct ss_net_snapshot got = {0};
    enum ss_status status = ss_net_read(root, &now);
    if (status == SS_OK)
        status = ss_net_delta(&none, &now, &got);
    ss_net_free(&got);
    ss_net_free(&now);
    return status;
}

static void lack_of_memory_is_survived(void **state)
{
    plant_net(*state, "eth0", "1\n", "2\n");
    assert_true(ss_torture(read_and_subtract, *state) >= 2);
}

#define TEST(function)                                                         \
    cmocka_unit_test_setup_teardown(function, folder_open, folder_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(all_devices_are_read_in_order),
        TEST(state_and_hardware_are_read),
        TEST(broken_devices_cost_their_row_only),
        TEST(no_sysfs_gives_no_rows),
        cmocka_unit_test(differences_allow_for_wraps),
        TEST(lack_of_memory_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
