/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_ENGINE_HOST_TWIN_H
#define SS_ENGINE_HOST_TWIN_H

#include "plan/plan.h"

/*
 * The definitions in plan.h, written once more as plainly as they can be, in
 * double: what kernels of any engine are compared with.
 */

/** A GEMM op and its operands. */
struct ss_twin_product {
    const struct ss_op *op;
    const void *a, *b;
    enum ss_dtype dtype;
};
/** One element of it, without what it accumulates on; *magnitude is the sum of
 * |a b|, from which a rounding bound follows. */
double ss_twin_gemm(const struct ss_twin_product *product, int64_t row,
                    int64_t col, double *magnitude);
double ss_twin_gelu(double x);
double ss_twin_gelu_slope(double x);
double ss_twin_silu(double x);
double ss_twin_silu_slope(double x);
/** One parameter of AdamW: step from 1; g is the gradient already over dp;
 * rate is LR in a plan. */
void ss_twin_adamw(double *w, double *m, double *v, double g, double rate,
                   int64_t step);
/** Element i of an array of fp32 or fp64. */
double ss_twin_get(const void *data, enum ss_dtype dtype, uint64_t i);

#endif
