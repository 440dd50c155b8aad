/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Device counters of a point: clock, power, capping of the median group, and
 * whether the clock differed between the variants that are compared. Knows
 * only what the blocks carry; NaN where a device has no counters.
 */
#include <math.h>

#include "analysis/reduce.h"

#define SHIFT 0.01 /* of the clock, or of the capped share */

struct counters {
    double mhz, mhz_n, joule, joule_s, capped_s, capped_of_s;
};

/** About the length of the block on this rank: its steps and the dropped one.
 */
static double block_seconds(const struct ss_point_data *data, int rank,
                            const struct ss_block_row *block)
{
    double ns = 0;

    for (int k = 0; k < block->steps; k++)
        ns += (double)ss_point_step(data, rank, block->first + k);
    return ns * 1e-9 * (block->steps + 1) / block->steps;
}

static void add(const struct ss_block_rank_row *row, double seconds,
                struct counters *c)
{
    double capped = (double)row->power_capped_s + (double)row->thermal_capped_s;

    if (!isnan(row->clock_mhz) && row->clock_mhz > 0) {
        c->mhz += (double)row->clock_mhz;
        c->mhz_n++;
    }
    if (!isnan(row->energy_j)) {
        c->joule += (double)row->energy_j;
        c->joule_s += seconds;
    }
    if (!isnan(capped)) {
        c->capped_s += capped;
        c->capped_of_s += seconds;
    }
}

static void sum(const struct ss_point_stat *stat, enum ss_variant variant,
                struct counters *c)
{
    const struct ss_block_choice choice = {variant, 0};
    const struct ss_group_stat *group = &stat->group[stat->median];
    const struct ss_point_data *data = stat->data;

    *c = (struct counters){0};
    for (int b = 0; b < data->n_blocks; b++) {
        if (!ss_block_chosen(&data->block[b], &choice))
            continue;
        for (int m = 0; m < group->n; m++) {
            int rank = group->member[m];
            add(&data->block_rank[(int64_t)b * data->n_ranks + rank],
                block_seconds(data, rank, &data->block[b]), c);
        }
    }
}

static double over(double a, double b)
{
    return b > 0 ? a / b : NAN;
}

void ss_point_fill_counters(const struct ss_point_stat *stat,
                            struct ss_point_result *out)
{
    struct counters whole, compute;

    sum(stat, SS_WHOLE, &whole);
    sum(stat, SS_COMPUTE_ONLY, &compute);
    out->clock_mhz = over(whole.mhz, whole.mhz_n);
    /* devices without counters leave zeros or NaN: no clock, no power */
    if (whole.mhz_n > 0) {
        out->power_w = over(whole.joule, whole.joule_s);
        out->capped_share = over(whole.capped_s, whole.capped_of_s);
    }
    double clock = over(compute.mhz, compute.mhz_n);
    double capped = over(compute.capped_s, compute.capped_of_s);
    if (fabs(clock / out->clock_mhz - 1) > SHIFT ||
        fabs(capped - out->capped_share) > SHIFT)
        out->flags |= SS_FLAG_CLOCK_SHIFTED;
}
