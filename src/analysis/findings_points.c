/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Points whose numbers do not add up, or whose variants ran at different
 * clocks: said as one finding each, with the worst point, so that a reader
 * knows how far to trust the attribution.
 */
#include <math.h>
#include <string.h>

#include "analysis/findings.h"
#include "base/str.h"
#include "base/units.h"

#define SHARE 0.02 /* of T, that may be unexplained */

/** T for shares: mean over sampled steps. */
static double unexplained(const struct ss_point_result *p)
{
    return p->other_ms / p->sampled_ms;
}

double ss_point_noise_ms(const struct ss_point_result *p)
{
    double whole = (p->step.hi - p->step.lo) / 2;
    double compute = p->compute_only_half * p->compute_only_ms;

    return sqrt(whole * whole + compute * compute);
}

bool ss_interference_is_noise(const struct ss_point_result *p)
{
    double noise = ss_point_noise_ms(p);

    if (!isfinite(noise)) /* too few blocks: less than nothing is no cause */
        return p->interference_ms < 0;
    return p->interference_ms != 0 && fabs(p->interference_ms) <= noise;
}

/**
 * Exposed by controls less the same by events, over T, beyond what the two
 * medians' own intervals explain. Spans too short to split are communication
 * all the same.
 */
static double mismatch(const struct ss_point_result *p)
{
    double by_events = p->transfer_ms + p->wait_persistent_ms +
                       p->wait_jitter_ms + p->unsplit_ms + p->interference_ms;
    double apart = fabs(p->exposed_ms - by_events);
    double noise = ss_point_noise_ms(p);

    if (p->flags & SS_FLAG_CLOCK_SHIFTED)
        return 0; /* the controls do not compare: events alone count */
    if (strcmp(p->status, "ok") != 0)
        return 0; /* the medians are not worth comparing */
    return apart > noise ? apart / p->step.median : 0;
}

static void add_worst(struct ss_findings *list, const struct ss_point_result *p,
                      double share, int points, const char *what)
{
    struct ss_finding *f = ss_findings_add(list, SS_ACCOUNTING, SS_WARNING);

    if (!f)
        return;
    f->confidence = 1;
    ss_copy(f->setting, sizeof(f->setting), what);
    ss_format(f->value, sizeof(f->value), "%.1f %%", 100 * share);
    ss_format(f->evidence, sizeof(f->evidence),
              "%s: %.1f %% of the step at %s (%s), over 2 %% at %s", what,
              100 * share, ss_counted(p->meta->size, "rank").text,
              p->meta->mode, ss_counted(points, "point").text);
    ss_copy(f->advice, sizeof(f->advice),
            "take the attribution of these points with care; more blocks, or "
            "ranks that do not share cores, bring the two together");
}

static void worst_of(struct ss_findings *list,
                     const struct ss_point_result *point, int n,
                     double (*share)(const struct ss_point_result *),
                     const char *what)
{
    int worst = -1, points = 0;

    for (int i = 0; i < n; i++) {
        double x = share(&point[i]);
        if (!(x > SHARE))
            continue;
        points++;
        if (worst < 0 || x > share(&point[worst]))
            worst = i;
    }
    if (worst >= 0)
        add_worst(list, &point[worst], share(&point[worst]), points, what);
}

void ss_find_accounting(struct ss_findings *list,
                        const struct ss_point_result *point, int n)
{
    worst_of(list, point, n, unexplained, "time that no event explains");
    worst_of(list, point, n, mismatch,
             "exposed communication by controls and by events apart");
}

void ss_find_clock_shift(struct ss_findings *list,
                         const struct ss_point_result *point, int n)
{
    const struct ss_point_result *first = NULL;
    int points = 0;

    for (int i = 0; i < n; i++)
        if (point[i].flags & SS_FLAG_CLOCK_SHIFTED) {
            first = first ? first : &point[i];
            points++;
        }
    if (points == 0)
        return;
    struct ss_finding *f = ss_findings_add(list, SS_CLOCK_SHIFTED, SS_WARNING);
    if (!f)
        return;
    f->confidence = 1;
    ss_format(f->evidence, sizeof(f->evidence),
              "device clock or capped time differ by over 1 %% between whole "
              "and compute-only at %s, first at %s (%s)",
              ss_counted(points, "point").text,
              ss_counted(first->meta->size, "rank").text, first->meta->mode);
    ss_copy(f->advice, sizeof(f->advice),
            "lock the clocks or lower the power cap; exposed time of these "
            "points is not comparable, the events are");
}
