/* SPDX-License-Identifier: Apache-2.0 */
/* An engine at one point, on one rank. It must not know any engine. */
#include "support/engine_rig.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cluster/agree.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define OWN_MALLOC 0
#else
#define OWN_MALLOC 1
#endif

static _Thread_local long allocations;
static _Thread_local int in_transport;

#if OWN_MALLOC
/* These take the place of libc's in the whole process, shared libraries
 * included: nothing that allocates goes uncounted. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);

void *malloc(size_t size)
{
    allocations += in_transport == 0;
    return __libc_malloc(size);
}
void *calloc(size_t count, size_t size)
{
    allocations += in_transport == 0;
    return __libc_calloc(count, size);
}
void *realloc(void *old, size_t size)
{
    allocations += in_transport == 0;
    return __libc_realloc(old, size);
}
#endif

/* One runtime a process: the first rank makes the table of all. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const struct ss_rt_ops *loud;
static struct ss_rt_ops quiet;

static enum ss_status quiet_icollective(struct ss_rt *rt, enum ss_coll kind,
                                        const void *send, void *recv,
                                        size_t count, enum ss_dtype dtype,
                                        enum ss_red red, int root,
                                        struct ss_request *request)
{
    in_transport++;
    enum ss_status status = loud->icollective(rt, kind, send, recv, count,
                                              dtype, red, root, request);
    in_transport--;
    return status;
}

static enum ss_status quiet_test(struct ss_rt *rt, struct ss_request *request,
                                 int *done)
{
    in_transport++;
    enum ss_status status = loud->test(rt, request, done);
    in_transport--;
    return status;
}

static enum ss_status quiet_wait(struct ss_rt *rt, struct ss_request *request)
{
    in_transport++;
    enum ss_status status = loud->wait(rt, request);
    in_transport--;
    return status;
}

static void make_quiet(const struct ss_rt_ops *ops)
{
    pthread_mutex_lock(&lock);
    if (!loud) {
        loud = ops;
        quiet = *ops;
        quiet.icollective = quiet_icollective;
        quiet.test = quiet_test;
        quiet.wait = quiet_wait;
    }
    pthread_mutex_unlock(&lock);
}

void rig_mute_transport(struct rig *rig)
{
    for (int dim = 0; dim < SS_DIMS; dim++) {
        struct ss_rt *rt = rig->comms.dim[dim];
        if (!rt)
            continue;
        if (rt->ops != &quiet)
            make_quiet(rt->ops);
        rt->ops = &quiet;
    }
}

static enum ss_status configure(struct rig *rig)
{
    const struct rig_spec *spec = rig->spec;
    ss_config_default(&rig->config);
    rig->config.device_threads = 1;
    rig->config.model_layers = spec->layers;
    rig->config.model_hidden = spec->hidden;
    if (spec->model)
        (void)ss_copy(rig->config.model_preset,
                      sizeof(rig->config.model_preset), spec->model);
    for (size_t i = 0; i + 1 < SS_COUNT_OF(spec->settings); i += 2)
        if (spec->settings[i])
            SS_TRY(ss_config_set(&rig->config, spec->settings[i],
                                 spec->settings[i + 1]));
    return SS_OK;
}

static enum ss_status make_plan(struct rig *rig, int rank)
{
    const struct rig_spec *spec = rig->spec;
    struct ss_plan_args args = {
        .model = &rig->model,
        .layout = {.dim = {spec->dp, spec->tp ? spec->tp : 1, 1, 1, 1},
                   .sp = spec->sp != 0,
                   .micro_batches = spec->micro ? spec->micro : 1},
        .tokens = spec->tokens,
        .precision = spec->precision ? spec->precision : SS_PRECISION_FP32,
        .grad_dtype =
            spec->precision == SS_PRECISION_FP64 ? SS_GRAD_FP64 : SS_GRAD_FP32,
        .bucket_bytes = spec->bucket ? spec->bucket : 1 << 20,
    };
    if (spec->plan) {
        rig->plan = *spec->plan;
        ss_layout_coords(&rig->plan.layout, rank, &rig->plan.coords);
        return SS_OK;
    }
    SS_TRY(ss_model_resolve(&rig->config, &rig->model));
    ss_layout_coords(&args.layout, rank, &args.coords);
    SS_TRY(ss_plan_build(&args, &rig->plan));
    rig->owns_plan = true;
    return ss_plan_validate(&rig->plan);
}

static enum ss_status open_engine(struct rig *rig, struct ss_rt *rt)
{
    const struct ss_engine_ops *ops;
    const struct ss_engine_args args = {
        .config = &rig->config, .world = rt, .place = &rig->place};
    rig->place = (struct ss_place){.cores = 1, .sharers = 1};
    SS_TRY(ss_engine_find(rig->spec->engine, &ops));
    SS_TRY(ops->open(&args, &rig->engine));
    rig->engine->progress = &rig->progress;
    return SS_OK;
}

static enum ss_status split_all(struct rig *rig, struct ss_rt *rt)
{
    const struct ss_layout *layout = &rig->plan.layout;
    rig->comms.group = rt;
    for (int dim = 0; dim < SS_DIMS; dim++) {
        if (layout->dim[dim] == 1)
            continue;
        int color = ss_layout_color(layout, rt->rank, (enum ss_dim)dim);
        enum ss_status status = ss_split_all(
            rt, color, rig->plan.coords.at[dim], &rig->comms.dim[dim]);
        SS_TRY(ss_agree_all(rt, status));
    }
    return SS_OK;
}

static enum ss_status load(struct rig *rig, int rank)
{
    const struct ss_engine_work work = {
        .plan = &rig->plan,
        .base = rig->spec->base,
        .point = (int)rig->spec->point,
        .logical_rank = rank,
        .seed = 7,
    };
    SS_TRY(rig->engine->ops->load(rig->engine, &work));
    rig->loaded = true;
    return ss_block_record_open(RIG_STEPS_MAX, rig->plan.n_ops, &rig->record);
}

static enum ss_status set_up(struct rig *rig, struct ss_rt *rt)
{
    SS_TRY(configure(rig));
    SS_TRY(make_plan(rig, rt->rank));
    return open_engine(rig, rt);
}

enum ss_status rig_open_all(struct rig *rig, struct ss_rt *rt,
                            const struct rig_spec *spec)
{
    int64_t ns;
    *rig = (struct rig){.spec = spec};
    SS_TRY(ss_agree_all(rt, set_up(rig, rt)));
    SS_TRY(split_all(rig, rt));
    enum ss_status status =
        rig->engine->ops->connect_all(rig->engine, &rig->comms, &ns);
    rig->connected = status == SS_OK;
    SS_TRY(ss_agree_all(rt, status));
    return ss_agree_all(rt, load(rig, rt->rank));
}

enum ss_status rig_block_all(struct rig *rig, enum ss_variant variant,
                             int steps)
{
    const struct ss_block_spec spec = {
        .variant = variant, .steps = steps, .sampled = true, .number = 3};
    SS_TRY(rig->engine->ops->meet_all(rig->engine));
    long all = allocations, own = ss_mem_calls();
    enum ss_status status =
        ss_exec_block(rig->engine, &rig->plan, &spec, &rig->record);
    rig->allocations = OWN_MALLOC ? allocations - all : -1;
    rig->own_allocations = ss_mem_calls() - own;
    return status;
}

void rig_close(struct rig *rig)
{
    struct ss_engine *engine = rig->engine;
    if (rig->loaded)
        engine->ops->unload(engine);
    ss_block_record_close(&rig->record);
    if (rig->connected)
        engine->ops->disconnect(engine);
    for (int dim = 0; dim < SS_DIMS; dim++)
        ss_rt_close(rig->comms.dim[dim]);
    if (engine)
        engine->ops->close(engine);
    if (rig->owns_plan)
        ss_plan_free(&rig->plan);
}
