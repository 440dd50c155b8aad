/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The batches of a soak: each is held against the usual cost of its own pair,
 * so that only change counts. Must not know who is to blame.
 */
#include "analysis/localise_soak.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "timing/stats.h"

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
static void mark_slow(struct ss_soak *s)
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

struct way {
    int low, high, round, at;
};

static int by_meeting(const void *a, const void *b)
{
    const struct way *x = a, *y = b;

    if (x->low != y->low)
        return x->low < y->low ? -1 : 1;
    if (x->high != y->high)
        return x->high < y->high ? -1 : 1;
    return (x->round > y->round) - (x->round < y->round);
}

/** A hiccup of a host rarely hits both ways of a meeting, a slow link does. */
static enum ss_status mark_both(struct ss_soak *s)
{
    struct way *way = ss_alloc((size_t)s->n + 1, sizeof(*way), "soak samples");

    if (!way)
        return SS_ERR_NO_MEMORY;
    for (int i = 0; i < s->n; i++) {
        const struct ss_link_sample *v = &s->v[i];
        way[i] = (struct way){v->from < v->to ? v->from : v->to,
                              v->from < v->to ? v->to : v->from, v->round, i};
    }
    qsort(way, (size_t)s->n, sizeof(*way), by_meeting);
    for (int i = 0; i + 1 < s->n; i++)
        if (by_meeting(&way[i], &way[i + 1]) == 0) {
            int x = way[i].at, y = way[i + 1].at;
            s->back[x] = s->back[y] = true;
            s->both[x] = s->both[y] = s->slow[x] && s->slow[y];
        }
    ss_free(way);
    return SS_OK;
}

static enum ss_status take_memory(struct ss_soak *s, int n)
{
    size_t all = (size_t)n + 1, nodes = (size_t)s->rule->nodes + 1;

    s->v = ss_alloc(all, sizeof(*s->v), "soak samples");
    s->over = ss_alloc(all, sizeof(*s->over), "soak samples");
    s->slow = ss_alloc(all, sizeof(*s->slow), "soak samples");
    s->gone = ss_alloc(all, sizeof(*s->gone), "soak samples");
    s->back = ss_alloc(all, sizeof(*s->back), "soak samples");
    s->both = ss_alloc(all, sizeof(*s->both), "soak samples");
    s->scratch = ss_alloc(all, sizeof(*s->scratch), "soak samples");
    s->slow_of = ss_alloc(nodes, sizeof(*s->slow_of), "soak samples");
    s->all_of = ss_alloc(nodes, sizeof(*s->all_of), "soak samples");
    return s->v && s->over && s->slow && s->gone && s->back && s->both &&
                   s->scratch && s->slow_of && s->all_of
               ? SS_OK
               : SS_ERR_NO_MEMORY;
}

void ss_soak_close(struct ss_soak *s)
{
    ss_free(s->v);
    ss_free(s->over);
    ss_free(s->slow);
    ss_free(s->gone);
    ss_free(s->back);
    ss_free(s->both);
    ss_free(s->scratch);
    ss_free(s->slow_of);
    ss_free(s->all_of);
}

/** Of a way's batches in a round the fastest: a hiccup of the host hits one,
 * a slow link all of them. */
static void keep_fastest(struct ss_soak *s)
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

static void keep_usable(struct ss_soak *s, const struct ss_link_sample *sample,
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

enum ss_status ss_soak_open(const struct ss_link_sample *sample, int n,
                            struct ss_soak *s)
{
    SS_TRY(take_memory(s, n));
    keep_usable(s, sample, n);
    if (s->n == 0)
        return SS_OK;
    mark_slow(s);
    return mark_both(s);
}
