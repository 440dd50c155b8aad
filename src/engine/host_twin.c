/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Twins of the kernels: slow, in double, straight from plan.h. They exist to
 * disagree with a wrong kernel, so nothing here may share code with one.
 */
#include "engine/host_twin.h"

#include <math.h>

double ss_twin_get(const void *data, enum ss_dtype dtype, uint64_t i)
{
    return dtype == SS_DT_F64 ? ((const double *)data)[i]
                              : (double)((const float *)data)[i];
}

double ss_twin_gemm(const struct ss_twin_product *product, int64_t row,
                    int64_t col, double *magnitude)
{
    const struct ss_op *op = product->op;
    enum ss_dtype dtype = product->dtype;
    double sum = 0;
    *magnitude = 0;
    for (int64_t i = 0; i < op->k; i++) {
        int64_t at_a = op->ta ? i * op->m + row : row * op->k + i;
        int64_t at_b = op->tb ? col * op->k + i : i * op->n + col;
        double x = ss_twin_get(product->a, dtype, (uint64_t)at_a) *
                   ss_twin_get(product->b, dtype, (uint64_t)at_b);
        sum += x;
        *magnitude += fabs(x);
    }
    return sum;
}

#define ROOT_2_OVER_PI 0.79788456080286535588

static double gelu_inner(double x)
{
    return tanh(ROOT_2_OVER_PI * (x + 0.044715 * x * x * x));
}

double ss_twin_gelu(double x)
{
    return x / 2 * (1 + gelu_inner(x));
}

double ss_twin_gelu_slope(double x)
{
    double t = gelu_inner(x);
    double inner_slope = ROOT_2_OVER_PI * (1 + 3 * 0.044715 * x * x);
    return (1 + t) / 2 + x / 2 * (1 - t * t) * inner_slope;
}

static double logistic(double x)
{
    return 1 / (1 + exp(-x));
}

double ss_twin_silu(double x)
{
    return x * logistic(x);
}

double ss_twin_silu_slope(double x)
{
    double s = logistic(x);
    return s * (1 + x * (1 - s));
}

void ss_twin_adamw(double *w, double *m, double *v, double g, double rate,
                   int64_t step)
{
    double t = (double)step;
    *m = SS_ADAMW_BETA1 * *m + (1 - SS_ADAMW_BETA1) * g;
    *v = SS_ADAMW_BETA2 * *v + (1 - SS_ADAMW_BETA2) * g * g;
    double m_hat = *m / (1 - pow(SS_ADAMW_BETA1, t));
    double v_hat = *v / (1 - pow(SS_ADAMW_BETA2, t));
    *w -= rate * (SS_ADAMW_DECAY * *w + m_hat / (sqrt(v_hat) + SS_ADAMW_EPS));
}
