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

#include "analysis/localise.h"
#include "base/mem.h"
#include "base/random.h"
#include "timing/stats.h"

/** Slow batches below this number are an accident. */
#define LEAST_SLOW 3
#define MOST_NAMED 16
/** A partner that holds so much of a node's slow batches is the reason. */
#define ONE_PARTNER 0.8

struct soak {
    const struct ss_localise_rule *rule;
    struct ss_link_sample *v; /**< [n] by pair, then by time */
    double *over;             /**< [n] log cost over the pair's usual */
    bool *slow, *gone;        /**< [n] slow; explained by someone named */
    double *scratch;
    int *slow_of, *all_of; /**< [nodes] */
    int n, rounds;
    struct ss_flickers *out;
};

static int by_pair(const void *a, const void *b)
{
    const struct ss_link_sample *x = a, *y = b;

    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    if (x->to != y->to)
        return x->to < y->to ? -1 : 1;
    return (x->when > y->when) - (x->when < y->when);
}

/** Marks what is slow against its own pair. */
static void mark_slow(struct soak *s)
{
    for (int i = 0, end; i < s->n; i = end) {
        for (end = i; end < s->n && s->v[end].from == s->v[i].from &&
                      s->v[end].to == s->v[i].to;
             end++)
            s->scratch[end - i] = log(s->v[end].cost);
        double usual = ss_median(s->scratch, (size_t)(end - i));
        for (int k = i; k < end; k++)
            s->over[k] = log(s->v[k].cost) - usual;
    }
    for (int i = 0; i < s->n; i++)
        s->scratch[i] = fabs(s->over[i]);
    double noise = 1.4826 * ss_median(s->scratch, (size_t)s->n);
    double line = log1p(2 * s->rule->min_effect);
    if (5 * noise > line)
        line = 5 * noise;
    for (int i = 0; i < s->n; i++)
        s->slow[i] = s->over[i] > line;
}

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

static void count(struct soak *s)
{
    for (int i = 0; i < s->rule->nodes; i++)
        s->slow_of[i] = s->all_of[i] = 0;
    for (int i = 0; i < s->n; i++) {
        if (s->gone[i])
            continue;
        s->all_of[s->v[i].from]++;
        s->all_of[s->v[i].to]++;
        s->slow_of[s->v[i].from] += s->slow[i];
        s->slow_of[s->v[i].to] += s->slow[i];
    }
}

/** Who is slow most often? -1: nobody worth a word. */
static int most_often(const struct soak *s)
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
static int one_partner(struct soak *s, int node)
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
    int slow, all, others_slow, others;
};

static struct tally tally_of(const struct soak *s, const struct ss_flicker *f,
                             const int *weight)
{
    struct tally t = {0, 0, 0, 0};

    for (int i = 0; i < s->n; i++) {
        int w = weight ? weight[s->v[i].round % s->rounds] : 1;
        if (s->gone[i])
            continue;
        if (touches(&s->v[i], f->node, f->peer)) {
            t.slow += w * s->slow[i];
            t.all += w;
        } else {
            t.others_slow += w * s->slow[i];
            t.others += w;
        }
    }
    return t;
}

/** Both ways of a pair in a round are one observation. */
static double chance(const struct tally *t)
{
    double rate = (t->others_slow + 1.0) / (t->others + 2.0);

    return binomial_tail((t->slow + 1) / 2, (t->all + 1) / 2, rate);
}

/** Named again: slow often enough, and far more often than the others. */
static bool says_same(const struct tally *t)
{
    double mine = t->all ? (double)t->slow / t->all : 0;
    double others = (t->others_slow + 1.0) / (t->others + 2.0);

    return t->slow >= LEAST_SLOW && mine > 2 * others;
}

