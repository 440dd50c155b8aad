/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The meetings of a soak: each way is held against its usual cost, so that only
 * change counts. Meetings of the same time form a window, within which anybody
 * could have been slow: a hiccup of the whole cluster accuses nobody. Must not
 * know who is to blame.
 */
#include "analysis/localise_soak.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "timing/stats.h"

/** Samples of a direction of a pair from which its usual cost is known. */
#define LEAST_OWN 5
#define MAD_TO_SIGMA 1.4826
/** Meetings of a window, at least. */
#define WINDOW 4

static int low_of(const struct ss_link_sample *v)
{
    return v->from < v->to ? v->from : v->to;
}

static int high_of(const struct ss_link_sample *v)
{
    return v->from < v->to ? v->to : v->from;
}

static int by_way(const void *a, const void *b)
{
    const struct ss_link_sample *x = a, *y = b;

    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    if (x->to != y->to)
        return x->to < y->to ? -1 : 1;
    if (x->round != y->round)
        return x->round < y->round ? -1 : 1;
    return (x->cost > y->cost) - (x->cost < y->cost);
}

static int by_meeting(const void *a, const void *b)
{
    const struct ss_link_sample *x = a, *y = b;

    if (x->round != y->round)
        return x->round < y->round ? -1 : 1;
    if (low_of(x) != low_of(y))
        return low_of(x) < low_of(y) ? -1 : 1;
    if (high_of(x) != high_of(y))
        return high_of(x) < high_of(y) ? -1 : 1;
    return (x->from > y->from) - (x->from < y->from);
}

static bool usable(const struct ss_link_sample *x, int nodes)
{
    return x->from >= 0 && x->from < nodes && x->to >= 0 && x->to < nodes &&
           x->from != x->to && x->round >= 0 && isfinite(x->when) &&
           isfinite(x->cost) && x->cost > 0;
}

/** Of a way's batches in a round the fastest: a hiccup of the host hits one,
 * a slow link all of them. Sorted by way; costs become logarithms. */
static int keep_fastest(struct ss_link_sample *v, int n)
{
    int kept = 0;

    for (int i = 0; i < n; i++) {
        struct ss_link_sample *last = kept > 0 ? &v[kept - 1] : NULL;
        if (!last || last->from != v[i].from || last->to != v[i].to ||
            last->round != v[i].round) {
            v[kept] = v[i];
            v[kept++].cost = log(v[i].cost);
        } else if (v[i].when < last->when) {
            last->when = v[i].when;
        }
    }
    return kept;
}

/** Turns costs into what is over the usual of their direction, or of all where
 * it was seen too seldom. */
static void hold_against_usual(struct ss_soak *s, struct ss_link_sample *v,
                               int n)
{
    for (int i = 0; i < n; i++)
        s->scratch[i] = v[i].cost;
    double common = ss_median(s->scratch, (size_t)n);

    for (int i = 0, end; i < n; i = end) {
        for (end = i;
             end < n && v[end].from == v[i].from && v[end].to == v[i].to; end++)
            s->scratch[end - i] = v[end].cost;
        double usual = end - i >= LEAST_OWN
                           ? ss_median(s->scratch, (size_t)(end - i))
                           : common;
        for (int k = i; k < end; k++)
            v[k].cost -= usual;
    }
}

static void find_levels(struct ss_soak *s, const struct ss_link_sample *v,
                        int n)
{
    for (int i = 0; i < n; i++)
        s->scratch[i] = fabs(v[i].cost);
    double noise = MAD_TO_SIGMA * ss_median(s->scratch, (size_t)n);
    double line = log1p(2 * s->rule->min_effect);

    if (3 * noise > line)
        line = 3 * noise;
    for (int i = 0; i < SS_LEVELS; i++)
        s->level[i] = line + 0.5 * i;
}

static bool is_of(const struct ss_link_sample *v, const struct ss_meeting *m)
{
    return m->round == v->round && m->low == low_of(v) && m->high == high_of(v);
}

