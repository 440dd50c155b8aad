/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of the collectives table, reduced to one number a collective, group
 * and size, and to a line over the sizes. Must not know what is slow.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/expect.h"
#include "analysis/findings.h"
#include "base/coll_rate.h"
#include "base/mem.h"

/** Rows of one line over sizes. */
static int compare_line(const struct ss_coll_row *x,
                        const struct ss_coll_row *y)
{
    int by = strcmp(x->library, y->library);

    if (by == 0)
        by = ss_coll_find(x->op) - ss_coll_find(y->op);
    if (by == 0)
        by = y->ranks - x->ranks; /* the world first */
    if (by == 0)
        by = strcmp(x->group, y->group);
    if (by == 0)
        by = (x->first_rank > y->first_rank) - (x->first_rank < y->first_rank);
    return by ? by : x->in_place - y->in_place;
}

/** Rows of one number. */
static int compare(const struct ss_coll_row *x, const struct ss_coll_row *y)
{
    int by = compare_line(x, y);

    return by ? by : (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

static int compare_rows(const void *a, const void *b)
{
    const struct ss_coll_row *x = *(const struct ss_coll_row *const *)a;
    const struct ss_coll_row *y = *(const struct ss_coll_row *const *)b;
    int by = compare(x, y);

    if (by == 0)
        by = x->per_call - y->per_call;
    return by ? by : (x->sample > y->sample) - (x->sample < y->sample);
}

static void fill_rates(const struct ss_run_data *run,
                       struct ss_coll_result *out)
{
    const struct ss_coll_row *row = out->row;
    double factor =
        ss_coll_bus_factor((enum ss_coll_op)ss_coll_find(row->op), row->ranks);
    double k = row->nodes, n = row->ranks, wire;
    char from[64];

    if (row->bytes <= SS_MESSAGE_SMALL)
        return;
    out->algbw_gbs = (double)row->bytes / out->time_us.median / 1e3;
    out->busbw_gbs = factor * out->algbw_gbs;
    ss_expect_coll(run, out);
    wire = ss_expect_wire(run, row->wire_bits, from, sizeof(from));
    if (row->nodes < 2 || !(wire > 0))
        return;
    double wire_gbs = wire / 8e9;
    out->wire_flat = out->busbw_gbs / wire_gbs;
    out->wire_tree = out->wire_flat * (k - 1) * (n / k) / (n - 1);
    if (row->counted_bytes > 0 && row->counted_ns > 0)
        out->wire_share =
            (double)row->counted_bytes / row->counted_ns / wire_gbs;
}

/** Rows [0, n) are of one number: batches, then single calls. */
static void reduce(const struct ss_run_data *run,
                   const struct ss_coll_row *const *row, size_t n,
                   double *scratch, struct ss_coll_result *out)
{
    double *v = scratch, *spare = scratch + n;
    size_t batches = 0, calls = 0;

    *out = (struct ss_coll_result){.row = row[0],
                                   .p5_us = NAN,
                                   .p95_us = NAN,
                                   .algbw_gbs = NAN,
                                   .busbw_gbs = NAN,
                                   .wire_share = NAN,
                                   .wire_flat = NAN,
                                   .wire_tree = NAN,
                                   .expected_gbs = NAN};
    for (size_t i = 0; i < n; i++)
        if (!row[i]->per_call)
            v[batches++] = row[i]->duration_ns / (double)row[i]->calls / 1e3;
    ss_estimate_blocks(v, NULL, batches, spare, &out->time_us);
    for (size_t i = batches; i < n; i++)
        v[calls++] = row[i]->duration_ns / 1e3;
    if (calls > 0) {
        ss_sort(v, calls);
        out->p5_us = ss_quantile_sorted(v, calls, 0.05);
        out->p95_us = ss_quantile_sorted(v, calls, 0.95);
    }
    fill_rates(run, out);
}

static int64_t collect(const struct ss_run_data *run,
                       const struct ss_coll_row **row)
{
    int64_t n = 0;

    for (int p = 0; p < run->n_points; p++)
        for (int64_t i = 0; i < run->point[p].n_colls; i++) {
            const struct ss_coll_row *r = &run->point[p].coll[i];
            if (ss_coll_find(r->op) < 0 || !(r->duration_ns > 0))
                continue; /* of a later version, or nothing */
            if (row)
                row[n] = r;
            n++;
        }
    return n;
}

static void reduce_all(const struct ss_run_data *run,
                       const struct ss_coll_row **row, int64_t n,
                       double *scratch, struct ss_result *out)
{
    qsort(row, (size_t)n, sizeof(*row), compare_rows);
    for (int64_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && compare(row[i], row[end]) == 0;)
            end++;
        reduce(run, &row[i], (size_t)(end - i), scratch,
               &out->coll[out->n_colls++]);
    }
    for (int64_t i = 0, end; i < out->n_colls; i = end) {
        const struct ss_coll_result *coll = &out->coll[i];
        for (end = i + 1; end < out->n_colls &&
                          compare_line(coll->row, out->coll[end].row) == 0;)
            end++;
        ss_coll_fit(coll, (int)(end - i), &out->fit[out->n_fits++]);
    }
}

enum ss_status ss_reduce_colls(const struct ss_run_data *run,
                               struct ss_result *out)
{
    int64_t n = collect(run, NULL);
    size_t room = (size_t)n + 1;
    const struct ss_coll_row **row =
        ss_alloc(room, sizeof(const struct ss_coll_row *), "collectives");
    double *scratch = ss_alloc(3 * room, sizeof(*scratch), "collectives");

    out->coll = ss_alloc(room, sizeof(*out->coll), "collectives");
    out->fit = ss_alloc(room, sizeof(*out->fit), "fits of collectives");
    enum ss_status status =
        row && scratch && out->coll && out->fit ? SS_OK : SS_ERR_NO_MEMORY;
    if (status == SS_OK) {
        collect(run, row);
        reduce_all(run, row, n, scratch, out);
    }
    ss_free(row);
    ss_free(scratch);
    return status;
}
