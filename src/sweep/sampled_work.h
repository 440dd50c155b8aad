/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_SWEEP_SAMPLED_WORK_H
#define SS_SWEEP_SAMPLED_WORK_H

/* What sampled.c works on. Not for other files. */

#include "analysis/attribution.h"
#include "sweep/context.h"
#include "sweep/samples.h"

/** The collectives of one dimension in plan order, and what was exchanged. */
struct ss_dim_view {
    int n, members, me;
    int *op;          /**< [n] op index */
    int64_t *ready;   /**< [members][n] */
    int64_t *blocked; /**< [members][2 n]: blocked ns, then whom (or -1) */
    int64_t *only;    /**< [members][n]: the blocked half of it */
    int64_t *since;   /**< [members] ready at the collective before the first:
                           that of the previous step; a block's first step:
                           its begin */
    int64_t *last;    /**< [n] */
    int *culprit;     /**< [n] rank in the group, -1: nobody */
    struct ss_arrival_stat mine;
};

/** A blocked span and whom it waited for: rank in the group, or -1. */
struct ss_blamed {
    struct ss_blocked span;
    int whom;
};

struct ss_sampled_work {
    struct ss_point_run *run;
    struct ss_dim_view dim[SS_DIMS];
    int64_t *last_ready; /**< [ops] */
    int *position;       /**< [ops] index within its dimension */
    int64_t *scratch;
    struct ss_blocked *span;
    int n_spans, max_spans;
    struct ss_blamed *before; /**< [max_spans] spans of the previous step */
    int n_before;
    struct ss_arrival_stat *stat;
    enum ss_status stored; /**< a failure to store must not stop the exchange */
};

/** For the plan and communicators of this rank's group. Local; close it also
 * after a failure. */
enum ss_status ss_sampled_work_open(struct ss_point_run *run,
                                    struct ss_sampled_work *work);
void ss_sampled_work_close(struct ss_sampled_work *work);

#endif
