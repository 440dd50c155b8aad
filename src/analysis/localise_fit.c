/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fit behind `localise`: pair = max(sender, receiver, path) in cost, by
 * medians of medians, so that a few wild batches move nothing. A node's best
 * is the faster quarter of its pairs, since one good partner shows what it can
 * do. Must not know chance, confidence or words.
 */
#include "analysis/localise_fit.h"

#include <math.h>

#include "timing/stats.h"

/** Below this two costs are equal, whatever the scatter of a few batches. */
#define LEAST_NOISE 0.002
#define MAD_TO_SIGMA 1.4826

/** Of a sorted run the lower middle: an accusation needs a true majority. */
static double lower_median(double *v, int n)
{
    if (n == 0)
        return NAN;
    ss_sort(v, (size_t)n);
    return v[(n - 1) / 2];
}

/** By weight: how many of the pair's cells of pass >= `pass` are below x, and
 * how many equal. */
static void place_of(const struct ss_fit *fit, int p, int pass, double x,
                     int *below, int *equal)
{
    *below = *equal = 0;
    for (int i = fit->first[p]; i < fit->first[p + 1]; i++) {
        const struct ss_cell *c = &fit->cell[i];
        int weight = c->pass < pass ? 0 : fit->weight[c->round];
        *below += c->x < x ? weight : 0;
        *equal += c->x == x ? weight : 0;
    }
}

/** The lower median of a pair's cells of pass >= `pass`, by weight: the one
 * with (n - 1) / 2 below it. Cells are few. */
static double pair_median(const struct ss_fit *fit, int p, int pass, int *count)
{
    int n, below, equal;

    place_of(fit, p, pass, INFINITY, &n, &equal);
    *count = n;
    for (int i = fit->first[p]; i < fit->first[p + 1]; i++) {
        place_of(fit, p, pass, fit->cell[i].x, &below, &equal);
        if (below <= (n - 1) / 2 && (n - 1) / 2 < below + equal)
            return fit->cell[i].x;
    }
    return NAN;
}

/**
 * Pairs that were looked at again are judged by the second look alone: the
 * first is why they were chosen, and so is no evidence.
 */
static void fit_pairs(struct ss_fit *fit)
{
    for (int p = 0; p < fit->n_pairs; p++) {
        fit->m[p] = pair_median(fit, p, 1, &fit->used[p]);
        if (fit->used[p] < 3)
            fit->m[p] = pair_median(fit, p, 0, &fit->used[p]);
    }
}

/** Pairs of a node in this direction; they are next to each other. */
struct side {
    int begin, end;
};

static int end_of(const struct ss_fit *fit, int at, int direction)
{
    int p = direction == SENDS ? at : fit->by_to[at];
    const struct ss_cell *c = &fit->cell[fit->first[p]];

    return direction == SENDS ? c->from : c->to;
}

/** Calls for each node in turn, which keeps this linear. */
static bool next_side(const struct ss_fit *fit, int direction,
                      struct side *side, int *node)
{
    side->begin = side->end;
    if (side->begin >= fit->n_pairs)
        return false;
    *node = end_of(fit, side->begin, direction);
    while (side->end < fit->n_pairs &&
           end_of(fit, side->end, direction) == *node)
        side->end++;
    return true;
}

static int pair_at(const struct ss_fit *fit, int at, int direction)
{
    return direction == SENDS ? at : fit->by_to[at];
}

static void fit_caps(struct ss_fit *fit, int direction)
{
    struct side side = {0, 0};
    int node;

    for (int i = 0; i < fit->nodes; i++)
        fit->cap[direction][i] = NAN;
    while (next_side(fit, direction, &side, &node)) {
        int n = 0;
        for (int at = side.begin; at < side.end; at++)
            if (!isnan(fit->m[pair_at(fit, at, direction)]))
                fit->scratch[n++] = fit->m[pair_at(fit, at, direction)];
        ss_sort(fit->scratch, (size_t)n);
        if (n > 0)
            fit->cap[direction][node] =
                ss_quantile_sorted(fit->scratch, (size_t)n, 0.25);
    }
}

static double pair_cap(const struct ss_fit *fit, int p)
{
    const struct ss_cell *c = &fit->cell[fit->first[p]];
    double s = fit->cap[SENDS][c->from], r = fit->cap[RECEIVES][c->to];

    return s > r ? s : r;
}

