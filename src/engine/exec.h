/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_ENGINE_EXEC_H
#define SS_ENGINE_EXEC_H

#include "engine/engine.h"

/**
 * Runs one block: the plan's ops of this variant, steps back to back, marks,
 * drain, record. Updates engine->progress at every op with relaxed stores.
 * Local: peers are met only inside the ops themselves. No allocation.
 * record->steps must be >= spec->steps, record->event non-NULL when sampled.
 */
enum ss_status ss_exec_block(struct ss_engine *engine,
                             const struct ss_plan *plan,
                             const struct ss_block_spec *spec,
                             struct ss_block_record *record);

/** Memory of a record for `steps` steps; events only when `ops` > 0. */
enum ss_status ss_block_record_open(int steps, int ops,
                                    struct ss_block_record *out);
void ss_block_record_close(struct ss_block_record *record);

#endif
