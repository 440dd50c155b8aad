/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From suspects to findings: one a rank, or one for a node whose ranks are all
 * slow alike. Decides kind, severity and words; must not look at samples.
 */
#include <math.h>

#include "analysis/findings.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/units.h"

#define ERROR_FACTOR (1 / 0.9) /* under 0.9 of its peers */
#define ALIKE 1.5 /* largest over smallest effect of the ranks of a node */

/** Numbers of ranks that take turns on cores, or of devices that are shared,
 * accuse nobody for certain. */
static bool is_excused(const struct ss_run_data *run, int rank)
{
    const struct ss_rank_row *row = &run->rank[rank];

    return run->share_devices != 0 || row->sharers > row->cores;
}

static enum ss_severity severity_of(const struct ss_run_data *run, int rank,
                                    double factor)
{
    return factor > ERROR_FACTOR && !is_excused(run, rank) ? SS_ERROR
                                                           : SS_WARNING;
}

static void arrivals_words(const struct ss_suspect *s, char *out, size_t size)
{
    out[0] = '\0';
    if (s->sampled_steps > 0 && s->late_steps > 0)
        ss_format(out, size,
                  "%slast to arrive in %lld of %lld sampled steps, %.3g ms a "
                  "step of its own making at %s",
                  s->compute ? "; " : "", (long long)s->late_steps,
                  (long long)s->sampled_steps, s->excess_ms,
                  ss_counted(s->excess_size, "rank").text);
}

static void evidence_of(const struct ss_suspect *s, char *out, size_t size)
{
    char arrivals[160], compute[200] = "";

    arrivals_words(s, arrivals, sizeof(arrivals));
    if (s->compute)
        ss_format(compute, sizeof(compute),
                  "compute alone takes %.3g times its peers' median (95 %% "
                  "%.3g to %.3g), slower in %d of %d blocks",
                  s->factor, s->lo, s->hi, s->slow_blocks, s->blocks);
    ss_format(out, size, "%s%s%s", compute, arrivals,
              s->compute ? "" : "; its compute alone is not slow");
}

static const char *advice_of(enum ss_finding_kind kind)
{
    if (kind == SS_SLOW_DEVICE)
        return "look for a power or thermal cap, another process, ECC errors; "
               "swap the device or leave it out";
    if (kind == SS_SLOW_NODE)
        return "look for a power or thermal cap of the host, its BIOS profile, "
               "another job; drain the node";
    return "look for another process on its cores, its binding, clock and "
           "thermal cap; leave the rank's node out and compare";
}

static void add_rank(struct ss_findings *list, const struct ss_suspect *s)
{
    const struct ss_rank_row *row = &list->run->rank[s->rank];
    enum ss_finding_kind kind =
        s->compute && row->device >= 0 ? SS_SLOW_DEVICE : SS_STRAGGLER_RANK;
    struct ss_finding *f =
        ss_findings_add(list, kind, severity_of(list->run, s->rank, s->factor));

    if (!f)
        return;
    ss_finding_at(list->run, s->rank, f);
    f->factor = s->factor;
    f->factor_lo = s->lo;
    f->factor_hi = s->hi;
    f->confidence = s->confidence;
    evidence_of(s, f->evidence, sizeof(f->evidence));
    ss_copy(f->advice, sizeof(f->advice), advice_of(kind));
}

/** Suspects of one node. */
struct node_view {
    int ranks, suspects;
    double least, most, lo, hi, sum, confidence;
};

static struct node_view view_node(const struct ss_run_data *run,
                                  const struct ss_suspects *suspects, int node)
{
    struct node_view v = {
        .least = INFINITY, .most = 0, .lo = INFINITY, .hi = 0, .confidence = 1};

    for (int r = 0; r < run->n_ranks; r++)
        v.ranks += run->rank[r].node == node;
    for (int i = 0; i < suspects->n; i++) {
        const struct ss_suspect *s = &suspects->v[i];
        if (!s->compute || run->rank[s->rank].node != node)
            continue;
        v.suspects++;
        v.sum += s->factor;
        v.least = fmin(v.least, s->factor);
        v.most = fmax(v.most, s->factor);
        v.lo = fmin(v.lo, s->lo);
        v.hi = fmax(v.hi, s->hi);
        v.confidence = fmin(v.confidence, s->confidence);
    }
    return v;
}

/** All ranks of a node with several, slow by the like factor. */
static bool is_slow_node(const struct node_view *v)
{
    return v->ranks > 1 && v->suspects == v->ranks &&
           v->most - 1 <= ALIKE * (v->least - 1);
}

static void add_node(struct ss_findings *list, int node, int rank,
                     const struct node_view *v)
{
    double factor = v->sum / v->suspects;
    struct ss_finding *f = ss_findings_add(
        list, SS_SLOW_NODE, severity_of(list->run, rank, factor));

    if (!f)
        return;
    ss_copy(f->node, sizeof(f->node), list->run->node[node].name);
    f->factor = factor;
    f->factor_lo = v->lo;
    f->factor_hi = v->hi;
    f->confidence = v->confidence;
    ss_format(f->evidence, sizeof(f->evidence),
              "all %d ranks of the node are slow alike: compute alone takes "
              "%.3g to %.3g times their peers' median",
              v->ranks, v->least, v->most);
    ss_copy(f->advice, sizeof(f->advice), advice_of(SS_SLOW_NODE));
}

/** Nodes first; then the ranks of no slow node. */
static enum ss_status to_findings(struct ss_findings *list,
                                  const struct ss_suspects *suspects)
{
    const struct ss_run_data *run = list->run;
    char *told = ss_alloc((size_t)run->n_nodes + 1, 1, "slow nodes");

    if (!told)
        return SS_ERR_NO_MEMORY;
    for (int i = 0; i < suspects->n; i++) {
        int rank = suspects->v[i].rank, node = run->rank[rank].node;
        if (run->n_nodes < 2 || node < 0 || node >= run->n_nodes || told[node])
            continue;
        struct node_view v = view_node(run, suspects, node);
        if (is_slow_node(&v)) {
            told[node] = 1;
            add_node(list, node, rank, &v);
        }
    }
    for (int i = 0; i < suspects->n; i++) {
        int node = run->rank[suspects->v[i].rank].node;
        bool covered = node >= 0 && node < run->n_nodes && told[node] &&
                       suspects->v[i].compute;
        if (!covered)
            add_rank(list, &suspects->v[i]);
    }
    ss_free(told);
    return SS_OK;
}

enum ss_status ss_find_stragglers(struct ss_findings *list,
                                  const struct ss_point_result *point, int n,
                                  double min_effect)
{
    struct ss_suspects suspects;
    enum ss_status status =
        ss_suspect_compute(list->run, min_effect, &suspects);

    if (status == SS_OK)
        status =
            ss_suspect_arrivals(list->run, point, n, min_effect, &suspects);
    if (status == SS_OK)
        status = to_findings(list, &suspects);
    ss_free(suspects.v);
    return status;
}
