/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which ranks of a point a reader wants to see: all, none, or the few that
 * cost the others most. One choice for text and JSON, so that both name the
 * same ranks. It must not know how a rank came to be slow.
 */
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "report/parts.h"

/* >0 when a is worse; a missing number is the best of all. */
static int compare_number(double a, double b)
{
    if (isnan(a) || isnan(b))
        return isnan(b) - isnan(a);
    return (a > b) - (a < b);
}

static bool is_worse(const struct ss_rank_result *a,
                     const struct ss_rank_result *b)
{
    int order = compare_number(a->excess_ms, b->excess_ms);
    if (order == 0)
        order = compare_number(a->compute_only_ms, b->compute_only_ms);
    return order != 0 ? order > 0 : a->rank < b->rank;
}

/* Inserts rank i into the worst-first list of at most `max`. */
static void insert(const struct ss_point_result *point, int *list, int *n,
                   int max, int i)
{
    int at = *n;
    while (at > 0 && is_worse(&point->rank[i], &point->rank[list[at - 1]]))
        at--;
    if (at == max)
        return;
    if (*n < max)
        (*n)++;
    for (int k = *n - 1; k > at; k--)
        list[k] = list[k - 1];
    list[at] = i;
}

int *ss_report_pick_ranks(const struct ss_point_result *point,
                          enum ss_report_ranks ranks, int *n)
{
    int max = ranks == SS_RANKS_ALL    ? point->n_ranks
              : ranks == SS_RANKS_NONE ? 0
                                       : SS_REPORT_WORST;
    int *list = ss_alloc((size_t)max, sizeof *list, "the ranks of a report");
    *n = 0;
    if (!list)
        return NULL;
    for (int i = 0; i < point->n_ranks && max > 0; i++) {
        if (ranks == SS_RANKS_ALL)
            list[(*n)++] = i;
        else
            insert(point, list, n, max, i);
    }
    return list;
}
