/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_TIMING_STATS_H
#define SS_TIMING_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/*
 * Sample statistics of DESIGN section 2. Pure; doubles in, doubles out; the
 * unit is the caller's. Functions that sort take a scratch of n doubles or
 * sort their input in place as said.
 */

/** Ascending, in place. */
void ss_sort(double *v, size_t n);
/** Median of a sorted sample; NaN when empty. */
double ss_median_sorted(const double *v, size_t n);
/** Median; even counts: the mean of the middle two. Sorts v. n >= 1. */
double ss_median(double *v, size_t n);
/** Median of groups: of an even count the slower (larger) of the middle two.
 * Returns the index in v of the median group; scratch: n ints, which then
 * hold all indices, fastest first. n >= 1. */
size_t ss_median_group(const double *v, size_t n, int *scratch);
/** Quantile q in [0,1] of sorted v, linear between order statistics. */
double ss_quantile_sorted(const double *v, size_t n, double q);
double ss_mean(const double *v, size_t n);

/**
 * Ranks (1-based) of the order statistics that bound the median with at least
 * 95 % by the exact binomial; false for n < 6. Published: n=6 (1,6), 12
 * (3,10), 20 (6,15), 100 (40,61), 500 (228,273) (Hoefler & Belli practice;
 * FACTS 4.2).
 */
bool ss_median_ranks(size_t n, size_t *low, size_t *high);
/** Lag-1 autocorrelation; 0 when the variance is 0 or n < 3. */
double ss_lag1(const double *v, size_t n);

enum ss_sample_flag {
    SS_SAMPLE_TOO_FEW = 1,       /**< fewer than 12 blocks (before merging) */
    SS_SAMPLE_NO_STEADY = 2,     /**< no steady state */
    SS_SAMPLE_AUTOCORRELATED = 4 /**< blocks were merged in pairs */
};
/** A sample of block medians, reduced. */
struct ss_estimate {
    double median, lo, hi; /**< lo = hi = NaN when n is too small */
    double min, max;
    size_t n;       /**< samples after merging */
    size_t merges;  /**< times neighbours were merged */
    double lag1;    /**< before merging */
    unsigned flags; /**< enum ss_sample_flag */
};
/**
 * The estimate of one point from its block medians in time order: merges
 * neighbouring blocks in pairs (mean of the two) while |lag-1| exceeds
 * max(0.2, 1/sqrt(n)) and at least 12 remain afterwards, then median and
 * order-statistic interval. Whether it is steady is asked of the merged blocks.
 * t[i] are the mid times of the blocks (for the slope; merged ones are taken as
 * evenly spaced) or NULL (index). scratch: 2 n doubles. n = 0 gives NaN and
 * TOO_FEW.
 */
void ss_estimate_blocks(const double *v, const double *t, size_t n,
                        double *scratch, struct ss_estimate *out);
/** Half-width over median; +inf when there is no interval. */
double ss_half_width(const struct ss_estimate *e);

/** Theil-Sen slope of v over t (t NULL: 0..n-1). scratch: n(n-1)/2 doubles,
 * n <= 400; larger n are thinned by the caller. */
double ss_theil_sen(const double *v, const double *t, size_t n,
                    double *scratch);
/**
 * Steady state: medians of the halves agree within 1 % and |slope| x span
 * stays under 1 % of the median, or the sample's own scatter explains the
 * difference (halves: Student's test of the means and Mann and Whitney's of the
 * ranks; slope: Kendall's S; each at 1e-4): at a half-width of 1 % the halves
 * of a healthy point differ by more than 1 % in every third case. The values
 * must be independent. Fewer than 4 values: true. scratch: n doubles.
 */
bool ss_steady(const double *v, const double *t, size_t n, double *scratch);

/**
 * A ratio of two medians a/b (or, with more factors, built up by repeated
 * use): relative half-widths combined in quadrature. Intervals of NaN
 * propagate.
 */
struct ss_ratio {
    double value, lo, hi;
};
void ss_ratio_of(const struct ss_estimate *a, const struct ss_estimate *b,
                 struct ss_ratio *out);

/** When to stop (DESIGN section 2: 1 % half-width or the budget). */
enum ss_stop { SS_STOP_NO, SS_STOP_PRECISE, SS_STOP_BUDGET, SS_STOP_BLOCKS };
struct ss_stop_rule {
    double precision;
    size_t min_blocks, max_blocks;
};
/**
 * Decides after `blocks` blocks with these estimates (one per variant and
 * group that matters), so many ns spent of the budget. `next` is set to the
 * number of blocks to run before asking again: grows geometrically (half of
 * what was run, at least 6), so that looking often does not cost coverage.
 */
enum ss_stop ss_stop_decide(const struct ss_stop_rule *rule,
                            const struct ss_estimate *estimates, size_t n,
                            size_t blocks, int64_t spent_ns, int64_t budget_ns,
                            size_t *next);

/** Holm's step-down: p in, adjusted p out (same order). scratch: n ints. */
void ss_holm(const double *p, size_t n, double *adjusted, int *scratch);
/** One-sided sign test p that the median of n differences is > 0, given k
 * positive of n (ties removed): exact binomial tail. */
double ss_sign_test(size_t positive, size_t n);
/**
 * Is one of `ranks` exchangeable ranks slower than its peers? Given the mean
 * over `blocks` of its position among them, (number of slower-than + half the
 * equal, itself included) / ranks in (0, 1): an upper bound of the one-sided p
 * (Chernoff, exact where it is the slowest in every block: ranks^-blocks).
 * Needs no model of the noise and no variance.
 */
double ss_position_tail(double mean_position, size_t blocks, size_t ranks);
/** P(T > t) of Student's distribution with df degrees of freedom. */
double ss_student_tail(double t, double df);

#endif
