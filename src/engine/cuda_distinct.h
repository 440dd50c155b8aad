/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_ENGINE_CUDA_DISTINCT_H
#define SS_ENGINE_CUDA_DISTINCT_H

#include "cluster/topology.h"

/**
 * Pure: does each rank drive a device of its own? `place` holds all ranks (or
 * none of them has a device: an engine of CPU shares, always SS_OK). SS_ERR_ENV
 * names two ranks that drive one device, unless `share`, or a rank without a
 * device where others have one. Equal on all ranks for equal input.
 */
enum ss_status ss_devices_distinct(const struct ss_place *place, int n,
                                   bool share);

#endif
