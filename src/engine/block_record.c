/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of a block's record, taken before the block so that recording a step
 * is a store and never an allocation. Knows nothing of what is recorded.
 */
#include <math.h>

#include "base/mem.h"
#include "engine/exec.h"

enum ss_status ss_block_record_open(int steps, int ops,
                                    struct ss_block_record *out)
{
    struct ss_block_record record = {
        .steps = steps,
        .ops = ops,
        .clock_mhz = NAN,
        .energy_j = NAN,
        .power_capped_s = NAN,
        .thermal_capped_s = NAN,
        .temperature_c = NAN,
    };
    size_t n = (size_t)steps;
    record.mark = ss_alloc(n, sizeof(*record.mark), "step marks");
    if (!record.mark)
        return SS_ERR_NO_MEMORY;
    if (ops > 0) {
        size_t row = (size_t)ops * sizeof(*record.event);
        record.event = ss_alloc(n, row, "op events");
        if (!record.event) {
            ss_free(record.mark);
            return SS_ERR_NO_MEMORY;
        }
    }
    *out = record;
    return SS_OK;
}

void ss_block_record_close(struct ss_block_record *record)
{
    ss_free(record->mark);
    ss_free(record->event);
    *record = (struct ss_block_record){0};
}
