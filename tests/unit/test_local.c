/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A node's health from planted sysfs trees: what is whole says OK, each fault
 * has its level and is named, what is not there is no fault.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "base/mem.h"
#include "health/local.h"
#include "support/store_folder.h"
#include "support/torture.h"

static void plant(const char *root, const char *path, const char *text)
{
    char part[256];
    for (const char *p = strchr(path, '/'); p; p = strchr(p + 1, '/')) {
        snprintf(part, sizeof part, "%.*s", (int)(p - path), path);
        mkdir(folder_path(root, part), 0700);
    }
    folder_put(root, path, text, strlen(text));
}

static void plant_port(const char *root, const char *port, const char *state,
                       const char *physical, const char *rate)
{
    char path[128];
    snprintf(path, sizeof path, "class/infiniband/%s/state", port);
    plant(root, path, state);
    snprintf(path, sizeof path, "class/infiniband/%s/phys_state", port);
    plant(root, path, physical);
    snprintf(path, sizeof path, "class/infiniband/%s/rate", port);
    plant(root, path, rate);
}

static void plant_slot(const char *root, const char *bus_id, const char *vendor,
                       const char *class, const char *lanes)
{
    static const char *const files[] = {"vendor", "class", "max_link_width",
                                        "current_link_width"};
    const char *const texts[] = {vendor, class, "16\n", lanes};
    char path[128];
    for (size_t i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "bus/pci/devices/%s/%s", bus_id, files[i]);
        plant(root, path, texts[i]);
    }
}

static bool first_answers(const char *bus_id)
{
    return strcmp(bus_id, "0000:1b:00.0") == 0;
}

/* Checks the tree; expects that worst level, and a row of `what` and level
 * whose text holds `words`. */
static void expect(const char *root, double memlock, enum ss_level worst,
                   const char *what, enum ss_level level, const char *words)
{
    struct ss_local_places places = {.sys = root,
                                     .shm = "/",
                                     .memlock = memlock,
                                     .shm_minimum = 1,
                                     .gpu_answers = first_answers};
    struct ss_local local;
    bool found = false;
    assert_int_equal(ss_local_check(&places, &local), SS_OK);
    for (int i = 0; i < local.n; i++) {
        /* the disk under the tests may be full to any degree */
        if (strcmp(local.row[i].what, "shm") == 0)
            local.row[i].level = SS_LEVEL_OK;
        found |= strcmp(local.row[i].what, what) == 0 &&
                 local.row[i].level == level &&
                 strstr(local.row[i].text, words);
    }
    if (!found)
        for (int i = 0; i < local.n; i++)
            print_error("%s %d %s\n", local.row[i].what, local.row[i].level,
                        local.row[i].text);
    assert_true(found);
    assert_int_equal(ss_local_level(&local), worst);
    ss_local_free(&local);
}

static void good_node(const char *root)
{
    plant_port(root, "mlx5_0/ports/1", "4: ACTIVE\n", "5: LinkUp\n",
               "400 Gb/sec (4X NDR)\n");
    plant_port(root, "mlx5_1/ports/1", "4: ACTIVE\n", "5: LinkUp\n",
               "400 Gb/sec (4X NDR)\n");
    plant_slot(root, "0000:1b:00.0", "0x10de\n", "0x030200\n", "16\n");
    plant_slot(root, "0000:18:00.0", "0x15b3\n", "0x020700\n", "16\n");
}

static void test_a_good_node(void **state)
{
    const char *root = *state;
    good_node(root);
    expect(root, INFINITY, SS_LEVEL_OK, "port", SS_LEVEL_OK, "2 RDMA ports");
    expect(root, INFINITY, SS_LEVEL_OK, "gpu", SS_LEVEL_OK, "1 GPUs answer");
    expect(root, INFINITY, SS_LEVEL_OK, "link", SS_LEVEL_OK, "2 PCIe links");
    expect(root, INFINITY, SS_LEVEL_OK, "memlock", SS_LEVEL_OK, "unlimited");
}

