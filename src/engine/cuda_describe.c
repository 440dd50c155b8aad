/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the cuda engine says of itself: its device, memory and domain, the
 * datasheet's peak, and what carries its communication. Must not know who asks.
 */
#include <math.h>

#include "base/str.h"
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

void ss_cuda_read_log(const struct ss_cuda *self, struct ss_nccl_paths *out)
{
    struct ss_buf text;
    *out = (struct ss_nccl_paths){.p2p = 0};
    if (!self->nccl_log[0])
        return;
    if (ss_read_file(self->nccl_log, LOG_MAX, &text) == SS_OK)
        ss_nccl_log_parse(ss_buf_text(&text), out);
    ss_buf_free(&text);
    ss_error_set(NULL); /* a missing log is no error */
}

int ss_cuda_paths(struct ss_engine *engine, struct ss_path_row *rows, int max)
{
    const struct ss_cuda *self = ss_cuda_of(engine);
    struct ss_path_row found[SS_NCCL_PATHS] = {{.library = "nccl", .ranks = 1}};
    struct ss_nccl_paths paths;
    int n = 1;
    if (!self->nccl)
        return 0;
    ss_cuda_read_log(self, &paths);
    if (self->nccl_log[0])
        n = ss_nccl_paths_rows(&paths, &self->paths_before, found);
    else /* the user wants NCCL's words himself */
        (void)ss_copy(found->carrier, sizeof(found->carrier), SS_PATH_UNKNOWN);
    n = n < max ? n : max;
    for (int i = 0; i < n; i++)
        rows[i] = found[i];
    return n;
}
