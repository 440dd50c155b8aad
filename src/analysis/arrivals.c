/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who came last, and whose fault it was. A rank that is late because it had to
 * wait for another passes the arrival on; one that is late again because it
 * was late before is not charged twice. Must not know the plan, the engine or
 * how the times were gathered; medians are found by counting, so that no copy
 * of a column of 16,384 ranks is needed.
 */
#include "analysis/attribution.h"

/** A column of one value per rank. */
struct column {
    const struct ss_arrivals *in;
    int collective;
    int64_t (*value)(const struct ss_arrivals *in, int rank, int collective);
};

static int64_t ready_of(const struct ss_arrivals *in, int rank, int c)
{
    return in->ready[(int64_t)rank * in->n + c];
}

static int64_t blocked_of(const struct ss_arrivals *in, int rank, int c)
{
    return in->blocked[(int64_t)rank * in->n + c];
}

/** Own work since the communicator's previous collective. */
static int64_t own_of(const struct ss_arrivals *in, int rank, int c)
{
    int64_t since = c > 0 ? ready_of(in, rank, c - 1) : in->begin[rank];

    return ready_of(in, rank, c) - since - blocked_of(in, rank, c);
}

static int64_t at(const struct column *column, int rank)
{
    return column->value(column->in, rank, column->collective);
}

static int count_to(const struct column *column, int64_t limit)
{
    int n = 0;

    for (int r = 0; r < column->in->ranks; r++)
        n += at(column, r) <= limit;
    return n;
}

/** Median: the mean of the middle two of an even count. */
static int64_t median(const struct column *column)
{
    int ranks = column->in->ranks, half = (ranks + 1) / 2;
    int64_t lo = at(column, 0), hi = lo, next = INT64_MAX;

    for (int r = 1; r < ranks; r++) {
        int64_t v = at(column, r);
        lo = v < lo ? v : lo;
        hi = v > hi ? v : hi;
    }
    while (lo < hi) { /* the smallest value that has half the ranks below it */
        int64_t mid = lo + (hi - lo) / 2;
        if (count_to(column, mid) >= half)
            hi = mid;
        else
            lo = mid + 1;
    }
    if (ranks % 2 || count_to(column, lo) > half)
        return lo;
    for (int r = 0; r < ranks; r++) {
        int64_t v = at(column, r);
        if (v > lo && v < next)
            next = v;
    }
    return lo + (next - lo) / 2;
}

static int last_of(const struct ss_arrivals *in, int c)
{
    int last = 0;

    for (int r = 1; r < in->ranks; r++)
        if (ready_of(in, r, c) > ready_of(in, last, c))
            last = r;
    return last;
}

/** What a rank has made late by itself and not made good: `made`; and how much
 * of it was already charged: `charged` <= made. */
struct debt {
    int64_t *made, *charged;
};

static int64_t at_least_0(int64_t v)
{
    return v > 0 ? v : 0;
}

/**
 * Brings every rank's debt to collective c. What the median rank was blocked
 * longer than this one repays it: they waited, the group is level again. Then
 * its own work above the median adds to it. It never exceeds how late the rank
 * really is.
 */
static void carry(const struct ss_arrivals *in, int c, int64_t median_ready,
                  struct debt *debt)
{
    const struct column own = {in, c, own_of}, held = {in, c, blocked_of};
    int64_t median_own = median(&own), median_held = median(&held);

    for (int r = 0; r < in->ranks; r++) {
        int64_t repaid = at_least_0(median_held - blocked_of(in, r, c));
        int64_t late = at_least_0(ready_of(in, r, c) - median_ready);
        int64_t made = at_least_0(debt->made[r] - repaid);
        int64_t charged = at_least_0(debt->charged[r] - repaid);
        made = at_least_0(made + own_of(in, r, c) - median_own);
        made = made < late ? made : late;
        debt->made[r] = made;
        debt->charged[r] = charged < made ? charged : made;
    }
}

void ss_arrivals_judge(const struct ss_arrivals *in, int64_t *scratch,
                       int *culprit, int64_t *last_ready,
                       struct ss_arrival_stat *stat)
{
    struct debt debt = {scratch, scratch + in->ranks};

    for (int i = 0; i < 2 * in->ranks; i++)
        scratch[i] = 0;
    for (int r = 0; r < in->ranks; r++)
        stat[r] = (struct ss_arrival_stat){0};
    for (int c = 0; c < in->n; c++) {
        const struct column ready = {in, c, ready_of};
        int64_t middle = median(&ready);
        int last = last_of(in, c);
        last_ready[c] = ready_of(in, last, c);
        culprit[c] = -1;
        carry(in, c, middle, &debt);
        if (last_ready[c] - middle <= in->threshold)
            continue;
        culprit[c] = -2 - last;
        if (debt.made[last] <= in->threshold)
            continue;
        culprit[c] = last;
        stat[last].last_arrivals++;
        stat[last].excess += debt.made[last] - debt.charged[last];
        debt.charged[last] = debt.made[last];
    }
}
