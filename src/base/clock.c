/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host clock. CLOCK_MONOTONIC_RAW is not slewed by NTP, so the drift
 * between two hosts stays linear and can be interpolated. No aligned or device
 * time here: clock sync and the engines own those.
 */
#include "base/clock.h"

#include <time.h>

/* Below this the scheduler's wake-up error is larger than the wait. */
#define SPIN_NS INT64_C(60000)

static int64_t read_clock(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (int64_t)t.tv_sec * SS_NS_PER_S + t.tv_nsec;
}

int64_t ss_clock_ns(void)
{
    return read_clock(CLOCK_MONOTONIC_RAW);
}

int64_t ss_clock_wall_ns(void)
{
    return read_clock(CLOCK_REALTIME);
}

void ss_clock_sleep_until(int64_t when)
{
    int64_t left;
    while ((left = when - ss_clock_ns()) > 0) {
        int64_t coarse = left - SPIN_NS;
        struct timespec t = {.tv_sec = (time_t)(coarse / SS_NS_PER_S),
                             .tv_nsec = (long)(coarse % SS_NS_PER_S)};
        if (coarse > 0)
            nanosleep(&t, NULL); /* cut short by a signal: the loop goes on */
    }
}
