/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The numbers of one point (DESIGN section 2), from its reduced groups. Must
 * not know how they are shown or judged.
 */
#include <math.h>
#include <string.h>

#include "analysis/reduce.h"
#include "base/mem.h"

#define NO_ESTIMATE                                                            \
    (struct ss_estimate)                                                       \
    {                                                                          \
        .median = NAN, .lo = NAN, .hi = NAN, .min = NAN, .max = NAN            \
    }

/** Everything unknown. */
static void clear(const struct ss_point_data *data, struct ss_point_result *out)
{
    const struct ss_ratio unknown = {NAN, NAN, NAN};

    *out = (struct ss_point_result){
        .meta = &data->meta, .data = data, .slowest_group = -1};
    out->step = NO_ESTIMATE;
    out->efficiency = unknown;
    out->slowest_efficiency = out->step_min_ms = out->step_max_ms = NAN;
    out->e_devices = out->e_comm = out->base_ms = NAN;
    out->parallel_efficiency = out->shape_efficiency = NAN;
    out->compute_only_ms = out->comm_only_ms = out->exposed_ms = NAN;
    out->compute_only_half = INFINITY;
    out->hidden_share = out->interference_ms = NAN;
    out->sampled_ms = out->busy_ms = out->transfer_ms = NAN;
    out->wait_persistent_ms = out->wait_jitter_ms = out->unsplit_ms = NAN;
    out->bubble_ms = out->input_ms = out->launch_ms = out->other_ms = NAN;
    for (int d = 0; d < SS_DIMS; d++)
        out->transfer_by[d] = NAN;
    for (int p = 0; p < SS_PHASES; p++)
        out->phases_ms[p] = NAN;
    out->mfu = out->hfu = out->tokens_per_s = NAN;
    out->tokens_per_s_per_device = out->tflops_per_device = NAN;
    out->clock_mhz = out->power_w = out->capped_share = NAN;
    out->perturbed_share = NAN;
    out->clock_bound_us = out->comm_create_ms = out->first_step_ms = NAN;
}

static const char *status_of(const struct ss_point_row *meta,
                             const struct ss_point_result *out)
{
    if (meta->status[0] != '\0' && strcmp(meta->status, "ok") != 0)
        return meta->status;
    if (meta->verified == 0)
        return "failed";
    if (isnan(out->step.median) || out->step.flags & SS_SAMPLE_TOO_FEW)
        return "too_few_samples";
    return out->step.flags & SS_SAMPLE_NO_STEADY ? "no_steady_state" : "ok";
}

/** E of a group against its base; factor n0 / n in strong scaling. */
static double factor_of(const struct ss_point_row *meta)
{
    if (strcmp(meta->mode, "strong") != 0)
        return 1;
    return (double)meta->base_size / (double)meta->size;
}

static void fill_efficiency(const struct ss_point_row *meta,
                            const struct ss_group_stat *group,
                            const struct ss_base_match *base,
                            struct ss_point_result *out)
{
    double f = factor_of(meta), t = group->whole.median;

    if (base->n == 0)
        return;
    out->base_ms = base->median;
    out->e_devices = base->median / base->max;
    out->e_comm = f * base->max / t;
    if (meta->size == meta->base_size) {
        out->efficiency = (struct ss_ratio){1, 1, 1};
    } else {
        ss_ratio_of(&base->group->whole, &group->whole, &out->efficiency);
        out->efficiency.value *= f;
        out->efficiency.lo *= f;
        out->efficiency.hi *= f;
    }
    const struct ss_point_row *at = &base->point->data->meta;
    double flops = meta->flops / meta->size / group->compute.median;
    double base_flops = at->flops / at->size / base->group->compute.median;
    if (meta->flops > 0 && at->flops > 0)
        out->shape_efficiency = flops / base_flops;
}

static void fill_times(const struct ss_point_stat *stat,
                       const struct ss_group_stat *group,
                       struct ss_point_result *out)
{
    out->step = group->whole;
    out->step_min_ms = out->step_max_ms = group->whole.median;
    for (int g = 0; g < stat->n_groups; g++) {
        double t = stat->group[g].whole.median;
        if (t < out->step_min_ms)
            out->step_min_ms = t;
        if (t > out->step_max_ms)
            out->step_max_ms = t;
    }
    out->slowest_group = stat->group[stat->slowest].index;
    out->compute_only_ms = group->compute.median;
    out->compute_only_half = ss_half_width(&group->compute);
    out->comm_only_ms = group->comm.median;
    out->parallel_efficiency = group->compute.median / group->whole.median;
    out->perturbed_share = group->sampled_median / group->whole.median - 1;
    if (out->perturbed_share > 0.02)
        out->flags |= SS_FLAG_PERTURBED;
    if (group->whole.flags & SS_SAMPLE_AUTOCORRELATED)
        out->flags |= SS_FLAG_AUTOCORRELATED;
}

static void fill_rates(const struct ss_run_data *run,
                       struct ss_point_result *out)
{
    const struct ss_point_row *meta = out->meta;
    double seconds = out->step.median * 1e-3, size = meta->size;

    if (meta->model_flops > 0)
        out->tflops_per_device = meta->model_flops / seconds / size * 1e-12;
    if (run->peak_flops > 0) {
        if (meta->model_flops > 0)
            out->mfu = meta->model_flops / (seconds * run->peak_flops * size);
        if (meta->flops > 0)
            out->hfu = meta->flops / (seconds * run->peak_flops * size);
    }
    if (meta->global_tokens > 0) {
        out->tokens_per_s = (double)meta->global_tokens / seconds;
        out->tokens_per_s_per_device = out->tokens_per_s / size;
    }
}