/** Samples are sorted by meeting; a round is in one window as a whole. */
static void make_meetings(struct ss_soak *s, const struct ss_link_sample *v,
                          int n)
{
    int in_window = WINDOW;

    for (int i = 0; i < n; i++) {
        struct ss_meeting *m = &s->m[s->n > 0 ? s->n - 1 : 0];
        if (s->n == 0 || !is_of(&v[i], m)) {
            bool later = s->n == 0 || m->round != v[i].round;
            if (later && in_window >= WINDOW) {
                s->n_windows++;
                in_window = 0;
            }
            in_window++;
            m = &s->m[s->n++];
            *m = (struct ss_meeting){.low = low_of(&v[i]),
                                     .high = high_of(&v[i]),
                                     .round = v[i].round,
                                     .window = s->n_windows - 1,
                                     .when = v[i].when,
                                     .over = {NAN, NAN}};
        }
        m->over[v[i].from > v[i].to] = v[i].cost;
        m->when = fmin(m->when, v[i].when);
    }
}

static enum ss_status list_by_node(struct ss_soak *s)
{
    size_t nodes = (size_t)s->rule->nodes;
    int *next = ss_alloc(nodes + 1, sizeof(*next), "soak samples");

    if (!next)
        return SS_ERR_NO_MEMORY;
    for (int i = 0; i < s->n; i++) {
        s->first[s->m[i].low + 1]++;
        s->first[s->m[i].high + 1]++;
    }
    for (size_t i = 0; i < nodes; i++)
        next[i + 1] = s->first[i + 1] += s->first[i];
    for (int i = 0; i < s->n; i++) {
        s->of_node[next[s->m[i].low]++] = i;
        s->of_node[next[s->m[i].high]++] = i;
    }
    for (size_t i = 0; i < nodes; i++)
        next[i] = -1;
    for (int a = 0; a < s->rule->nodes; a++)
        for (int i = s->first[a]; i < s->first[a + 1]; i++) {
            struct ss_meeting *m = &s->m[s->of_node[i]];
            m->first_of_pair |= m->low == a && next[m->high] != a;
            if (m->low == a)
                next[m->high] = a;
        }
    ss_free(next);
    return SS_OK;
}

static enum ss_status take_memory(struct ss_soak *s, int n)
{
    size_t all = (size_t)n + 1, nodes = (size_t)s->rule->nodes + 1;

    s->m = ss_alloc(all, sizeof(*s->m), "soak samples");
    s->of_node = ss_alloc(2 * all, sizeof(*s->of_node), "soak samples");
    s->first = ss_alloc(nodes, sizeof(*s->first), "soak samples");
    s->all = ss_alloc(all, sizeof(*s->all), "soak samples");
    s->slow = ss_alloc(all, sizeof(*s->slow), "soak samples");
    s->scratch = ss_alloc(2 * all + nodes, sizeof(*s->scratch), "soak samples");
    return s->m && s->of_node && s->first && s->all && s->slow && s->scratch
               ? SS_OK
               : SS_ERR_NO_MEMORY;
}

void ss_soak_close(struct ss_soak *s)
{
    ss_free(s->m);
    ss_free(s->of_node);
    ss_free(s->first);
    ss_free(s->all);
    ss_free(s->slow);
    ss_free(s->scratch);
}

enum ss_status ss_soak_open(const struct ss_link_sample *sample, int n,
                            struct ss_soak *s)
{
    struct ss_link_sample *v =
        ss_alloc((size_t)n + 1, sizeof(*v), "soak samples");
    enum ss_status status = v ? take_memory(s, n) : SS_ERR_NO_MEMORY;
    int kept = 0;

    for (int i = 0; status == SS_OK && i < n; i++)
        if (usable(&sample[i], s->rule->nodes))
            v[kept++] = sample[i];
    if (status == SS_OK && kept > 0) {
        qsort(v, (size_t)kept, sizeof(*v), by_way);
        kept = keep_fastest(v, kept);
        hold_against_usual(s, v, kept);
        find_levels(s, v, kept);
        qsort(v, (size_t)kept, sizeof(*v), by_meeting);
        make_meetings(s, v, kept);
        status = list_by_node(s);
    }
    ss_free(v);
    return status;
}
