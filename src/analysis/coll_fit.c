/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A collective's time as alpha + bytes x cost, by least squares on relative
 * deviations, because sizes span nine decades. Libraries change their algorithm
 * with the size: where two lines fit far better than one, both are used and
 * the place is said; that is no fault. Must not know rows beyond their sizes.
 */
#include <math.h>

#include "analysis/findings.h"
#include "base/coll_rate.h"

enum { LEAST = 3 }; /* sizes of a line */
/** Two lines: at most this share of the squares of one, which deviates. */
#define KINK_GAIN 0.25
#define KINK_DEVIATION 0.05

struct line {
    double alpha, cost; /* us, us per byte */
    double squares;     /* of relative deviations */
};

static double bytes_of(const struct ss_coll_result *coll)
{
    return (double)coll->row->bytes;
}

static void judge(const struct ss_coll_result *coll, int n, struct line *line)
{
    line->squares = 0;
    for (int i = 0; i < n; i++) {
        double at = line->alpha + line->cost * bytes_of(&coll[i]);
        double off = at / coll[i].time_us.median - 1;
        line->squares += off * off;
    }
}

/** With x = 1/T and y = bytes/T, alpha x + cost y = 1 for every size. */
static struct line draw(const struct ss_coll_result *coll, int n)
{
    double xx = 0, xy = 0, yy = 0, x1 = 0, y1 = 0;
    struct line line;

    for (int i = 0; i < n; i++) {
        double x = 1 / coll[i].time_us.median;
        double y = bytes_of(&coll[i]) * x;
        xx += x * x;
        xy += x * y;
        yy += y * y;
        x1 += x;
        y1 += y;
    }
    double det = xx * yy - xy * xy;
    line.alpha = det > 0 ? (x1 * yy - y1 * xy) / det : 0;
    line.cost = det > 0 ? (y1 * xx - x1 * xy) / det : y1 / yy;
    if (line.alpha < 0) { /* no time before the first byte */
        line.alpha = 0;
        line.cost = y1 / yy;
    }
    if (line.cost < 0) { /* as flat as can be seen */
        line.alpha = x1 / xx;
        line.cost = 0;
    }
    judge(coll, n, &line);
    return line;
}

void ss_coll_fit(const struct ss_coll_result *coll, int n,
                 struct ss_fit_result *out)
{
    const struct ss_coll_row *row = coll[0].row;
    double factor =
        ss_coll_bus_factor((enum ss_coll_op)ss_coll_find(row->op), row->ranks);

    *out = (struct ss_fit_result){.row = row,
                                  .sizes = n,
                                  .alpha_us = NAN,
                                  .beta_gbs = NAN,
                                  .residual = NAN};
    if (n < LEAST)
        return;
    struct line first = draw(coll, n), last = first;
    double squares = first.squares;
    bool bends = squares > n * KINK_DEVIATION * KINK_DEVIATION;
    double gate = KINK_GAIN * squares;

    for (int k = LEAST; bends && k + LEAST <= n; k++) {
        struct line low = draw(coll, k), high = draw(coll + k, n - k);
        double both = low.squares + high.squares;
        if (both >= gate)
            continue;
        gate = squares = both;
        first = low;
        last = high;
        out->kink_bytes = coll[k].row->bytes;
    }
    out->alpha_us = first.alpha;
    if (last.cost > 0)
        out->beta_gbs = factor / last.cost / 1e3;
    out->residual = sqrt(squares / n);
}