static void test_ports(void **state)
{
    const char *root = *state;
    good_node(root);
    plant_port(root, "mlx5_2/ports/1", "1: DOWN\n", "3: Disabled\n", "10\n");
    expect(root, INFINITY, SS_LEVEL_OK, "port", SS_LEVEL_OK, "3 RDMA ports");
    plant_port(root, "mlx5_1/ports/1", "4: ACTIVE\n", "5: LinkUp\n",
               "200 Gb/sec (4X HDR)\n");
    expect(root, INFINITY, SS_LEVEL_WARNING, "port", SS_LEVEL_WARNING,
           "200 to 400 Gb/s");
    plant_port(root, "mlx5_1/ports/1", "1: DOWN\n", "2: Polling\n", "10\n");
    expect(root, INFINITY, SS_LEVEL_CRITICAL, "port", SS_LEVEL_CRITICAL,
           "mlx5_1/1 is DOWN (look at the cable");
    plant_port(root, "mlx5_1/ports/1", "2: INIT\n", "5: LinkUp\n", "400\n");
    expect(root, INFINITY, SS_LEVEL_CRITICAL, "port", SS_LEVEL_CRITICAL,
           "subnet manager");
}

static void test_slots(void **state)
{
    const char *root = *state;
    good_node(root);
    plant_slot(root, "0000:18:00.0", "0x15b3\n", "0x020700\n", "8\n");
    expect(root, INFINITY, SS_LEVEL_WARNING, "link", SS_LEVEL_WARNING,
           "0000:18:00.0 has 8 of 16");
    plant_slot(root, "0000:2c:00.0", "0x10de\n", "0x030200\n", "16\n");
    expect(root, INFINITY, SS_LEVEL_CRITICAL, "gpu", SS_LEVEL_CRITICAL,
           "0000:2c:00.0 does not answer");
}

static void test_others_are_not_judged(void **state)
{
    const char *root = *state;
    good_node(root);
    plant_slot(root, "0000:03:00.0", "0x1234\n", "0x030000\n", "4\n");
    plant_slot(root, "0000:04:00.0", "0x10de\n", "0x068000\n", "2\n");
    expect(root, INFINITY, SS_LEVEL_OK, "link", SS_LEVEL_OK, "2 PCIe links");
    plant(root, "class/infiniband/odd/ports/1/rate", "no state\n");
    expect(root, INFINITY, SS_LEVEL_OK, "port", SS_LEVEL_OK, "2 RDMA ports");
}

static void test_limits(void **state)
{
    const char *root = *state;
    good_node(root);
    expect(root, 8e6, SS_LEVEL_CRITICAL, "memlock", SS_LEVEL_CRITICAL,
           "limited to 8");
    expect(root, 8e9, SS_LEVEL_WARNING, "memlock", SS_LEVEL_WARNING,
           "limited to 8");
    expect("/nowhere", 8e6, SS_LEVEL_OK, "memlock", SS_LEVEL_OK,
           "locked memory: 8");
}

static void test_shared_memory(void **state)
{
    struct ss_local_places places = {
        .sys = "/nowhere", .shm = "/nowhere", .memlock = INFINITY};
    struct ss_local local;
    (void)state;
    assert_int_equal(ss_local_check(&places, &local), SS_OK);
    assert_int_equal(ss_local_level(&local), SS_LEVEL_CRITICAL);
    ss_local_free(&local);
    places.shm = "/";
    places.shm_minimum = 1e18; /* no disk has that */
    assert_int_equal(ss_local_check(&places, &local), SS_OK);
    assert_int_equal(ss_local_level(&local), SS_LEVEL_CRITICAL);
    assert_non_null(strstr(local.row[local.n - 1].text, "enlarge"));
    ss_local_free(&local);
}

static enum ss_status check_once(void *arg)
{
    struct ss_local_places places = {
        .sys = arg, .shm = "/", .memlock = INFINITY};
    struct ss_local local;
    enum ss_status status = ss_local_check(&places, &local);
    if (status == SS_OK)
        ss_local_free(&local);
    return status;
}

static void test_no_memory(void **state)
{
    good_node(*state);
    assert_true(ss_torture(check_once, *state) > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_good_node, folder_open,
                                        folder_close),
        cmocka_unit_test_setup_teardown(test_ports, folder_open, folder_close),
        cmocka_unit_test_setup_teardown(test_slots, folder_open, folder_close),
        cmocka_unit_test_setup_teardown(test_others_are_not_judged, folder_open,
                                        folder_close),
        cmocka_unit_test_setup_teardown(test_limits, folder_open, folder_close),
        cmocka_unit_test_setup_teardown(test_shared_memory, folder_open,
                                        folder_close),
        cmocka_unit_test_setup_teardown(test_no_memory, folder_open,
                                        folder_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
