/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a fit of pairs to named faults: what is above the noise and beyond
 * chance, with the interval and the share of resampled rounds that say the
 * same. Must not know hosts, units or words for people.
 */
#include "analysis/localise.h"

#include <math.h>
#include <string.h>

#include "analysis/localise_fit.h"
#include "base/mem.h"
#include "base/random.h"
#include "timing/stats.h"

/** Share of resamples that must name a fault alike; below it the rounds do not
 * agree, as with an effect that barely passes the threshold. */
#define LEAST_CONFIDENCE 0.8
/** Scatter of a median over that of a mean. */
#define MEDIAN_WIDTH 1.2533
/** Rounds of one pass in which a path was seen before it is accused. */
#define LEAST_CELLS 3

struct work {
    const struct ss_localise_rule *rule;
    struct ss_fit fit;
    struct ss_localised *out;
    int cap;
    double tests; /**< how many accusations were possible */
};

/** Could chance do it? One-sided, by the scatter of healthy pairs. */
static double chance(const struct work *w, double effect, int n)
{
    double scatter = w->fit.noise * MEDIAN_WIDTH / sqrt((double)n);
    int df = w->fit.good_cells - 1;

    return ss_student_tail(effect / scatter, df > 1 ? df : 1);
}

static enum ss_status add(struct work *w, struct ss_link_fault fault)
{
    struct ss_localised *out = w->out;

    if (out->n == w->cap) {
        int cap = w->cap ? 2 * w->cap : 16;
        void *grown = ss_realloc(out->fault, (size_t)cap, sizeof(*out->fault),
                                 "link faults");
        if (!grown)
            return SS_ERR_NO_MEMORY;
        out->fault = grown;
        w->cap = cap;
    }
    out->fault[out->n++] = fault;
    return SS_OK;
}

static double node_effect(const struct ss_fit *fit, enum ss_fault_place place,
                          int a)
{
    double s = fit->effect[SENDS][a], r = fit->effect[RECEIVES][a];

    if (place == SS_FAULT_NODE_SENDS)
        return s;
    if (place == SS_FAULT_NODE_RECEIVES)
        return r;
    return (s + r) / 2;
}

/** A suspect needs no more than not to be plain chance. */
static bool beyond_chance(const struct work *w, double p)
{
    return w->rule->suspects ? p * w->tests < 1 : p < 0.5;
}

static enum ss_status judge_node(struct work *w, int a)
{
    const struct ss_fit *fit = &w->fit;
    double p[2];
    bool bad[2];

    for (int d = 0; d < 2; d++) {
        p[d] = fit->partners[d][a] > 0
                   ? chance(w, fit->effect[d][a], fit->partners[d][a])
                   : 1;
        bad[d] = fit->bad[d][a] && beyond_chance(w, p[d]);
    }
    if (!bad[SENDS] && !bad[RECEIVES])
        return SS_OK;
    bool both = fit->bad[SENDS][a] && fit->bad[RECEIVES][a];
    struct ss_link_fault fault = {
        .place = both         ? SS_FAULT_NODE
                 : bad[SENDS] ? SS_FAULT_NODE_SENDS
                              : SS_FAULT_NODE_RECEIVES,
        .a = a,
        .b = -1,
        .p = p[SENDS] < p[RECEIVES] ? p[SENDS] : p[RECEIVES],
        .samples = fit->partners[SENDS][a] + fit->partners[RECEIVES][a],
    };
    fault.partners = fit->partners[bad[SENDS] ? SENDS : RECEIVES][a];
    fault.factor = exp(node_effect(fit, fault.place, a));
    return add(w, fault);
}

static bool path_is_slow(const struct work *w, int pair)
{
    return pair >= 0 && w->fit.used[pair] > 0 &&
           w->fit.q[pair] > w->fit.threshold;
}

/**
 * Slow in (nearly) every round of one pass: of the second where the pair was
 * looked at again, else of the first. A batch or two can be slow by accident,
 * and among thousands of pairs some are twice.
 */
