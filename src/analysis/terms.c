/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The attribution of a point: means over sampled steps, because means add and
 * medians do not. Comes from sampled blocks only, which give no T and no E.
 */
#include <math.h>

#include "analysis/reduce.h"
#include "base/mem.h"

/** Sums over the sampled steps of the median group's ranks, ns. */
struct sums {
    double n, compute_n, compute_busy;
    double step, busy, transfer[SS_DIMS], waiting, persistent, unsplit, bubble,
        input, launch, other, comm_union, phase[SS_PHASES];
};

static void add_phases(const struct ss_terms_row *t, double *phase)
{
    phase[SS_PHASE_input] += (double)t->phase_input_ns;
    phase[SS_PHASE_forward] += (double)t->phase_forward_ns;
    phase[SS_PHASE_backward] += (double)t->phase_backward_ns;
    phase[SS_PHASE_dp_comm] += (double)t->phase_dp_comm_ns;
    phase[SS_PHASE_tp_comm] += (double)t->phase_tp_comm_ns;
    phase[SS_PHASE_pp_comm] += (double)t->phase_pp_comm_ns;
    phase[SS_PHASE_ep_comm] += (double)t->phase_ep_comm_ns;
    phase[SS_PHASE_cp_comm] += (double)t->phase_cp_comm_ns;
    phase[SS_PHASE_optimizer] += (double)t->phase_optimizer_ns;
}

static void add_whole(const struct ss_terms_row *t, struct sums *s)
{
    s->n++;
    s->step += (double)t->step_ns;
    s->busy += (double)t->busy_ns;
    s->transfer[SS_DIM_DP] += (double)t->transfer_dp_ns;
    s->transfer[SS_DIM_TP] += (double)t->transfer_tp_ns;
    s->transfer[SS_DIM_PP] += (double)t->transfer_pp_ns;
    s->transfer[SS_DIM_EP] += (double)t->transfer_ep_ns;
    s->transfer[SS_DIM_CP] += (double)t->transfer_cp_ns;
    s->waiting += (double)t->waiting_ns;
    s->persistent += (double)t->wait_persistent_ns;
    s->unsplit += (double)t->unsplit_ns;
    s->bubble += (double)t->bubble_ns;
    s->input += (double)t->input_ns;
    s->launch += (double)t->launch_ns;
    s->other += (double)t->other_ns;
    s->comm_union += (double)t->comm_union_ns;
    add_phases(t, s->phase);
}

/** Waiting of each rank, for its own row. */
struct rank_wait {
    double sum;
    int64_t n;
};

static void add_rows(const struct ss_point_data *data, int group,
                     struct sums *s, struct rank_wait *wait)
{
    for (int64_t i = 0; i < data->n_terms; i++) {
        const struct ss_terms_row *t = &data->terms[i];
        if (t->rank < 0 || t->rank >= data->n_ranks || t->block < 0 ||
            t->block >= data->n_blocks)
            continue;
        int variant = data->block[t->block].variant;
        bool mine = data->rank[t->rank].group == group;
        if (variant == SS_WHOLE) {
            wait[t->rank].sum += (double)t->waiting_ns;
            wait[t->rank].n++;
            if (mine)
                add_whole(t, s);
        } else if (variant == SS_COMPUTE_ONLY && mine) {
            s->compute_busy += (double)t->busy_ns;
            s->compute_n++;
        }
    }
}

static void fill_overlap(const struct sums *s, double transfer,
                         struct ss_point_result *out)
{
    if (s->comm_union <= 0)
        return;
    if (out->meta->overlap_measurable)
        out->hidden_share = 1 - transfer / s->comm_union;
    else
        out->flags |= SS_FLAG_OVERLAP_NOT_MEASURABLE;
}

static void fill_means(const struct sums *s, struct ss_point_result *out)
{
    double unit = SS_MS / s->n, transfer = 0;

    out->sampled_ms = s->step * unit;
    out->busy_ms = s->busy * unit;
    for (int d = 0; d < SS_DIMS; d++) {
        out->transfer_by[d] = s->transfer[d] * unit;
        transfer += s->transfer[d];
    }
    out->transfer_ms = transfer * unit;
    out->wait_persistent_ms = s->persistent * unit;
    out->wait_jitter_ms = (s->waiting - s->persistent) * unit;
    out->unsplit_ms = s->unsplit * unit;
    out->bubble_ms = s->bubble * unit;
    out->input_ms = s->input * unit;
    out->launch_ms = s->launch * unit;
    out->other_ms = s->other * unit;
    for (int p = 0; p < SS_PHASES; p++)
        out->phases_ms[p] = s->phase[p] * unit;
    if (s->compute_n > 0)
        out->interference_ms =
            out->busy_ms - s->compute_busy * SS_MS / s->compute_n;
    fill_overlap(s, transfer, out);
}

enum ss_status ss_point_fill_terms(const struct ss_point_stat *stat,
                                   struct ss_point_result *out)
{
    const struct ss_point_data *data = stat->data;
    struct sums sums = {0};
    struct rank_wait *wait =
        ss_alloc((size_t)data->n_ranks, sizeof(*wait), "waiting of ranks");

    if (!wait)
        return SS_ERR_NO_MEMORY;
    add_rows(data, stat->group[stat->median].index, &sums, wait);
    if (sums.n > 0)
        fill_means(&sums, out);
    for (int i = 0; i < out->n_ranks; i++) {
        const struct rank_wait *w = &wait[out->rank[i].rank];
        if (w->n > 0)
            out->rank[i].wait_ms = w->sum * SS_MS / (double)w->n;
    }
    ss_free(wait);
    return SS_OK;
}
