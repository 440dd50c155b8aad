/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of the host engine: how much the host has left, whether a plan fits
 * (said before anything is allocated, since an overcommitting kernel says it
 * with a signal), and the buffers themselves. Knows sizes, not contents.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/units.h"
#include "engine/host.h"

#define ALIGNMENT 64

double ss_host_parse_meminfo(const char *text)
{
    static const char key[] = "MemAvailable:";
    const char *at = strstr(text, key);
    if (!at)
        return -1;
    double kib = strtod(at + sizeof(key) - 1, NULL);
    return kib > 0 ? kib * 1024 : -1;
}

/* A file of one number; INFINITY when it is missing or says "max". */
static double read_number(const char *path)
{
    struct ss_buf text;
    double value = INFINITY;
    if (ss_read_file(path, 4096, &text) == SS_OK && text.len > 0) {
        char *end;
        double parsed = strtod(ss_buf_text(&text), &end);
        if (end != ss_buf_text(&text))
            value = parsed;
    }
    ss_buf_free(&text);
    return value;
}

static double cgroup_left(const char *limit, const char *usage)
{
    double most = read_number(limit);
    double used = read_number(usage);
    /* cgroup v1 writes a number near 2^63 for "no limit" */
    if (!isfinite(most) || most > 0x1p60 || !isfinite(used))
        return INFINITY;
    return most > used ? most - used : 0;
}

double ss_host_available(void)
{
    struct ss_buf text;
    double left = INFINITY;
    if (ss_read_file("/proc/meminfo", 1 << 16, &text) == SS_OK) {
        double said = ss_host_parse_meminfo(ss_buf_text(&text));
        left = said >= 0 ? said : INFINITY;
    }
    ss_buf_free(&text);
    left = fmin(left, cgroup_left("/sys/fs/cgroup/memory.max",
                                  "/sys/fs/cgroup/memory.current"));
    left =
        fmin(left, cgroup_left("/sys/fs/cgroup/memory/memory.limit_in_bytes",
                               "/sys/fs/cgroup/memory/memory.usage_in_bytes"));
    ss_error_set(NULL); /* a missing file is no error here */
    return left;
}

static enum ss_status check_fits(const struct ss_host *self, double need)
{
    char each[32], left[32];
    int ranks = self->host_ranks;
    if (self->place.sharers > ranks)
        ranks = self->place.sharers;
    if (need * ranks <= self->available_bytes)
        return SS_OK;
    return ss_fail(SS_ERR_NO_MEMORY,
                   "needs %s per rank x %d rank%s on this host, %s available: "
                   "use a smaller model, fewer tokens or fewer ranks per host",
                   ss_format_bytes(need, each, sizeof(each)), ranks,
                   ranks == 1 ? "" : "s",
                   ss_format_bytes(self->available_bytes, left, sizeof(left)));
}

static double bytes_of(const struct ss_buffer *buffer)
{
    return (double)buffer->elems * (double)ss_dtype_size(buffer->dtype);
}

enum ss_status ss_host_buffers_open(struct ss_host *self)
{
    const struct ss_plan *plan = self->work.plan;
    double need = 0;
    for (int i = 0; i < plan->n_buffers; i++)
        need += bytes_of(&plan->buffer[i]);
    SS_TRY(check_fits(self, need));
    for (int i = 0; i < plan->n_buffers; i++) {
        const struct ss_buffer *buffer = &plan->buffer[i];
        size_t bytes = (size_t)buffer->elems * self->elem_size;
        char *memory = ss_alloc(bytes + ALIGNMENT, 1, buffer->name);
        if (!memory)
            return SS_ERR_NO_MEMORY;
        size_t past = (size_t)((uintptr_t)memory % ALIGNMENT);
        self->memory[i] = memory;
        self->buffer[i] = memory + (past ? ALIGNMENT - past : 0);
        memset(self->buffer[i], 0, bytes); /* pages come now, not in a step */
    }
    return SS_OK;
}

void ss_host_buffers_close(struct ss_host *self)
{
    for (int i = 0; i < SS_BUF_ROLES; i++) {
        ss_free(self->memory[i]);
        self->memory[i] = self->buffer[i] = NULL;
    }
}
