/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one place that decides. Faults come before limits, limits before gaps:
 * what is known to be wrong is not softened by what is not known. Must not
 * look at samples, nor at how the verdict is printed.
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "analysis/verdict.h"
#include "base/str.h"
#include "base/units.h"

enum { CODE_PASS = 0, CODE_FAIL = 10, CODE_INCONCLUSIVE = 11, CODE_HANG = 13 };

/** A judgement under way: the worst so far wins, with its reasons. */
struct judge {
    struct ss_verdict *out;
    int level; /* 0 nothing, 1 inconclusive, 2 fail, 3 hang */
    int more;  /* reasons that found no room */
};

static void reason(struct judge *j, int level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void reason(struct judge *j, int level, const char *format, ...)
{
    struct ss_verdict *out = j->out;
    va_list args;

    if (level < j->level)
        return;
    if (level > j->level) {
        j->level = level;
        j->more = 0;
        out->n_reasons = 0;
    }
    if (out->n_reasons == (int)SS_COUNT_OF(out->reason)) {
        j->more++;
        return;
    }
    va_start(args, format);
    vsnprintf(out->reason[out->n_reasons], sizeof(out->reason[0]), format,
              args);
    va_end(args);
    out->n_reasons++;
}

static void finding_reason(struct judge *j, const struct ss_finding *f)
{
    bool hang = f->kind == SS_HANG || f->kind == SS_LOST_RANK;
    char who[128] = "", size[48] = "";

    if (f->rank >= 0)
        ss_format(who, sizeof(who), ": rank %d%s%s%s", f->rank,
                  f->node[0] ? " (" : "", f->node, f->node[0] ? ")" : "");
    else if (f->node[0])
        ss_format(who, sizeof(who), ": %s", f->node);
    if (!isnan(f->factor))
        ss_format(size, sizeof(size), ", %.2f times its peers' time",
                  f->factor);
    reason(j, hang ? 3 : 2, "%s%s%s", ss_finding_name(f->kind), who, size);
}

static void judge_findings(struct judge *j, const struct ss_result *result)
{
    for (int i = 0; i < result->n_findings; i++)
        if (result->finding[i].severity == SS_ERROR)
            finding_reason(j, &result->finding[i]);
    for (int i = 0; i < result->n_points; i++)
        if (result->point[i].meta->verified == 0)
            reason(j, 2, "verification failed at %s (%s)",
                   ss_counted(result->point[i].meta->size, "rank").text,
                   result->point[i].meta->mode);
}

static bool is_skipped(const struct ss_point_result *point)
{
    return strcmp(point->status, "skipped") == 0;
}

/** Does the rule speak of this point? largest: of the rule's mode. */
static bool applies(const struct ss_rule *rule,
                    const struct ss_point_result *point, int largest)
{
    if (rule->mode[0] && strcmp(rule->mode, point->meta->mode) != 0)
        return false;
    if (rule->size == 0)
        return !is_skipped(point);
    return point->meta->size == (rule->size < 0 ? largest : rule->size);
}

static int largest_size(const struct ss_result *result,
                        const struct ss_rule *rule)
{
    int largest = 0;

    for (int i = 0; i < result->n_points; i++) {
        const struct ss_point_result *p = &result->point[i];
        if (p->meta->size > largest && !is_skipped(p) &&
            (!rule->mode[0] || strcmp(rule->mode, p->meta->mode) == 0))
            largest = p->meta->size;
    }
    return largest;
}

/** Where communication cannot progress beside compute, E_comm says more about
 * the engine than about the network: it fails nobody. */
static bool excused(const struct ss_rule *rule,
                    const struct ss_point_result *point)
{
    return point->flags & SS_FLAG_OVERLAP_NOT_MEASURABLE &&
           strcmp(rule->metric, "e_comm") == 0;
}

static void judge_limit(struct judge *j, const struct ss_rule *rule,
                        const struct ss_point_result *point)
{
    struct ss_ratio v = ss_metric_value(point, ss_metric_find(rule->metric));
    char at[80];

    ss_format(at, sizeof(at), "%s at %s (%s, %s)", rule->metric,
              ss_counted(point->meta->size, "rank").text, point->meta->mode,
              point->meta->load);
    if (strcmp(point->status, "ok") != 0) {
        reason(j, 1, "%s cannot be judged: the point is %s", at, point->status);
    } else if (isnan(v.value) || isnan(v.lo) || isnan(v.hi)) {
        reason(j, 1, "%s is not known here", at);
    } else if (v.hi < rule->min || v.lo > rule->max) {
        reason(j, excused(rule, point) ? 1 : 2,
               "%s is %.4g [%.4g, %.4g], %s %.4g", at, v.value, v.lo, v.hi,
               v.hi < rule->min ? "under the limit" : "over the limit",
               v.hi < rule->min ? rule->min : rule->max);
    } else if (v.lo < rule->min || v.hi > rule->max) {
        reason(j, 1, "%s is %.4g [%.4g, %.4g]: the interval straddles %.4g", at,
               v.value, v.lo, v.hi, v.lo < rule->min ? rule->min : rule->max);
    }
}

static void judge_rule(struct judge *j, const struct ss_result *result,
                       const struct ss_rule *rule)
{
    int largest = largest_size(result, rule), found = 0;

    for (int i = 0; i < result->n_points; i++)
        if (applies(rule, &result->point[i], largest)) {
            judge_limit(j, rule, &result->point[i]);
            found++;
        }
    if (found == 0)
        reason(j, 1, "no point for the rule on %s in line %d", rule->metric,
               rule->line);
}

static void judge_rules(struct judge *j, const struct ss_result *result,
                        const struct ss_rules *rules)
{
    if (rules->n > 0 && result->run->share_devices) {
        reason(j, 1, "ranks shared devices: no performance limit is judged");
        return;
    }
    for (int i = 0; i < rules->n; i++)
        judge_rule(j, result, &rules->rule[i]);
}

/** A point that the budget had no room for is missing. */
static void judge_budget(struct judge *j, const struct ss_result *result)
{
    for (int i = 0; i < result->n_points; i++) {
        const struct ss_point_row *meta = result->point[i].meta;
        if (strcmp(meta->status, "skipped") == 0 &&
            strcmp(meta->stop, "budget") == 0)
            reason(j, 1, "%s (%s) not measured: %s",
                   ss_counted(meta->size, "rank").text, meta->mode,
                   meta->reason);
    }
}

/** A run that says nothing is no pass. */
static bool any_measured(const struct ss_result *result)
{
    for (int i = 0; i < result->n_points; i++)
        if (!isnan(result->point[i].step.median))
            return true;
    return result->n_pairs + result->n_colls > 0;
}

void ss_verdict_decide(const struct ss_result *result,
                       const struct ss_rules *rules, struct ss_verdict *out)
{
    static const int code[] = {CODE_PASS, CODE_INCONCLUSIVE, CODE_FAIL,
                               CODE_HANG};
    static const enum ss_verdict_result word[] = {SS_PASS, SS_INCONCLUSIVE,
                                                  SS_FAIL, SS_FAIL};
    struct judge j = {.out = out};

    *out = (struct ss_verdict){0};
    judge_findings(&j, result);
    if (rules)
        judge_rules(&j, result, rules);
    judge_budget(&j, result);
    if (result->complete && result->n_points > 0 && !any_measured(result))
        reason(&j, 1, "no point was measured");
    if (!result->complete)
        reason(&j, 1, "%s",
               result->run->end_reason[0] ? result->run->end_reason
                                          : "not all planned points are there");
    if (j.more > 0)
        ss_format(out->reason[out->n_reasons - 1], sizeof(out->reason[0]),
                  "and %d more", j.more + 1);
    out->exit_code = code[j.level];
    out->result = word[j.level];
    if (j.level == 0 && (!rules || rules->n == 0))
        out->result = SS_NONE;
}
