/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From raw step times to the estimates of groups and ranks. A group's step
 * ends when its last rank ends it; a rank's cadence is its own. Must not know
 * what the numbers will be compared with.
 */
#include "analysis/reduce.h"

#include <math.h>

#include "base/mem.h"

bool ss_block_chosen(const struct ss_block_row *block,
                     const struct ss_block_choice *choice)
{
    return block->variant == (int32_t)choice->variant &&
           (block->sampled != 0) == (choice->sampled != 0) && block->steps > 0;
}

size_t ss_point_scratch(const struct ss_point_data *data)
{
    size_t most = 1;

    for (int b = 0; b < data->n_blocks; b++)
        if ((size_t)data->block[b].steps > most)
            most = (size_t)data->block[b].steps;
    return most + (size_t)data->n_blocks;
}

double ss_rank_block_median(const struct ss_point_data *data, int rank,
                            const struct ss_block_row *block, double *scratch)
{
    for (int k = 0; k < block->steps; k++)
        scratch[k] =
            (double)ss_point_step(data, rank, block->first + k) * SS_MS;
    return ss_median(scratch, (size_t)block->steps);
}

double ss_rank_cadence(const struct ss_point_data *data, int rank,
                       const struct ss_block_choice *choice, double *scratch)
{
    double *median = scratch, *step = scratch + data->n_blocks;
    size_t n = 0;

    for (int b = 0; b < data->n_blocks; b++)
        if (ss_block_chosen(&data->block[b], choice))
            median[n++] =
                ss_rank_block_median(data, rank, &data->block[b], step);
    return ss_median(median, n);
}

/** Room for the series of one group. */
struct series {
    double *median, *middle; /* [n_blocks], ms */
    double *step;            /* [longest block] */
    double *scratch;         /* [2 n_blocks + 1] */
    int64_t *end;            /* [n_ranks] */
    size_t n;
};

static enum ss_status series_open(const struct ss_point_data *data,
                                  struct series *s)
{
    size_t blocks = (size_t)data->n_blocks;

    *s = (struct series){0};
    s->median = ss_alloc(blocks, sizeof(double), "block medians");
    s->middle = ss_alloc(blocks, sizeof(double), "block times");
    s->step = ss_alloc(ss_point_scratch(data), sizeof(double), "step times");
    s->scratch = ss_alloc(2 * blocks + 1, sizeof(double), "statistics");
    s->end = ss_alloc((size_t)data->n_ranks, sizeof(int64_t), "step ends");
    return s->median && s->middle && s->step && s->scratch && s->end
               ? SS_OK
               : SS_ERR_NO_MEMORY;
}

static void series_close(struct series *s)
{
    ss_free(s->median);
    ss_free(s->middle);
    ss_free(s->step);
    ss_free(s->scratch);
    ss_free(s->end);
}

static int64_t latest(const struct series *s, int n)
{
    int64_t last = s->end[0];

    for (int m = 1; m < n; m++)
        last = s->end[m] > last ? s->end[m] : last;
    return last;
}

/** Adds one block: T(k) = difference of the group's latest ends. */
static void add_block(const struct ss_point_data *data,
                      const struct ss_group_stat *group, int b,
                      struct series *s)
{
    const struct ss_block_row *block = &data->block[b];
    int64_t first, before;

    for (int m = 0; m < group->n; m++)
        s->end[m] =
            data->block_rank[(int64_t)b * data->n_ranks + group->member[m]]
                .mark0_ns;
    first = before = latest(s, group->n);
    for (int k = 0; k < block->steps; k++) {
        for (int m = 0; m < group->n; m++)
            s->end[m] += (int64_t)ss_point_step(data, group->member[m],
                                                block->first + k);
        int64_t now = latest(s, group->n);
        s->step[k] = (double)(now - before) * SS_MS;
        before = now;
    }
    s->middle[s->n] = ((double)first + (double)(before - first) / 2) * SS_MS;
    s->median[s->n++] = ss_median(s->step, (size_t)block->steps);
}

static void group_estimate(const struct ss_point_data *data,
                           const struct ss_group_stat *group,
                           const struct ss_block_choice *choice,
                           struct series *s, struct ss_estimate *out)
{
    s->n = 0;
    for (int b = 0; b < data->n_blocks; b++)
        if (ss_block_chosen(&data->block[b], choice))
            add_block(data, group, b, s);
    ss_estimate_blocks(s->median, s->middle, s->n, s->scratch, out);
}

