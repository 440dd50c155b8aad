/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the block medians of one point to its estimate: merging of neighbours
 * that are not independent, median, interval, fitness. It must not know where
 * the blocks come from.
 */
#include <math.h>

#include "timing/stats.h"

#define FEW_BLOCKS 12

static double lag1_limit(size_t n)
{
    double by_size = 1 / sqrt((double)n);
    return by_size > 0.2 ? by_size : 0.2;
}

/* Merges pairs in place; an odd last value joins no pair and is left out at
 * the front, where the point was least settled. */
static size_t merge_pairs(double *v, size_t n)
{
    size_t skip = n % 2;
    for (size_t i = 0; i < n / 2; i++)
        v[i] = (v[skip + 2 * i] + v[skip + 2 * i + 1]) / 2;
    return n / 2;
}

static size_t merge(double *v, size_t n, struct ss_estimate *out)
{
    double r = ss_lag1(v, n);
    out->lag1 = r;
    while (n / 2 >= FEW_BLOCKS && r > lag1_limit(n)) {
        n = merge_pairs(v, n);
        out->merges++;
        r = ss_lag1(v, n);
    }
    if (out->merges > 0)
        out->flags |= SS_SAMPLE_AUTOCORRELATED;
    return n;
}

void ss_estimate_blocks(const double *v, const double *t, size_t n,
                        double *scratch, struct ss_estimate *out)
{
    *out = (struct ss_estimate){.median = NAN,
                                .lo = NAN,
                                .hi = NAN,
                                .min = NAN,
                                .max = NAN,
                                .flags = SS_SAMPLE_TOO_FEW};
    if (n == 0)
        return;
    if (n >= FEW_BLOCKS)
        out->flags = 0;
    for (size_t i = 0; i < n; i++)
        scratch[i] = v[i];
    size_t m = merge(scratch, n, out);
    if (!ss_steady(scratch, out->merges ? NULL : t, m, scratch + n))
        out->flags |= SS_SAMPLE_NO_STEADY;
    out->n = m;
    out->median = ss_median(scratch, m);
    size_t low, high;
    if (ss_median_ranks(m, &low, &high)) {
        out->lo = scratch[low - 1];
        out->hi = scratch[high - 1];
    }
    for (size_t i = 0; i < n; i++)
        scratch[i] = v[i];
    ss_sort(scratch, n);
    out->min = scratch[0];
    out->max = scratch[n - 1];
}

double ss_half_width(const struct ss_estimate *e)
{
    double half = (e->hi - e->lo) / 2 / e->median;
    return isnan(half) ? INFINITY : half;
}

void ss_ratio_of(const struct ss_estimate *a, const struct ss_estimate *b,
                 struct ss_ratio *out)
{
    double ha = (a->hi - a->lo) / 2 / a->median;
    double hb = (b->hi - b->lo) / 2 / b->median;
    double half = sqrt(ha * ha + hb * hb);
    out->value = a->median / b->median;
    out->lo = out->value * (1 - half);
    out->hi = out->value * (1 + half);
}
