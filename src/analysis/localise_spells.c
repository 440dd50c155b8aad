/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Links that are slow at times: whoever is slow far more often than chance and
 * than the rest of the cluster is named, with the times; then the rest is
 * looked at without him. Must not know hosts.
 */
#include <math.h>
#include <string.h>

#include "analysis/localise_soak.h"
#include "base/mem.h"
#include "base/random.h"
#include "timing/stats.h"

#define MOST_NAMED 16
/** A partner that holds so much of a node's slow meetings is the reason. */
#define ONE_PARTNER 0.8
/** A busy host has more hiccups than others; only resampling tells that it does
 * not stand out. */
#define LEAST_CONFIDENCE 0.9
/** So many good meetings end a spell. */
#define GOOD_END 2

/** The partner that holds most of a node's slow meetings, if one does. */
static int one_partner(struct ss_soak *s, const struct ss_suspicion *x)
{
    int best = -1, most = 0, total = 0;

    for (int i = 0; i < s->rule->nodes; i++)
        s->scratch[i] = 0;
    for (int i = s->first[x->node]; i < s->first[x->node + 1]; i++) {
        const struct ss_meeting *m = &s->m[s->of_node[i]];
        if (m->gone || ss_soak_is_slow(m, x) <= 0)
            continue;
        int peer = m->low == x->node ? m->high : m->low;
        total++;
        s->scratch[peer]++;
        if (s->scratch[peer] > most) {
            most = (int)s->scratch[peer];
            best = peer;
        }
    }
    return most >= ONE_PARTNER * total ? best : -1;
}

/** Slow and all meetings of the accused and of the others, per window. */
struct tally {
    int slow, all, others, others_all;
};

static void fill_tallies(const struct ss_soak *s, const struct ss_suspicion *x,
                         struct tally *tally)
{
    memset(tally, 0, (size_t)s->n_windows * sizeof(*tally));
    for (int i = 0; i < s->n; i++) {
        struct tally *t = &tally[s->m[i].window];
        int all, slow, is;
        if (s->m[i].gone)
            continue;
        ss_soak_kind(&s->m[i], x, &all, &slow);
        is = ss_soak_is_slow(&s->m[i], x);
        t->all += is >= 0;
        t->slow += is > 0;
        t->others_all += all - (is >= 0);
        t->others += slow - (is > 0);
    }
}

/** The share of resampled windows in which it stands out as well. */
static enum ss_status bootstrap(struct ss_soak *s, const struct ss_suspicion *x,
                                double *confidence)
{
    struct tally *tally =
        ss_alloc((size_t)s->n_windows, sizeof(*tally), "windows");
    struct ss_random random;
    int agreed = 0, total = s->rule->resamples;

    if (!tally)
        return SS_ERR_NO_MEMORY;
    fill_tallies(s, x, tally);
    ss_random_seed(&random, s->rule->seed);
    for (int k = 0; k < total; k++) {
        struct tally sum = {0, 0, 0, 0};
        for (int i = 0; i < s->n_windows; i++) {
            const struct tally *t =
                &tally[ss_random_below(&random, (uint64_t)s->n_windows)];
            sum.slow += t->slow;
            sum.all += t->all;
            sum.others += t->others;
            sum.others_all += t->others_all;
        }
        agreed +=
            ss_soak_stands_out(sum.slow, sum.all, sum.others, sum.others_all);
    }
    *confidence = total > 0 ? (double)agreed / total : NAN;
    ss_free(tally);
    return SS_OK;
}

/** Opens a spell, or goes on with it: slow from `from` until the accused's next
 * meeting, at `to`. */
static void extend(struct ss_flicker *f, bool open, double from, double to)
{
    if (!open && f->n_spells++ < SS_SPELLS_MAX)
        f->spell[f->n_spells - 1].from = from;
    if (f->n_spells <= SS_SPELLS_MAX)
        f->spell[f->n_spells - 1].to = to;
}

