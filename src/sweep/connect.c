/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Brings up one point on this rank: its group, the communicators of each
 * dimension, the plan, the engine's memory. Every step that can fail on one
 * rank is agreed on before the next collective one.
 */
#include <math.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/log.h"
#include "cluster/agree.h"
#include "sweep/between.h"
#include "sweep/context.h"
#include "sweep/samples.h"

static int64_t forced_switches(void)
{
    struct rusage usage;

    return getrusage(RUSAGE_SELF, &usage) == 0 ? usage.ru_nivcsw : 0;
}

/** Which group is mine? `alone` leaves only group 0 running. */
static void find_group(const struct ss_context *context,
                       struct ss_point_run *run)
{
    const struct ss_sweep_point *point = run->point;
    struct ss_grouping *grouping = &run->grouping;
    int rank = context->world->rank;

    ss_grouping_make(context->world->size, point->size,
                     ss_layout_unit(context->config), point->pass, grouping);
    if (point->alone) {
        grouping->count = 1;
        grouping->filler_size = 0;
    }
    run->group = ss_grouping_of(grouping, rank);
    if (run->group >= grouping->count)
        run->group = -1;
    run->size = 0;
    if (run->group >= 0) {
        run->size = point->size;
        run->first = grouping->first + run->group * point->size;
    } else if (run->group == -2) {
        run->size = grouping->filler_size;
        run->first = grouping->filler_first;
    }
}

enum ss_status ss_point_plan(const struct ss_context *context,
                             const struct ss_sweep_point *point, int member,
                             struct ss_plan *out)
{
    struct ss_plan_args args = {
        .model = &context->model,
        .layout = point->layout,
        .tokens = point->tokens,
        .precision = context->precision,
        .grad_dtype = context->grad_dtype,
        .bucket_bytes = context->config->plan_bucket,
    };

    ss_layout_coords(&args.layout, member, &args.coords);
    SS_TRY(ss_plan_build(&args, out));
    return ss_plan_validate(out);
}

/** The filler's layout grows along the same axis as far as it has ranks. */
static enum ss_status filler_point(const struct ss_context *context, int size,
                                   struct ss_sweep_point *point)
{
    int64_t tokens = point->tokens;

    SS_TRY(ss_layout_make(context->config, size, &point->layout));
    point->layout.micro_batches = (int)context->config->layout_micro_batches;
    point->size = size;
    if (!point->strong)
        return SS_OK;
    /* strong: enough work to load the fabric, whatever divides */
    point->tokens = tokens - tokens % point->layout.micro_batches;
    return SS_OK;
}

static enum ss_status build_plan(struct ss_context *context,
                                 struct ss_point_run *run)
{
    struct ss_sweep_point mine = *run->point;
    int member = context->world->rank - run->first;

    if (run->size == 0)
        return SS_OK;
    if (run->group == -2)
        SS_TRY(filler_point(context, run->size, &mine));
    SS_TRY(ss_point_plan(context, &mine, member, &run->plan));
    SS_TRY(ss_between_bytes(&run->plan, &context->topology, run->first,
                            context->world->rank, &run->between_bytes));
    if (run->point->strong && run->group >= 0 &&
        run->point->size != run->point->base_size) {
        /* planted costs are scaled by the same op at the base size */
        for (int i = 0; i < context->sweep.n; i++) {
            const struct ss_sweep_point *base = &context->sweep.point[i];
            if (base->strong && base->size == base->base_size &&
                base->tokens > 0) {
                SS_TRY(ss_point_plan(context, base, member % base->size,
                                     &run->base));
                run->has_base = true;
                break;
            }
        }
    }
    return SS_OK;
}

static enum ss_status split_dims(struct ss_point_run *run)
{
    const struct ss_layout *layout = &run->plan.layout;
    struct ss_rt *group = run->comms.group;

    for (int d = 0; d < SS_DIMS; d++) {
        int color = ss_layout_color(layout, group->rank, (enum ss_dim)d);
        if (layout->dim[d] > 1)
            SS_TRY(ss_split_all(group, color, run->plan.coords.at[d],
                                &run->comms.dim[d]));
    }
    return SS_OK;
}