static bool path_is_steady(const struct work *w, int pair)
{
    const struct ss_fit *fit = &w->fit;
    double line =
        fit->m[pair] - fit->q[pair] + fit->threshold; /* what is expected */
    int slow[2] = {0, 0}, all[2] = {0, 0};

    for (int i = fit->first[pair]; i < fit->first[pair + 1]; i++) {
        int second = fit->cell[i].pass > 0;
        all[second]++;
        slow[second] += fit->cell[i].x > line;
    }
    int pass = all[1] >= LEAST_CELLS;
    return all[pass] >= LEAST_CELLS && slow[pass] >= 0.85 * all[pass];
}

static double path_effect(const struct ss_fit *fit, enum ss_fault_place place,
                          int there, int back)
{
    if (place == SS_FAULT_PATH && back >= 0)
        return (fit->q[there] + fit->q[back]) / 2;
    return fit->q[there];
}

static enum ss_status judge_path(struct work *w, int pair)
{
    const struct ss_fit *fit = &w->fit;
    const struct ss_cell *c = &fit->cell[fit->first[pair]];
    int back = ss_fit_pair(fit, c->to, c->from);
    bool returns = path_is_slow(w, back);

    if (!path_is_slow(w, pair) || (returns && c->from > c->to))
        return SS_OK;
    if (!w->rule->suspects && !path_is_steady(w, pair))
        return SS_OK;
    struct ss_link_fault fault = {
        .place = returns ? SS_FAULT_PATH : SS_FAULT_ONE_WAY,
        .a = c->from,
        .b = c->to,
        .p = chance(w, fit->q[pair], fit->used[pair]),
        .samples = fit->used[pair],
        .partners = 1,
    };
    if (!beyond_chance(w, fault.p))
        return SS_OK;
    fault.factor = exp(path_effect(fit, fault.place, pair, back));
    return add(w, fault);
}

/** Faults worst first, so that the caller may keep the first few. */
static void sort_faults(struct ss_localised *out)
{
    for (int i = 1; i < out->n; i++) {
        struct ss_link_fault x = out->fault[i];
        int j = i;
        for (; j > 0 && out->fault[j - 1].factor < x.factor; j--)
            out->fault[j] = out->fault[j - 1];
        out->fault[j] = x;
    }
}

/**
 * Holm's correction among the accused for all that was tested; those whose
 * chance is too large are dropped. Others with a smaller p could only make the
 * correction milder.
 */
static void drop_chance(struct work *w)
{
    struct ss_localised *out = w->out;
    double worst = 0;
    int kept = 0;

    for (int i = 1; i < out->n; i++) { /* by p */
        struct ss_link_fault x = out->fault[i];
        int j = i;
        for (; j > 0 && out->fault[j - 1].p > x.p; j--)
            out->fault[j] = out->fault[j - 1];
        out->fault[j] = x;
    }
    for (int i = 0; i < out->n; i++) {
        double p = out->fault[i].p * (w->tests - i);
        worst = p > worst ? p : worst;
        out->fault[i].p = worst < 1 ? worst : 1;
        if (w->rule->suspects || worst < w->rule->family)
            out->fault[kept++] = out->fault[i];
    }
    out->n = kept;
}

static enum ss_status judge(struct work *w)
{
    struct ss_fit *fit = &w->fit;

    w->tests = 2.0 * fit->nodes + fit->n_pairs;
    for (int a = 0; a < fit->nodes; a++)
        SS_TRY(judge_node(w, a));
    for (int p = 0; p < fit->n_pairs; p++)
        SS_TRY(judge_path(w, p));
    drop_chance(w);
    sort_faults(w->out);
    return SS_OK;
}

/** Draws rounds anew, as many of each pass as there were. */
static void resample(struct ss_fit *fit, struct ss_random *random)
{
    memset(fit->weight, 0, (size_t)fit->n_rounds * sizeof(*fit->weight));
    for (int begin = 0, end; begin < fit->n_rounds; begin = end) {
        for (end = begin; end < fit->n_rounds &&
                          fit->round_pass[end] == fit->round_pass[begin];)
            end++;
        for (int i = begin; i < end; i++)
            fit->weight[begin + (int)ss_random_below(
                                    random, (uint64_t)(end - begin))]++;
    }
}

