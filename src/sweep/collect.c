/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gathers the samples of one point on rank 0, between points: rows of ranks,
 * of blocks, step times, terms, byte counters, checks. Every rank takes part,
 * also one that was idle. Must not know how anything is stored.
 */
#include <math.h>
#include <string.h>
#include <sys/resource.h>

#include "analysis/paths.h"
#include "base/clock.h"
#include "base/mem.h"
#include "cluster/agree.h"
#include "sweep/context.h"
#include "sweep/samples.h"

/** Item counts that all ranks must share before shapes can be made. */
struct shape {
    int64_t blocks, steps, wide;
};

static enum ss_status agree_shape(struct ss_context *context,
                                  const struct ss_point_run *run,
                                  struct shape *shape)
{
    const struct ss_samples *samples = run->samples;
    int64_t word[3] = {0, 0, 0};

    if (samples) {
        word[0] = samples->n_blocks;
        word[1] = samples->n_steps;
        for (int64_t i = 0; i < samples->n_steps; i++)
            word[2] |= samples->step_ns[i] >= UINT32_MAX;
    }
    SS_TRY(ss_allreduce_all(context->world, word, 3, SS_DT_I64, SS_RED_MAX));
    *shape = (struct shape){word[0], word[1], word[2]};
    return SS_OK;
}

/**
 * Equal lengths from every rank into a new array on rank 0. Ranks without
 * samples contribute zeros, so that no rank needs to know who was idle.
 */
static enum ss_status gather(struct ss_context *context, const void *mine,
                             size_t len, void **out, const char *what)
{
    struct ss_rt *world = context->world;
    enum ss_status status = SS_OK;
    void *all = NULL, *zeros = NULL;

    if (world->rank == 0 && !(all = ss_alloc((size_t)world->size, len, what)))
        status = SS_ERR_NO_MEMORY;
    if (!mine && !(mine = zeros = ss_alloc(1, len, what)))
        status = SS_ERR_NO_MEMORY;
    status = ss_meet_all(context, world, status);
    if (status == SS_OK)
        status = ss_gather_all(world, mine, len, all, 0);
    ss_free(zeros);
    if (status != SS_OK) {
        ss_free(all);
        return status;
    }
    *out = all;
    return SS_OK;
}

/** Arrays of different length, put end to end on rank 0. */
static enum ss_status gather_rows(struct ss_context *context, const void *mine,
                                  size_t size, int64_t n, void **out,
                                  int64_t *total)
{
    struct ss_rt *world = context->world;
    size_t *lens = ss_alloc((size_t)world->size, sizeof(*lens), "lengths");
    enum ss_status status =
        ss_meet_all(context, world, lens ? SS_OK : SS_ERR_NO_MEMORY);
    size_t sum = 0;

    SS_ASSERT(status != SS_OK || lens);
    if (status == SS_OK)
        status = ss_gatherv_all(world, mine, size * (size_t)n, out, lens, 0);
    for (int r = 0; status == SS_OK && r < world->size; r++)
        sum += lens[r];
    *total = world->rank == 0 ? (int64_t)(sum / size) : 0;
    ss_free(lens);
    return status;
}

static void rank_row(const struct ss_context *context,
                     const struct ss_point_run *run,
                     struct ss_point_rank_row *row)
{
    const struct ss_samples *samples = run->samples;
    struct rusage usage;
    int64_t excess = 0;

    *row = (struct ss_point_rank_row){
        .rank = context->world->rank,
        .group = run->group,
        .member = run->size > 0 ? run->comms.group->rank : -1,
        .comm_create_ns = run->create_ns,
        .clock_bound_ns = run->own_bound_ns,
        .between_bytes = run->size > 0 ? run->between_bytes : NAN,
        .verified = -1,
    };
    if (getrusage(RUSAGE_SELF, &usage) == 0)
        row->involuntary_switches = usage.ru_nivcsw - run->switches;
    for (int i = 0; i < run->n_checks; i++)
        if (!run->check[i].ok || row->verified < 0)
            row->verified = run->check[i].ok;
    if (!samples)
        return;
    row->last_arrivals = samples->last_arrivals;
    row->collectives = samples->collectives;
    row->sampled_steps = samples->sampled_steps;
    row->late_steps = samples->late_steps[run->comms.group->rank];
    /* one delay shows in every dimension it passes: it counts once */
    for (int d = 0; d < SS_DIMS; d++)
        if (samples->excess[d] > excess)
            excess = samples->excess[d];
    if (samples->sampled_steps > 0)
        row->excess_ns = (double)excess / (double)samples->sampled_steps;
}