/** A plan whose communication order differs between members is refused. All
 * dimensions are asked, so that nobody leaves a meeting early. */
static enum ss_status compare_orders(struct ss_point_run *run)
{
    enum ss_status status = SS_OK;

    for (int d = 0; d < SS_DIMS; d++) {
        enum ss_status one = SS_OK;
        if (run->comms.dim[d])
            one = ss_agree_word_all(
                run->comms.dim[d],
                ss_plan_order_word(&run->plan, (enum ss_dim)d),
                "order of communication ops");
        if (status == SS_OK)
            status = one;
    }
    return status;
}

/** Splits the world into groups and the group into dimensions, then hands
 * them to the engine. */
static enum ss_status connect_group(struct ss_context *context,
                                    struct ss_point_run *run)
{
    struct ss_engine *engine = context->engine;

    if (!run->comms.group)
        return SS_OK;
    SS_TRY(ss_meet_all(context, run->comms.group, split_dims(run)));
    SS_TRY(ss_meet_all(context, run->comms.group, compare_orders(run)));
    return engine->ops->connect_all(engine, &run->comms, &run->create_ns);
}

static enum ss_status load(struct ss_context *context, struct ss_point_run *run)
{
    struct ss_engine *engine = context->engine;
    struct ss_engine_work work = {
        .plan = &run->plan,
        .base = run->has_base ? &run->base : NULL,
        .point = run->point->index,
        .logical_rank = context->world->rank,
        .seed = context->sweep.seed,
    };

    if (run->size == 0)
        return SS_OK;
    SS_TRY(ss_samples_open(run->size, &run->samples));
    SS_TRY(ss_block_record_open(5, 0, &run->record));
    run->cap_steps = 5;
    return engine->ops->load(engine, &work);
}

/** Does any group communicate? All ranks must schedule the same blocks. */
static enum ss_status agree_comm(struct ss_context *context,
                                 struct ss_point_run *run)
{
    int64_t comm = 0;

    for (int i = 0; i < run->plan.n_ops && run->group >= 0; i++)
        comm |= ss_op_is_comm(&run->plan.op[i]);
    SS_TRY(ss_allreduce_all(context->world, &comm, 1, SS_DT_I64, SS_RED_MAX));
    run->comm = comm != 0;
    return SS_OK;
}

enum ss_status ss_point_connect_all(struct ss_context *context,
                                    struct ss_point_run *run)
{
    struct ss_rt *world = context->world;
    int64_t deadline = 60 * SS_NS_PER_S + world->size * SS_NS_PER_S / 10;
    int color;

    find_group(context, run);
    run->last_variant = -1;
    run->switches = forced_switches();
    ss_context_arm(context, context->config->deadline_connect, deadline,
                   "connect");
    SS_TRY(ss_meet_or_stop_all(context, world, build_plan(context, run)));
    context->plan = run->size > 0 ? &run->plan : NULL;
    SS_TRY(agree_comm(context, run));
    color = run->size > 0 ? run->first : -1;
    SS_TRY(ss_meet_all(
        context, world,
        ss_split_all(world, color, world->rank, &run->comms.group)));
    SS_TRY(ss_meet_all(context, world, connect_group(context, run)));
    SS_TRY(ss_meet_all(context, world, load(context, run)));
    ss_context_disarm(context);
    if (context->place.local_rank == 0)
        SS_TRY(ss_net_read(context->args->net_root, &run->net));
    return SS_OK;
}

void ss_point_disconnect(struct ss_context *context, struct ss_point_run *run)
{
    struct ss_engine *engine = context->engine;

    ss_context_disarm(context);
    if (run->size > 0) {
        engine->ops->unload(engine);
        engine->ops->disconnect(engine);
    }
    context->plan = NULL;
    for (int d = 0; d < SS_DIMS; d++)
        ss_rt_close(run->comms.dim[d]);
    ss_rt_close(run->comms.group);
    ss_block_record_close(&run->record);
    ss_samples_close(run->samples);
    ss_net_free(&run->net);
    ss_plan_free(&run->plan);
    ss_plan_free(&run->base);
}
