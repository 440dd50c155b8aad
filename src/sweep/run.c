/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The run: points in their planned order, each written as a file of its own
 * before the next begins, until all are done, the budget is used up, someone
 * asks to stop, or something breaks. Must not know what the numbers mean.
 */
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/units.h"
#include "cluster/agree.h"
#include "sweep/context.h"
#include "sweep/resume.h"
#include "sweep/samples.h"

static void choose_out(struct ss_context *context)
{
    if (context->args->resume) /* read before, so it is not too long */
        (void)ss_resume_out(context->args->resume, context->out,
                            sizeof(context->out));
    else
        ss_out_choose(context->config->out_file, context->run.run_id,
                      context->out, sizeof(context->out));
    ss_part_folder(context->out, context->folder, sizeof(context->folder));
}

static const char *op_name(void *arg, int64_t op, char *out, size_t size)
{
    const struct ss_context *context = arg;
    const struct ss_plan *plan = context->plan;

    if (op == SS_MEETING)
        ss_copy(out, size, "a meeting between blocks");
    else if (op == SS_CONNECTING)
        ss_copy(out, size, "creation of a communicator");
    else if (plan && op >= 0 && op < plan->n_ops)
        ss_copy(out, size, plan->op[op].name);
    else
        return NULL;
    return out;
}

static void abort_engine(void *arg)
{
    struct ss_context *context = arg;

    if (context->engine && context->engine->ops->abort)
        context->engine->ops->abort(context->engine);
}

static void explain(void *arg, struct ss_buf *out)
{
    struct ss_context *context = arg;

    if (context->engine && context->engine->ops->explain)
        context->engine->ops->explain(context->engine, out);
}

/** An empty folder must not stand in the way of the next try. */
static enum ss_status create_folder(struct ss_context *context)
{
    enum ss_status status;

    if (context->args->resume)
        return ss_part_resume(context->out, &context->claim);
    SS_TRY(ss_part_create(context->out));
    status = ss_part_claim(context->folder, &context->claim);
    if (status == SS_OK)
        status = ss_part_write_run(context->out, &context->run);
    if (status != SS_OK)
        (void)rmdir(context->folder);
    return status;
}

/** Between blocks ranks gather, write and wait for each other. */
static int64_t idle_deadline(const struct ss_config *config)
{
    const int64_t least = 10 * SS_NS_PER_S, automatic = 600 * SS_NS_PER_S;

    if (config->deadline_block == 0)
        return automatic;
    return config->deadline_block > least ? config->deadline_block : least;
}

/** Output folder and watchdog: from here on something may be lost. */
static enum ss_status begin_output_all(struct ss_context *context)
{
    struct ss_rt *world = context->world;
    enum ss_status status = SS_OK;

    if (world->rank == 0) {
        choose_out(context);
        status = create_folder(context);
    }
    SS_TRY(ss_meet_all(context, world, status));
    SS_TRY(ss_bcast_all(world, context->out, sizeof(context->out), 0));
    SS_TRY(ss_bcast_all(world, context->folder, sizeof(context->folder), 0));
    struct ss_watchdog_args args = {
        .rt = world,
        .folder = context->folder,
        .run_id = context->run.run_id,
        .topology = &context->topology,
        .op_name = op_name,
        .op_arg = context,
        .abort_engine = abort_engine,
        .abort_arg = context,
        .explain = explain,
        .idle_ns = idle_deadline(context->config),
    };
    SS_TRY(
        ss_meet_all(context, world, ss_watchdog_start(&args, &context->dog)));
    context->engine->progress = ss_watchdog_progress(context->dog);
    ss_start_guard_end(context->args->guard);
    return SS_OK;
}

/** What is known of a point before it runs. */
static void describe_point(const struct ss_context *context,
                           const struct ss_sweep_point *point,
                           struct ss_point_row *meta)
{
    const struct ss_layout *l = &point->layout;

    *meta = (struct ss_point_row){
        .index = point->index,
        .pass = point->pass,
        .size = point->size,
        .base_size = point->base_size,
        .dp = l->dim[SS_DIM_DP],
        .tp = l->dim[SS_DIM_TP],
        .pp = l->dim[SS_DIM_PP],
        .ep = l->dim[SS_DIM_EP],
        .cp = l->dim[SS_DIM_CP],
        .zero = l->zero,
        .sp = l->sp,
        .micro_batches = l->micro_batches,
        .tokens = point->tokens,
        .global_tokens = point->tokens * l->dim[SS_DIM_DP],
        .mfu_flops_share = context->model.skeleton_share,
        .bucket_bytes = context->config->plan_bucket,
        .verified = -1,
        .shared_devices = context->config->device_share,
        .start_ns = ss_clock_wall_ns(),
    };
    enum ss_dim axis = ss_layout_axis(context->config);
    ss_format(meta->curve, sizeof(meta->curve), "%.24s along %s",
              context->model.name, ss_dim_name(axis));
    ss_copy(meta->axis, sizeof(meta->axis), ss_dim_name(axis));
    ss_copy(meta->mode, sizeof(meta->mode), point->strong ? "strong" : "weak");
    ss_copy(meta->load, sizeof(meta->load), point->alone ? "alone" : "beside");
    ss_point_held_constant(point, &context->sweep, &context->model,
                           meta->held_constant, sizeof(meta->held_constant));
}

