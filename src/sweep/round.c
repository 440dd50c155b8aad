/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One round of blocks and what is made of it. The timed part allocates
 * nothing and talks to nobody but the group between two blocks; all exchange
 * for the analysis happens after the last block.
 */
#include "sweep/round.h"

#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cluster/agree.h"
#include "sweep/sampled.h"
#include "sweep/samples.h"

/** A round's blocks on this rank. */
struct round {
    struct ss_slot *slot;
    struct ss_raw_block *raw; /**< [n] */
    int n;                    /**< that count: those that every group ran */
    int cap;                  /**< that were planned */
    int number;
    struct ss_clock_map map;
};

/** The host clock may take ten times what the step should, and 20 s. */
static int64_t block_deadline(const struct ss_point_run *run,
                              const struct ss_block_spec *spec)
{
    int64_t step = run->step_ns[spec->variant];

    if (run->wall_step_ns > step)
        step = run->wall_step_ns;
    /* before the pilot nothing is known: a slow core does 1 GFLOP/s */
    if (run->wall_step_ns == 0)
        step = (int64_t)run->plan.flops + SS_NS_PER_S;
    return 10 * step * spec->steps + 20 * SS_NS_PER_S;
}

enum ss_status ss_block_run_all(struct ss_context *context,
                                struct ss_point_run *run,
                                const struct ss_block_spec *spec,
                                struct ss_block_record *record)
{
    struct ss_engine *engine = context->engine;
    struct ss_progress *progress = engine->progress;
    enum ss_status status = SS_OK;

    ss_context_arm(context, context->config->deadline_block,
                   block_deadline(run, spec), "block");
    ss_watchdog_peers(context->dog, run->first, run->size);
    atomic_store_explicit(&progress->block, spec->number, memory_order_relaxed);
    if ((int)spec->variant != run->last_variant)
        status = engine->ops->reset(engine);
    run->last_variant = (int)spec->variant;
    record->steps = spec->steps;
    /* a failed reset must not keep this rank from the group's meeting */
    status = ss_meet_or_stop_all(context, run->comms.group, status);
    if (status == SS_OK) {
        ss_meeting_enter(context);
        status = engine->ops->meet_all(engine);
        ss_meeting_leave(context);
    }
    if (status == SS_OK) {
        int64_t begin = ss_clock_ns();
        status = ss_exec_block(engine, &run->plan, spec, record);
        int64_t step = (ss_clock_ns() - begin) / spec->steps;
        if (step > run->wall_step_ns)
            run->wall_step_ns = step;
    }
    status = ss_meet_all(context, run->comms.group, status);
    ss_context_disarm(context);
    return status;
}

static int stored_steps(const struct ss_point_run *run,
                        const struct ss_slot *slot)
{
    return run->steps[slot->variant];
}

/** Memory of events is bounded: a long plan records fewer steps. */
static int sampled_steps(const struct ss_point_run *run,
                         const struct ss_slot *slot)
{
    const int64_t most = INT64_C(32) << 20;
    int64_t one = run->plan.n_ops * (int64_t)sizeof(struct ss_op_event);
    int steps = stored_steps(run, slot);
    int64_t fit = one > 0 ? most / one : steps;

    if (fit < 4)
        fit = 4;
    return steps < fit ? steps : (int)fit;
}

static void close_round(struct round *round)
{
    for (int i = 0; round->raw && i < round->cap; i++)
        ss_block_record_close(&round->raw[i].record);
    ss_free(round->raw);
    ss_free(round->slot);
}

static enum ss_status open_records(const struct ss_point_run *run,
                                   struct round *round)
{
    for (int i = 0; i < round->n; i++) {
        const struct ss_slot *slot = &round->slot[i];
        int steps =
            slot->sampled ? sampled_steps(run, slot) : stored_steps(run, slot);
        round->raw[i].variant = slot->variant;
        round->raw[i].sampled = slot->sampled;
        if (run->size > 0)
            SS_TRY(ss_block_record_open(steps + 1,
                                        slot->sampled ? run->plan.n_ops : 0,
                                        &round->raw[i].record));
    }
    return SS_OK;
}

static enum ss_status open_round(const struct ss_context *context,
                                 const struct ss_point_run *run, int blocks,
                                 struct round *round)
{
    struct ss_round_args args = {
        .blocks = blocks,
        .sample_every = (int)context->config->measure_sample_every,
        .comm = run->comm,
        .number = round->number,
        .seed = context->sweep.seed * 1000003u + (uint64_t)run->point->index,
    };

