/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of the pairs table: as samples for localise, and reduced to one number a
 * pair, library and direction for the report. Must not know what is slow.
 */
#include "analysis/pairs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/findings.h"
#include "base/mem.h"
#include "base/str.h"
#include "timing/stats.h"

double ss_pair_rate(const struct ss_pair_row *row)
{
    double bytes = (double)row->bytes * (double)row->messages;

    if (strcmp(row->direction, "latency") == 0 || !(row->duration_ns > 0))
        return NAN;
    if (strcmp(row->direction, "both_ways") == 0)
        bytes *= 2;
    return bytes / row->duration_ns * 1e9;
}

static bool is_sample(const struct ss_pair_row *row, int first, int last)
{
    return row->decides && row->pass >= first && row->pass <= last &&
           row->duration_ns > 0 && strcmp(row->library, "mpi") == 0 &&
           strcmp(row->direction, "one_way") == 0;
}

enum ss_status ss_pair_samples(const struct ss_pair_row *row, int64_t n_rows,
                               int first, int last, struct ss_link_sample **out,
                               int *n)
{
    int64_t more = 0;

    for (int64_t i = 0; i < n_rows; i++)
        more += is_sample(&row[i], first, last);
    struct ss_link_sample *grown = ss_realloc(
        *out, (size_t)(*n + more) + 1, sizeof(*grown), "samples of pairs");
    if (!grown)
        return SS_ERR_NO_MEMORY;
    *out = grown;
    for (int64_t i = 0; i < n_rows; i++)
        if (is_sample(&row[i], first, last))
            grown[(*n)++] = (struct ss_link_sample){
                .from = row[i].a,
                .to = row[i].b,
                .pass = row[i].pass,
                .round = row[i].round,
                .cost = row[i].duration_ns /
                        ((double)row[i].bytes * (double)row[i].messages),
                .when = (double)row[i].start_ns / 1e9,
            };
    return SS_OK;
}

/** Rows of one number: equal but for round and sample. */
static int compare(const struct ss_pair_row *x, const struct ss_pair_row *y)
{
    int by = strcmp(x->library, y->library);

    if (by == 0)
        by = strcmp(y->direction, x->direction); /* one_way first */
    if (by == 0)
        by = (x->a > y->a) - (x->a < y->a);
    if (by == 0)
        by = (x->b > y->b) - (x->b < y->b);
    if (by == 0)
        by = (x->decides > y->decides) - (x->decides < y->decides);
    if (by == 0 && !x->decides && strcmp(x->direction, "both_ways") != 0)
        by = (x->bytes > y->bytes) - (x->bytes < y->bytes);
    return by;
}

static int compare_rows(const void *a, const void *b)
{
    const struct ss_pair_row *x = *(const struct ss_pair_row *const *)a;
    const struct ss_pair_row *y = *(const struct ss_pair_row *const *)b;
    int by = compare(x, y);

    if (by == 0)
        by = (x->pass > y->pass) - (x->pass < y->pass);
    if (by == 0)
        by = (x->round > y->round) - (x->round < y->round);
    return by;
}

static bool same_round(const struct ss_pair_row *a, const struct ss_pair_row *b)
{
    return a->pass == b->pass && a->round == b->round;
}

/** Rows [0, n) are of one pair, library and direction: the median over rounds
 * of the fastest batch, as localise sees it. */
static void reduce(const struct ss_pair_row *const *row, int n, double *scratch,
                   struct ss_pair_result *out)
{
    const struct ss_pair_row *first = row[0];
    bool latency = strcmp(first->direction, "latency") == 0;
    size_t rounds = 0;

    *out = (struct ss_pair_result){.row = first,
                                   .bytes = first->bytes,
                                   .n = n,
                                   .latency_us = NAN,
                                   .gbs = NAN};
    for (int i = 0; i < n; i++) {
        double value =
            latency ? -row[i]->duration_ns / 1e3 : ss_pair_rate(row[i]) / 1e9;
        if (i == 0 || !same_round(row[i - 1], row[i]))
            scratch[rounds++] = value;
        else if (value > scratch[rounds - 1])
            scratch[rounds - 1] = value;
        if (row[i]->bytes > out->bytes)
            out->bytes = row[i]->bytes;
    }
    if (latency)
        out->latency_us = -ss_median(scratch, rounds);
    else
        out->gbs = ss_median(scratch, rounds);
}

static int64_t collect(const struct ss_run_data *run,
                       const struct ss_pair_row **row)
{
    int64_t n = 0;

    for (int p = 0; p < run->n_points; p++)
        for (int64_t i = 0; i < run->point[p].n_pairs; i++)
            if (run->point[p].pair[i].pass < 2) {
                if (row)
                    row[n] = &run->point[p].pair[i];
                n++;
            }
    return n;
}

enum ss_status ss_reduce_pairs(const struct ss_run_data *run,
                               struct ss_result *out)
{
    int64_t n = collect(run, NULL);
    const struct ss_pair_row **row =
        ss_alloc((size_t)n + 1, sizeof(const struct ss_pair_row *), "pairs");
    double *scratch = ss_alloc((size_t)n + 1, sizeof(*scratch), "pairs");

    out->pair = ss_alloc((size_t)n + 1, sizeof(*out->pair), "pairs");
    enum ss_status status =
        row && scratch && out->pair ? SS_OK : SS_ERR_NO_MEMORY;
    if (status == SS_OK) {
        collect(run, row);
        qsort(row, (size_t)n, sizeof(*row), compare_rows);
        for (int64_t i = 0, end; i < n; i = end) {
            for (end = i + 1; end < n && compare(row[i], row[end]) == 0;)
                end++;
            reduce(&row[i], (int)(end - i), scratch,
                   &out->pair[out->n_pairs++]);
        }
    }
    ss_free(row);
    ss_free(scratch);
    return status;
}