/** The share of resampled rounds that name it as well. */
static enum ss_status bootstrap(struct soak *s, struct ss_flicker *f)
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
        struct tally t = tally_of(s, f, weight);
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
static enum ss_status find_spells(struct soak *s, struct ss_flicker *f)
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
static enum ss_status name_one(struct soak *s, bool *more)
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
    struct tally t = tally_of(s, &f, NULL);
    int nodes = s->rule->nodes;
    f.p = chance(&t) * (nodes + nodes * (nodes - 1) / 2.0);
    f.slow = t.slow;
    f.samples = t.all;
    f.share = (double)t.slow / t.all;
    if (f.p >= s->rule->family || t.slow < LEAST_SLOW || t.others == 0)
        return SS_OK;
    SS_TRY(bootstrap(s, &f));
    SS_TRY(find_spells(s, &f));
    for (int i = 0; i < s->n; i++)
        s->gone[i] = s->gone[i] || touches(&s->v[i], f.node, f.peer);
    s->out->v[s->out->n++] = f;
    *more = true;
    return SS_OK;
}

static enum ss_status take_memory(struct soak *s, int n)
{
    size_t all = (size_t)n + 1, nodes = (size_t)s->rule->nodes + 1;

    s->v = ss_alloc(all, sizeof(*s->v), "soak samples");
    s->over = ss_alloc(all, sizeof(*s->over), "soak samples");
    s->slow = ss_alloc(all, sizeof(*s->slow), "soak samples");
    s->gone = ss_alloc(all, sizeof(*s->gone), "soak samples");
    s->scratch = ss_alloc(all, sizeof(*s->scratch), "soak samples");
    s->slow_of = ss_alloc(nodes, sizeof(*s->slow_of), "soak samples");
    s->all_of = ss_alloc(nodes, sizeof(*s->all_of), "soak samples");
    s->out->v = ss_alloc(MOST_NAMED, sizeof(*s->out->v), "flickers");
    return s->v && s->over && s->slow && s->gone && s->scratch && s->slow_of &&
                   s->all_of && s->out->v
               ? SS_OK
               : SS_ERR_NO_MEMORY;
}

static void release(struct soak *s)
{
    ss_free(s->v);
    ss_free(s->over);
    ss_free(s->slow);
    ss_free(s->gone);
    ss_free(s->scratch);
    ss_free(s->slow_of);
    ss_free(s->all_of);
}

/** Of a way's batches in a round the fastest: a hiccup of the host hits one,
 * a slow link all of them. */
static void keep_fastest(struct soak *s)
{
    int n = 0;

    for (int i = 0; i < s->n; i++) {
        struct ss_link_sample *last = n > 0 ? &s->v[n - 1] : NULL;
        if (!last || last->from != s->v[i].from || last->to != s->v[i].to ||
            last->round != s->v[i].round)
            s->v[n++] = s->v[i];
        else if (s->v[i].cost < last->cost)
            last->cost = s->v[i].cost;
    }
    s->n = n;
}

static void keep_usable(struct soak *s, const struct ss_link_sample *sample,
                        int n)
{
    for (int i = 0; i < n; i++) {
        const struct ss_link_sample *x = &sample[i];
        if (x->from < 0 || x->from >= s->rule->nodes || x->to < 0 ||
            x->to >= s->rule->nodes || x->from == x->to || x->round < 0 ||
            !isfinite(x->cost) || x->cost <= 0)
            continue;
        s->v[s->n++] = *x;
        if (x->round >= s->rounds)
            s->rounds = x->round + 1;
    }
    if (s->rounds > s->n) /* odd numbers of rounds take no memory */
        s->rounds = s->n;
    qsort(s->v, (size_t)s->n, sizeof(*s->v), by_pair);
    keep_fastest(s);
}

enum ss_status ss_localise_spells(const struct ss_link_sample *sample, int n,
                                  const struct ss_localise_rule *rule,
                                  struct ss_flickers *out)
{
    struct soak s = {.rule = rule, .out = out};
    bool more = true;
    enum ss_status status;

    *out = (struct ss_flickers){0};
    status = take_memory(&s, n);
    if (status == SS_OK)
        keep_usable(&s, sample, n);
    if (status == SS_OK && s.n > 0) {
        mark_slow(&s);
        while (status == SS_OK && more && out->n < MOST_NAMED)
            status = name_one(&s, &more);
    }
    release(&s);
    if (status != SS_OK)
        ss_flickers_free(out);
    return status;
}

void ss_flickers_free(struct ss_flickers *flickers)
{
    ss_free(flickers->v);
    *flickers = (struct ss_flickers){0};
}
