/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a fresh world to a planned sweep: same program and configuration
 * everywhere, engine, places, logical order, model, points, memory. Each step
 * that can fail on one rank is agreed on, so that the user hears one sentence
 * and no rank is left waiting.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/units.h"
#include "cluster/agree.h"
#include "engine/cuda_distinct.h"
#include "health/record.h"
#include "sweep/context.h"

/** cuda where it is built in and every rank has a device, host where none has;
 * a rank without one among others is an error, and not a slower run. */
static enum ss_status choose_engine_all(struct ss_context *context,
                                        const struct ss_engine_ops **out)
{
    const char *name = context->args->engine;
    const struct ss_engine_ops *const *list = ss_engine_list();
    struct ss_engine_args args = {context->config, context->launcher,
                                  &context->place};

    if (name)
        return ss_agree_all(context->launcher, ss_engine_find(name, out));
    for (; *list; list++) {
        struct ss_engine *engine = NULL;
        if (!((*list)->caps & SS_CAP_DEVICE))
            continue;
        enum ss_status mine = (*list)->open(&args, &engine);
        int64_t usable[2] = {mine == SS_OK, -(mine == SS_OK)};
        if (engine)
            (*list)->close(engine);
        SS_TRY(ss_allreduce_all(context->launcher, usable, 2, SS_DT_I64,
                                SS_RED_MIN));
        if (usable[1] < 0) { /* some rank can: then all must */
            *out = *list;
            return ss_agree_all(context->launcher, mine);
        }
    }
    ss_error_set(NULL);
    *out = &ss_engine_host;
    return SS_OK;
}

static enum ss_status open_engine_all(struct ss_context *context)
{
    const struct ss_engine_ops *ops = NULL;
    struct ss_engine_args args = {context->config, context->launcher,
                                  &context->place};
    enum ss_status status;

    SS_TRY(ss_place_detect_all(context->launcher, &context->place));
    SS_TRY(choose_engine_all(context, &ops));
    status = ops->open(&args, &context->engine);
    if (status == SS_OK) {
        context->engine->progress = &context->idle_progress;
        status = ops->describe(context->engine, &context->place,
                               &context->memory_bytes);
    }
    SS_TRY(ss_agree_all(context->launcher, status));
    context->virtual_clock = (ops->caps & SS_CAP_VIRTUAL) &&
                             context->config->null_clock == SS_NULL_VIRTUAL;
    ss_plan_precision(context->config, ops->name, &context->precision,
                      &context->grad_dtype);
    return SS_OK;
}

static enum ss_status order_ranks_all(struct ss_context *context)
{
    SS_TRY(ss_topology_build_all(
        context->launcher, &context->place, context->config->groups_order,
        (uint64_t)context->config->measure_seed, &context->topology));
    SS_TRY(ss_agree_all(context->launcher,
                        ss_devices_distinct(context->topology.place,
                                            context->topology.ranks,
                                            context->config->device_share)));
    SS_TRY(ss_topology_world_all(context->launcher, &context->topology,
                                 &context->world));
    context->place = context->topology.place[context->world->rank];
    ss_log_setup(context->args->log_level, context->world->host,
                 context->world->rank);
    return SS_OK;
}

static enum ss_status plan_points(struct ss_context *context)
{
    struct ss_machine machine = {
        .world = context->topology.ranks,
        .nodes = context->topology.nodes,
        .devices_per_node = context->topology.min_devices,
        .domain = context->topology.max_domain,
    };

    SS_TRY(ss_model_resolve(context->config, &context->model));
    return ss_sweep_plan(context->config, &context->model, &machine,
                         &context->sweep);
}

/** Before anything is allocated: does every point fit on this rank? */
static enum ss_status check_memory(const struct ss_context *context)
{
    char need[24], have[24];

