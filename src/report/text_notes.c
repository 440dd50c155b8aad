/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a reader must know before trusting a row: too few samples, no steady
 * state, marks that cost time, groups that differ. Points with the same
 * remark share one line. It must not hide a remark because it is common.
 */
#include <math.h>
#include <string.h>

#include "report/parts.h"

static bool is_status(const struct ss_point_result *p, const char *status)
{
    return strcmp(p->status, status) == 0;
}
static bool few(const struct ss_point_result *p)
{
    return is_status(p, "too_few_samples");
}
static bool unsteady(const struct ss_point_result *p)
{
    return is_status(p, "no_steady_state");
}
static bool perturbed(const struct ss_point_result *p)
{
    return p->flags & SS_FLAG_PERTURBED;
}
static bool shifted(const struct ss_point_result *p)
{
    return p->flags & SS_FLAG_CLOCK_SHIFTED;
}
static bool correlated(const struct ss_point_result *p)
{
    return p->flags & SS_FLAG_AUTOCORRELATED;
}
static bool shared(const struct ss_point_result *p)
{
    return p->flags & SS_FLAG_SHARED_DEVICES;
}
static bool no_overlap(const struct ss_point_result *p)
{
    return p->flags & SS_FLAG_OVERLAP_NOT_MEASURABLE;
}
static bool budget(const struct ss_point_result *p)
{
    return ss_point_measured(p) && strcmp(p->meta->stop, "budget") == 0;
}
static bool unverified(const struct ss_point_result *p)
{
    return ss_point_measured(p) && p->meta->verified < 0;
}
static bool second_pass(const struct ss_point_result *p)
{
    return p->meta->pass > 0;
}

static const struct remark {
    bool (*applies)(const struct ss_point_result *point);
    bool marks; /* puts a * at the size */
    const char *text;
} remarks[] = {
    {few, true,
     "too few samples: fewer than 12 blocks, so the interval says little; "
     "give a larger --budget"},
    {unsteady, true,
     "no steady state: the step time drifts, or its two halves differ by over "
     "1 %; something else may be using the machine"},
    {perturbed, true,
     "perturbed: recording slowed the sampled steps by over 2 %, so the split "
     "of the time is only a hint"},
    {shifted, true,
     "clock shifted: clock or power cap differ between the controls, so the "
     "split of the time rests on events alone"},
    {shared, true,
     "shared devices: several ranks on one device; a functional test, no "
     "verdict on speed"},
    {correlated, false,
     "autocorrelated: neighbouring blocks resemble each other; they were "
     "merged in pairs, which makes the interval honest and wider"},
    {no_overlap, false,
     "overlap not measurable: communication cannot progress beside computing "
     "here, so the hidden share is not given and E comm never fails a verdict"},
    {budget, false,
     "stopped by the budget before the asked precision was reached"},
    {unverified, false,
     "nothing was checked: measure.verify is off, or there was nothing to "
     "check at this size"},
    {second_pass, false,
     "second pass: groups start at another rank, so that ranks left over by "
     "the first pass are covered"},
};

/* Skipped, failed and hung points carry their own reason. */
static bool has_reason(const struct ss_point_result *p)
{
    return !is_status(p, "ok") && !few(p) && !unsteady(p);
}

bool ss_point_has_notes(const struct ss_point_result *point)
{
    bool any = has_reason(point);
    for (size_t i = 0; i < SS_COUNT_OF(remarks); i++)
        any |= remarks[i].marks && remarks[i].applies(point);
    return any;
}

static void put_remark(const struct ss_result *result, const struct remark *r,
                       struct ss_buf *notes)
{
    struct ss_buf text;
    int n = 0;
    ss_buf_init(&text, 1 << 20);
    for (int i = 0; i < result->n_points; i++) {
        const struct ss_point_result *p = &result->point[i];
        if (r->applies(p))
            ss_buf_printf(&text, "%s%s", n++ ? ", " : "",
                          ss_word_point(result, p->meta).text);
    }
    ss_buf_printf(&text, ": %s", r->text);
    if (text.failed)
        notes->failed = true;
    if (n > 0)
        ss_wrap(notes, "  - ", ss_buf_text(&text));
    ss_buf_free(&text);
}

static void put_reason(const struct ss_result *result,
                       const struct ss_point_result *p, struct ss_buf *notes)
{
    char text[320];
    ss_format(text, sizeof text, "%s: %s%s%s",
              ss_word_point(result, p->meta).text, p->status,
              p->meta->reason[0] ? ": " : "", p->meta->reason);
    ss_wrap(notes, "  - ", text);
}

/* How unlike the groups are that a row of the curve stands for. */
static void put_groups(const struct ss_result *result,
                       const struct ss_point_result *p, struct ss_buf *notes)
{
    char text[200];
    size_t used;
    ss_format(text, sizeof text, "%s: %d groups took %s ms",
              ss_word_point(result, p->meta).text, (int)p->meta->group_count,
              ss_word_range(p->step_min_ms, p->step_max_ms).text);
    used = strlen(text);
    /* against itself the base is 100 %, slow group or not */
    if (isfinite(p->slowest_efficiency) && p->meta->size != p->meta->base_size)
        ss_format(text + used, sizeof text - used,
                  "; the slowest, group %d, has E %s %%", p->slowest_group,
                  ss_word_percent(p->slowest_efficiency).text);
    ss_wrap(notes, "    ", text);
}

static void put_all_groups(const struct ss_result *result, struct ss_buf *notes)
{
    int n = 0;
    for (int i = 0; i < result->n_points; i++) {
        const struct ss_point_result *p = &result->point[i];
        if (p->meta->group_count < 2 || !ss_point_measured(p))
            continue;
        if (n++ == 0)
            ss_wrap(notes, "  - ",
                    "groups side by side: a row shows the median group");
        put_groups(result, p, notes);
    }
}

void ss_text_notes(const struct ss_result *result, struct ss_buf *out)
{
    struct ss_buf notes;
    ss_buf_init(&notes, 1 << 20);
    for (int i = 0; i < result->n_points; i++) {
        if (has_reason(&result->point[i]))
            put_reason(result, &result->point[i], &notes);
    }
    for (size_t i = 0; i < SS_COUNT_OF(remarks); i++)
        put_remark(result, &remarks[i], &notes);
    put_all_groups(result, &notes);
    ss_text_start(result, &notes);
    if (notes.failed)
        out->failed = true;
    if (notes.len > 0)
        ss_buf_printf(out, "\nNotes\n%s", ss_buf_text(&notes));
    ss_buf_free(&notes);
}