/** A device in words: its index and name, or the cores of its share. */
static void device_words(const struct ss_rank_row *row, char *out, size_t size)
{
    if (row->device < 0)
        ss_format(out, size, "cpu %s", row->cpuset);
    else if (row->device_name[0] != '\0')
        ss_format(out, size, "%d %s", (int)row->device, row->device_name);
    else
        ss_format(out, size, "%d", (int)row->device);
}

static void name_rank(const struct ss_run_data *run,
                      struct ss_rank_result *rank)
{
    const struct ss_rank_row *row =
        rank->rank < run->n_ranks ? &run->rank[rank->rank] : NULL;

    rank->mpi_rank = row ? row->mpi_rank : rank->rank;
    rank->node = "";
    rank->uuid = row ? row->uuid : "";
    if (!row)
        return;
    device_words(row, rank->device, sizeof(rank->device));
    if (row->node >= 0 && row->node < run->n_nodes)
        rank->node = run->node[row->node].name;
}

/** Every rank of the curve's groups. */
static enum ss_status fill_ranks(const struct ss_run_data *run,
                                 const struct ss_point_stat *stat,
                                 struct ss_point_result *out)
{
    const struct ss_block_choice whole = {SS_WHOLE, 0},
                                 compute = {SS_COMPUTE_ONLY, 0};
    const struct ss_point_data *data = stat->data;
    double *scratch =
        ss_alloc(ss_point_scratch(data), sizeof(*scratch), "rank times");

    out->rank =
        ss_alloc((size_t)data->n_ranks, sizeof(*out->rank), "ranks of a point");
    if (!scratch || !out->rank) {
        ss_free(scratch);
        return SS_ERR_NO_MEMORY;
    }
    for (int r = 0; r < data->n_ranks; r++) {
        const struct ss_point_rank_row *row = &data->rank[r];
        if (row->group < 0)
            continue;
        struct ss_rank_result *rank = &out->rank[out->n_ranks++];
        *rank = (struct ss_rank_result){
            .rank = r,
            .group = row->group,
            .step_ms = ss_rank_cadence(data, r, &whole, scratch),
            .compute_only_ms = ss_rank_cadence(data, r, &compute, scratch),
            .wait_ms = NAN,
            .excess_ms = row->sampled_steps > 0 ? row->excess_ns * SS_MS : NAN,
            .last_arrivals = row->last_arrivals,
            .collectives = row->collectives,
        };
        name_rank(run, rank);
    }
    ss_free(scratch);
    return SS_OK;
}

/** Mean over the ranks of the median group, each on its own cadence. */
static double mean_exposed(const struct ss_point_result *out, int group)
{
    double sum = 0;
    int n = 0;

    for (int i = 0; i < out->n_ranks; i++)
        if (out->rank[i].group == group) {
            sum += out->rank[i].step_ms - out->rank[i].compute_only_ms;
            n++;
        }
    return n ? sum / n : NAN;
}

/** Did any rank of the point take part in a collective? */
static bool communicates(const struct ss_point_result *out)
{
    for (int i = 0; i < out->n_ranks; i++)
        if (out->rank[i].collectives > 0)
            return true;
    return !isnan(out->comm_only_ms);
}

static enum ss_status fill_measured(const struct ss_run_data *run,
                                    const struct ss_point_stat *points, int n,
                                    const struct ss_point_stat *stat,
                                    struct ss_point_result *out)
{
    const struct ss_group_stat *group = &stat->group[stat->median];
    const struct ss_group_stat *slowest = &stat->group[stat->slowest];
    struct ss_base_match base;

    fill_times(stat, group, out);
    fill_rates(run, out);
    SS_TRY(ss_base_find(points, n, stat, slowest, &base));
    if (base.n > 0)
        out->slowest_efficiency =
            factor_of(out->meta) * base.median / slowest->whole.median;
    SS_TRY(ss_base_find(points, n, stat, group, &base));
    fill_efficiency(out->meta, group, &base, out);
    SS_TRY(fill_ranks(run, stat, out));
    out->exposed_ms = mean_exposed(out, group->index);
    ss_point_fill_counters(stat, out);
    SS_TRY(ss_point_fill_terms(stat, out));
    if (!communicates(out))
        /* whole and compute-only are then the same steps: their difference is
         * noise, and no communication's doing */
        out->exposed_ms = out->interference_ms = NAN;
    return SS_OK;
}

enum ss_status ss_point_fill(const struct ss_run_data *run,
                             const struct ss_point_stat *points, int n,
                             const struct ss_point_stat *stat,
                             struct ss_point_result *out)
{
    const struct ss_point_row *meta = &stat->data->meta;

    clear(stat->data, out);
    if (meta->shared_devices)
        out->flags |= SS_FLAG_SHARED_DEVICES;
    out->clock_bound_us = (double)meta->clock_bound_ns * 1e-3;
    out->comm_create_ms = (double)meta->comm_create_ns * SS_MS;
    if (meta->first_step_ns > 0)
        out->first_step_ms = (double)meta->first_step_ns * SS_MS;
    if (stat->median >= 0)
        SS_TRY(fill_measured(run, points, n, stat, out));
    out->status = status_of(meta, out);
    return SS_OK;
}
