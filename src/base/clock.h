/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_BASE_CLOCK_H
#define SS_BASE_CLOCK_H

#include <stdint.h>

#define SS_NS_PER_S INT64_C(1000000000)
#define SS_NS_PER_MS INT64_C(1000000)

/** CLOCK_MONOTONIC_RAW in ns: the one host clock of all measurements. */
int64_t ss_clock_ns(void);
/** CLOCK_REALTIME in ns since 1970: labels only, never a duration. */
int64_t ss_clock_wall_ns(void);
/** Sleeps until ss_clock_ns() >= when (coarse sleep, then a short spin). */
void ss_clock_sleep_until(int64_t when);

#endif