/** This rank's step times as the file's type; *out owned. */
static enum ss_status narrow(const struct ss_samples *samples,
                             const struct shape *shape, void **out)
{
    size_t n = (size_t)shape->steps;
    uint32_t *narrowed;

    *out = NULL;
    if (!samples || shape->wide)
        return SS_OK;
    narrowed = ss_alloc(n, sizeof(*narrowed), "step times");
    if (!narrowed)
        return SS_ERR_NO_MEMORY;
    for (size_t i = 0; i < n; i++)
        narrowed[i] = (uint32_t)samples->step_ns[i];
    *out = narrowed;
    return SS_OK;
}

static enum ss_status gather_steps(struct ss_context *context,
                                   const struct ss_point_run *run,
                                   const struct shape *shape,
                                   struct ss_point_data *data)
{
    size_t len = (size_t)shape->steps * (shape->wide ? 8 : 4);
    const void *mine = NULL;
    void *narrowed = NULL;
    enum ss_status status = ss_meet_all(context, context->world,
                                        narrow(run->samples, shape, &narrowed));

    if (run->samples)
        mine = narrowed ? narrowed : (const void *)run->samples->step_ns;
    if (status == SS_OK)
        status = gather(context, mine, len, &data->step_ns, "step times");
    ss_free(narrowed);
    data->n_steps = shape->steps;
    data->wide = shape->wide != 0;
    return status;
}

/** [rank][block] as gathered becomes [block][rank] as stored. */
static enum ss_status transpose(struct ss_point_data *data,
                                const struct ss_block_rank_row *by_rank)
{
    size_t blocks = (size_t)data->n_blocks, ranks = (size_t)data->n_ranks;
    struct ss_block_rank_row *out =
        ss_alloc(blocks * ranks, sizeof(*out), "block rows");

    if (!out)
        return SS_ERR_NO_MEMORY;
    SS_ASSERT(by_rank);
    for (size_t b = 0; b < blocks; b++)
        for (size_t r = 0; r < ranks; r++)
            out[b * ranks + r] = by_rank[r * blocks + b];
    data->block_rank = out;
    return SS_OK;
}

static enum ss_status gather_blocks(struct ss_context *context,
                                    const struct ss_point_run *run,
                                    const struct shape *shape,
                                    struct ss_point_data *data)
{
    size_t n = (size_t)shape->blocks;
    void *by_rank = NULL;
    enum ss_status status = SS_OK;

    data->n_blocks = (int)shape->blocks;
    SS_TRY(gather(context, run->samples ? run->samples->mine : NULL,
                  n * sizeof(struct ss_block_rank_row), &by_rank,
                  "block rows"));
    if (context->world->rank == 0)
        status = transpose(data, by_rank);
    ss_free(by_rank);
    return ss_meet_all(context, context->world, status);
}

/** The table of blocks is the same on every rank that ran them; rank 0 may
 * have been idle, so it comes from the lowest rank that was not. */
static enum ss_status share_block_table(struct ss_context *context,
                                        const struct ss_point_run *run,
                                        struct ss_point_data *data)
{
    struct ss_rt *world = context->world;
    int64_t owner = run->samples ? world->rank : INT32_MAX;
    size_t n = (size_t)data->n_blocks;
    enum ss_status status = SS_OK;

    SS_TRY(ss_allreduce_all(world, &owner, 1, SS_DT_I64, SS_RED_MIN));
    data->block = ss_alloc(n, sizeof(*data->block), "blocks");
    SS_TRY(ss_meet_all(context, world, data->block ? SS_OK : SS_ERR_NO_MEMORY));
    if (n == 0 || owner == INT32_MAX)
        return SS_OK;
    if (world->rank == owner)
        memcpy(data->block, run->samples->block, n * sizeof(*data->block));
    status =
        ss_bcast_all(world, data->block, n * sizeof(*data->block), (int)owner);
    return status;
}

static enum ss_status gather_net(struct ss_context *context,
                                 const struct ss_point_run *run,
                                 struct ss_point_data *data)
{
    struct ss_net_snapshot after = {0}, delta = {0};
    enum ss_status status = SS_OK;
    void *rows = NULL;
    int64_t n = 0;

