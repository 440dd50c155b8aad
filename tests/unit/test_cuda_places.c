/* SPDX-License-Identifier: Apache-2.0 */
/* Devices proved distinct by UUID, and NCCL's word on its transports. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"
#include "engine/coll_nccl_log.h"
#include "engine/cuda_distinct.h"

static struct ss_place place_of(const char *host, const char *uuid)
{
    struct ss_place place = {.mpi_rank = 0};
    (void)ss_copy(place.host, sizeof(place.host), host);
    (void)ss_copy(place.uuid, sizeof(place.uuid), uuid);
    (void)ss_copy(place.device_name, sizeof(place.device_name),
                  uuid[0] ? "NVIDIA H200" : "CPU");
    return place;
}

static void one_device_each_passes(void **state)
{
    (void)state;
    const struct ss_place own[] = {
        place_of("a", "GPU-3"), place_of("a", "GPU-1"), place_of("b", "GPU-2")};
    const struct ss_place cpus[] = {place_of("a", ""), place_of("a", "")};
    assert_int_equal(ss_devices_distinct(own, 3, false), SS_OK);
    assert_int_equal(ss_devices_distinct(cpus, 2, false), SS_OK);
    assert_int_equal(ss_devices_distinct(own, 1, false), SS_OK);
}

static void two_ranks_on_one_device_are_named(void **state)
{
    (void)state;
    const struct ss_place places[] = {
        place_of("a", "GPU-3"), place_of("b", "GPU-1"), place_of("b", "GPU-2"),
        place_of("b", "GPU-1")};
    assert_int_equal(ss_devices_distinct(places, 4, false), SS_ERR_ENV);
    assert_non_null(strstr(ss_error_text(), "ranks 1 and 3 (b)"));
    assert_non_null(strstr(ss_error_text(), "GPU-1"));
    assert_int_equal(ss_devices_distinct(places, 4, true), SS_OK);
}

static void a_rank_without_a_device_is_named(void **state)
{
    (void)state;
    const struct ss_place places[] = {place_of("a", "GPU-3"), place_of("b", ""),
                                      place_of("b", "GPU-2")};
    for (int share = 0; share < 2; share++) {
        assert_int_equal(ss_devices_distinct(places, 3, share != 0),
                         SS_ERR_ENV);
        assert_non_null(strstr(ss_error_text(), "rank 1 (b) has no device"));
    }
}

/* Lines as NCCL 2.28 writes them. */
static const char log_text[] =
    "vm:1:2 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB "
    "[2]mlx5_4:1/IB [RO]; OOB eth0:10.0.0.1<0>\n"
    "vm:1:2 [0] NCCL INFO NET/Socket : Using [0]lo:127.0.0.1<0>\n"
    "vm:1:2 [0] NCCL INFO                     + NVL[480.0] - NVS/0\n"
    "vm:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM/read\n"
    "vm:1:2 [0] NCCL INFO Channel 01/0 : 0[0] -> 1[1] via P2P/IPC\n"
    "vm:1:2 [0] NCCL INFO Channel 00 : 2[2] -> 3[3] via SHM/direct/direct\n"
    "vm:1:2 [0] NCCL INFO Channel 00/0 : 7[7] -> 8[0] [send] via "
    "NET/IB/2/GDRDMA\n"
    "vm:1:2 [0] NCCL INFO Channel 02/0 : 9[1] -> 0[0] [receive] via NET/IB/0\n"
    "vm:1:2 [0] NCCL INFO Channel 00/0 : 1[0] -> 0[0] [receive] via "
    "NET/Socket/0\n"
    "vm:1:2 [0] NCCL INFO Connected all rings, use ring PXN 0 via nothing\n"
    "vm:1:2 [0] NCCL INFO Channel 00/0 : 1[0] -> 0[0] via pigeon";

static void expect_row(const struct ss_path_row *row, int64_t connections,
                       const char *carrier, const char *network,
                       const char *devices)
{
    assert_string_equal(row->library, "nccl");
    assert_string_equal(row->carrier, carrier);
    assert_string_equal(row->network, network);
    assert_string_equal(row->devices, devices);
    assert_int_equal(row->connections, connections);
    assert_int_equal(row->ranks, 1);
}

static void transports_are_counted(void **state)
{
    (void)state;
    struct ss_nccl_paths paths = {.p2p = 0}, before;
    struct ss_path_row row[SS_NCCL_PATHS];
    assert_int_equal(ss_nccl_paths_rows(&paths, NULL, row), 0);
    ss_nccl_log_parse(log_text, &paths);
    assert_int_equal(ss_nccl_paths_rows(&paths, NULL, row), 6);
    expect_row(&row[0], 2, "p2p", "NVLink", "");
    expect_row(&row[1], 1, "memory", "", "");
    /* which of the two devices had GPUDirect is not kept apart */
    expect_row(&row[2], 1, "gpudirect", "IB", "mlx5_0,mlx5_4");
    expect_row(&row[3], 1, "rdma", "IB", "mlx5_0,mlx5_4");
    expect_row(&row[4], 1, "sockets", "Socket", "lo");
    expect_row(&row[5], 1, "other", "", "");
    before = paths;
    ss_nccl_log_parse("", &paths);
    assert_int_equal(ss_nccl_paths_rows(&paths, &before, row), 0);
    ss_nccl_log_parse("x Channel 0 : 1 -> 0 via P2P/IPC\n", &paths);
    assert_int_equal(ss_nccl_paths_rows(&paths, &before, row), 1);
    expect_row(&row[0], 1, "p2p", "NVLink", "");
}

/* A network of a plugin's, RoCE, devices without names or number, no NVLink. */
static void networks_are_told_apart(void **state)
{
    (void)state;
    struct ss_nccl_paths paths = {.p2p = 0};
    struct ss_path_row row[SS_NCCL_PATHS];
    ss_nccl_log_parse("a Channel 0 : 1 -> 0 via NET/AWS Libfabric/1/GDRDMA\n"
                      "a Channel 0 : 1 -> 0 via NET/AWS Libfabric/99\n"
                      "a Channel 0 : 1 -> 0 via NET/\n"
                      "a Channel 0 : 1 -> 0 via P2P/IPC",
                      &paths);
    assert_int_equal(ss_nccl_paths_rows(&paths, NULL, row), 3);
    expect_row(&row[0], 1, "p2p", "", "");
    expect_row(&row[1], 1, "gpudirect", "AWS Libfabric", "device 1");
    expect_row(&row[2], 2, "rdma", "AWS Libfabric", "device 1");
    paths = (struct ss_nccl_paths){.p2p = 0};
    ss_nccl_log_parse("NET/IB : Using [0]mlx5_2:1/RoCE [x]y [40]z; OOB [\n"
                      "Channel 0 : 1 -> 0 via NET/IB/0/GDRDMA",
                      &paths);
    assert_int_equal(ss_nccl_paths_rows(&paths, NULL, row), 1);
    expect_row(&row[0], 1, "gpudirect", "RoCE", "mlx5_2");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_device_each_passes),
        cmocka_unit_test(two_ranks_on_one_device_are_named),
        cmocka_unit_test(a_rank_without_a_device_is_named),
        cmocka_unit_test(transports_are_counted),
        cmocka_unit_test(networks_are_told_apart),
    };
    return cmocka_run_group_tests_name("places of devices", tests, NULL, NULL);
}
