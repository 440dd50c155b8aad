/* SPDX-License-Identifier: Apache-2.0 */
/* Names as drivers give them, and the datasheet peaks behind them. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "health/gpu_peaks.h"
#include "health/nvml.h"

static void names_are_told_apart(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        double bf16;
    } known[] = {
        {"NVIDIA H200", 989.4},         {"NVIDIA H100 80GB HBM3", 989.4},
        {"NVIDIA H100 PCIe", 756.5},    {"NVIDIA H100 NVL", 835.5},
        {"NVIDIA A100-SXM4-80GB", 312}, {"NVIDIA A10", 125},
        {"NVIDIA B200", 2250},          {"NVIDIA GB200", 2500},
        {"NVIDIA L40S", 362.05},        {"NVIDIA L4", 121},
    };
    for (size_t i = 0; i < SS_COUNT_OF(known); i++) {
        const struct ss_gpu_peaks *gpu = ss_gpu_peaks_find(known[i].name);
        assert_non_null(gpu);
        assert_true(gpu->bf16 == known[i].bf16);
    }
}

static void unknown_names_have_no_peak(void **state)
{
    (void)state;
    assert_null(ss_gpu_peaks_find("NVIDIA H200 MIG 1g.18gb"));
    assert_null(ss_gpu_peaks_find("NVIDIA H2000"));
    assert_null(ss_gpu_peaks_find("My NVIDIA H200"));
    assert_null(ss_gpu_peaks_find(""));
}

/* Tensor rates double with each halving of the type, where a chip has both. */
static void figures_hang_together(void **state)
{
    (void)state;
    size_t n;
    const struct ss_gpu_peaks *gpu = ss_gpu_peaks_all(&n);
    assert_true(n > 40);
    for (size_t i = 0; i < n; i++) {
        assert_true(gpu[i].pattern[0] == '^');
        assert_true(gpu[i].pattern[strlen(gpu[i].pattern) - 1] == '$');
        assert_true(gpu[i].sms > 0 && gpu[i].fp32 > 0 && gpu[i].source[0]);
        if (gpu[i].bf16 > 0)
            assert_true(gpu[i].bf16 == gpu[i].fp16);
        if (gpu[i].fp8 > 0)
            assert_true(fabs(gpu[i].fp8 / gpu[i].fp16 - 2) < 0.03);
    }
}

static void counters_without_a_driver_are_nan(void **state)
{
    (void)state;
    struct ss_nvml *nvml;
    struct ss_nvml_counters counters;
    uint64_t fabric[2] = {1, 1};
    assert_int_equal(ss_nvml_open("ffff:ff:1f.0", &nvml), SS_OK);
    assert_false(ss_nvml_present(nvml));
    ss_nvml_counters(nvml, &counters);
    assert_true(isnan(counters.energy_j) && isnan(counters.power_capped_s) &&
                isnan(counters.thermal_capped_s));
    assert_true(isnan(ss_nvml_clock_mhz(nvml)));
    assert_true(isnan(ss_nvml_temperature_c(nvml)));
    ss_nvml_fabric(nvml, fabric);
    assert_true(fabric[0] == 0 && fabric[1] == 0);
    ss_nvml_close(nvml);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_told_apart),
        cmocka_unit_test(unknown_names_have_no_peak),
        cmocka_unit_test(figures_hang_together),
        cmocka_unit_test(counters_without_a_driver_are_nan),
    };
    return cmocka_run_group_tests_name("gpu peaks", tests, NULL, NULL);
}
