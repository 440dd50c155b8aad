/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_TESTS_GPU_TRAINING_H
#define SS_TESTS_GPU_TRAINING_H

#include "support/host_cases.h"

/** Three steps on the whole batch; weights and first moments against those of
 * one rank, by the norm of the difference over the norm. Local verdict. */
enum ss_status gpu_train(struct rig *rig, const struct host_training *t);
/** Writes n elements at `at` of a buffer on the device. */
enum ss_status gpu_put(const struct rig *rig, enum ss_role role, uint64_t at,
                       const double *x, uint64_t n);

#endif
