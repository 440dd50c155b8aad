/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Warm-up before the first block: a device that has been idle runs faster than
 * it can keep up, until its clock and the step time are flat. Compute-only
 * blocks, since only computing heats. Must not decide what a block measures.
 */
#include <math.h>

#include "base/clock.h"
#include "sweep/context.h"
#include "sweep/round.h"

#define FLAT 0.01     /* relative change from block to block */
#define FLAT_BLOCKS 3 /* so many in a row */

/** A host engine has no clock to wait for: the pilot's steps are its soak. */
static int64_t longest(const struct ss_context *context,
                       const struct ss_point_run *run)
{
    int64_t most = context->config->measure_soak;

    if (most == 0) {
        if (!(context->engine->ops->caps & SS_CAP_DEVICE))
            return 0;
        most = (context->soaked ? 3 : 30) * SS_NS_PER_S;
    }
    /* a short budget is for measuring */
    return most < run->budget_ns / 4 ? most : run->budget_ns / 4;
}

static bool flat(double before, double now)
{
    if (isnan(before) && isnan(now)) /* no device clock */
        return true;
    return fabs(now - before) <= FLAT * fabs(before);
}

/** One block; *level: unchanged against the one before on every rank. */
static enum ss_status soak_block(struct ss_context *context,
                                 struct ss_point_run *run, double *step,
                                 double *clock, int64_t *level)
{
    struct ss_block_record *record = &run->record;
    struct ss_block_spec spec = {
        .variant = SS_COMPUTE_ONLY,
        .steps = run->steps[SS_COMPUTE_ONLY] + 1,
        .number = -1,
    };

    SS_TRY(ss_block_run_all(context, run, &spec, record));
    double now = (double)(record->mark[spec.steps - 1] - record->mark[0]);
    *level = flat(*step, now) && flat(*clock, record->clock_mhz);
    *step = now;
    *clock = record->clock_mhz;
    return ss_allreduce_all(run->comms.group, level, 1, SS_DT_I64, SS_RED_MIN);
}

enum ss_status ss_point_soak_all(struct ss_context *context,
                                 struct ss_point_run *run)
{
    struct ss_engine *engine = context->engine;
    int64_t most = longest(context, run), begin = engine->ops->now(engine);
    double step = INFINITY, clock = NAN;
    int level_blocks = 0;

    if (most == 0 || run->size == 0)
        return SS_OK;
    while (level_blocks < FLAT_BLOCKS) {
        int64_t level = 0, spent;
        SS_TRY(soak_block(context, run, &step, &clock, &level));
        level_blocks = level ? level_blocks + 1 : 0;
        spent = engine->ops->now(engine) - begin;
        SS_TRY(ss_allreduce_all(run->comms.group, &spent, 1, SS_DT_I64,
                                SS_RED_MAX));
        if (spent >= most)
            break;
    }
    context->soaked = true;
    return SS_OK;
}