static void find_spells(struct ss_soak *s, const struct ss_suspicion *x,
                        struct ss_flicker *f)
{
    double begin = NAN, last = NAN, since = NAN, slow_time = 0;
    int good = GOOD_END;

    for (int i = s->first[x->node]; i < s->first[x->node + 1]; i++) {
        const struct ss_meeting *m = &s->m[s->of_node[i]];
        int is = m->gone ? -1 : ss_soak_is_slow(m, x);
        if (is < 0)
            continue;
        if (!isnan(since)) { /* the one before was slow, until now */
            extend(f, good < GOOD_END, since, m->when);
            slow_time += m->when - since;
            good = 0;
        }
        begin = isnan(begin) ? m->when : begin;
        last = m->when;
        since = is > 0 ? m->when : NAN;
        good += is == 0;
        f->meetings++;
        f->slow += is > 0;
    }
    if (!isnan(since))
        extend(f, good < GOOD_END, since, since);
    f->share = last > begin ? slow_time / (last - begin) : 0;
}

/** Log of how much slower: median of the slow meetings. */
static double effect_of(struct ss_soak *s, const struct ss_suspicion *x)
{
    size_t slow = 0;

    for (int i = s->first[x->node]; i < s->first[x->node + 1]; i++) {
        const struct ss_meeting *m = &s->m[s->of_node[i]];
        if (!m->gone && ss_soak_is_slow(m, x) > 0)
            s->scratch[slow++] = fmax(m->over[0], m->over[1]);
    }
    return ss_median(s->scratch, slow);
}

static void let_go(struct ss_soak *s, const struct ss_flicker *f)
{
    for (int i = s->first[f->node]; i < s->first[f->node + 1]; i++) {
        struct ss_meeting *m = &s->m[s->of_node[i]];
        if (f->peer < 0 || m->low == f->peer || m->high == f->peer)
            m->gone = true;
    }
}

/** Names one, if there is one; *more says so. */
static enum ss_status name_one(struct ss_soak *s, bool *more)
{
    int tests;
    struct ss_suspicion x = ss_soak_suspect(s, &tests);
    struct ss_flicker f = {.node = -1, .peer = -1};

    *more = false;
    if (x.node < 0 || x.p * tests >= s->rule->family)
        return SS_OK;
    SS_TRY(bootstrap(s, &x, &f.confidence));
    if (f.confidence < LEAST_CONFIDENCE)
        return SS_OK;
    *more = true;
    f.node = x.node;
    f.peer = x.peer >= 0 ? x.peer : one_partner(s, &x);
    x.peer = f.peer;
    f.p = x.p * tests;
    double effect = effect_of(s, &x);
    f.factor = exp(effect);
    /* its spells are what looks like them, not each hiccup in between */
    x.level = fmax(x.level, effect / 2);
    find_spells(s, &x, &f);
    let_go(s, &f);
    if (f.peer >= 0 && f.peer < f.node) {
        f.node = f.peer;
        f.peer = x.node;
    }
    s->out->v[s->out->n++] = f;
    return SS_OK;
}

enum ss_status ss_localise_spells(const struct ss_link_sample *sample, int n,
                                  const struct ss_localise_rule *rule,
                                  struct ss_flickers *out)
{
    struct ss_soak s = {.rule = rule, .out = out};
    bool more = true;
    enum ss_status status;

    *out = (struct ss_flickers){0};
    out->v = ss_alloc(MOST_NAMED, sizeof(*out->v), "flickers");
    status = out->v ? ss_soak_open(sample, n, &s) : SS_ERR_NO_MEMORY;
    while (status == SS_OK && s.n > 0 && more && out->n < MOST_NAMED)
        status = name_one(&s, &more);
    ss_soak_close(&s);
    if (status != SS_OK)
        ss_flickers_free(out);
    return status;
}

void ss_flickers_free(struct ss_flickers *flickers)
{
    ss_free(flickers->v);
    *flickers = (struct ss_flickers){0};
}
