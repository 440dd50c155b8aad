/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_HEALTH_GPU_PEAKS_H
#define SS_HEALTH_GPU_PEAKS_H

#include <stddef.h>

#include "base/status.h"

/** Datasheet figures of a device; TFLOP/s, dense, 0 where it has none. */
struct ss_gpu_peaks {
    const char *name, *pattern;
    int sms;
    double fp64, fp32, tf32, fp16, bf16, fp8;
    const char *source;
};

/** Pure: the device that the driver calls `name`; NULL when it is not known,
 * or when more than one pattern claims it. */
const struct ss_gpu_peaks *ss_gpu_peaks_find(const char *name);
/** All of them. */
const struct ss_gpu_peaks *ss_gpu_peaks_all(size_t *n);

#endif
