/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Peaks by the driver's name of a device. A name is matched as a whole, since
 * "H100 PCIe" and "H100" are different chips; an unknown one has no peak, and
 * no guess is made. Must not know how a peak is used.
 */
#include "health/gpu_peaks.h"

#include <regex.h>
#include <stdbool.h>

static const struct ss_gpu_peaks gpus[] = {
#define GPU(...) {__VA_ARGS__},
#include "health/gpus.def"
#undef GPU
};

static bool matches(const char *pattern, const char *name)
{
    regex_t regex;
    if (regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB) != 0)
        return false;
    bool found = regexec(&regex, name, 0, NULL, 0) == 0;
    regfree(&regex);
    return found;
}

const struct ss_gpu_peaks *ss_gpu_peaks_find(const char *name)
{
    const struct ss_gpu_peaks *found = NULL;
    for (size_t i = 0; i < SS_COUNT_OF(gpus); i++) {
        if (!matches(gpus[i].pattern, name))
            continue;
        if (found)
            return NULL;
        found = &gpus[i];
    }
    return found;
}

const struct ss_gpu_peaks *ss_gpu_peaks_all(size_t *n)
{
    *n = SS_COUNT_OF(gpus);
    return gpus;
}
