/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of the cuda engine that need no device: which device a rank takes,
 * short floating-point types, exact integers, the clock between anchors.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "engine/cuda.h"

static void devices_follow_local_ranks(void **state)
{
    (void)state;
    int slot;
    assert_int_equal(ss_cuda_device_choose(8, 5, false, &slot), 5);
    assert_int_equal(slot, -1);
    assert_int_equal(ss_cuda_device_choose(4, 5, false, &slot), -1);
    /* Slurm shows each rank its own */
    assert_int_equal(ss_cuda_device_choose(1, 7, false, &slot), 0);
    assert_int_equal(slot, -1);
    assert_int_equal(ss_cuda_device_choose(2, 5, true, &slot), 1);
    assert_int_equal(slot, 2);
    assert_int_equal(ss_cuda_device_choose(1, 3, true, &slot), 0);
    assert_int_equal(slot, 3);
}

static void uuids_read_as_the_driver_prints_them(void **state)
{
    (void)state;
    const unsigned char bytes[16] = {0x01, 0x23, 0x45, 0x67, 0x89, 0xab,
                                     0xcd, 0xef, 0x00, 0x11, 0x22, 0x33,
                                     0x44, 0x55, 0x66, 0xff};
    char text[48];
    ss_cuda_uuid_text(bytes, false, text, sizeof(text));
    assert_string_equal(text, "GPU-01234567-89ab-cdef-0011-2233445566ff");
    ss_cuda_uuid_text(bytes, true, text, sizeof(text));
    assert_string_equal(text, "MIG-01234567-89ab-cdef-0011-2233445566ff");
}

/* Values from IEEE 754 and from the definition of bfloat16. */
static void short_types_round_to_nearest_even(void **state)
{
    (void)state;
    assert_true(ss_twin_round(SS_DT_BF16, 257) == 256);
    assert_true(ss_twin_round(SS_DT_BF16, 259) == 260);
    assert_true(ss_twin_round(SS_DT_BF16, -1.00390625) == -1);
    assert_true(ss_twin_round(SS_DT_BF16, 0x1.01p0) == 1);
    assert_true(ss_twin_round(SS_DT_BF16, 0x1.03p0) == 0x1.04p0);
    assert_true(ss_twin_round(SS_DT_FP16, 2049) == 2048);
    assert_true(ss_twin_round(SS_DT_FP16, 2051) == 2052);
    assert_true(ss_twin_round(SS_DT_FP16, 65519) == 65504);
    assert_true(isinf(ss_twin_round(SS_DT_FP16, 65520)));
    assert_true(ss_twin_round(SS_DT_FP16, 0x1p-24) == 0x1p-24);
    assert_true(ss_twin_round(SS_DT_FP16, 0x1.8p-25) == 0x1p-24);
    assert_true(ss_twin_round(SS_DT_FP16, 0x1p-26) == 0);
    assert_true(ss_twin_round(SS_DT_FP16, -0x1.ffep-15) == -0x1p-14);
    assert_true(isnan(ss_twin_round(SS_DT_FP16, NAN)));
    assert_true(isnan(ss_twin_round(SS_DT_BF16, NAN)));
    for (uint32_t bits = 0; bits < 0x7c00; bits++) {
        uint16_t half = (uint16_t)bits, back = 0;
        double x = ss_twin_load(&half, SS_DT_FP16, 0);
        ss_twin_store(&back, SS_DT_FP16, 0, x);
        assert_int_equal(back, half);
    }
}

/* Whatever the order, every partial sum is exact: the sum of |x| is small. */
static void exact_sums_fit_their_type(void **state)
{
    (void)state;
    static const struct {
        enum ss_dtype dtype;
        int64_t limit;
    } types[] = {{SS_DT_BF16, 256}, {SS_DT_FP16, 2048}, {SS_DT_F32, 1 << 24}};
    static const int ranks[] = {1, 2, 85, 86, 1000, 16384};
    for (size_t t = 0; t < SS_COUNT_OF(types); t++) {
        for (size_t r = 0; r < SS_COUNT_OF(ranks); r++) {
            struct ss_exact_spec spec =
                ss_exact_spec_make(types[t].dtype, ranks[r]);
            int64_t most = 0, seen = 0;
            for (uint64_t place = 0; place < 200; place++) {
                int64_t sum = 0;
                for (int rank = 0; rank < ranks[r]; rank++) {
                    int x = ss_twin_exact(&spec, rank, place);
                    sum += x < 0 ? -x : x;
                    seen += x != 0;
                }
                most = sum > most ? sum : most;
            }
            assert_true(most <= types[t].limit);
            assert_true(seen > 100); /* it is not all zeros */
        }
    }
}

static void libraries_of_the_build_can_be_loaded(void **state)
{
    (void)state;
    struct ss_lt *lt = NULL;
    struct ss_nccl_api *nccl = NULL;
    char version[16];
    assert_int_equal(ss_lt_open(&lt), SS_OK);
    assert_non_null(strstr(
        lt->cublasLtGetStatusString(CUBLAS_STATUS_NOT_SUPPORTED), "support"));
    ss_lt_close(lt);
    assert_int_equal(ss_nccl_load(&nccl), SS_OK);
    ss_nccl_version(nccl, version, sizeof(version));
    assert_true(version[0] == '2' && version[1] == '.');
    ss_nccl_unload(nccl);
}

static void time_between_anchors_is_linear(void **state)
{
    (void)state;
    static struct ss_cuda_clock clock;
    clock.n = 3;
    clock.anchor[0].host_ns = 1000;
    clock.anchor[1].host_ns = 2100; /* 10 % faster than the device says */
    clock.anchor[1].device_ns = 1000;
    clock.anchor[2].host_ns = 3100;
    clock.anchor[2].device_ns = 2000;
    clock.anchor[1].width_ns = 7;
    assert_int_equal(ss_cuda_clock_host(&clock, 0), 1000);
    assert_int_equal(ss_cuda_clock_host(&clock, 500), 1550);
    assert_int_equal(ss_cuda_clock_host(&clock, 1000), 2100);
    assert_int_equal(ss_cuda_clock_host(&clock, 1500), 2600);
    assert_int_equal(ss_cuda_clock_host(&clock, 2010), 3110);
    assert_int_equal(ss_cuda_clock_width(&clock), 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(devices_follow_local_ranks),
        cmocka_unit_test(uuids_read_as_the_driver_prints_them),
        cmocka_unit_test(short_types_round_to_nearest_even),
        cmocka_unit_test(exact_sums_fit_their_type),
        cmocka_unit_test(libraries_of_the_build_can_be_loaded),
        cmocka_unit_test(time_between_anchors_is_linear),
    };
    return cmocka_run_group_tests_name("cuda engine without a device", tests,
                                       NULL, NULL);
}
