/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_SWEEP_BETWEEN_H
#define SS_SWEEP_BETWEEN_H

#include "cluster/topology.h"
#include "plan/plan.h"

/**
 * Pure: bytes per step that `rank` (logical, of a group that starts at `first`
 * and runs `plan`) sends to other nodes at least, by its collectives.
 */
enum ss_status ss_between_bytes(const struct ss_plan *plan,
                                const struct ss_topology *topology, int first,
                                int rank, double *out);

#endif
