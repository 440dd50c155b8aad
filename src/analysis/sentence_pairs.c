/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The report's first line where pairs were measured: how fast good pairs are,
 * then the worst fault, or that there is none. Takes findings as they stand.
 */
#include <math.h>
#include <string.h>

#include "analysis/findings.h"
#include "analysis/verdict.h"
#include "base/str.h"

static bool is_link(enum ss_finding_kind kind)
{
    return kind == SS_SLOW_LINK || kind == SS_SLOW_NODE ||
           kind == SS_SLOW_PATH || kind == SS_INTERMITTENT_LINK ||
           kind == SS_SLOW_UNIFORM;
}

static void fault_text(const struct ss_finding *f, char *out, size_t size)
{
    char who[80];

    if (f->node[0])
        ss_copy(who, sizeof(who), f->node);
    else if (f->rank >= 0)
        ss_format(who, sizeof(who), "rank %d", f->rank);
    else
        ss_copy(who, sizeof(who), f->link);
    if (f->kind == SS_SLOW_UNIFORM)
        ss_format(out, size, "slower than the wire: %.60s", f->value);
    else if (f->kind == SS_INTERMITTENT_LINK)
        ss_format(out, size,
                  "the link of %s is slow at times, by a factor "
                  "of %.2g",
                  who, f->factor);
    else if (f->kind == SS_SLOW_PATH)
        ss_format(out, size, "the path %s is %.3g times slower", f->link,
                  f->factor);
    else
        ss_format(out, size, "the link of %s is %.3g times slower", who,
                  f->factor);
}

static int count_pairs(const struct ss_result *result)
{
    int n = 0;

    for (int64_t i = 0; i < result->n_pairs; i++) {
        const struct ss_pair_row *row = result->pair[i].row;
        n += row->decides && strcmp(row->library, "mpi") == 0;
    }
    return n / 2; /* each way is one */
}

void ss_pairs_sentence(const struct ss_result *result, char *out, size_t size)
{
    const struct ss_run_data *run = result->run;
    bool nodes = strcmp(result->pair[0].row->level, "node") == 0;
    double gbit = 8 * result->pairs_healthy_gbs;
    int n = nodes ? run->n_nodes : run->n_ranks, faults = 0, pairs;
    char rate[48] = "no rate", fault[160] = "no node or path stands out";

    pairs = count_pairs(result);
    if (gbit < 10)
        ss_format(rate, sizeof(rate), "%.0f Mbit/s", 1e3 * gbit);
    else if (!isnan(gbit))
        ss_format(rate, sizeof(rate), "%.4g Gbit/s", gbit);
    for (int i = 0; i < result->n_findings; i++)
        if (is_link(result->finding[i].kind) && faults++ == 0)
            fault_text(&result->finding[i], fault, sizeof(fault));
    ss_format(out, size, "%d %s, %d pairs: %s one way between good %s; %s", n,
              nodes ? "nodes" : "ranks", pairs, rate, nodes ? "nodes" : "ranks",
              fault);
    size_t at = strlen(out);
    if (faults > 1)
        ss_format(out + at, size - at, ", and %d more", faults - 1);
}
