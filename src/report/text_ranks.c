/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which ranks cost the others time. By default the ten worst of the largest
 * measured size, since that is where a reader looks for a culprit; on request
 * every rank of every point. It must not judge: accusing is the findings'.
 */
#include <math.h>

#include "base/mem.h"
#include "base/units.h"
#include "report/grid.h"
#include "report/parts.h"

static void rank_row(struct ss_grid *table, const struct ss_rank_result *r)
{
    ss_grid_row(table);
    ss_grid_cell_int(table, r->rank);
    ss_grid_cell(table, r->node ? r->node : "-");
    ss_grid_cell(table, r->device[0] ? r->device : "-");
    ss_grid_cell(table, ss_word_ms(r->step_ms).text);
    ss_grid_cell(table, ss_word_ms(r->compute_only_ms).text);
    ss_grid_cell(table, ss_word_ms(r->wait_ms).text);
    ss_grid_cell(table, ss_word_ms(r->excess_ms).text);
    ss_grid_cell_int(table, r->last_arrivals);
    ss_grid_cell_int(table, r->collectives);
}

static enum ss_status rank_table(const struct ss_point_result *point,
                                 const int *list, int n, struct ss_buf *out)
{
    static const char *const right[] = {"step ms",   "compute-only", "waits ms",
                                        "excess ms", "last at",      "of"};
    struct ss_grid table;
    ss_grid_open(&table);
    ss_grid_column(&table, "rank", SS_RIGHT);
    ss_grid_column(&table, "node", SS_LEFT_CUT);
    ss_grid_column(&table, "device", SS_LEFT_CUT);
    for (size_t i = 0; i < SS_COUNT_OF(right); i++)
        ss_grid_column(&table, right[i], SS_RIGHT);
    for (int i = 0; i < n; i++)
        rank_row(&table, &point->rank[list[i]]);
    return ss_grid_print(&table, out);
}

static bool all_tie(const struct ss_point_result *point)
{
    for (int i = 0; i < point->n_ranks; i++) {
        if (point->rank[i].last_arrivals > 0 || point->rank[i].excess_ms > 0)
            return false;
    }
    return true;
}

static void put_title(const struct ss_result *result,
                      const struct ss_point_result *point, int shown,
                      struct ss_buf *out)
{
    char text[160];
    if (shown < point->n_ranks)
        ss_format(text, sizeof text, "The %d of %s with the largest excess, %s",
                  shown, ss_counted(point->n_ranks, "rank").text,
                  ss_word_point(result, point->meta).text);
    else
        ss_format(text, sizeof text, "%s%s, %s", shown == 1 ? "" : "All ",
                  ss_counted(shown, "rank").text,
                  ss_word_point(result, point->meta).text);
    ss_buf_printf(out, "\n");
    ss_wrap(out, "", text);
}

static enum ss_status put_point(const struct ss_result *result,
                                const struct ss_point_result *point,
                                enum ss_report_ranks ranks, struct ss_buf *out)
{
    enum ss_status status;
    int n;
    int *list = ss_report_pick_ranks(point, ranks, &n);
    if (!list)
        return SS_ERR_NO_MEMORY;
    put_title(result, point, n, out);
    status = rank_table(point, list, n, out);
    if (all_tie(point))
        ss_wrap(out, "  ",
                "All ranks tie: none keeps the others waiting beyond what the "
                "clocks can tell.");
    ss_free(list);
    return status;
}

/* The measured point of most ranks; of equals the first (weak before strong).
 */
static const struct ss_point_result *largest(const struct ss_result *result)
{
    const struct ss_point_result *best = NULL;
    for (int i = 0; i < result->n_points; i++) {
        const struct ss_point_result *p = &result->point[i];
        if (p->n_ranks > 0 && ss_point_measured(p) &&
            (!best || p->meta->size > best->meta->size))
            best = p;
    }
    return best;
}

static void put_legend(struct ss_buf *out)
{
    ss_wrap(out, "  ",
            "rank: logical, in order of topology. compute-only: its step "
            "without communication. waits: time it is blocked until the last "
            "rank is ready. excess: how late it is of its own making, mean per "
            "step. last at: collectives that it was the last to reach, of so "
            "many.");
}

enum ss_status ss_text_ranks(const struct ss_result *result,
                             enum ss_report_ranks ranks, struct ss_buf *out)
{
    const struct ss_point_result *only = largest(result);
    if (ranks == SS_RANKS_NONE || !only)
        return SS_OK;
    for (int i = 0; i < result->n_points; i++) {
        const struct ss_point_result *p = &result->point[i];
        bool all =
            ranks == SS_RANKS_ALL && p->n_ranks > 0 && ss_point_measured(p);
        if (p == only || all)
            SS_TRY(put_point(result, p, ranks, out));
    }
    put_legend(out);
    return SS_OK;
}
