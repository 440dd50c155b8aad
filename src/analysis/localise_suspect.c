/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who is slow too often in a soak? Within a window every meeting could have
 * been the slow one, so a node's count has an exact distribution: a sum of
 * hypergeometric ones. Tried for nodes and pairs, both ways and one, at several
 * levels. Must not know times or confidence.
 */
#include <math.h>

#include "analysis/localise_soak.h"

/** Slow meetings below this number are an accident. */
#define LEAST_SLOW 3
/** How many times more often than the others' the accused's are slow. */
#define STANDS_OUT 3.0

bool ss_soak_stands_out(int slow, int all, int others, int others_all)
{
    return slow >= LEAST_SLOW && others_all > 0 &&
           slow * (others_all + 1.0) > STANDS_OUT * (others + 0.5) * all;
}

static int of_ways(enum ss_way way, double first, double second, double level)
{
    if (way == SS_WAY_EITHER)
        return first > level || second > level;
    return isnan(first) || isnan(second) ? -1 : first > level && second > level;
}

int ss_soak_is_slow(const struct ss_meeting *m, const struct ss_suspicion *x)
{
    bool low = m->low == x->node;

    if ((!low && m->high != x->node) ||
        (x->peer >= 0 && x->peer != (low ? m->high : m->low)))
        return -1;
    if (x->way == SS_WAY_EITHER || x->way == SS_WAY_BOTH)
        return of_ways(x->way, m->over[0], m->over[1], x->level);
    double over = m->over[(x->way == SS_WAY_SENDS) != low];
    return isnan(over) ? -1 : over > x->level;
}

void ss_soak_kind(const struct ss_meeting *m, const struct ss_suspicion *x,
                  int *all, int *slow)
{
    *all = *slow = 0;
    if (x->way == SS_WAY_EITHER || x->way == SS_WAY_BOTH) {
        int is = of_ways(x->way, m->over[0], m->over[1], x->level);
        *all = is >= 0;
        *slow = is > 0;
        return;
    }
    for (int d = 0; d < 2; d++) {
        *all += !isnan(m->over[d]);
        *slow += m->over[d] > x->level;
    }
}

/** P(j of the `mine` are among the `slow`), of `all`. */
static double hypergeometric(int all, int slow, int mine, int j)
{
    double p = 1;

    if (j > slow || j > mine || mine - j > all - slow)
        return 0;
    /* C(slow, j) C(all - slow, mine - j) / C(all, mine), factor by factor */
    for (int i = 0; i < j; i++)
        p *= (double)(slow - i) / (all - i) * (mine - i) / (i + 1.0);
    for (int i = 0; i < mine - j; i++)
        p *= (double)(all - slow - i) / (all - j - i);
    return p;
}

/** One more window: prob[0, most) are the chances of counts below `most`; what
 * reaches it moves to the tail. */
static double add_window(double *prob, int most, int all, int slow, int mine)
{
    double tail = 0;

    for (int have = most - 1; have >= 0; have--) {
        double from = prob[have];
        if (from == 0)
            continue;
        prob[have] = 0;
        for (int j = 0; j <= mine; j++) {
            double p = from * hypergeometric(all, slow, mine, j);
            if (have + j >= most)
                tail += p;
            else
                prob[have + j] += p;
        }
    }
    return tail;
}

/** Windows in turn, with how many meetings in them are the accused's. */
static double chance(struct ss_soak *s, const struct ss_suspicion *x)
{
    int end = s->first[x->node + 1];
    double *prob = s->scratch, tail = 0;

    for (int i = 0; i < x->slow; i++)
        prob[i] = i == 0;
    for (int i = s->first[x->node]; i < end;) {
        int window = s->m[s->of_node[i]].window, mine = 0;
        for (; i < end && s->m[s->of_node[i]].window == window; i++) {
            const struct ss_meeting *m = &s->m[s->of_node[i]];
            mine += !m->gone && ss_soak_is_slow(m, x) >= 0;
        }
        if (mine > 0 && s->slow[window] > 0)
            tail += add_window(prob, x->slow, s->all[window], s->slow[window],
                               mine);
    }
    return tail < 1 ? tail : 1;
}

static void count(const struct ss_soak *s, struct ss_suspicion *x)
{
    x->slow = x->all = 0;
    for (int i = s->first[x->node]; i < s->first[x->node + 1]; i++) {
        const struct ss_meeting *m = &s->m[s->of_node[i]];
        int is = m->gone ? -1 : ss_soak_is_slow(m, x);
        x->all += is >= 0;
        x->slow += is > 0;
    }
}

static void consider(struct ss_soak *s, struct ss_suspicion x, int all,
                     int slow, struct ss_suspicion *best)
{
    count(s, &x);
    x.others = slow - x.slow;
    x.others_all = all - x.all;
    if (!ss_soak_stands_out(x.slow, x.all, x.others, x.others_all))
        return;
    x.p = chance(s, &x);
    if (best->node < 0 || x.p < best->p)
        *best = x;
}

static void consider_all(struct ss_soak *s, enum ss_way way, double level,
                         struct ss_suspicion *best)
{
    struct ss_suspicion x = {.peer = -1, .way = way, .level = level};
    int all = 0, slow = 0;

    for (int w = 0; w < s->n_windows; w++)
        s->all[w] = s->slow[w] = 0;
    for (int i = 0; i < s->n; i++) {
        int more = 0, more_slow = 0;
        if (!s->m[i].gone)
            ss_soak_kind(&s->m[i], &x, &more, &more_slow);
        s->all[s->m[i].window] += more;
        s->slow[s->m[i].window] += more_slow;
        all += more;
        slow += more_slow;
    }
    if (slow < LEAST_SLOW)
        return;
    for (x.node = 0; x.node < s->rule->nodes; x.node++) {
        x.peer = -1;
        consider(s, x, all, slow, best);
    }
    for (int i = 0; i < s->n; i++) {
        x.node = s->m[i].low;
        x.peer = s->m[i].high;
        if (!s->m[i].gone && s->m[i].first_of_pair)
            consider(s, x, all, slow, best);
    }
}

struct ss_suspicion ss_soak_suspect(struct ss_soak *s, int *tests)
{
    struct ss_suspicion best = {.node = -1, .peer = -1, .p = 1};
    int pairs = 0;

    for (int i = 0; i < s->n; i++)
        pairs += s->m[i].first_of_pair;
    *tests = SS_WAYS * SS_LEVELS * (s->rule->nodes + pairs);
    for (int way = 0; way < SS_WAYS; way++)
        for (int level = 0; level < SS_LEVELS; level++)
            consider_all(s, (enum ss_way)way, s->level[level], &best);
    return best;
}
