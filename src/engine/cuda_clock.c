/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Device time on the host clock. An anchor is an event on a stream of its own
 * that the host brackets between two reads of its clock; the tightest of a few
 * counts. Between anchors time is linear. Must not know what is timed.
 */
#include <math.h>

#include "base/clock.h"
#include "engine/cuda.h"

#define TRIES_IDLE 9
#define TRIES_BUSY 3
#define WAIT_IDLE_NS SS_NS_PER_S
#define WAIT_BUSY_NS (5 * SS_NS_PER_MS)

enum ss_status ss_cuda_clock_open(struct ss_cuda *self)
{
    struct ss_cuda_clock *clock = &self->clock;
    int least, greatest;
    SS_TRY(ss_cuda_said(
        self, (int)cudaDeviceGetStreamPriorityRange(&least, &greatest),
        "ask for priorities"));
    SS_TRY(ss_cuda_said(self,
                        (int)cudaStreamCreateWithPriority(
                            &clock->stream, cudaStreamNonBlocking, greatest),
                        "make a stream"));
    for (int i = 0; i < SS_CUDA_ANCHORS; i++)
        SS_TRY(ss_cuda_said(self, (int)cudaEventCreate(&clock->anchor[i].event),
                            "make an event"));
    return ss_cuda_said(self, (int)cudaEventCreate(&clock->spare),
                        "make an event");
}

void ss_cuda_clock_close(struct ss_cuda *self)
{
    struct ss_cuda_clock *clock = &self->clock;
    for (int i = 0; i < SS_CUDA_ANCHORS; i++)
        if (clock->anchor[i].event)
            (void)cudaEventDestroy(clock->anchor[i].event);
    if (clock->spare)
        (void)cudaEventDestroy(clock->spare);
    if (clock->stream)
        (void)cudaStreamDestroy(clock->stream);
    *clock = (struct ss_cuda_clock){0};
}

/* One bracketed event; *done is false when the device did not get to it. */
static enum ss_status bracket(struct ss_cuda *self, cudaEvent_t event,
                              int64_t patience, int64_t *begin, int64_t *end,
                              bool *done)
{
    cudaError_t error;
    *begin = *end = ss_clock_ns();
    error = cudaEventRecord(event, self->clock.stream);
    if (error == cudaSuccess)
        do {
            error = cudaEventQuery(event);
            *end = ss_clock_ns();
        } while (error == cudaErrorNotReady && *end - *begin < patience);
    *done = error == cudaSuccess;
    if (error == cudaErrorNotReady)
        return SS_OK;
    return ss_cuda_said(self, (int)error, "read its clock");
}

/* The best of some brackets; false in *taken when none ended in time. */
static enum ss_status best_bracket(struct ss_cuda *self, int tries,
                                   int64_t patience,
                                   struct ss_cuda_anchor *anchor, bool *taken)
{
    struct ss_cuda_clock *clock = &self->clock;
    int64_t begin = 0, end = 0;
    bool done = false;
    *taken = false;
    for (int i = 0; i < tries; i++) {
        SS_TRY(bracket(self, clock->spare, patience, &begin, &end, &done));
        if (!done)
            return SS_OK;
        if (*taken && (end - begin) / 2 >= anchor->width_ns)
            continue;
        cudaEvent_t other = anchor->event;
        anchor->event = clock->spare;
        clock->spare = other;
        anchor->host_ns = begin + (end - begin) / 2;
        anchor->width_ns = (end - begin) / 2;
        *taken = true;
    }
    return SS_OK;
}

static enum ss_status add(struct ss_cuda *self, int tries, int64_t patience,
                          bool *taken)
{
    struct ss_cuda_clock *clock = &self->clock;
    struct ss_cuda_anchor *anchor = &clock->anchor[clock->n];
    SS_TRY(best_bracket(self, tries, patience, anchor, taken));
    if (!*taken)
        return SS_OK;
    anchor->device_ns = 0;
    if (clock->n > 0) {
        float ms = 0;
        cudaEvent_t last = clock->anchor[clock->n - 1].event;
        SS_TRY(ss_cuda_said(self,
                            (int)cudaEventElapsedTime(&ms, last, anchor->event),
                            "compare anchors"));
        anchor->device_ns =
            clock->anchor[clock->n - 1].device_ns + (double)ms * 1e6;
    }
    clock->n++;
    return SS_OK;
}

static enum ss_status must_add(struct ss_cuda *self)
{
    bool taken;
    SS_TRY(add(self, TRIES_IDLE, WAIT_IDLE_NS, &taken));
    if (taken)
        return SS_OK;
    return ss_fail(SS_ERR_DEVICE, "device %d (%s) did not answer within 1 s",
                   self->device.ordinal, self->device.bus_id);
}

enum ss_status ss_cuda_clock_begin(struct ss_cuda *self)
{
    self->clock.n = 0;
    return must_add(self);
}

enum ss_status ss_cuda_clock_end(struct ss_cuda *self)
{
    return must_add(self);
}

enum ss_status ss_cuda_clock_tick(struct ss_cuda *self)
{
    struct ss_cuda_clock *clock = &self->clock;
    bool taken;
    /* one place stays free for the last */
    if (clock->n >= SS_CUDA_ANCHORS - 1 ||
        ss_clock_ns() - clock->anchor[clock->n - 1].host_ns < SS_NS_PER_S)
        return SS_OK;
    return add(self, TRIES_BUSY, WAIT_BUSY_NS, &taken);
}

enum ss_status ss_cuda_clock_read(const struct ss_cuda *self, cudaEvent_t event,
                                  int *near, int64_t *out)
{
    const struct ss_cuda_clock *clock = &self->clock;
    float ms = 0, next = -1;
    for (;;) {
        const struct ss_cuda_anchor *anchor = &clock->anchor[*near];
        SS_TRY(ss_cuda_said(
            self, (int)cudaEventElapsedTime(&ms, anchor->event, event),
            "read a time"));
        if (*near + 1 >= clock->n || ms < 500)
            break;
        SS_TRY(ss_cuda_said(
            self, (int)cudaEventElapsedTime(&next, anchor[1].event, event),
            "read a time"));
        if (next < 0)
            break;
        ++*near;
    }
    *out = llround(clock->anchor[*near].device_ns + (double)ms * 1e6);
    return SS_OK;
}

int64_t ss_cuda_clock_host(const struct ss_cuda_clock *clock, int64_t ns)
{
    int i = 1;
    if (clock->n < 2)
        return clock->anchor[0].host_ns + ns;
    while (i < clock->n - 1 && (double)ns > clock->anchor[i].device_ns)
        i++;
    const struct ss_cuda_anchor *a = &clock->anchor[i - 1], *b = a + 1;
    double span = b->device_ns - a->device_ns;
    double pace = span > 0 ? (double)(b->host_ns - a->host_ns) / span : 1;
    return a->host_ns + llround(((double)ns - a->device_ns) * pace);
}

int64_t ss_cuda_clock_width(const struct ss_cuda_clock *clock)
{
    int64_t width = 0;
    for (int i = 0; i < clock->n; i++)
        if (clock->anchor[i].width_ns > width)
            width = clock->anchor[i].width_ns;
    return width;
}
