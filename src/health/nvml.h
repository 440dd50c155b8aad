/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_HEALTH_NVML_H
#define SS_HEALTH_NVML_H

#include <stdint.h>

#include "base/status.h"

/*
 * Counters of one NVIDIA device, through the driver's management library. It
 * is loaded at run time and declared here by hand, since not every CUDA install
 * has its header. What it does not know is NaN: absence is never an error.
 */
struct ss_nvml;

/** By PCI bus id ("0000:1b:00.0"). Never NULL on SS_OK: without the library
 * every reading is NaN. */
enum ss_status ss_nvml_open(const char *bus_id, struct ss_nvml **out);
void ss_nvml_close(struct ss_nvml *nvml);
/** The library and the device were found. */
int ss_nvml_present(const struct ss_nvml *nvml);

/** Counters at one moment: they only grow. */
struct ss_nvml_counters {
    double energy_j, power_capped_s, thermal_capped_s;
};
void ss_nvml_counters(struct ss_nvml *nvml, struct ss_nvml_counters *out);
/** SM clock now. */
double ss_nvml_clock_mhz(struct ss_nvml *nvml);
double ss_nvml_temperature_c(struct ss_nvml *nvml);
/** NVLink domain: hash of the fabric cluster and the clique; zeros where the
 * device is in none. */
void ss_nvml_fabric(struct ss_nvml *nvml, uint64_t out[2]);
/** "580.159.04", "" if unknown. */
void ss_nvml_driver(struct ss_nvml *nvml, char *out, size_t size);

#endif