    if (!(context->engine->ops->caps & SS_CAP_DATA))
        return SS_OK;
    for (int i = 0; i < context->sweep.n; i++) {
        const struct ss_sweep_point *point = &context->sweep.point[i];
        struct ss_plan plan;
        if (point->tokens == 0)
            continue;
        SS_TRY(ss_point_plan(context, point, context->world->rank % point->size,
                             &plan));
        double bytes = ss_plan_memory(&plan);
        ss_plan_free(&plan);
        if (bytes > context->memory_bytes)
            return ss_fail(
                SS_ERR_ENV,
                "size %d needs %s of memory per rank and %s are "
                "available; use a smaller model or fewer tokens",
                point->size, ss_format_bytes(bytes, need, sizeof(need)),
                ss_format_bytes(context->memory_bytes, have, sizeof(have)));
    }
    return SS_OK;
}

/** The whole job's time: asked for, or by size; never past the end of the
 * allocation less a minute. */
static int64_t whole_budget(const struct ss_context *context)
{
    int64_t budget = context->config->measure_budget, end = 0;
    const char *limit = NULL;

    if (budget == 0)
        budget = (context->world->size <= 16 ? 120 : 600) * SS_NS_PER_S;
    for (char *const *e = ss_context_environment(context); e && *e; e++)
        if (strncmp(*e, "SLURM_JOB_END_TIME=", 19) == 0)
            limit = *e + 19;
    if (limit && !context->virtual_clock &&
        ss_parse_int(limit, &end) == SS_OK) {
        int64_t left = (end - 60) * SS_NS_PER_S - ss_clock_wall_ns();
        if (left < budget)
            budget = left > 0 ? left : 0;
    }
    return budget;
}

enum ss_status ss_context_open_all(struct ss_rt *rt,
                                   const struct ss_run_args *args,
                                   struct ss_context *context)
{
    *context = (struct ss_context){
        .args = args, .config = args->config, .launcher = rt};
    SS_TRY(ss_record_program_all(rt, ss_config_hash(args->config)));
    SS_TRY(open_engine_all(context));
    SS_TRY(order_ranks_all(context));
    SS_TRY(ss_agree_all(context->world, plan_points(context)));
    SS_TRY(ss_agree_all(context->world, check_memory(context)));
    context->started_ns = context->engine->ops->now(context->engine);
    context->budget_ns = whole_budget(context);
    return ss_bcast_all(context->world, &context->budget_ns,
                        sizeof(context->budget_ns), 0);
}

void ss_context_close(struct ss_context *context)
{
    ss_watchdog_stop(context->dog);
    if (context->engine)
        context->engine->ops->close(context->engine);
    ss_part_unclaim(&context->claim);
    ss_sweep_free(&context->sweep);
    ss_topology_free(&context->topology);
    ss_run_data_free(&context->run);
    ss_rt_close(context->world);
}

void ss_context_arm(struct ss_context *context, int64_t configured,
                    int64_t automatic, const char *what)
{
    ss_watchdog_arm(context->dog, configured ? configured : automatic, what);
}

void ss_context_disarm(struct ss_context *context)
{
    ss_watchdog_disarm(context->dog);
}

static void put(_Atomic int64_t *word, int64_t value)
{
    atomic_store_explicit(word, value, memory_order_relaxed);
}

void ss_meeting_enter(struct ss_context *context)
{
    struct ss_progress *progress = context->engine->progress;
    int64_t calls =
        1 + atomic_load_explicit(&progress->n_calls, memory_order_relaxed);

    put(&progress->n_calls, calls);
    put(&progress->nth, calls);
    put(&progress->collective, SS_MEETING);
}

void ss_meeting_leave(struct ss_context *context)
{
    put(&context->engine->progress->collective, -1);
}

enum ss_status ss_meet_all(struct ss_context *context, struct ss_rt *rt,
                           enum ss_status mine)
{
    ss_meeting_enter(context);
    enum ss_status status = ss_agree_all(rt, mine);
    ss_meeting_leave(context);
    return status;
}

enum ss_status ss_meet_or_stop_all(struct ss_context *context, struct ss_rt *rt,
                                   enum ss_status mine)
{
    ss_meeting_enter(context);
    enum ss_status status = ss_agree_or_stop_all(rt, mine);
    ss_meeting_leave(context);
    return status;
}
