/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exact checks at the start and the end of a point, never in timed steps. A
 * failed check is a result (a row that names the rank), not an error.
 */
#include <string.h>

#include "cluster/agree.h"
#include "sweep/context.h"
#include "sweep/round.h"

static enum ss_status check_group(struct ss_context *context,
                                  struct ss_point_run *run, const char *when)
{
    struct ss_engine *engine = context->engine;
    int room = (int)SS_COUNT_OF(run->check) - run->n_checks, n = 0;

    if (run->size == 0)
        return SS_OK;
    SS_TRY(engine->ops->check_all(engine, when, run->check + run->n_checks,
                                  room, &n));
    for (int i = 0; i < n; i++)
        run->check[run->n_checks + i].rank = context->world->rank;
    run->n_checks += n;
    run->last_variant = -1; /* checks leave other data behind */
    return SS_OK;
}

/** The state that the last timed block left is what is looked at; where that
 * was not a whole one (isolated steps off, a point cut short), three whole
 * steps are run, so that "replicas equal" has something to say about. */
static enum ss_status steps_before_end(struct ss_context *context,
                                       struct ss_point_run *run)
{
    struct ss_block_spec spec = {
        .variant = SS_WHOLE, .steps = 3, .number = -1000};

    if (run->size == 0 || run->last_variant == SS_WHOLE)
        return SS_OK;
    run->last_variant = -1;
    return ss_block_run_all(context, run, &spec, &run->record);
}

enum ss_status ss_point_check_all(struct ss_context *context,
                                  struct ss_point_run *run, const char *when)
{
    enum ss_status status = SS_OK;

    if (!context->config->measure_verify || run->meta.reason[0])
        return SS_OK;
    if (strcmp(when, "after") == 0)
        status = ss_meet_all(context, context->world,
                             steps_before_end(context, run));
    else if (run->size > 0)
        status = context->engine->ops->reset(context->engine);
    SS_TRY(ss_meet_all(context, context->world, status));
    ss_context_arm(context, context->config->deadline_block,
                   INT64_C(120000000000), "checks");
    status =
        ss_meet_all(context, context->world, check_group(context, run, when));
    ss_context_disarm(context);
    return status;
}