    round->n = round->cap = ss_round_slots(&args);
    round->slot = ss_alloc((size_t)round->n, sizeof(*round->slot), "schedule");
    round->raw = ss_alloc((size_t)round->n, sizeof(*round->raw), "blocks");
    if (!round->slot || !round->raw)
        return SS_ERR_NO_MEMORY;
    SS_TRY(ss_round_fill(&args, round->slot));
    if (run->size > 0)
        SS_TRY(ss_samples_reserve(run->samples, round->n, run->cap_steps));
    return open_records(run, round);
}

/** Groups that are done early wait for the slowest one. */
static void arm_meeting(struct ss_context *context, struct ss_point_run *run,
                        const struct round *round)
{
    int64_t expected = 0;

    for (int i = 0; i < round->n; i++)
        expected += run->step_ns[round->slot[i].variant] *
                    (stored_steps(run, &round->slot[i]) + 1);
    ss_context_arm(context, context->config->deadline_block,
                   10 * expected + 60 * SS_NS_PER_S, "meeting of all groups");
}

/** Blocks that take far longer than the pilot promised (a busy machine, a link
 * that breaks down) must not eat the other points' time: half as much again is
 * the most. Equal on the ranks of the group. */
static enum ss_status over_time(struct ss_context *context,
                                struct ss_point_run *run, bool *over)
{
    int64_t spent = context->engine->ops->now(context->engine) - run->start_ns;

    SS_TRY(
        ss_allreduce_all(run->comms.group, &spent, 1, SS_DT_I64, SS_RED_MAX));
    *over = spent > run->budget_ns + run->budget_ns / 2;
    return SS_OK;
}

static enum ss_status run_blocks(struct ss_context *context,
                                 struct ss_point_run *run, struct round *round)
{
    for (int i = 0; i < round->n && run->size > 0; i++) {
        struct ss_raw_block *raw = &round->raw[i];
        struct ss_block_spec spec = {
            .variant = raw->variant,
            .steps = raw->record.steps,
            .sampled = raw->sampled,
            .number = run->blocks_run++,
        };
        ss_point_show(context, run); /* one write at most, between blocks */
        SS_TRY(ss_block_run_all(context, run, &spec, &raw->record));
        raw->done = true;
        bool over;
        SS_TRY(over_time(context, run, &over));
        if (over && round->slot[i].variant == SS_WHOLE && !raw->sampled)
            break;
    }
    return SS_OK;
}

/** All groups keep the blocks that the shortest of them ran. */
static enum ss_status agree_blocks(struct ss_context *context,
                                   const struct ss_point_run *run,
                                   struct round *round)
{
    int64_t done = run->size > 0 ? 0 : round->cap;

    for (int i = 0; i < round->cap && run->size > 0; i++)
        done += round->raw[i].done;
    SS_TRY(ss_allreduce_all(context->world, &done, 1, SS_DT_I64, SS_RED_MIN));
    round->n = (int)done;
    return SS_OK;
}

static enum ss_status sync_clock(struct ss_context *context,
                                 struct ss_clock_sample *sample)
{
    *sample = (struct ss_clock_sample){0};
    if (context->virtual_clock)
        return SS_OK;
    return ss_clock_sync_all(context->world, 64, sample);
}

/** All times of the block onto rank 0's clock. */
static void align_block(const struct ss_clock_map *map,
                        struct ss_block_record *record)
{
    for (int s = 0; s < record->steps; s++)
        record->mark[s] = ss_clock_align(map, record->mark[s]);
    if (!record->event)
        return;
    for (int i = 0; i < record->steps * record->ops; i++) {
        struct ss_op_event *event = &record->event[i];
        int64_t *time[] = {&event->enqueued, &event->ready, &event->start,
                           &event->end};
        for (size_t t = 0; t < SS_COUNT_OF(time); t++)
            if (*time[t] != SS_NO_TIME)
                *time[t] = ss_clock_align(map, *time[t]);
    }
}

/** The worst bound of all ranks, so that all use one threshold. */
static enum ss_status agree_bound(struct ss_context *context,
                                  struct ss_point_run *run,
                                  const struct round *round)
{
    int64_t bound = 0;

    if (!context->virtual_clock)
        bound = ss_clock_bound(&round->map);
    for (int i = 0; i < round->n; i++) {
        const struct ss_block_record *record = &round->raw[i].record;
        int64_t own = record->anchor_width_ns + record->accuracy_ns;
        if (round->raw[i].done && own + ss_clock_bound(&round->map) > bound &&
            !context->virtual_clock)
            bound = own + ss_clock_bound(&round->map);
    }
    if (bound > run->bound_ns)
        run->bound_ns = bound;
    run->own_bound_ns = run->bound_ns;
    return ss_allreduce_all(context->world, &run->bound_ns, 1, SS_DT_I64,
                            SS_RED_MAX);
}

