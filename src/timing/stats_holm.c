/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of many ranks at once: binomial, position and Student tails, Holm's
 * correction. Must not know what is tested.
 */
#include <math.h>

#include "timing/stats.h"

void ss_holm(const double *p, size_t n, double *adjusted, int *scratch)
{
    for (size_t i = 0; i < n; i++) {
        size_t j = i;
        for (; j > 0 && p[scratch[j - 1]] > p[i]; j--)
            scratch[j] = scratch[j - 1];
        scratch[j] = (int)i;
    }
    double worst = 0;
    for (size_t i = 0; i < n; i++) {
        double a = p[scratch[i]] * (double)(n - i);
        worst = a > worst ? a : worst;
        adjusted[scratch[i]] = worst < 1 ? worst : 1;
    }
}

double ss_sign_test(size_t positive, size_t n)
{
    double sum = 0;
    for (size_t k = positive; k <= n; k++)
        sum += exp(lgamma((double)n + 1) - lgamma((double)k + 1) -
                   lgamma((double)(n - k) + 1) - (double)n * log(2.0));
    return sum < 1 ? sum : 1;
}

/* Log of the moment generating function of a uniform choice among the mid
 * positions -1/2 + (i + 1/2) / ranks, and its derivative. */
static double log_mgf(double t, double ranks, double *slope)
{
    double a = t / 2, b = t / (2 * ranks);
    if (a < 1e-4) {
        double var = (1 - 1 / (ranks * ranks)) / 12;
        *slope = var * t;
        return var * t * t / 2;
    }
    *slope = 0.5 / tanh(a) - 0.5 / (ranks * tanh(b));
    /* log sinh(x) = x + log(1 - exp(-2x)) - log 2, without overflow */
    return a + log1p(-exp(-2 * a)) - b - log1p(-exp(-2 * b)) - log(ranks);
}

double ss_position_tail(double mean_position, size_t blocks, size_t ranks)
{
    double x = mean_position - 0.5, r = (double)ranks, slope;
    if (ranks < 2 || blocks == 0 || x <= 0)
        return 1;
    double top = 0.5 - 0.5 / r;
    if (x >= top * (1 - 1e-12))
        return exp(-(double)blocks * log(r));
    double lo = 0, hi = 1;
    while (log_mgf(hi, r, &slope), slope < x && hi < 1e9)
        hi *= 2;
    for (int i = 0; i < 60; i++) {
        double mid = (lo + hi) / 2;
        log_mgf(mid, r, &slope);
        *(slope < x ? &lo : &hi) = mid;
    }
    double rate = hi * x - log_mgf(hi, r, &slope);
    return exp(-(double)blocks * (rate > 0 ? rate : 0));
}

/* Continued fraction of the incomplete beta function, by Lentz's method;
 * converges quickly for x < (a + 1) / (a + b + 2). */
static double beta_fraction(double a, double b, double x)
{
    double c = 1, d = 1 - (a + b) * x / (a + 1), h;

    h = d = 1 / d;
    for (int i = 1; i < 300; i++) {
        double m = i, m2 = 2 * m, before = h;
        double even = m * (b - m) * x / ((a + m2 - 1) * (a + m2));
        double odd = -(a + m) * (a + b + m) * x / ((a + m2) * (a + m2 + 1));
        d = 1 / (1 + even * d);
        c = 1 + even / c;
        h *= d * c;
        d = 1 / (1 + odd * d);
        c = 1 + odd / c;
        h *= d * c;
        if (fabs(h - before) < 1e-15 * fabs(h))
            break;
    }
    return h;
}

/* Regularised incomplete beta function I_x(a, b). */
static double beta_share(double a, double b, double x)
{
    double front =
        exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));

    if (x < (a + 1) / (a + b + 2))
        return front * beta_fraction(a, b, x) / a;
    return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double ss_student_tail(double t, double df)
{
    double x = df / (df + t * t), half;

    if (x <= 0)
        return t > 0 ? 0 : 1;
    half = x >= 1 ? 0.5 : beta_share(df / 2, 0.5, x) / 2;
    return t > 0 ? half : 1 - half;
}
