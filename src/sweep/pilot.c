/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first steps of a point: how long is a step, so how many make a block, and
 * does the point fit into its share of the budget at all? One that does not is
 * skipped with the reason after a single step: a budget is a promise.
 */
#include "base/units.h"
#include "cluster/agree.h"
#include "sweep/context.h"
#include "sweep/round.h"

/* Steps of the least that a point can be: pilots, a block of each variant,
 * sampled ones, checks. */
#define LEAST_STEPS 24

static enum ss_status time_steps(struct ss_context *context,
                                 struct ss_point_run *run,
                                 enum ss_variant variant, int steps,
                                 int64_t *step_ns)
{
    struct ss_block_spec spec = {
        .variant = variant, .steps = steps, .number = -1};
    const struct ss_block_record *record = &run->record;

    *step_ns = 0;
    if (run->size == 0)
        return SS_OK;
    SS_TRY(ss_block_run_all(context, run, &spec, &run->record));
    if (variant == SS_WHOLE && run->first_step_ns == 0)
        run->first_step_ns = record->mark[0] - record->begin_ns;
    *step_ns = steps > 1
                   ? (record->mark[steps - 1] - record->mark[0]) / (steps - 1)
                   : record->mark[0] - record->begin_ns;
    return SS_OK;
}

/** Twice the share is still tolerable, for the sake of a first result. */
static bool fits(const struct ss_point_run *run, int64_t step_ns)
{
    return (double)step_ns * LEAST_STEPS <= 2 * (double)run->budget_ns;
}

static void skip(struct ss_point_run *run, int64_t step_ns)
{
    char step[24], need[24], share[24];
    double least = (double)step_ns * LEAST_STEPS;

    ss_copy(run->meta.status, sizeof(run->meta.status), "skipped");
    if (!run->point->optional)
        ss_copy(run->meta.stop, sizeof(run->meta.stop), "budget");
    ss_format(run->meta.reason, sizeof(run->meta.reason),
              "a step takes %s, so this size needs about %s and its share of "
              "the budget is %s: give a larger budget or a smaller model",
              ss_format_time((double)step_ns, step, sizeof(step)),
              ss_format_time(least, need, sizeof(need)),
              ss_format_time((double)run->budget_ns, share, sizeof(share)));
}

/** The slowest rank's time; equal on all. */
static enum ss_status slowest(struct ss_context *context, int64_t *ns)
{
    return ss_allreduce_all(context->world, ns, 1, SS_DT_I64, SS_RED_MAX);
}

/** Before anything runs: what the points so far say of this one. */
static enum ss_status forecast(struct ss_context *context,
                               struct ss_point_run *run, bool *go)
{
    int64_t expected = (int64_t)(run->plan.flops * context->ns_per_flop);

    SS_TRY(slowest(context, &expected));
    *go = fits(run, expected);
    if (!*go)
        skip(run, expected);
    return SS_OK;
}

/** One step of the whole plan; a second one where it seems too slow, since the
 * first pays for everything that is set up late. */
static enum ss_status first_step(struct ss_context *context,
                                 struct ss_point_run *run, int64_t *step,
                                 bool *go)
{
    *go = false;
    for (int i = 0; i < 2 && !*go; i++) {
        enum ss_status status = time_steps(context, run, SS_WHOLE, 1, step);
        SS_TRY(ss_meet_or_stop_all(context, context->world, status));
        SS_TRY(slowest(context, step));
        *go = fits(run, *step);
    }
    if (!*go)
        skip(run, *step);
    return SS_OK;
}

/** Steps per block and a step's expected time, equal on all ranks. */
static enum ss_status agree_steps(struct ss_context *context,
                                  struct ss_point_run *run, const int64_t *mine)
{
    int64_t low[SS_VARIANTS], high[SS_VARIANTS];

    for (int v = 0; v < SS_VARIANTS; v++) {
        low[v] = run->size > 0 ? mine[v] : INT64_MAX;
        high[v] = mine[v];
    }
    SS_TRY(ss_allreduce_all(context->world, low, SS_VARIANTS, SS_DT_I64,
                            SS_RED_MIN));
    SS_TRY(ss_allreduce_all(context->world, high, SS_VARIANTS, SS_DT_I64,
                            SS_RED_MAX));
    for (int v = 0; v < SS_VARIANTS; v++) {
        run->step_ns[v] = high[v];
        run->steps[v] =
            ss_block_steps(low[v], context->config->measure_min_block,
                           (int)context->config->measure_min_steps);
    }
    return SS_OK;
}

/** Short blocks of every variant; fewer steps where one takes long. */
static enum ss_status time_variants(struct ss_context *context,
                                    struct ss_point_run *run, int64_t first_ns)
{
    int64_t mine[SS_VARIANTS] = {0};
    int steps = first_ns * 100 > run->budget_ns ? 2 : 4;
    enum ss_status status = SS_OK;

    for (int v = 0; v < SS_VARIANTS && status == SS_OK; v++)
        if (v != SS_COMM_ONLY || run->comm)
            status =
                time_steps(context, run, (enum ss_variant)v, steps, &mine[v]);
    SS_TRY(ss_meet_or_stop_all(context, context->world, status));
    return agree_steps(context, run, mine);
}

enum ss_status ss_point_pilot_all(struct ss_context *context,
                                  struct ss_point_run *run)
{
    int64_t first = 0;
    bool go;
    int most = 0;

    SS_TRY(forecast(context, run, &go));
    if (!go)
        return SS_OK;
    SS_TRY(first_step(context, run, &first, &go));
    if (go)
        SS_TRY(time_variants(context, run, first));
    if (run->plan.flops > 0)
        context->ns_per_flop =
            (double)(go ? run->step_ns[SS_WHOLE] : first) / run->plan.flops;
    if (!go)
        return SS_OK;
    for (int v = 0; v < SS_VARIANTS; v++)
        most = run->steps[v] > most ? run->steps[v] : most;
    ss_block_record_close(&run->record);
    run->cap_steps = most + 1;
    return ss_meet_all(context, context->world,
                       ss_block_record_open(most + 1, 0, &run->record));
}

int64_t ss_cycle_ns(const struct ss_point_run *run)
{
    int64_t sum = 0;

    for (int v = 0; v < SS_VARIANTS; v++)
        if (v != SS_COMM_ONLY || run->comm)
            sum += run->step_ns[v] * (run->steps[v] + 1);
    return sum;
}
