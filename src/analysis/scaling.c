/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a run's data to its result: reduces every point, orders the points
 * curve by curve, fills their numbers, looks for faults, decides. Knows no
 * engine, no MPI and no output.
 */
#include <math.h>
#include <string.h>

#include "analysis/findings.h"
#include "analysis/paths.h"
#include "analysis/socket_fallback.h"
#include "analysis/verdict.h"
#include "base/mem.h"

/** Order of the result: curves as they first appear, weak before strong, size,
 * load, pass. */
static int curve_rank(const struct ss_point_stat *stats, int n,
                      const char *curve)
{
    int i = 0;

    while (i < n && strcmp(stats[i].data->meta.curve, curve) != 0)
        i++;
    return i;
}

struct order {
    int curve, strong, size, alone, pass, at;
};

static void order_of(const struct ss_point_stat *stats, int n, int at,
                     struct order *out)
{
    const struct ss_point_row *meta = &stats[at].data->meta;

    *out = (struct order){.curve = curve_rank(stats, n, meta->curve),
                          .strong = strcmp(meta->mode, "strong") == 0,
                          .size = meta->size,
                          .alone = strcmp(meta->load, "alone") == 0,
                          .pass = meta->pass,
                          .at = at};
}

static bool before(const struct order *a, const struct order *b)
{
    if (a->curve != b->curve)
        return a->curve < b->curve;
    if (a->strong != b->strong)
        return a->strong < b->strong;
    if (a->size != b->size)
        return a->size < b->size;
    if (a->alone != b->alone)
        return a->alone < b->alone;
    return a->pass < b->pass;
}

static void sort_points(const struct ss_point_stat *stats, int n,
                        struct order *order)
{
    for (int i = 0; i < n; i++) {
        struct order x;
        int j = i;
        order_of(stats, n, i, &x);
        for (; j > 0 && before(&x, &order[j - 1]); j--)
            order[j] = order[j - 1];
        order[j] = x;
    }
}

static enum ss_status fill_points(const struct ss_run_data *run,
                                  const struct ss_point_stat *stats, int n,
                                  struct ss_result *out)
{
    struct order *order =
        ss_alloc((size_t)n, sizeof(*order), "order of points");
    enum ss_status status = order ? SS_OK : SS_ERR_NO_MEMORY;

    if (status == SS_OK)
        sort_points(stats, n, order);
    for (int i = 0; i < n && status == SS_OK; i++) {
        out->n_points = i + 1;
        status =
            ss_point_fill(run, stats, n, &stats[order[i].at], &out->point[i]);
    }
    ss_free(order);
    return status;
}

static enum ss_status reduce_points(const struct ss_run_data *run,
                                    struct ss_result *out)
{
    size_t n = (size_t)run->n_points;
    struct ss_point_stat *stats = ss_alloc(n, sizeof(*stats), "points");
    enum ss_status status = SS_ERR_NO_MEMORY;
    int steps = 0; /* points that hold steps */

    out->point = ss_alloc(n, sizeof(*out->point), "points");
    if (stats && out->point)
        status = SS_OK;
    for (size_t i = 0; i < n && status == SS_OK; i++)
        if (ss_mode_has_steps(run->point[i].meta.mode))
            status = ss_point_stat_open(&run->point[i], &stats[steps++]);
    if (status == SS_OK)
        status = fill_points(run, stats, steps, out);
    for (size_t i = 0; stats && i < n; i++)
        ss_point_stat_close(&stats[i]);
    ss_free(stats);
    return status;
}

static enum ss_status find(const struct ss_analysis_args *args,
                           struct ss_result *out)
{
    struct ss_findings list = {.run = args->run};
    double min_effect = args->rules ? args->rules->min_effect : 0.02;
    enum ss_status status;

    ss_find_hang(&list, args);
    ss_find_corruption(&list);
    status = ss_find_stragglers(&list, out->point, out->n_points, min_effect);
    ss_find_drift(&list);
    ss_find_shared_cores(&list);
    ss_find_accounting(&list, out->point, out->n_points);
    ss_find_clock_shift(&list, out->point, out->n_points);
    if (status == SS_OK)
        status = ss_find_ports(&list);
    if (status == SS_OK)
        status = ss_find_socket_fallback(&list);
    if (status == SS_OK)
        status = ss_find_links(
            &list, args->rules ? args->rules->min_effect_link : 0.05, out);
    ss_findings_sort(&list);
    out->finding = list.v;
    out->n_findings = list.n;
    return list.failed ? SS_ERR_NO_MEMORY : status;
}

enum ss_status ss_analyse(const struct ss_analysis_args *args,
                          struct ss_result *out)
{
    const struct ss_run_data *run = args->run;
    enum ss_status status;

    *out = (struct ss_result){
        .run = run, .pairs_healthy_gbs = NAN, .pairs_noise = NAN};
    out->complete = run->end_reason[0] == '\0' &&
                    (int64_t)run->n_points >= run->planned_points;
    SS_TRY_GOTO(reduce_points(run, out), status, fail);
    SS_TRY_GOTO(ss_reduce_pairs(run, out), status, fail);
    SS_TRY_GOTO(ss_reduce_colls(run, out), status, fail);
    SS_TRY_GOTO(find(args, out), status, fail);
    ss_startup_find(args, out);
    ss_paths_words(run, out->transports, sizeof(out->transports));
    ss_sentence_write(out, args->hang_sentence);
    ss_verdict_decide(out, args->rules, &out->verdict);
    return SS_OK;
fail:
    ss_result_free(out);
    return status;
}

void ss_result_free(struct ss_result *result)
{
    for (int i = 0; result->point && i < result->n_points; i++)
        ss_free(result->point[i].rank);
    ss_free(result->point);
    ss_free(result->pair);
    ss_free(result->coll);
    ss_free(result->fit);
    ss_free(result->finding);
    *result = (struct ss_result){.run = result->run};
}