/** Does this resample say the same of the same? NaN: no. */
static double says_same(const struct ss_fit *fit,
                        const struct ss_link_fault *fault)
{
    bool s = fit->bad[SENDS][fault->a], r = fit->bad[RECEIVES][fault->a];

    if (fault->b >= 0) {
        int there = ss_fit_pair(fit, fault->a, fault->b);
        int back = ss_fit_pair(fit, fault->b, fault->a);
        double q = path_effect(fit, fault->place, there, back);
        return q > fit->threshold ? exp(q) : NAN;
    }
    if ((fault->place == SS_FAULT_NODE && s && r) ||
        (fault->place == SS_FAULT_NODE_SENDS && s && !r) ||
        (fault->place == SS_FAULT_NODE_RECEIVES && r && !s))
        return exp(node_effect(fit, fault->place, fault->a));
    return NAN;
}

static void interval(struct ss_link_fault *fault, double *v, int n, int total)
{
    fault->confidence = (double)n / total;
    ss_sort(v, (size_t)n);
    fault->lo = n > 0 ? ss_quantile_sorted(v, (size_t)n, 0.025) : NAN;
    fault->hi = n > 0 ? ss_quantile_sorted(v, (size_t)n, 0.975) : NAN;
    if (n > 0 && fault->lo > fault->factor)
        fault->lo = fault->factor;
    if (n > 0 && fault->hi < fault->factor)
        fault->hi = fault->factor;
}

/** Large worlds are resampled less often: 200 draws tell 0.95 from 0.9. */
static int draws(const struct work *w)
{
    double most = 2e7 / (w->fit.n_cells + 1.0);
    int n = w->rule->resamples;

    if (most < n)
        n = most > 200 ? (int)most : 200;
    return n < w->rule->resamples ? n : w->rule->resamples;
}

static enum ss_status bootstrap(struct work *w)
{
    struct ss_localised *out = w->out;
    int total = draws(w);
    double *v = ss_alloc((size_t)out->n * (size_t)total, sizeof(*v), "draws");
    int *n = ss_alloc((size_t)out->n, sizeof(*n), "draws");
    struct ss_random random;

    if (!v || !n) {
        ss_free(v);
        ss_free(n);
        return SS_ERR_NO_MEMORY;
    }
    ss_random_seed(&random, w->rule->seed);
    for (int t = 0; t < total; t++) {
        resample(&w->fit, &random);
        if (!ss_fit_run(&w->fit, w->rule->min_effect))
            continue;
        for (int i = 0; i < out->n; i++) {
            double factor = says_same(&w->fit, &out->fault[i]);
            if (!isnan(factor))
                v[(size_t)i * (size_t)total + (size_t)n[i]++] = factor;
        }
    }
    for (int i = 0; i < out->n; i++)
        interval(&out->fault[i], v + (size_t)i * (size_t)total, n[i], total);
    ss_free(v);
    ss_free(n);
    return SS_OK;
}

static void drop_doubtful(struct ss_localised *out)
{
    int kept = 0;

    for (int i = 0; i < out->n; i++)
        if (out->fault[i].confidence >= LEAST_CONFIDENCE)
            out->fault[kept++] = out->fault[i];
    out->n = kept;
}

enum ss_status ss_localise(const struct ss_link_sample *sample, int n,
                           const struct ss_localise_rule *rule,
                           struct ss_localised *out)
{
    struct work w = {.rule = rule, .out = out};
    enum ss_status status;

    *out = (struct ss_localised){.healthy = NAN, .noise = NAN};
    SS_TRY(ss_fit_open(sample, n, rule->nodes, &w.fit));
    if (!ss_fit_run(&w.fit, rule->min_effect)) {
        ss_fit_close(&w.fit);
        return SS_OK;
    }
    out->healthy = exp(w.fit.healthy);
    out->noise = w.fit.noise;
    status = judge(&w);
    if (status == SS_OK && out->n > 0 && rule->resamples > 0) {
        status = bootstrap(&w);
        drop_doubtful(out);
    }
    ss_fit_close(&w.fit);
    if (status != SS_OK)
        ss_localised_free(out);
    return status;
}

void ss_localised_free(struct ss_localised *localised)
{
    ss_free(localised->fault);
    *localised = (struct ss_localised){.healthy = NAN, .noise = NAN};
}