/** What connecting adds: groups and the plan of a curve's rank. */
static enum ss_status describe_groups(struct ss_context *context,
                                      struct ss_point_run *run)
{
    struct ss_point_row *meta = &run->meta;
    const struct ss_grouping *grouping = &run->grouping;
    int64_t measurable =
        context->engine->ops->overlap_measurable(context->engine);
    struct ss_plan plan;

    SS_TRY(ss_point_plan(context, run->point, 0, &plan));
    meta->model_flops = plan.model_flops * run->point->size;
    meta->flops = plan.flops * run->point->size;
    meta->plan_hash = ss_plan_hash(&plan);
    ss_plan_free(&plan);
    meta->group_first = grouping->first;
    meta->group_count = grouping->count;
    meta->filler_first = grouping->filler_first;
    meta->filler_size = grouping->filler_size;
    for (int g = 0; g < grouping->count; g++) {
        int nodes = ss_topology_nodes_of(
            &context->topology, grouping->first + g * meta->size, meta->size);
        meta->nodes = nodes > meta->nodes ? nodes : meta->nodes;
    }
    SS_TRY(ss_allreduce_all(context->world, &measurable, 1, SS_DT_I64,
                            SS_RED_MIN));
    meta->overlap_measurable = (int32_t)measurable;
    return SS_OK;
}

static enum ss_status measure_point(struct ss_context *context,
                                    struct ss_point_run *run,
                                    struct ss_point_data *data)
{
    SS_TRY(ss_point_connect_all(context, run));
    SS_TRY(ss_meet_all(context, context->world, describe_groups(context, run)));
    SS_TRY(ss_point_check_all(context, run, "before"));
    SS_TRY(ss_point_measure_all(context, run));
    SS_TRY(ss_point_check_all(context, run, "after"));
    return ss_point_collect_all(context, run, data);
}

/** Writes rank 0's part; the outcome is everybody's. */
static enum ss_status write_point(struct ss_context *context,
                                  const struct ss_point_data *data)
{
    enum ss_status status = SS_OK;

    if (context->world->rank == 0)
        status = ss_part_write_point(context->out, context->run.run_id, data);
    return ss_meet_all(context, context->world, status);
}

/** A point without samples: skipped or failed, with the reason. */
static enum ss_status write_empty(struct ss_context *context,
                                  const struct ss_point_row *meta,
                                  const char *state, const char *reason)
{
    struct ss_point_data data = {.meta = *meta};

    ss_copy(data.meta.status, sizeof(data.meta.status), state);
    ss_copy(data.meta.reason, sizeof(data.meta.reason), reason);
    return write_point(context, &data);
}

/** Can the job go on with the next point after this? */
static bool survivable(enum ss_status status)
{
    return status == SS_ERR_DEVICE || status == SS_ERR_NO_MEMORY ||
           status == SS_ERR_VERIFY || status == SS_ERR_CONFIG ||
           status == SS_ERR_ENV;
}

static void set_progress(struct ss_context *context, int index)
{
    struct ss_progress *progress = context->engine->progress;

    atomic_store_explicit(&progress->point, index, memory_order_relaxed);
    atomic_store_explicit(&progress->n_calls, 0, memory_order_relaxed);
    atomic_store_explicit(&progress->nth, 0, memory_order_relaxed);
}

static enum ss_status run_point(struct ss_context *context,
                                const struct ss_sweep_point *point,
                                int64_t budget)
{
    struct ss_point_run run = {.point = point, .budget_ns = budget};
    struct ss_point_data data = {0};
    char reason[SS_ERROR_TEXT_MAX];

    describe_point(context, point, &run.meta);
    set_progress(context, point->index);
    ss_point_show(context, &run);
    enum ss_status status = measure_point(context, &run, &data);
    if (status == SS_OK)
        status = write_point(context, &data);
    else if (survivable(status)) {
        ss_copy(reason, sizeof(reason), ss_error_text());
        SS_TRY(write_empty(context, &run.meta, "failed", reason));
        ss_error_set(reason);
    }
    ss_point_data_free(&data);
    ss_point_disconnect(context, &run);
    return status;
}