/** A first line between good and bad: the caps of most, and the scatter of
 * pairs about what their ends can do. */
static double first_line(struct ss_fit *fit, double min_effect)
{
    int n = 0;

    for (int d = 0; d < 2; d++)
        for (int i = 0; i < fit->nodes; i++)
            if (!isnan(fit->cap[d][i]))
                fit->scratch[n++] = fit->cap[d][i];
    double common = lower_median(fit->scratch, n);
    n = 0;
    for (int p = 0; p < fit->n_pairs; p++)
        if (!isnan(fit->m[p]))
            fit->scratch[n++] = fabs(fit->m[p] - pair_cap(fit, p));
    double scatter = MAD_TO_SIGMA * lower_median(fit->scratch, n);
    double margin = log1p(min_effect);
    return common + (2 * scatter > margin ? 2 * scatter : margin);
}

/** Cost and scatter of the pairs whose two ends are good. */
static bool fit_healthy(struct ss_fit *fit, double line)
{
    int n = 0;

    fit->good_cells = 0;
    for (int p = 0; p < fit->n_pairs; p++)
        if (!isnan(fit->m[p]) && pair_cap(fit, p) <= line)
            fit->scratch[n++] = fit->m[p];
    if (n == 0)
        return false;
    fit->healthy = lower_median(fit->scratch, n);
    n = 0;
    for (int p = 0; p < fit->n_pairs; p++) {
        if (isnan(fit->m[p]) || pair_cap(fit, p) > line)
            continue;
        for (int i = fit->first[p]; i < fit->first[p + 1]; i++)
            if (fit->weight[fit->cell[i].round] > 0)
                fit->scratch[n++] = fabs(fit->cell[i].x - fit->healthy);
    }
    fit->good_cells = n;
    fit->noise = MAD_TO_SIGMA * lower_median(fit->scratch, n);
    if (fit->noise < LEAST_NOISE)
        fit->noise = LEAST_NOISE;
    return true;
}

static void fit_nodes(struct ss_fit *fit, int direction, double line)
{
    struct side side = {0, 0};
    int node;

    for (int i = 0; i < fit->nodes; i++) {
        fit->effect[direction][i] = 0;
        fit->partners[direction][i] = 0;
        fit->bad[direction][i] = false;
    }
    while (next_side(fit, direction, &side, &node)) {
        int n = 0;
        for (int at = side.begin; at < side.end; at++) {
            int p = pair_at(fit, at, direction);
            const struct ss_cell *c = &fit->cell[fit->first[p]];
            double other = direction == SENDS ? fit->cap[RECEIVES][c->to]
                                              : fit->cap[SENDS][c->from];
            if (!isnan(fit->m[p]) && other <= line)
                fit->scratch[n++] = fit->m[p] - fit->healthy;
        }
        fit->partners[direction][node] = n;
        if (n > 0)
            fit->effect[direction][node] = lower_median(fit->scratch, n);
        fit->bad[direction][node] =
            n >= 2 && fit->effect[direction][node] > fit->threshold;
    }
}

static void fit_paths(struct ss_fit *fit)
{
    for (int p = 0; p < fit->n_pairs; p++) {
        const struct ss_cell *c = &fit->cell[fit->first[p]];
        double s = fit->bad[SENDS][c->from] ? fit->effect[SENDS][c->from] : 0;
        double r = fit->bad[RECEIVES][c->to] ? fit->effect[RECEIVES][c->to] : 0;
        fit->q[p] = fit->m[p] - fit->healthy - (s > r ? s : r);
    }
}

bool ss_fit_run(struct ss_fit *fit, double min_effect)
{
    fit_pairs(fit);
    fit_caps(fit, SENDS);
    fit_caps(fit, RECEIVES);
    double line = first_line(fit, min_effect);
    if (!fit_healthy(fit, line))
        return false;
    double least = log1p(min_effect);
    fit->threshold = 2 * fit->noise > least ? 2 * fit->noise : least;
    fit_nodes(fit, SENDS, line);
    fit_nodes(fit, RECEIVES, line);
    fit_paths(fit);
    return true;
}
