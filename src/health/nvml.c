/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NVML by dlopen with its own declarations, so that one build runs with and
 * without a driver. Each function may be missing in an old driver: its reading
 * is then NaN. Must not know blocks or steps.
 */
#include "health/nvml.h"

#include <dlfcn.h>
#include <math.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/symbol.h"

/* From NVML's API reference; only what is called here. */
#define NVML_OK 0
#define NVML_CLOCK_SM 1
#define NVML_TEMPERATURE_GPU 0
#define NVML_POLICY_POWER 0
#define NVML_POLICY_THERMAL 1
#define NVML_FABRIC_COMPLETED 3

typedef void *device_handle;
struct violation {
    unsigned long long reference_us, violation_ns;
};
struct fabric_info {
    unsigned char cluster[16];
    int status;
    unsigned int clique;
    unsigned int state;
};

struct ss_nvml {
    void *library;
    device_handle device; /* NULL: no counters */
    int (*init)(void);
    int (*shutdown)(void);
    int (*by_bus_id)(const char *, device_handle *);
    int (*clock)(device_handle, int, unsigned int *);
    int (*energy)(device_handle, unsigned long long *);
    int (*violation)(device_handle, int, struct violation *);
    int (*temperature)(device_handle, int, unsigned int *);
    int (*fabric)(device_handle, struct fabric_info *);
    int (*driver)(char *, unsigned int);
};

static void find_all(struct ss_nvml *n)
{
    void *library = n->library;
    (void)ss_symbol_find(library, "nvmlInit_v2", &n->init);
    (void)ss_symbol_find(library, "nvmlShutdown", &n->shutdown);
    (void)ss_symbol_find(library, "nvmlDeviceGetHandleByPciBusId_v2",
                         &n->by_bus_id);
    (void)ss_symbol_find(library, "nvmlDeviceGetClockInfo", &n->clock);
    (void)ss_symbol_find(library, "nvmlDeviceGetTotalEnergyConsumption",
                         &n->energy);
    (void)ss_symbol_find(library, "nvmlDeviceGetViolationStatus",
                         &n->violation);
    (void)ss_symbol_find(library, "nvmlDeviceGetTemperature", &n->temperature);
    (void)ss_symbol_find(library, "nvmlDeviceGetGpuFabricInfo", &n->fabric);
    (void)ss_symbol_find(library, "nvmlSystemGetDriverVersion", &n->driver);
}

static void drop(struct ss_nvml *n)
{
    if (n->library)
        dlclose(n->library);
    *n = (struct ss_nvml){0};
}

enum ss_status ss_nvml_open(const char *bus_id, struct ss_nvml **out)
{
    struct ss_nvml *n = ss_alloc(1, sizeof(*n), "device counters");
    if (!n)
        return SS_ERR_NO_MEMORY;
    *out = n;
    n->library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!n->library)
        return SS_OK;
    find_all(n);
    if (!n->init || !n->shutdown || n->init() != NVML_OK) {
        drop(n);
        return SS_OK;
    }
    if (!n->by_bus_id || n->by_bus_id(bus_id, &n->device) != NVML_OK)
        n->device = NULL;
    return SS_OK;
}

void ss_nvml_close(struct ss_nvml *nvml)
{
    if (!nvml)
        return;
    if (nvml->shutdown)
        (void)nvml->shutdown();
    drop(nvml);
    ss_free(nvml);
}

int ss_nvml_present(const struct ss_nvml *nvml)
{
    return nvml->device != NULL;
}

static double capped_s(struct ss_nvml *n, int policy)
{
    struct violation v = {0};
    if (!n->device || !n->violation ||
        n->violation(n->device, policy, &v) != NVML_OK)
        return (double)NAN;
    return (double)v.violation_ns / 1e9;
}

void ss_nvml_counters(struct ss_nvml *nvml, struct ss_nvml_counters *out)
{
    unsigned long long mj = 0;
    out->energy_j = (double)NAN;
    if (nvml->device && nvml->energy &&
        nvml->energy(nvml->device, &mj) == NVML_OK)
        out->energy_j = (double)mj / 1e3;
    out->power_capped_s = capped_s(nvml, NVML_POLICY_POWER);
    out->thermal_capped_s = capped_s(nvml, NVML_POLICY_THERMAL);
}

double ss_nvml_clock_mhz(struct ss_nvml *nvml)
{
    unsigned int mhz = 0;
    if (!nvml->device || !nvml->clock ||
        nvml->clock(nvml->device, NVML_CLOCK_SM, &mhz) != NVML_OK)
        return (double)NAN;
    return mhz;
}

double ss_nvml_temperature_c(struct ss_nvml *nvml)
{
    unsigned int celsius = 0;
    if (!nvml->device || !nvml->temperature ||
        nvml->temperature(nvml->device, NVML_TEMPERATURE_GPU, &celsius) !=
            NVML_OK)
        return (double)NAN;
    return celsius;
}

void ss_nvml_fabric(struct ss_nvml *nvml, uint64_t out[2])
{
    struct fabric_info info = {.state = 0};
    uint64_t hash = 0xcbf29ce484222325u;
    unsigned any = 0;
    out[0] = out[1] = 0;
    if (!nvml->device || !nvml->fabric ||
        nvml->fabric(nvml->device, &info) != NVML_OK ||
        info.state != NVML_FABRIC_COMPLETED || info.status != NVML_OK)
        return;
    for (size_t i = 0; i < sizeof(info.cluster); i++) {
        any |= info.cluster[i];
        hash = (hash ^ info.cluster[i]) * 0x100000001b3u;
    }
    if (any == 0) /* one host: its node is the domain */
        return;
    out[0] = hash;
    out[1] = info.clique;
}

void ss_nvml_driver(struct ss_nvml *nvml, char *out, size_t size)
{
    char version[96] = "";
    if (nvml->driver && nvml->driver(version, sizeof(version)) != NVML_OK)
        version[0] = '\0';
    (void)ss_copy(out, size, version);
}
