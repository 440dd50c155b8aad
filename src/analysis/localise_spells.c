/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Links that are slow at times: each batch is held against the usual cost of
 * its own pair, so that only change counts; then whoever is slow more often
 * than the rest of the cluster is named, with the times. A hiccup of the whole
 * cluster raises the rest as well and accuses nobody. Must not know hosts.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/localise_soak.h"
#include "base/mem.h"
#include "base/random.h"
#include "timing/stats.h"

/** Slow batches below this number are an accident. */
#define LEAST_SLOW 3
#define MOST_NAMED 16
/** A partner that holds so much of a node's slow batches is the reason. */
#define ONE_PARTNER 0.8

static bool touches(const struct ss_link_sample *v, int node, int peer)
{
    if (peer < 0)
        return v->from == node || v->to == node;
    return (v->from == node && v->to == peer) ||
           (v->from == peer && v->to == node);
}

/** P(at least k of n) at rate p. */
static double binomial_tail(int k, int n, double p)
{
    double sum = 0;

    for (int i = k; i <= n; i++)
        sum += exp(lgamma(n + 1.0) - lgamma(i + 1.0) - lgamma(n - i + 1.0) +
                   i * log(p) + (n - i) * log1p(-p));
    return sum < 1 ? sum : 1;
}

static void count(struct ss_soak *s)
{
    for (int i = 0; i < s->rule->nodes; i++)
        s->slow_of[i] = s->all_of[i] = 0;
    for (int i = 0; i < s->n; i++) {
        if (s->gone[i])
            continue;
        s->all_of[s->v[i].from]++;
        s->all_of[s->v[i].to]++;
        /* both ways at once say more */
        s->slow_of[s->v[i].from] += s->slow[i] + s->both[i];
        s->slow_of[s->v[i].to] += s->slow[i] + s->both[i];
    }
}

/** Who is slow most often? -1: nobody worth a word. */
static int most_often(const struct ss_soak *s)
{
    int best = -1;
    double share = 0;

    for (int i = 0; i < s->rule->nodes; i++) {
        double mine = s->all_of[i] ? (double)s->slow_of[i] / s->all_of[i] : 0;
        if (s->slow_of[i] >= LEAST_SLOW && mine > share) {
            share = mine;
            best = i;
        }
    }
    return best;
}

/** The partner that holds most of a node's slow batches, if one does. */
static int one_partner(struct ss_soak *s, int node)
{
    int best = -1, most = 0, total = 0;

    for (int i = 0; i < s->rule->nodes; i++)
        s->all_of[i] = 0;
    for (int i = 0; i < s->n; i++)
        if (!s->gone[i] && s->slow[i] && touches(&s->v[i], node, -1)) {
            int peer = s->v[i].from == node ? s->v[i].to : s->v[i].from;
            total++;
            if (++s->all_of[peer] > most) {
                most = s->all_of[peer];
                best = peer;
            }
        }
    return most >= ONE_PARTNER * total ? best : -1;
}

/** Slow and all batches of the accused, and of everybody else. */
struct tally {
    int slow, all, both, meetings;
};
struct tallies {
    struct tally its, others;
};

static struct tallies tally_of(const struct ss_soak *s,
                               const struct ss_flicker *f, const int *weight)
{
    struct tallies t = {{0, 0, 0, 0}, {0, 0, 0, 0}};

    for (int i = 0; i < s->n; i++) {
        int w = weight ? weight[s->v[i].round % s->rounds] : 1;
        if (s->gone[i])
            continue;
        struct tally *side =
            touches(&s->v[i], f->node, f->peer) ? &t.its : &t.others;
        bool once = s->v[i].from < s->v[i].to; /* a meeting has two ways */
        side->slow += w * s->slow[i];
        side->all += w;
        side->both += once ? w * s->both[i] : 0;
        side->meetings += once ? w * s->back[i] : 0;
    }
    return t;
}

/** Rate of the others, never 0. */
static double rate(int slow, int all)
{
    return (slow + 1.0) / (all + 2.0);
}

/**
 * The better of two tests, both ways of a meeting being one observation: how
 * often one was slow (a fault in one direction), how often both were.
 */
static double chance(const struct tallies *t)
{
    double one = binomial_tail((t->its.slow + 1) / 2, (t->its.all + 1) / 2,
                               rate(t->others.slow, t->others.all));
    double both = binomial_tail(t->its.both, t->its.meetings,
                                rate(t->others.both, t->others.meetings));

    return 2 * (one < both ? one : both);
}

