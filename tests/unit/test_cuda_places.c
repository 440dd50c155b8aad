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
    "vm:1:2 [0] NCCL INFO NET/Socket : Using [0]lo:127.0.0.1<0>\n"
    "vm:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM/read\n"
    "vm:1:2 [0] NCCL INFO Channel 01/0 : 0[0] -> 1[1] via P2P/IPC\n"
    "vm:1:2 [0] NCCL INFO Channel 00 : 2[2] -> 3[3] via SHM/direct/direct\n"
    "vm:1:2 [0] NCCL INFO Channel 00/0 : 7[7] -> 8[0] [send] via "
    "NET/IB/3/GDRDMA\n"
    "vm:1:2 [0] NCCL INFO Channel 02/0 : 9[1] -> 0[0] [receive] via NET/IB/0\n"
    "vm:1:2 [0] NCCL INFO Channel 00/0 : 1[0] -> 0[0] [receive] via "
    "NET/Socket/0\n"
    "vm:1:2 [0] NCCL INFO Connected all rings, use ring PXN 0 via nothing\n"
    "vm:1:2 [0] NCCL INFO Channel 00/0 : 1[0] -> 0[0] via pigeon";

static void transports_are_counted(void **state)
{
    (void)state;
    struct ss_nccl_paths paths = {.p2p = 0};
    char text[160];
    ss_nccl_paths_text(&paths, text, sizeof(text));
    assert_string_equal(text, "");
    ss_nccl_log_parse(log_text, &paths);
    assert_int_equal(paths.p2p, 2);
    assert_int_equal(paths.shm, 1);
    assert_int_equal(paths.rdma, 1);
    assert_int_equal(paths.bounce, 1);
    assert_int_equal(paths.socket, 1);
    assert_int_equal(paths.other, 1);
    ss_nccl_paths_text(&paths, text, sizeof(text));
    assert_string_equal(text, "2 P2P, 1 through host memory, 1 RDMA with "
                              "GPUDirect, 1 RDMA without GPUDirect, 1 "
                              "sockets, 1 other");
    ss_nccl_paths_text(&paths, text, 12); /* cut, and ended */
    assert_int_equal(strlen(text), 11);
    ss_nccl_log_parse("", &paths);
    assert_int_equal(paths.p2p, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_device_each_passes),
        cmocka_unit_test(two_ranks_on_one_device_are_named),
        cmocka_unit_test(a_rank_without_a_device_is_named),
        cmocka_unit_test(transports_are_counted),
    };
    return cmocka_run_group_tests_name("places of devices", tests, NULL, NULL);
}