static int64_t spent(struct ss_context *context)
{
    return context->engine->ops->now(context->engine) - context->started_ns;
}

/** This point's share: what is left over the points that are left. */
static enum ss_status share_all(struct ss_context *context, int at,
                                int64_t *out)
{
    int64_t used = spent(context), left = 0;

    SS_TRY(ss_allreduce_all(context->world, &used, 1, SS_DT_I64, SS_RED_MAX));
    for (int i = at; i < context->sweep.n; i++)
        left += context->sweep.point[i].tokens != 0 &&
                !context->sweep.point[i].done;
    *out = (context->budget_ns - used) / (left > 0 ? left : 1);
    if (context->config->measure_max_seconds > 0 &&
        *out > context->config->measure_max_seconds)
        *out = context->config->measure_max_seconds;
    return SS_OK;
}

static enum ss_status one_point(struct ss_context *context, int at)
{
    const struct ss_sweep_point *point = &context->sweep.point[at];
    struct ss_point_row meta;
    int64_t share;

    if (point->done)
        return SS_OK;
    SS_TRY(ss_meet_or_stop_all(context, context->world, SS_OK));
    SS_TRY(share_all(context, at, &share));
    describe_point(context, point, &meta);
    if (point->tokens == 0)
        return write_empty(context, &meta, "skipped", point->skip);
    if (share <= 0 && !point->optional)
        ss_copy(meta.stop, sizeof(meta.stop), "budget");
    if (share <= 0)
        return write_empty(context, &meta, "skipped",
                           "the budget was used up by earlier points");
    return run_point(context, point, share);
}

static void note_end(struct ss_context *context, enum ss_status status,
                     int done, struct ss_run_outcome *outcome)
{
    const char *text = ss_error_text();
    size_t cause = strcspn(text, ";"); /* what follows is the remedy */
    char stopped[32];

    outcome->end = status;
    ss_stop_words(text, stopped, sizeof(stopped));
    if (status == SS_ERR_STOPPED)
        ss_format(outcome->end_reason, sizeof(outcome->end_reason),
                  "%s after %d of %s", stopped, done,
                  ss_counted(context->sweep.n, "point").text);
    else
        ss_format(outcome->end_reason, sizeof(outcome->end_reason),
                  "%.*s, after %d of %s", (int)(cause < 120 ? cause : 120),
                  text, done, ss_counted(context->sweep.n, "point").text);
}

static void run_points(struct ss_context *context,
                       struct ss_run_outcome *outcome)
{
    for (int i = 0; i < context->sweep.n; i++) {
        enum ss_status status = one_point(context, i);
        if (status == SS_OK)
            continue;
        if (context->world->rank == 0) {
            ss_progress_end();
            ss_log(status == SS_ERR_STOPPED ? SS_LOG_INFO : SS_LOG_ERROR,
                   "sweep", "point %d: %s", context->sweep.point[i].index,
                   status == SS_ERR_STOPPED ? "asked to stop"
                                            : ss_error_text());
        }
        note_end(context, status, i, outcome);
        if (status == SS_ERR_TRANSPORT) /* peers may be gone */
            ss_watchdog_give_up(context->dog);
        if (!survivable(status))
            return;
    }
    if (context->world->rank == 0)
        ss_progress_end();
}

static enum ss_status announce(struct ss_context *context,
                               struct ss_run_outcome *outcome)
{
    if (context->world->rank != 0)
        return SS_OK;
    SS_TRY(ss_forecast(context, &outcome->forecast));
    if (context->args->announce)
        context->args->announce(ss_buf_text(&outcome->forecast));
    return SS_OK;
}

enum ss_status ss_sweep_run_all(struct ss_rt *rt,
                                const struct ss_run_args *args,
                                struct ss_run_outcome *outcome)
{
    struct ss_context context;
    enum ss_status status;

    *outcome = (struct ss_run_outcome){.end = SS_OK};
    ss_buf_init(&outcome->forecast, 1 << 20);
    SS_TRY_GOTO(ss_context_open_all(rt, args, &context), status, out);
    SS_TRY_GOTO(ss_agree_all(context.world, announce(&context, outcome)),
                status, out);
    if (args->dry_run)
        goto out;
    SS_TRY_GOTO(ss_provenance_all(&context), status, out);
    SS_TRY_GOTO(ss_resume_all(&context), status, out);
    SS_TRY_GOTO(begin_output_all(&context), status, out);
    ss_copy(outcome->out, sizeof(outcome->out), context.out);
    ss_copy(outcome->run_id, sizeof(outcome->run_id), context.run.run_id);
    run_points(&context, outcome);
out:
    ss_context_close(&context);
    return status;
}

void ss_run_outcome_free(struct ss_run_outcome *outcome)
{
    ss_buf_free(&outcome->forecast);
}