static void group_reduce(const struct ss_point_data *data,
                         struct ss_group_stat *group, struct series *s)
{
    const struct ss_block_choice whole = {SS_WHOLE, 0},
                                 compute = {SS_COMPUTE_ONLY, 0},
                                 comm = {SS_COMM_ONLY, 0},
                                 sampled = {SS_WHOLE, 1};
    struct ss_estimate e;

    group_estimate(data, group, &whole, s, &group->whole);
    group_estimate(data, group, &compute, s, &group->compute);
    group_estimate(data, group, &comm, s, &group->comm);
    group_estimate(data, group, &sampled, s, &e);
    group->sampled_median = e.median;
}

static int highest_group(const struct ss_point_data *data)
{
    int highest = -1;

    for (int r = 0; r < data->n_ranks; r++)
        if (data->rank[r].group > highest &&
            data->rank[r].group < data->n_ranks)
            highest = data->rank[r].group;
    return highest;
}

/** Counting sort of the ranks by group; ranks stay ascending. */
static void sort_members(struct ss_point_stat *stat, int *at, int groups)
{
    const struct ss_point_data *data = stat->data;
    int next = 0;

    for (int r = 0; r < data->n_ranks; r++)
        if (data->rank[r].group >= 0 && data->rank[r].group < groups)
            at[data->rank[r].group]++;
    for (int g = 0; g < groups; g++) {
        int n = at[g];
        at[g] = next;
        if (n > 0)
            stat->group[stat->n_groups++] = (struct ss_group_stat){
                .index = g, .n = n, .member = stat->members + next};
        next += n;
    }
    for (int r = 0; r < data->n_ranks; r++)
        if (data->rank[r].group >= 0 && data->rank[r].group < groups)
            stat->members[at[data->rank[r].group]++] = r;
}

/** Median and slowest group by T of the whole variant. */
static enum ss_status rank_groups(struct ss_point_stat *stat)
{
    size_t n = (size_t)stat->n_groups, known = 0;
    double *t = ss_alloc(n, sizeof(*t), "groups");
    int *scratch = ss_alloc(2 * n, sizeof(*scratch), "groups");
    enum ss_status status = SS_ERR_NO_MEMORY;

    if (!t || !scratch)
        goto out;
    status = SS_OK;
    for (size_t g = 0; g < n; g++)
        if (!isnan(stat->group[g].whole.median)) {
            scratch[n + known] = (int)g;
            t[known++] = stat->group[g].whole.median;
        }
    if (known > 0) {
        stat->median = scratch[n + ss_median_group(t, known, scratch)];
        stat->slowest = scratch[n + (size_t)scratch[known - 1]];
    }
out:
    ss_free(t);
    ss_free(scratch);
    return status;
}

enum ss_status ss_point_stat_open(const struct ss_point_data *data,
                                  struct ss_point_stat *out)
{
    int groups = highest_group(data) + 1;
    struct series series = {0};
    int *at = NULL;
    enum ss_status status = SS_ERR_NO_MEMORY;

    *out = (struct ss_point_stat){.data = data, .median = -1, .slowest = -1};
    if (groups == 0 || data->n_blocks == 0 || !data->step_ns)
        return SS_OK;
    out->members = ss_alloc((size_t)data->n_ranks, sizeof(int), "members");
    out->group = ss_alloc((size_t)groups, sizeof(*out->group), "groups");
    at = ss_alloc((size_t)groups, sizeof(*at), "groups");
    if (!out->members || !out->group || !at)
        goto out;
    SS_TRY_GOTO(series_open(data, &series), status, out);
    sort_members(out, at, groups);
    for (int g = 0; g < out->n_groups; g++)
        group_reduce(data, &out->group[g], &series);
    status = rank_groups(out);
out:
    series_close(&series);
    ss_free(at);
    if (status != SS_OK)
        ss_point_stat_close(out);
    return status;
}

void ss_point_stat_close(struct ss_point_stat *stat)
{
    ss_free(stat->members);
    ss_free(stat->group);
    *stat = (struct ss_point_stat){.median = -1, .slowest = -1};
}
