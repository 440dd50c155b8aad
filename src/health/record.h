/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_HEALTH_RECORD_H
#define SS_HEALTH_RECORD_H

#include "cluster/topology.h"
#include "store/schema.h"

/** The same binary and configuration on all ranks? Two builds in one job give
 * numbers that mean nothing. */
enum ss_status ss_record_program_all(struct ss_rt *rt, uint64_t config_hash);
/** Ranks and nodes into `run`; memory by logical rank, NULL: unknown. */
enum ss_status ss_record_places(const struct ss_topology *topology,
                                const double *memory, struct ss_run_data *run);
/** Gathers every rank's variables; the differences into `run` on rank 0. */
enum ss_status ss_record_variables_all(struct ss_rt *world,
                                       char *const *environment,
                                       struct ss_run_data *run);
/** The id that was given, or a new random one. */
void ss_record_run_id(const char *given, char out[40]);

#endif
