/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The report's first line: what an engineer repeats to the next one. Takes the
 * largest point that counts, its efficiency, and where the rest went. Must not
 * compute anything that the result does not hold.
 */
#include <math.h>
#include <string.h>

#include "analysis/verdict.h"
#include "base/str.h"
#include "base/units.h"

#define MAX_LOSSES 4

struct loss {
    char what[96];
    double share;
};
struct losses {
    struct loss v[16];
    int n;
};

static long percent(double share)
{
    return lround(100 * share);
}

static void add_loss(struct losses *list, const char *what, double ms,
                     double t_ms)
{
    double share = ms / t_ms;
    int at = list->n;

    if (!(share > 0) || percent(share) < 1 ||
        list->n == (int)SS_COUNT_OF(list->v))
        return;
    for (; at > 0 && list->v[at - 1].share < share; at--)
        list->v[at] = list->v[at - 1];
    ss_copy(list->v[at].what, sizeof(list->v[at].what), what);
    list->v[at].share = share;
    list->n++;
}

/** Weak scaling: the same computation takes longer than at the base size, by
 * smaller pieces, shared memory or heat; a slow rank's share is waiting. */
static double slower_computing(const struct ss_result *result,
                               const struct ss_point_result *p)
{
    for (int i = 0; i < result->n_findings; i++)
        if (result->finding[i].kind <= SS_SLOW_NODE)
            return NAN;
    if (strcmp(p->meta->mode, "weak") != 0 ||
        p->meta->size == p->meta->base_size)
        return NAN;
    return p->compute_only_ms - p->base_ms;
}

/** Whom the persistent waiting is for, as far as a finding names it. */
static void waiting_words(const struct ss_result *result, char *out,
                          size_t size)
{
    for (int i = 0; i < result->n_findings; i++) {
        const struct ss_finding *f = &result->finding[i];
        if (f->kind == SS_SLOW_NODE) {
            ss_format(out, size, "waiting for %s", f->node);
            return;
        }
        if (f->kind == SS_STRAGGLER_RANK || f->kind == SS_SLOW_DEVICE) {
            ss_format(out, size, "waiting for rank %d (%s)", f->rank, f->node);
            return;
        }
    }
    ss_copy(out, size, "waiting for late ranks");
}

static void collect(const struct ss_result *result,
                    const struct ss_point_result *p, struct losses *list)
{
    char words[96];
    double t = p->sampled_ms;

    waiting_words(result, words, sizeof(words));
    add_loss(list, words, p->wait_persistent_ms, t);
    add_loss(list, "slower computing", slower_computing(result, p), t);
    add_loss(list, "jitter", p->wait_jitter_ms, t);
    for (int d = 0; d < SS_DIMS; d++) {
        ss_format(words, sizeof(words), "%s transfer",
                  ss_dim_name((enum ss_dim)d));
        add_loss(list, words, p->transfer_by[d], t);
    }
    add_loss(list, "short blocked spans", p->unsplit_ms, t);
    if (!ss_interference_is_noise(p))
        add_loss(list, "interference", p->interference_ms, t);
    add_loss(list, "pipeline bubble", p->bubble_ms, t);
    add_loss(list, "input", p->input_ms, t);
    add_loss(list, "launch", p->launch_ms, t);
    add_loss(list, "unexplained", p->other_ms, t);
}

static bool measured(const struct ss_point_result *p)
{
    return !isnan(p->step.median);
}

/** Is a the better headline? Larger before smaller, then fit before unfit; of
 * equal ones the first, which is weak before strong. */
static bool better(const struct ss_point_result *a,
                   const struct ss_point_result *b)
{
    bool a_ok = strcmp(a->status, "ok") == 0;
    bool b_ok = strcmp(b->status, "ok") == 0;

    if (a->meta->size != b->meta->size)
        return a->meta->size > b->meta->size;
    return a_ok && !b_ok;
}

static const struct ss_point_result *headline(const struct ss_result *result)
{
    const struct ss_point_result *best = NULL;

    for (int i = 0; i < result->n_points; i++) {
        const struct ss_point_result *p = &result->point[i];
        if (measured(p) && (!best || better(p, best)))
            best = p;
    }
    return best;
}

