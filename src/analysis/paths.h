/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_ANALYSIS_PATHS_H
#define SS_ANALYSIS_PATHS_H

#include "store/schema.h"

/** Pure: rows of equal library, carrier and network become one, with their
 * sums and the devices of all; in place, returns how many are left. */
int ss_paths_merge(struct ss_path_row *rows, int n);
/** Pure: those of all points, each kind once with the largest counts;
 * returns how many, at most SS_PATHS_MAX. */
#define SS_PATHS_MAX 64
int ss_paths_of_run(const struct ss_run_data *run, struct ss_path_row *rows);
/** Pure: what carried this run, in words: "NCCL: NVLink in the node, IB x 8
 * with GPUDirect between". What run->transports says where no point tells. */
void ss_paths_words(const struct ss_run_data *run, char *out, size_t size);

#endif
