/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All blocks of one point: pilot, then rounds of interleaved blocks until the
 * rule says stop. Within a round a group talks only to itself; the world meets
 * between rounds, where clocks are aligned, samples reduced and the decision
 * taken for all groups alike (they run the same number of blocks).
 */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/units.h"
#include "cluster/agree.h"
#include "sweep/context.h"
#include "sweep/round.h"
#include "sweep/samples.h"

/** This group's decision; the same on all its ranks. */
static enum ss_stop decide(const struct ss_context *context,
                           const struct ss_point_run *run, int64_t spent,
                           size_t *next)
{
    const struct ss_config *config = context->config;
    struct ss_stop_rule rule = {
        .precision = config->measure_precision,
        .min_blocks = (size_t)config->measure_min_blocks,
        .max_blocks = (size_t)config->measure_max_blocks,
    };

    *next = 0;
    if (run->size == 0 || run->group < 0)
        return SS_STOP_PRECISE; /* idle and filler ranks have no say */
    const struct ss_samples *samples = run->samples;
    size_t blocks = (size_t)samples->n_medians[SS_WHOLE];
    return ss_stop_decide(&rule, samples->estimate, 2, blocks, spent,
                          run->budget_ns, next);
}

static const char *stop_word(enum ss_stop stop)
{
    static const char *const word[] = {"", "precise", "budget", "blocks"};

    return word[stop];
}

/** The world's decision: go on while one group wants to and none is out of
 * budget. *next: blocks of the next round, 0: stop. */
static enum ss_status agree_stop(struct ss_context *context,
                                 struct ss_point_run *run, int *next)
{
    int64_t spent = context->engine->ops->now(context->engine) - run->start_ns;
    size_t want;

    SS_TRY(ss_allreduce_all(context->world, &spent, 1, SS_DT_I64, SS_RED_MAX));
    enum ss_stop mine = decide(context, run, spent, &want);
    /* no decision weighs most, then the reasons in the order of the enum */
    int64_t word[2] = {mine == SS_STOP_NO ? SS_STOP_BLOCKS + 1 : (int64_t)mine,
                       (int64_t)want};
    SS_TRY(ss_allreduce_all(context->world, word, 2, SS_DT_I64, SS_RED_MAX));
    *next = 0;
    if (word[0] <= SS_STOP_BLOCKS) {
        ss_copy(run->meta.stop, sizeof(run->meta.stop),
                stop_word((enum ss_stop)word[0]));
        return SS_OK;
    }
    int64_t cycle = ss_cycle_ns(run);
    int64_t left = run->budget_ns - spent;
    if (left < cycle) {
        ss_copy(run->meta.stop, sizeof(run->meta.stop), "budget");
        return SS_OK;
    }
    *next = ss_round_first(left, cycle, (int)word[1]);
    return SS_OK;
}

/** Flags of the groups' samples become the point's status. */
static enum ss_status agree_status(struct ss_context *context,
                                   struct ss_point_run *run)
{
    int64_t flag[2] = {0, 0};

    if (run->samples && run->group >= 0) {
        unsigned flags = run->samples->estimate[SS_WHOLE].flags;
        flag[0] = (flags & SS_SAMPLE_TOO_FEW) != 0;
        flag[1] = (flags & SS_SAMPLE_NO_STEADY) != 0;
    }
    SS_TRY(ss_allreduce_all(context->world, flag, 2, SS_DT_I64, SS_RED_MAX));
    ss_copy(run->meta.status, sizeof(run->meta.status),
            flag[0]   ? "too_few_samples"
            : flag[1] ? "no_steady_state"
                      : "ok");
    return SS_OK;
}

/** Steps from a barrier to the last end: a separate, labelled number. */
static enum ss_status isolated(struct ss_context *context,
                               struct ss_point_run *run)
{
    enum { COUNT = 12 };
    double sample[COUNT];

    run->meta.isolated_ns = NAN;
    if (!context->config->measure_isolate || run->size == 0)
        return SS_OK;
    for (int i = 0; i < COUNT; i++) {
        struct ss_block_spec spec = {.steps = 1, .number = -2 - i};
        SS_TRY(ss_block_run_all(context, run, &spec, &run->record));
        int64_t took = run->record.mark[0] - run->record.begin_ns;
        SS_TRY(ss_allreduce_all(run->comms.group, &took, 1, SS_DT_I64,
                                SS_RED_MAX));
        sample[i] = (double)took;
    }
    run->meta.isolated_ns = ss_median(sample, COUNT);
    return SS_OK;
}

void ss_point_show(struct ss_context *context, const struct ss_point_run *run)
{
    char used[24], budget[24];
    int64_t now = context->engine->ops->now(context->engine);

    if (context->world->rank != 0)
        return;
    ss_progress(
        "point %d of %d: %s, %s; %s of at most %s", run->point->index,
        context->sweep.n, run->meta.mode,
        ss_counted(run->point->size, "rank").text,
        ss_format_time((double)(now - context->started_ns), used, sizeof(used)),
        ss_format_time((double)context->budget_ns, budget, sizeof(budget)));
}

enum ss_status ss_point_measure_all(struct ss_context *context,
                                    struct ss_point_run *run)
{
    int blocks, number = 0;

    run->start_ns = context->engine->ops->now(context->engine);
    SS_TRY(ss_point_pilot_all(context, run));
    if (run->meta.reason[0]) /* too slow for its share of the budget */
        return SS_OK;
    SS_TRY(ss_meet_or_stop_all(context, context->world,
                               ss_point_soak_all(context, run)));
    run->meta.soak_s =
        (double)(context->engine->ops->now(context->engine) - run->start_ns) /
        1e9;
    blocks = ss_round_first(run->budget_ns, ss_cycle_ns(run),
                            (int)context->config->measure_min_blocks);
    while (blocks > 0) {
        SS_TRY(ss_round_run_all(context, run, blocks, number++));
        SS_TRY(agree_stop(context, run, &blocks));
    }
    if (run->samples)
        ss_samples_split_waiting(run->samples);
    SS_TRY(ss_meet_all(context, context->world, isolated(context, run)));
    return agree_status(context, run);
}
