/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_TESTS_PLAN_INTERP_H
#define SS_TESTS_PLAN_INTERP_H

/*
 * Executes plans in double precision for all ranks of a layout in one thread:
 * op by op on every rank, collectives by hand. It reads nothing but the ops and
 * the definitions in plan.h.
 */
#include "support/plan_case.h"

#define INTERP_RANKS_MAX 16

struct interp {
    struct plan_built built;
    int n, step; /* ranks; steps done */
    struct ss_plan plan[INTERP_RANKS_MAX];
    double *data[INTERP_RANKS_MAX][SS_BUF_ROLES];
};

void interp_open(const struct plan_case *c, struct interp *out);
/** One step on all ranks. */
void interp_step(struct interp *in);
void interp_close(struct interp *in);

/** The element with these global coordinates: the same number whoever asks.
 * kind: 'w' weight (layer, linear), 'x' and 'y' the batch and the gradient of
 * the output (dp coordinate), 'c' the core's stand-in (dp, tp). */
double interp_value(char kind, int a, int b, int64_t row, int64_t col);

#endif
