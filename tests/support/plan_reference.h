/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_TESTS_PLAN_REFERENCE_H
#define SS_TESTS_PLAN_REFERENCE_H

/*
 * The same training step written down straight from model.h: unsplit matrices,
 * one dp share after the other, no plan. Derivatives of activations are central
 * differences, so they share nothing with the interpreter's.
 */
#include "support/plan_interp.h"

struct reference {
    const struct interp *in;
    int64_t rows; /* of a micro-batch */
    int64_t params;
    double *w, *g, *m, *v; /* unsplit, layer by layer, [out, in] each */
    int step;
};

void reference_open(const struct interp *in, struct reference *out);
void reference_step(struct reference *r);
void reference_close(struct reference *r);
/** Where Linear i of a layer starts in w, g, m and v. */
int64_t reference_at(const struct reference *r, int layer, int i);

#endif
