/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the cuda engine says of itself: its device, memory and domain, the
 * datasheet's peak, and what carries its communication. Must not know who asks.
 */
#include <math.h>

#include "base/str.h"
#include "engine/coll_nccl_log.h"
#include "engine/cuda.h"
#include "health/gpu_peaks.h"

#define KEPT_BYTES 1.5e9 /* of NCCL, cuBLASLt and the driver, beside a plan */
#define LOG_MAX ((size_t)16 << 20)

enum ss_status ss_cuda_describe(struct ss_engine *engine,
                                struct ss_place *place, double *memory_bytes)
{
    struct ss_cuda *self = ss_cuda_of(engine);
    size_t available = 0, total = 0;
    SS_TRY(ss_cuda_said(self, (int)cudaMemGetInfo(&available, &total),
                        "say how much memory it has"));
    place->device = self->device.ordinal;
    (void)ss_copy(place->device_name, sizeof(place->device_name),
                  self->device.name);
    (void)ss_copy(place->uuid, sizeof(place->uuid), self->device.uuid);
    (void)ss_copy(place->bus_id, sizeof(place->bus_id), self->device.bus_id);
    ss_nvml_fabric(self->nvml, place->fabric);
    *memory_bytes = fmax(0, (double)available - KEPT_BYTES);
    return SS_OK;
}

static double peak_of(const struct ss_gpu_peaks *gpu, int precision)
{
    switch (precision) {
    case SS_PRECISION_FP64:
        return gpu->fp64;
    case SS_PRECISION_FP32:
        return gpu->fp32;
    case SS_PRECISION_TF32:
        return gpu->tf32;
    case SS_PRECISION_FP16:
        return gpu->fp16;
    case SS_PRECISION_FP8:
        return gpu->fp8;
    default:
        return gpu->bf16;
    }
}

double ss_cuda_peak_flops(struct ss_engine *engine, int precision, char *source,
                          size_t size)
{
    const char *name = ss_cuda_of(engine)->device.name;
    const struct ss_gpu_peaks *gpu = ss_gpu_peaks_find(name);
    double peak = gpu ? peak_of(gpu, precision) : 0;
    if (!gpu)
        (void)ss_format(source, size, "%s is not in the table of peaks", name);
    else if (peak <= 0)
        (void)ss_format(source, size, "%s has no peak at this precision",
                        gpu->name);
    else
        (void)ss_format(source, size, "%s, dense: %s", gpu->name, gpu->source);
    return peak > 0 ? peak * 1e12 : (double)NAN;
}

void ss_cuda_transports(struct ss_engine *engine, char *out, size_t size)
{
    const struct ss_cuda *self = ss_cuda_of(engine);
    struct ss_nccl_paths paths = {.p2p = 0};
    char version[16], words[160];
    struct ss_buf text;
    out[0] = '\0';
    if (self->nccl_log[0] &&
        ss_read_file(self->nccl_log, LOG_MAX, &text) == SS_OK) {
        ss_nccl_log_parse(ss_buf_text(&text), &paths);
        ss_nccl_paths_text(&paths, words, sizeof(words));
        ss_nccl_version(self->nccl_api, version, sizeof(version));
        if (words[0])
            (void)ss_format(out, size, "NCCL %s: %s", version, words);
        ss_buf_free(&text);
    }
    ss_error_set(NULL); /* a missing log is no error */
}
