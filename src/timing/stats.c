/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Order statistics of one sample: sorting, medians, quantiles, the ranks that
 * bound a median, lag-1 autocorrelation. Pure arithmetic on the caller's
 * memory; it must not know what was measured, allocate, or fail.
 */
#include "timing/stats.h"

#include <math.h>

/* Shell sort with Ciura's gaps: in place, no recursion, and fast for the few
 * hundred values that a point has. */
void ss_sort(double *v, size_t n)
{
    static const size_t gaps[] = {90927, 40412, 17961, 7983, 3548, 1577, 701,
                                  301,   132,   57,    23,   10,   4,    1};
    for (size_t g = 0; g < SS_COUNT_OF(gaps); g++) {
        size_t gap = gaps[g];
        for (size_t i = gap; i < n; i++) {
            double x = v[i];
            size_t j = i;
            for (; j >= gap && v[j - gap] > x; j -= gap)
                v[j] = v[j - gap];
            v[j] = x;
        }
    }
}

double ss_median_sorted(const double *v, size_t n)
{
    if (n == 0)
        return NAN;
    return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

double ss_median(double *v, size_t n)
{
    ss_sort(v, n);
    return ss_median_sorted(v, n);
}

size_t ss_median_group(const double *v, size_t n, int *scratch)
{
    for (size_t i = 0; i < n; i++) {
        size_t j = i;
        for (; j > 0 && v[scratch[j - 1]] > v[i]; j--)
            scratch[j] = scratch[j - 1];
        scratch[j] = (int)i;
    }
    return (size_t)scratch[n / 2];
}

double ss_quantile_sorted(const double *v, size_t n, double q)
{
    double at = q * (double)(n - 1);
    size_t i = (size_t)at;
    if (i + 1 >= n)
        return v[n - 1];
    return v[i] + (at - (double)i) * (v[i + 1] - v[i]);
}

double ss_mean(const double *v, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += v[i];
    return n ? sum / (double)n : NAN;
}

/* P(X <= k) of Binomial(n, 1/2), summed from the middle term's logarithm so
 * that large n do not underflow. */
static double half_binomial_cdf(size_t n, size_t k)
{
    double ln2n = (double)n * log(2.0);
    double log_n = lgamma((double)n + 1);
    double sum = 0;
    for (size_t i = 0; i <= k; i++)
        sum += exp(log_n - lgamma((double)i + 1) - lgamma((double)(n - i) + 1) -
                   ln2n);
    return sum;
}

bool ss_median_ranks(size_t n, size_t *low, size_t *high)
{
    if (n < 6)
        return false;
    /* The normal approximation starts two ranks too far out; walk inwards
     * while the exact coverage still holds. */
    double guess = ((double)n - 1.96 * sqrt((double)n)) / 2 - 2;
    size_t j = guess > 1 ? (size_t)guess : 1;
    while (j > 1 && 2 * half_binomial_cdf(n, j - 1) > 0.05)
        j--;
    while (2 * half_binomial_cdf(n, j) <= 0.05)
        j++;
    *low = j;
    *high = n + 1 - j;
    return true;
}

double ss_lag1(const double *v, size_t n)
{
    if (n < 3)
        return 0;
    double mean = ss_mean(v, n);
    double var = 0, cov = 0;
    for (size_t i = 0; i < n; i++) {
        var += (v[i] - mean) * (v[i] - mean);
        if (i > 0)
            cov += (v[i] - mean) * (v[i - 1] - mean);
    }
    return var > 0 ? cov / var : 0;
}
