/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Drift within a point: Theil-Sen's slope and the test of the steady state.
 * Noise alone must not be called drift: a point measured to 1 % has halves
 * that differ by more than 1 % in every third case, so a difference counts
 * only when it is also beyond what the sample's own scatter explains.
 */
#include <math.h>

#include "timing/stats.h"

#define BINS 64        /* the slope is taken over at most so many bins */
#define TOLERANCE 0.01 /* of the median: halves, and slope x span */
/* That chance calls a healthy sample unsteady: a run tests some hundred groups,
 * and one of them marks its point. SIGMAS is the same for a normal. */
#define CHANCE 1e-4
#define SIGMAS 3.89

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

static double median_of(const double *v, size_t n, double *scratch)
{
    for (size_t i = 0; i < n; i++)
        scratch[i] = v[i];
    return ss_median(scratch, n);
}

/* Student's test of the means of two samples of n, both tails. */
static double student_p(const double *a, const double *b, size_t n)
{
    double ma = ss_mean(a, n), mb = ss_mean(b, n), squares = 0;
    for (size_t i = 0; i < n; i++)
        squares += (a[i] - ma) * (a[i] - ma) + (b[i] - mb) * (b[i] - mb);
    double df = 2 * (double)n - 2, error = sqrt(squares / df * 2 / (double)n);
    if (error <= 0)
        return ma == mb ? 1 : 0;
    return 2 * ss_student_tail(fabs(ma - mb) / error, df);
}

/* Mann and Whitney's U in standard deviations of its null distribution. */
static double rank_sum_sigmas(const double *a, const double *b, size_t n)
{
    double twice = 0, m = (double)n;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            twice += (a[i] > b[j]) - (a[i] < b[j]);
    return fabs(twice / 2) / (m * sqrt((2 * m + 1) / 12));
}

/* A few blocks can only show a jump against their variance; of many, where
 * some may be wild, the ranks tell. */
static bool differ(const double *a, const double *b, size_t n)
{
    return student_p(a, b, n) < CHANCE || rank_sum_sigmas(a, b, n) > SIGMAS;
}

bool ss_steady(const double *v, const double *t, size_t n, double *scratch)
{
    if (n < 4)
        return true; /* too few to tell; TOO_FEW says so */
    size_t half = n / 2;
    const double *late = v + n - half;
    double first = median_of(v, half, scratch);
    double second = median_of(late, half, scratch);
    double median = (first + second) / 2;
    if (fabs(first - second) > TOLERANCE * fabs(median) &&
        differ(v, late, half))
        return false;
    return !drifts(v, t, n, median);
}