/** Named again: slow often enough, and far more often than the others. */
static bool says_same(const struct tallies *t)
{
    const struct tally *its = &t->its, *others = &t->others;

    return (its->slow >= LEAST_SLOW &&
            its->slow > 2 * its->all * rate(others->slow, others->all)) ||
           (its->both > 1 &&
            its->both >
                2 * its->meetings * rate(others->both, others->meetings));
}

/** The share of resampled rounds that name it as well. */
static enum ss_status bootstrap(struct ss_soak *s, struct ss_flicker *f)
{
    int *weight = ss_alloc((size_t)s->rounds, sizeof(*weight), "rounds");
    struct ss_random random;
    int agreed = 0, total = s->rule->resamples;

    if (!weight)
        return SS_ERR_NO_MEMORY;
    if ((double)total * s->n > 2e7)
        total = 2e7 / s->n > 50 ? (int)(2e7 / s->n) : 50;
    ss_random_seed(&random, s->rule->seed);
    for (int k = 0; k < total; k++) {
        memset(weight, 0, (size_t)s->rounds * sizeof(*weight));
        for (int i = 0; i < s->rounds; i++)
            weight[ss_random_below(&random, (uint64_t)s->rounds)]++;
        struct tallies t = tally_of(s, f, weight);
        agreed += says_same(&t);
    }
    f->confidence = total > 0 ? (double)agreed / total : NAN;
    ss_free(weight);
    return SS_OK;
}

static int by_time(const void *a, const void *b)
{
    const struct ss_spell *x = a, *y = b;

    return (x->from > y->from) - (x->from < y->from);
}

/** The accused's batches in time order; `to` says whether slow. */
static enum ss_status find_spells(struct ss_soak *s, struct ss_flicker *f)
{
    struct ss_spell *at = ss_alloc((size_t)s->n, sizeof(*at), "spells");
    bool open = false;
    int n = 0, slow = 0;

    if (!at)
        return SS_ERR_NO_MEMORY;
    for (int i = 0; i < s->n; i++)
        if (!s->gone[i] && touches(&s->v[i], f->node, f->peer)) {
            at[n++] = (struct ss_spell){s->v[i].when, s->slow[i]};
            if (s->slow[i])
                s->scratch[slow++] = s->over[i];
        }
    qsort(at, (size_t)n, sizeof(*at), by_time);
    for (int i = 0; i < n; i++) {
        if (at[i].to != 0 && !open)
            if (f->n_spells++ < SS_SPELLS_MAX)
                f->spell[f->n_spells - 1].from = at[i].from;
        if (at[i].to != 0 && f->n_spells <= SS_SPELLS_MAX)
            f->spell[f->n_spells - 1].to = at[i].from;
        /* the two ways of a round follow each other: one good batch ends a
         * spell only with the next */
        open = at[i].to != 0 || (open && i + 1 < n && at[i + 1].to != 0);
    }
    f->factor = exp(ss_median(s->scratch, (size_t)slow));
    ss_free(at);
    return SS_OK;
}

/** Names one, if there is one; *more says so. */
static enum ss_status name_one(struct ss_soak *s, bool *more)
{
    struct ss_flicker f = {.node = -1, .peer = -1};

    *more = false;
    count(s);
    f.node = most_often(s);
    if (f.node < 0)
        return SS_OK;
    f.peer = one_partner(s, f.node);
    if (f.peer >= 0 && f.peer < f.node) {
        int low = f.peer;
        f.peer = f.node;
        f.node = low;
    }
    struct tallies t = tally_of(s, &f, NULL);
    int nodes = s->rule->nodes;
    f.p = chance(&t) * (nodes + nodes * (nodes - 1) / 2.0);
    f.slow = t.its.slow;
    f.samples = t.its.all;
    f.share = (double)t.its.slow / t.its.all;
    if (f.p >= s->rule->family || t.its.slow < LEAST_SLOW || t.others.all == 0)
        return SS_OK;
    SS_TRY(bootstrap(s, &f));
    SS_TRY(find_spells(s, &f));
    for (int i = 0; i < s->n; i++)
        s->gone[i] = s->gone[i] || touches(&s->v[i], f.node, f.peer);
    s->out->v[s->out->n++] = f;
    *more = true;
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
