/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Drift within a point: Theil-Sen's slope and the test of the steady state.
 * Noise alone must not be called drift: a point measured to 1 % has halves
 * that differ by more than 1 % in every third case, so a difference counts
 * only when it is also beyond what the sample's own scatter explains.
 */
#include <math.h>

#include "timing/stats.h"

#define BINS 64            /* the slope is taken over at most so many bins */
#define TOLERANCE 0.01     /* of the median: halves, and slope x span */
#define SIGMAS 3.0         /* what scatter may explain */
#define NORMAL_MAD 1.4826  /* standard deviation of a normal over its MAD */
#define MEDIAN_COST 1.2533 /* sqrt(pi / 2): error of a median over a mean's */

static double time_at(const double *t, size_t i)
{
    return t ? t[i] : (double)i;
}

double ss_theil_sen(const double *v, const double *t, size_t n, double *scratch)
{
    size_t pairs = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = i + 1; j < n; j++) {
            double dt = time_at(t, j) - time_at(t, i);
            if (dt != 0)
                scratch[pairs++] = (v[j] - v[i]) / dt;
        }
    return pairs ? ss_median(scratch, pairs) : 0;
}

/* Kendall's S in standard deviations of its null distribution. */
static double trend_sigmas(const double *v, size_t n)
{
    long s = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = i + 1; j < n; j++)
            s += (v[j] > v[i]) - (v[j] < v[i]);
    double m = (double)n;
    double sd = sqrt(m * (m - 1) * (2 * m + 5) / 18);
    return sd > 0 ? fabs((double)s) / sd : 0;
}

/* Means of consecutive values in at most BINS bins. Returns how many. */
static size_t bin(const double *v, const double *t, size_t n, double *bv,
                  double *bt)
{
    size_t bins = n < BINS ? n : BINS;
    for (size_t b = 0; b < bins; b++) {
        size_t from = b * n / bins, to = (b + 1) * n / bins;
        double at = 0;
        for (size_t i = from; i < to; i++)
            at += time_at(t, i);
        bv[b] = ss_mean(v + from, to - from);
        bt[b] = at / (double)(to - from);
    }
    return bins;
}

static bool drifts(const double *v, const double *t, size_t n, double median)
{
    double bv[BINS], bt[BINS], pairs[BINS * (BINS - 1) / 2];
    size_t bins = bin(v, t, n, bv, bt);
    double slope = ss_theil_sen(bv, bt, bins, pairs);
    double span = time_at(t, n - 1) - time_at(t, 0);
    return fabs(slope * span) > TOLERANCE * fabs(median) &&
           trend_sigmas(bv, bins) > SIGMAS;
}

/* Median of a part, and the squared standard error of that median. */
static double part_median(const double *v, size_t n, double *scratch,
                          double *error2)
{
    for (size_t i = 0; i < n; i++)
        scratch[i] = v[i];
    double median = ss_median(scratch, n);
    for (size_t i = 0; i < n; i++)
        scratch[i] = fabs(v[i] - median);
    double sd = NORMAL_MAD * ss_median(scratch, n) * MEDIAN_COST;
    *error2 = sd * sd / (double)n;
    return median;
}

bool ss_steady(const double *v, const double *t, size_t n, double *scratch)
{
    if (n < 4)
        return true; /* too few to tell; TOO_FEW says so */
    double e1, e2;
    double first = part_median(v, n / 2, scratch, &e1);
    double second = part_median(v + n - n / 2, n / 2, scratch, &e2);
    double median = (first + second) / 2;
    double apart = fabs(first - second);
    if (apart > TOLERANCE * fabs(median) && apart > SIGMAS * sqrt(e1 + e2))
        return false;
    return !drifts(v, t, n, median);
}