    if (context->place.local_rank == 0) {
        status = ss_net_read(context->args->net_root, &after);
        if (status == SS_OK)
            status = ss_net_delta(&run->net, &after, &delta);
        for (int i = 0; i < delta.n; i++)
            delta.row[i].node =
                context->topology.place[context->world->rank].node;
    }
    status = ss_meet_all(context, context->world, status);
    if (status == SS_OK)
        status = gather_rows(context, delta.row, sizeof(struct ss_net_row),
                             delta.n, &rows, &n);
    data->net = rows;
    data->n_nets = (int)n;
    ss_net_free(&after);
    ss_net_free(&delta);
    return status;
}

/** What the engine knows of its ways, one row a kind over all ranks. */
static enum ss_status gather_paths(struct ss_context *context,
                                   const struct ss_point_run *run,
                                   struct ss_point_data *data)
{
    struct ss_path_row mine[8];
    const struct ss_engine_ops *ops = context->engine->ops;
    void *rows = NULL;
    int64_t n = 0;
    int own = 0;

    if (run->size > 0 && ops->paths)
        own = ops->paths(context->engine, mine, (int)SS_COUNT_OF(mine));
    SS_TRY(gather_rows(context, mine, sizeof(mine[0]), own, &rows, &n));
    data->path = rows;
    data->n_paths = ss_paths_merge(data->path, (int)n);
    return SS_OK;
}

static enum ss_status gather_tables(struct ss_context *context,
                                    const struct ss_point_run *run,
                                    struct ss_point_data *data)
{
    const struct ss_samples *samples = run->samples;
    struct ss_point_rank_row mine;
    void *rows = NULL;
    int64_t n = 0;

    rank_row(context, run, &mine);
    SS_TRY(gather(context, &mine, sizeof(mine), &rows, "rank rows"));
    data->rank = rows;
    rows = NULL;
    SS_TRY(gather_rows(context, samples ? samples->terms : NULL,
                       sizeof(struct ss_terms_row),
                       samples ? samples->n_terms : 0, &rows, &n));
    data->terms = rows;
    data->n_terms = n;
    rows = NULL;
    SS_TRY(gather_rows(context, run->check, sizeof(struct ss_check_row),
                       run->n_checks, &rows, &n));
    data->check = rows;
    data->n_checks = (int)n;
    SS_TRY(gather_paths(context, run, data));
    return gather_net(context, run, data);
}

/** What rank 0 says of the point in words of the slowest rank. */
static enum ss_status finish_meta(struct ss_context *context,
                                  const struct ss_point_run *run,
                                  struct ss_point_data *data)
{
    int64_t most[4] = {run->create_ns, run->first_step_ns, run->bound_ns,
                       context->engine->ops->now(context->engine) -
                           run->start_ns};
    int64_t verified = -1;
    double isolated = isnan(run->meta.isolated_ns) ? 0 : run->meta.isolated_ns;

    SS_TRY(ss_allreduce_all(context->world, most, 4, SS_DT_I64, SS_RED_MAX));
    SS_TRY(
        ss_allreduce_all(context->world, &isolated, 1, SS_DT_F64, SS_RED_MAX));
    if (context->world->rank != 0)
        return SS_OK;
    data->meta.comm_create_ns = most[0];
    data->meta.first_step_ns = most[1];
    data->meta.clock_bound_ns = most[2];
    data->meta.duration_ns = most[3];
    data->meta.isolated_ns = isolated > 0 ? isolated : NAN;
    for (int i = 0; i < data->n_checks; i++)
        if (!data->check[i].ok || verified < 0)
            verified = data->check[i].ok;
    data->meta.verified = (int32_t)verified;
    if (verified == 0)
        ss_copy(data->meta.status, sizeof(data->meta.status), "failed");
    return SS_OK;
}

enum ss_status ss_point_collect_all(struct ss_context *context,
                                    struct ss_point_run *run,
                                    struct ss_point_data *data)
{
    struct shape shape = {0};

    ss_context_arm(context, 0,
                   120 * SS_NS_PER_S + context->world->size * SS_NS_PER_MS,
                   "gathering of samples");
    data->meta = run->meta;
    data->n_ranks = context->world->size;
    SS_TRY(agree_shape(context, run, &shape));
    SS_TRY(gather_steps(context, run, &shape, data));
    SS_TRY(gather_blocks(context, run, &shape, data));
    SS_TRY(share_block_table(context, run, data));
    SS_TRY(gather_tables(context, run, data));
    SS_TRY(finish_meta(context, run, data));
    ss_context_disarm(context);
    return SS_OK;
}
