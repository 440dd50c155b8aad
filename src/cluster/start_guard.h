/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_CLUSTER_START_GUARD_H
#define SS_CLUSTER_START_GUARD_H

#include <stdint.h>

#include "base/status.h"

/**
 * A thread that ends this process with 13 when starting takes too long: a rank
 * that never comes leaves all others in MPI_Init, where no watchdog with a
 * runtime exists yet. Ranks say where they wait (above 64 only rank 0); rank 0
 * ends 2 s later, the others after 5 s. To be ended once the watchdog runs.
 */
struct ss_start_guard;

/** limit_ns from now; 0: 120 s + 0.2 s x the launcher's nodes. */
enum ss_status ss_start_guard_start(char *const *environment, int64_t limit_ns,
                                    struct ss_start_guard **out);
/* All of these accept NULL: no guard. */
/** The limit, from the start; 0: as it is. */
void ss_start_guard_limit(struct ss_start_guard *guard, int64_t limit_ns);
/** What this rank waits in from now on; a literal. */
void ss_start_guard_enter(struct ss_start_guard *guard, const char *what);
/** No deadline any more; may be called again. */
void ss_start_guard_end(struct ss_start_guard *guard);
void ss_start_guard_free(struct ss_start_guard *guard);

#endif
