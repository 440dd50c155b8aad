/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The provenance of a run: everything a reader needs to judge or repeat it,
 * gathered on rank 0 before the first point. Variables are gathered as text
 * and diffed, so that a setting that reached only one node is seen.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cluster/agree.h"
#include "health/record.h"
#include "store/provenance.h"
#include "sweep/context.h"

static enum ss_status fill_texts(struct ss_context *context)
{
    struct ss_run_data *run = &context->run;
    struct ss_buf yaml;
    enum ss_status status;

    ss_buf_init(&yaml, 1 << 16);
    status = ss_config_dump(context->config, &yaml);
    if (status == SS_OK) {
        run->config_yaml = ss_strdup(ss_buf_text(&yaml));
        run->command_line = ss_strdup(context->args->command_line);
        if (!run->config_yaml || !run->command_line)
            status = SS_ERR_NO_MEMORY;
    }
    ss_buf_free(&yaml);
    return status;
}

static const char *precision_name(int precision)
{
    static const char *const name[] = {"auto", "fp64", "fp32", "tf32",
                                       "bf16", "fp16", "fp8"};

    return name[precision];
}

static const char *grad_name(int grad)
{
    static const char *const name[] = {"auto", "fp64", "fp32", "bf16", "fp16"};

    return name[grad];
}

/** Scalars; rank 0. */
static void fill_scalars(struct ss_context *context)
{
    struct ss_run_data *run = &context->run;
    struct ss_engine *engine = context->engine;

    run->schema = SS_SCHEMA;
    run->start_ns = ss_clock_wall_ns();
    ss_copy(run->version, sizeof(run->version), context->args->version);
    ss_copy(run->engine, sizeof(run->engine), engine->ops->name);
    ss_copy(run->model, sizeof(run->model), context->model.name);
    run->skeleton = context->model.skeleton;
    run->skeleton_share = context->model.skeleton_share;
    ss_copy(run->precision, sizeof(run->precision),
            precision_name(context->precision));
    ss_copy(run->grad_dtype, sizeof(run->grad_dtype),
            grad_name(context->grad_dtype));
    run->peak_flops = NAN;
    if (engine->ops->peak_flops)
        run->peak_flops =
            engine->ops->peak_flops(engine, context->precision,
                                    run->peak_source, sizeof(run->peak_source));
    run->share_devices = context->config->device_share;
    run->planned_points = context->sweep.n;
    run->budget_ns = context->budget_ns;
    run->seed = context->config->measure_seed;
    run->config_hash = ss_config_hash(context->config);
    run->verdict_code = -1;
    ss_format(run->transports, sizeof(run->transports), "%s",
              context->launcher->ops->version(context->launcher));
}

static enum ss_status fill_root(struct ss_context *context,
                                const double *memory)
{
    struct ss_run_data *run = &context->run;
    const char *mpi = context->launcher->ops->version(context->launcher);

    fill_scalars(context);
    SS_TRY(fill_texts(context));
    SS_TRY(ss_record_places(&context->topology, memory, run));
    return ss_versions_collect(mpi, &run->versions, &run->n_versions);
}

enum ss_status ss_provenance_all(struct ss_context *context)
{
    struct ss_rt *world = context->world;
    double *memory = ss_alloc((size_t)world->size, sizeof(*memory), "memory");
    enum ss_status status =
        ss_agree_all(world, memory ? SS_OK : SS_ERR_NO_MEMORY);

    if (status == SS_OK)
        status = ss_gather_all(world, &context->memory_bytes, sizeof(double),
                               memory, 0);
    if (status == SS_OK && world->rank == 0)
        status = fill_root(context, memory);
    if (world->rank == 0)
        ss_record_run_id(context->args->run_id, context->run.run_id);
    ss_free(memory);
    SS_TRY(ss_agree_all(world, status));
    SS_TRY(ss_bcast_all(world, context->run.run_id, sizeof(context->run.run_id),
                        0));
    return ss_record_variables_all(world, ss_context_environment(context),
                                   &context->run);
}
