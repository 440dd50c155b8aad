/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_ANALYSIS_ATTRIBUTION_H
#define SS_ANALYSIS_ATTRIBUTION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "plan/plan.h"
#include "timing/record.h"

/*
 * From op events to the accounting identity and to last arrivers (DESIGN
 * section 2). Pure: one rank, one step, or one communicator, one step; the
 * caller moves data between ranks. All times aligned, ns.
 */

/** A span in which the compute lane was blocked on collectives. */
struct ss_blocked {
    int op;           /**< the collective whose last ready is the latest */
    int compute_op;   /**< the compute op that was held up, -1: the mark */
    int64_t waiting;  /**< up to the latest last_ready */
    int64_t transfer; /**< after it */
    bool unsplit;     /**< shorter than 10 x the clock bound: in neither; of a
                           pipeline receive waiting is bubble and 0 here */
    int64_t begin, end;
};

struct ss_step_view {
    const struct ss_plan *plan;
    enum ss_variant variant;
    const struct ss_op_event *event; /**< [n_ops] of this step */
    const int64_t *last_ready; /**< [n_ops], collectives that ran; own clock */
    int64_t begin, end;        /**< this rank's previous and this mark */
    int64_t clock_bound;
};

/**
 * Walks the compute lane of one step. Fills the terms (wait_persistent stays
 * 0: ss_split_waiting) and up to `max` blocked spans, *n of them. The identity
 * holds exactly: end - begin = busy + transfers + waiting + unsplit + bubble +
 * input + launch + other. comm_union is the union over the collectives of
 * [last ready, end]. Scratch: 2 x n_ops int64.
 */
void ss_attribute_step(const struct ss_step_view *view, int64_t *scratch,
                       struct ss_step_terms *terms, struct ss_blocked *blocked,
                       int max, int *n);

/** Ready times of one communicator in one step. */
struct ss_arrivals {
    int ranks, n;           /**< members, collectives (in plan order) */
    const int64_t *ready;   /**< [ranks][n] aligned */
    const int64_t *blocked; /**< [ranks][n] time the rank was blocked (waiting
                                 + transfer + unsplit) since the communicator's
                                 previous collective (the first: since begin) */
    const int64_t *begin;   /**< [ranks] ready at the communicator's last
                               collective of the previous step; where that is
                               not known, the begin of the step */
    int64_t threshold; /**< max(3 x clock bound, 0.2 % of T): below, a tie */
};
struct ss_arrival_stat {   /**< one member, one step; add over steps */
    int64_t last_arrivals; /**< collectives it was last to reach */
    int64_t excess;        /**< ns of its own making, see below */
};
/**
 * For each collective the last arriver (member index; -1: a tie; -2 - member:
 * it passes the arrival on) and last_ready itself. Lateness = last ready -
 * median ready; at or below the threshold it is a tie, counted for nobody.
 *
 * Own work since the previous collective is (ready - previous ready) -
 * blocked. A rank's debt is what it made late itself: it grows by own - median
 * own, is repaid by what the median rank was blocked longer than this one,
 * and never exceeds its lateness. A last arriver whose debt is at or below the
 * threshold passes the arrival on to whom it waited for. One above it is
 * counted, and its excess grows by the part of the debt that was not charged
 * before: in a level group own - median own; where nobody waits in between
 * (overlapped buckets) the charges telescope to its total extra work. In a
 * group of two the median lies midway, so both lateness and excess are half
 * the distance.
 *
 * Overwrites stat[ranks]. Scratch: 2 x ranks int64.
 */
void ss_arrivals_judge(const struct ss_arrivals *in, int64_t *scratch,
                       int *culprit, int64_t *last_ready,
                       struct ss_arrival_stat *stat);

/** Waiting for a rank that was last in over half of its communicator's sampled
 * steps is persistent; the rest of waiting is jitter. */
bool ss_is_persistent(int64_t late_steps, int64_t sampled_steps);

#endif
