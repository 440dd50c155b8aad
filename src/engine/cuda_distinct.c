/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two ranks on one device is a classic silent fault: both run, at half the
 * speed. UUIDs of all ranks tell, whatever indices the launcher showed. Pure,
 * and built without CUDA too.
 */
#include "engine/cuda_distinct.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static int by_uuid(const void *a, const void *b)
{
    const struct ss_place *x = *(const struct ss_place *const *)a;
    const struct ss_place *y = *(const struct ss_place *const *)b;
    int order = strcmp(x->uuid, y->uuid);
    return order ? order : (x < y ? -1 : x > y);
}

static enum ss_status shared(const struct ss_place *place, int a, int b)
{
    return ss_fail(SS_ERR_ENV,
                   "ranks %d and %d (%s) drive one device, %s: start one rank "
                   "per device, give each rank its own CUDA_VISIBLE_DEVICES or "
                   "none, or set device.share=true for a functional test",
                   a, b, place->host, place->uuid);
}

/* Ranks without a device have an empty UUID, and sort first. */
static enum ss_status compare(const struct ss_place *place, int n,
                              const struct ss_place **sorted, bool share)
{
    const struct ss_place *first = sorted[0], *last = sorted[n - 1];
    if (last->uuid[0] == '\0')
        return SS_OK;
    if (first->uuid[0] == '\0')
        return ss_fail(SS_ERR_ENV,
                       "rank %d (%s) has no device while rank %d (%s) drives "
                       "%s: use --engine host, or only hosts with devices",
                       (int)(first - place), first->host, (int)(last - place),
                       last->host, last->device_name);
    for (int i = 1; i < n && !share; i++)
        if (strcmp(sorted[i - 1]->uuid, sorted[i]->uuid) == 0)
            return shared(sorted[i], (int)(sorted[i - 1] - place),
                          (int)(sorted[i] - place));
    return SS_OK;
}

enum ss_status ss_devices_distinct(const struct ss_place *place, int n,
                                   bool share)
{
    const struct ss_place **sorted =
        ss_alloc((size_t)n, sizeof(*sorted), "places to compare");
    if (!sorted)
        return SS_ERR_NO_MEMORY;
    for (int i = 0; i < n; i++)
        sorted[i] = &place[i];
    qsort(sorted, (size_t)n, sizeof(*sorted), by_uuid);
    enum ss_status status = compare(place, n, sorted, share);
    ss_free(sorted);
    return status;
}
