/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the fit of pairs works on: batches of one direction of a pair in one
 * round become one cell; rounds get dense numbers, so that resampling is a
 * matter of weights. Must not know what is slow.
 */
#include "analysis/localise_fit.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"

static int compare_samples(const void *a, const void *b)
{
    const struct ss_link_sample *x = a, *y = b;

    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    if (x->to != y->to)
        return x->to < y->to ? -1 : 1;
    if (x->pass != y->pass)
        return x->pass < y->pass ? -1 : 1;
    if (x->round != y->round)
        return x->round < y->round ? -1 : 1;
    return (x->cost > y->cost) - (x->cost < y->cost);
}

static bool same_cell(const struct ss_link_sample *a,
                      const struct ss_link_sample *b)
{
    return a->from == b->from && a->to == b->to && a->pass == b->pass &&
           a->round == b->round;
}

static bool usable(const struct ss_link_sample *s, int nodes)
{
    return s->from >= 0 && s->from < nodes && s->to >= 0 && s->to < nodes &&
           s->from != s->to && isfinite(s->cost) && s->cost > 0;
}

/**
 * Samples are sorted; one cell a (from, to, pass, round): its fastest batch.
 * What disturbs a batch makes it slower, so the best of a round says most about
 * the link.
 */
static void make_cells(struct ss_fit *fit, const struct ss_link_sample *s,
                       int n)
{
    for (int i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && same_cell(&s[i], &s[end]);)
            end++;
        struct ss_cell *cell = &fit->cell[fit->n_cells++];
        *cell = (struct ss_cell){s[i].from, s[i].to, s[i].pass, s[i].round,
                                 log(s[i].cost)};
        if (fit->n_pairs == 0 || cell[-1].from != cell->from ||
            cell[-1].to != cell->to)
            fit->first[fit->n_pairs++] = fit->n_cells - 1;
    }
    fit->first[fit->n_pairs] = fit->n_cells;
}

static int64_t round_key(const struct ss_cell *cell)
{
    return ((int64_t)cell->pass << 32) | (int64_t)(uint32_t)cell->round;
}

static int compare_keys(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/** Dense numbers for the rounds of all passes. */
static enum ss_status number_rounds(struct ss_fit *fit)
{
    size_t n = (size_t)fit->n_cells;
    int64_t *key = ss_alloc(n, sizeof(*key), "rounds");

    if (!key)
        return SS_ERR_NO_MEMORY;
    for (size_t i = 0; i < n; i++)
        key[i] = round_key(&fit->cell[i]);
    qsort(key, n, sizeof(*key), compare_keys);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || key[i] != key[fit->n_rounds - 1]) {
            fit->round_pass[fit->n_rounds] = (int)(key[i] >> 32);
            fit->weight[fit->n_rounds] = 1;
            key[fit->n_rounds++] = key[i];
        }
    for (size_t i = 0; i < n; i++) {
        int64_t mine = round_key(&fit->cell[i]);
        const int64_t *at = bsearch(&mine, key, (size_t)fit->n_rounds,
                                    sizeof(*key), compare_keys);
        fit->cell[i].round = (int)(at - key);
    }
    ss_free(key);
    return SS_OK;
}

/** A counting sort keeps the order of senders within a receiver. */
static enum ss_status order_by_receiver(struct ss_fit *fit)
{
    int *start = ss_alloc((size_t)fit->nodes + 1, sizeof(*start), "receivers");

    if (!start)
        return SS_ERR_NO_MEMORY;
    for (int p = 0; p < fit->n_pairs; p++)
        start[fit->cell[fit->first[p]].to + 1]++;
    for (int i = 0; i < fit->nodes; i++)
        start[i + 1] += start[i];
    for (int p = 0; p < fit->n_pairs; p++)
        fit->by_to[start[fit->cell[fit->first[p]].to]++] = p;
    ss_free(start);
    return SS_OK;
}

static enum ss_status take_memory(struct ss_fit *fit, int n)
{
    size_t cells = (size_t)n + 1, nodes = (size_t)fit->nodes;
    bool ok = true;

#define TAKE(member, count)                                                    \
    ok = ok && (fit->member =                                                  \
                    ss_alloc(count, sizeof(*fit->member), "the fit")) != NULL
    TAKE(cell, cells);
    TAKE(first, cells);
    TAKE(by_to, cells);
    TAKE(round_pass, cells);
    TAKE(weight, cells);
    TAKE(m, cells);
    TAKE(q, cells);
    TAKE(used, cells);
    for (int d = 0; d < 2; d++) {
        TAKE(cap[d], nodes);
        TAKE(effect[d], nodes);
        TAKE(partners[d], nodes);
        TAKE(bad[d], nodes);
    }
#undef TAKE
    return ok ? SS_OK : SS_ERR_NO_MEMORY;
}

enum ss_status ss_fit_open(const struct ss_link_sample *sample, int n,
                           int nodes, struct ss_fit *out)
{
    struct ss_link_sample *sorted =
        ss_alloc((size_t)n, sizeof(*sorted), "pair samples");
    enum ss_status status = sorted ? SS_OK : SS_ERR_NO_MEMORY;
    int kept = 0;

    *out = (struct ss_fit){.nodes = nodes};
    if (status == SS_OK)
        status = take_memory(out, n);
    if (status == SS_OK) {
        for (int i = 0; i < n; i++)
            if (usable(&sample[i], nodes))
                sorted[kept++] = sample[i];
        qsort(sorted, (size_t)kept, sizeof(*sorted), compare_samples);
        make_cells(out, sorted, kept);
        status = number_rounds(out);
    }
    if (status == SS_OK)
        status = order_by_receiver(out);
    if (status == SS_OK) {
        /* resampling can repeat a round as often as there are rounds */
        size_t most = (size_t)out->n_cells + 2 * (size_t)out->nodes +
                      (size_t)out->n_rounds + 1;
        out->scratch = ss_alloc(2 * most, sizeof(double), "the fit");
        status = out->scratch ? SS_OK : SS_ERR_NO_MEMORY;
    }
    ss_free(sorted);
    if (status != SS_OK)
        ss_fit_close(out);
    return status;
}

void ss_fit_close(struct ss_fit *fit)
{
    ss_free(fit->cell);
    ss_free(fit->first);
    ss_free(fit->by_to);
    ss_free(fit->round_pass);
    ss_free(fit->weight);
    ss_free(fit->m);
    ss_free(fit->q);
    ss_free(fit->used);
    ss_free(fit->scratch);
    for (int d = 0; d < 2; d++) {
        ss_free(fit->cap[d]);
        ss_free(fit->effect[d]);
        ss_free(fit->partners[d]);
        ss_free(fit->bad[d]);
    }
    *fit = (struct ss_fit){0};
}

int ss_fit_pair(const struct ss_fit *fit, int from, int to)
{
    int low = 0, high = fit->n_pairs;

    while (low < high) {
        int mid = (low + high) / 2;
        const struct ss_cell *c = &fit->cell[fit->first[mid]];
        if (c->from < from || (c->from == from && c->to < to))
            low = mid + 1;
        else
            high = mid;
    }
    if (low == fit->n_pairs)
        return -1;
    const struct ss_cell *c = &fit->cell[fit->first[low]];
    return c->from == from && c->to == to ? low : -1;
}