/** Group step times of one stored block: the latest mark of any rank. */
static enum ss_status block_median(struct ss_point_run *run, int block,
                                   const int64_t *latest, double *scratch)
{
    struct ss_samples *samples = run->samples;
    const struct ss_block_row *row = &samples->block[block];
    double middle = (double)(latest[0] + latest[row->steps]) / 2;

    for (int s = 0; s < row->steps; s++)
        scratch[s] = (double)(latest[s + 1] - latest[s]);
    return ss_samples_add_median(samples, (enum ss_variant)row->variant,
                                 ss_median(scratch, (size_t)row->steps),
                                 middle);
}

static enum ss_status reduce_marks(struct ss_point_run *run,
                                   const struct round *round, int64_t *latest,
                                   double *scratch)
{
    struct ss_samples *samples = run->samples;
    int at = samples->n_blocks;
    enum ss_status stored = SS_OK;

    SS_ASSERT(latest && scratch);
    for (int i = 0; i < round->n; i++) {
        const struct ss_raw_block *raw = &round->raw[i];
        int block = at + i;
        ss_samples_add(samples, raw, round->number);
        if (raw->sampled)
            continue;
        memcpy(latest, raw->record.mark,
               (size_t)raw->record.steps * sizeof(*latest));
        SS_TRY(ss_allreduce_all(run->comms.group, latest,
                                (size_t)raw->record.steps, SS_DT_I64,
                                SS_RED_MAX));
        if (stored == SS_OK)
            stored = block_median(run, block, latest, scratch);
    }
    return stored;
}

static enum ss_status estimate(struct ss_samples *samples)
{
    for (int v = 0; v < SS_VARIANTS; v++) {
        size_t n = (size_t)samples->n_medians[v];
        double *scratch = ss_alloc(2 * n + 1, sizeof(double), "statistics");
        if (!scratch)
            return SS_ERR_NO_MEMORY;
        ss_estimate_blocks(samples->median[v], samples->middle[v], n, scratch,
                           &samples->estimate[v]);
        ss_free(scratch);
    }
    return SS_OK;
}

/** What the group makes of its round; collective over the group. */
static enum ss_status reduce_round(struct ss_context *context,
                                   struct ss_point_run *run,
                                   struct round *round)
{
    int first = run->samples->n_blocks;
    size_t most = (size_t)run->cap_steps;
    int64_t *latest = ss_alloc(most, sizeof(*latest), "step ends");
    double *scratch = ss_alloc(most, sizeof(*scratch), "step times");
    enum ss_status status = latest && scratch ? SS_OK : SS_ERR_NO_MEMORY;

    status = ss_meet_all(context, run->comms.group, status);
    for (int i = 0; i < round->n && status == SS_OK; i++)
        align_block(&round->map, &round->raw[i].record);
    if (status == SS_OK)
        status = reduce_marks(run, round, latest, scratch);
    for (int i = 0; i < round->n; i++)
        if (round->raw[i].sampled) {
            status = ss_meet_all(context, run->comms.group, status);
            if (status != SS_OK)
                break;
            status = ss_sampled_reduce_all(run, &round->raw[i], first + i);
        }
    if (status == SS_OK)
        status = estimate(run->samples);
    ss_free(scratch);
    ss_free(latest);
    return status;
}

enum ss_status ss_round_run_all(struct ss_context *context,
                                struct ss_point_run *run, int blocks,
                                int number)
{
    struct round round = {.number = number};
    enum ss_status status;

    SS_TRY_GOTO(ss_meet_all(context, context->world,
                            open_round(context, run, blocks, &round)),
                status, out);
    SS_TRY_GOTO(sync_clock(context, &round.map.before), status, out);
    status = run_blocks(context, run, &round);
    arm_meeting(context, run, &round);
    SS_TRY_GOTO(ss_meet_or_stop_all(context, context->world, status), status,
                out);
    SS_TRY_GOTO(agree_blocks(context, run, &round), status, out);
    SS_TRY_GOTO(sync_clock(context, &round.map.after), status, out);
    SS_TRY_GOTO(agree_bound(context, run, &round), status, out);
    if (run->size > 0)
        status = reduce_round(context, run, &round);
    status = ss_meet_all(context, context->world, status);
out:
    ss_context_disarm(context);
    close_round(&round);
    return status;
}