/** " (strong scaling, 87-155 %)": the interval where it is so wide that the
 * value alone misleads. */
static const char *qualifier(const struct ss_point_result *p, char *out,
                             size_t size)
{
    const struct ss_ratio *e = &p->efficiency;
    bool strong = strcmp(p->meta->mode, "strong") == 0;
    const char *open = strong ? " (strong scaling" : " (";

    out[0] = '\0';
    if (e->hi - e->lo > 0.1 * e->value)
        ss_format(out, size, "%s%s%.0f-%.0f %%)", open, strong ? ", " : "",
                  100 * e->lo, 100 * e->hi);
    else if (strong)
        ss_format(out, size, "%s)", open);
    return out;
}

static void size_words(const struct ss_point_result *p, char *out, size_t size)
{
    const char *axis = p->meta->axis;
    int n = p->meta->size;
    char head[40], band[48];

    ss_copy(head, sizeof(head), ss_counted(n, "device").text);
    if (!isnan(p->efficiency.value) && n != p->meta->base_size &&
        (axis[0] == '\0' || strcmp(axis, "dp") == 0))
        ss_format(out, size, "%s: %.0f %% of ideal%s", head,
                  100 * p->efficiency.value, qualifier(p, band, sizeof(band)));
    else if (n > 1 && !isnan(p->parallel_efficiency))
        ss_format(out, size, "%s: parallel efficiency %.0f %%, %.3g ms a step",
                  head, 100 * p->parallel_efficiency, p->step.median);
    else if (!isnan(p->tokens_per_s))
        ss_format(out, size, "%s: %.3g ms a step, %.0f tokens/s", head,
                  p->step.median, p->tokens_per_s);
    else
        ss_format(out, size, "%s: %.3g ms a step", head, p->step.median);
}

static void append(char *out, size_t size, const char *text)
{
    size_t at = strlen(out);

    ss_copy(out + at, size - at, text);
}

static const char *doubt(const struct ss_point_result *p)
{
    if (strcmp(p->status, "too_few_samples") == 0)
        return " (too few samples to be sure)";
    if (strcmp(p->status, "no_steady_state") == 0)
        return " (times had not settled)";
    return strcmp(p->status, "ok") == 0 ? "" : " (the point did not end well)";
}

static void write_point(const struct ss_result *result,
                        const struct ss_point_result *p, char *out, size_t size)
{
    struct losses losses = {.n = 0};
    char part[128];

    size_words(p, out, size);
    collect(result, p, &losses);
    for (int i = 0; i < losses.n && i < MAX_LOSSES; i++) {
        ss_format(part, sizeof(part), "%s%ld %% %s", i ? ", " : "; ",
                  percent(losses.v[i].share), losses.v[i].what);
        append(out, size, part);
    }
    append(out, size, doubt(p));
}

/** The first that was tried says why; later ones may only have no time left. */
static void write_none(const struct ss_result *result, char *out, size_t size)
{
    const struct ss_point_row *first = NULL;

    for (int i = 0; i < result->n_points; i++) {
        const struct ss_point_row *meta = result->point[i].meta;
        if (meta->reason[0] != '\0' && (!first || meta->index < first->index))
            first = meta;
    }
    ss_format(out, size, "no point was measured%s%s", first ? ": " : "",
              first ? first->reason : "");
}

void ss_sentence_write(struct ss_result *result, const char *hang_sentence)
{
    const struct ss_point_result *p = headline(result);
    size_t size = sizeof(result->sentence);

    result->sentence[0] = '\0';
    if (hang_sentence && hang_sentence[0] != '\0') {
        ss_copy(result->sentence, size, hang_sentence);
        if (!p)
            return;
        append(result->sentence, size, "; ");
    }
    size_t at = strlen(result->sentence);
    if (!p && result->n_pairs > 0)
        ss_pairs_sentence(result, result->sentence + at, size - at);
    else if (p)
        write_point(result, p, result->sentence + at, size - at);
    else
        write_none(result, result->sentence, size);
}
