/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_TESTS_HOST_CASES_H
#define SS_TESTS_HOST_CASES_H

/*
 * What the host engine must do on any runtime: rank functions that return a
 * status, run by threads and by MPI.
 */
#include "support/engine_rig.h"

/** Three steps of AdamW, then weights and first moments (which, unlike the
 * weights, show the scale of the gradient) against those of one rank that
 * computed the whole batch. */
struct host_training {
    struct rig_spec spec; /**< dp, tp, sp, micro, precision, settings */
    double *state;        /**< [2][n] unsplit: filled by the run of one rank */
    size_t n;
    double tolerance; /**< of every element */
};
/** The single rank's run; its spec is made from that of `training`. */
enum ss_status host_train_alone(struct ss_rt *solo, void *training);
/** Collective: runs the layout and compares. */
enum ss_status host_train_split(struct ss_rt *rt, void *training);

/** arg: struct rig_spec. Checks pass, rows of every kind are there, and the
 * state comes back bit for bit. */
enum ss_status host_checks_pass(struct ss_rt *rt, void *spec);
/** arg: struct rig_spec with dp = size. A flipped bit in one rank's
 * contribution, in a weight of one replica, and a number that is none. */
enum ss_status host_checks_fail(struct ss_rt *rt, void *spec);
/** arg: struct rig_spec. No allocation inside a block, of any variant. */
enum ss_status host_blocks_allocate_nothing(struct ss_rt *rt, void *spec);
/** arg: struct rig_spec. Events in order, ready times as DESIGN defines. */
enum ss_status host_events_in_order(struct ss_rt *rt, void *spec);

#endif
