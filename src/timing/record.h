/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_TIMING_RECORD_H
#define SS_TIMING_RECORD_H

#include <stdint.h>

#include "timing/phase.h"

/** "never happened" for a time in ns. */
#define SS_NO_TIME INT64_MIN

/**
 * What an engine says of one op of one sampled step, in ns on the rank's own
 * host clock (or its virtual clock). For compute ops ready is not used.
 */
struct ss_op_event {
    int64_t enqueued; /**< the host issued it */
    int64_t ready;    /**< its input was complete (collectives: DESIGN 2) */
    int64_t start, end;
};

/**
 * The recorder's memory for one block, allocated before it (never inside a
 * step). mark[s] is the end of step s on the compute lane; mark[0] ends the
 * step that is dropped. event is [steps][ops] row-major, only in sampled
 * blocks, else NULL; ops that did not run have SS_NO_TIME.
 */
struct ss_block_record {
    int steps, ops;
    int64_t *mark;             /**< [steps] */
    struct ss_op_event *event; /**< [steps * ops] or NULL */
    int64_t accuracy_ns;       /**< of one time, as the engine knows it */
    int64_t anchor_width_ns;   /**< device clock to host clock; 0 on hosts */
    int64_t begin_ns, end_ns;  /**< host clock around the block */
    double clock_mhz, energy_j, power_capped_s, thermal_capped_s, temperature_c;
    /**< device counters over the block; NaN where there are none */
};

/**
 * The terms of the accounting identity for one rank and one sampled step, ns,
 * exact: step = busy + sum(transfer) + waiting + unsplit + bubble + input +
 * launch + other (DESIGN section 2). waiting = wait_persistent + wait_jitter.
 */
struct ss_step_terms {
    int64_t step;
    int64_t busy;
    int64_t transfer[SS_DIMS];
    int64_t waiting, wait_persistent;
    int64_t unsplit, bubble, input, launch, other;
    int64_t comm_union; /**< union over collectives of [last ready, end] */
    int64_t phase[SS_PHASES]; /**< spans on their own lane; they overlap */
};

#endif
