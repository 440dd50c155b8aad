/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host engine: real training steps on CPUs, GEMMs through OpenBLAS and
 * collectives through the runtime (MPI), for clusters without devices and for
 * tests of everything else on real data. This file is its life; how a block
 * runs is in host_run.c. Must not know MPI, nor what a sweep is.
 */
#include <limits.h>
#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "engine/exec.h"
#include "engine/host.h"

static int sharers_of(const struct ss_place *place)
{
    return place->sharers > 0 ? place->sharers : 1;
}

static int threads_of(const struct ss_config *config,
                      const struct ss_place *place)
{
    if (config->device_threads > 0)
        return (int)config->device_threads;
    int share = place->cores / sharers_of(place);
    return share > 0 ? share : 1;
}

static enum ss_status host_open(const struct ss_engine_args *args,
                                struct ss_engine **out)
{
    int64_t asked = args->config->model_precision;
    if (asked != SS_PRECISION_AUTO && asked != SS_PRECISION_FP32 &&
        asked != SS_PRECISION_FP64)
        return ss_fail(SS_ERR_CONFIG,
                       "the host engine computes fp32 and fp64; set "
                       "model.precision to one of them");
    struct ss_host *self = ss_alloc(1, sizeof(*self), "the host engine");
    if (!self)
        return SS_ERR_NO_MEMORY;
    self->base.ops = &ss_engine_host;
    self->config = args->config;
    self->place = *args->place;
    self->threads = threads_of(args->config, args->place);
    self->host_ranks = 1;
    self->available_bytes = ss_host_available();
    ss_state_age_clear(&self->age);
    self->progress.on =
        ss_host_wants_thread(args->config, args->place, self->threads);
    ss_host_normals_fill(self);
    enum ss_status status = ss_blas_load(&self->blas);
    if (status != SS_OK) {
        ss_free(self);
        return status;
    }
    if (self->blas.openblas_get_num_threads() != self->threads)
        self->blas.openblas_set_num_threads(self->threads);
    *out = &self->base;
    return SS_OK;
}

/* "model name : AMD EPYC 9654 96-Core Processor" */
static bool cpu_name(char *out, size_t size)
{
    struct ss_buf text;
    bool found = false;
    if (ss_read_file("/proc/cpuinfo", 16 << 20, &text) == SS_OK) {
        const char *at = strstr(ss_buf_text(&text), "model name");
        const char *colon = at ? strchr(at, ':') : NULL;
        if (colon && colon[1] == ' ') {
            (void)ss_copy(out, size, colon + 2);
            out[strcspn(out, "\n")] = '\0';
            found = true;
        }
    }
    ss_buf_free(&text);
    return found;
}

static enum ss_status host_describe(struct ss_engine *engine,
                                    struct ss_place *place,
                                    double *memory_bytes)
{
    struct ss_host *self = ss_host_of(engine);
    if (!cpu_name(place->device_name, sizeof(place->device_name)))
        (void)ss_copy(place->device_name, sizeof(place->device_name), "CPU");
    *memory_bytes = self->available_bytes / sharers_of(&self->place);
    return SS_OK;
}

static double host_peak_flops(struct ss_engine *engine, int precision,
                              char *source, size_t size)
{
    (void)engine, (void)precision;
    (void)ss_copy(source, size, "a share of a CPU has no datasheet peak");
    return NAN;
}

/* Ranks of the group on this host; the split also keeps anyone from loading
 * before all have looked at what memory is left. */
static enum ss_status count_host_ranks_all(struct ss_host *self)
{
    struct ss_rt *group = self->comms.group, *host = NULL;
    self->available_bytes = ss_host_available();
    self->host_ranks = 1;
    if (!group)
        return SS_OK;
    SS_TRY(group->ops->split_host_all(group, &host));
    self->host_ranks = host ? host->size : 1;
    ss_rt_close(host);
    return SS_OK;
}

static enum ss_status host_connect_all(struct ss_engine *engine,
                                       const struct ss_comms *comms,
                                       int64_t *create_ns)
{
    struct ss_host *self = ss_host_of(engine);
    self->comms = *comms;
    /* a rank that fails here still takes part in what follows: the caller
     * agrees on the status */
    enum ss_status status = count_host_ranks_all(self);
    int64_t begin = ss_clock_ns();
    for (int dim = 0; dim < SS_DIMS; dim++) {
        int64_t word = 1; /* the first message opens MPI's connections */
        if (comms->dim[dim])
            SS_TRY(ss_allreduce_all(comms->dim[dim], &word, 1, SS_DT_I64,
                                    SS_RED_SUM));
    }
    *create_ns = ss_clock_ns() - begin;
    return status;
}

static void host_disconnect(struct ss_engine *engine)
{
    ss_host_of(engine)->comms = (struct ss_comms){0};
}

static enum ss_status check_types(const struct ss_plan *plan,
                                  enum ss_dtype *dtype)
{
    *dtype = plan->n_buffers > 0 ? plan->buffer[0].dtype : SS_DT_F32;
    bool ok = *dtype == SS_DT_F32 || *dtype == SS_DT_F64;
    for (int i = 0; i < plan->n_buffers; i++)
        ok = ok && plan->buffer[i].dtype == *dtype;
    if (ok && plan->n_buffers == SS_BUF_ROLES)
        return SS_OK;
    return ss_fail(SS_ERR_CONFIG,
                   "the host engine computes fp32 and fp64, with gradients of "
                   "the same type: set model.precision to one of them and "
                   "model.grad_dtype to auto");
}

static enum ss_status check_op(const struct ss_host *self,
                               const struct ss_op *op)
{
    enum ss_coll coll;
    if (!ss_op_is_comm(op)) {
        if (op->m <= INT_MAX && op->n <= INT_MAX && op->k <= INT_MAX)
            return SS_OK;
        return ss_fail(SS_ERR_CONFIG,
                       "%s is %lld x %lld x %lld, larger than CBLAS can count",
                       op->name, (long long)op->m, (long long)op->n,
                       (long long)op->k);
    }
    if (!ss_coll_of(op->kind, &coll))
        return ss_fail(SS_ERR_CONFIG,
                       "the host engine does no %s (%s): use a layout of dp "
                       "and tp",
                       ss_op_kind_name(op->kind), op->name);
    if (!self->comms.dim[op->dim])
        return ss_fail(SS_ERR_INTERNAL, "%s has no communicator of %s",
                       op->name, ss_dim_name(op->dim));
    return SS_OK;
}

static enum ss_status check_plan(struct ss_host *self)
{
    const struct ss_plan *plan = self->work.plan;
    SS_TRY(check_types(plan, &self->dtype));
    self->elem_size = ss_dtype_size(self->dtype);
    for (int i = 0; i < plan->n_ops; i++)
        SS_TRY(check_op(self, &plan->op[i]));
    return SS_OK;
}

static enum ss_status allocate(struct ss_host *self)
{
    const struct ss_plan *plan = self->work.plan;
    size_t n = (size_t)plan->n_ops;
    size_t dp = (size_t)plan->layout.dim[SS_DIM_DP];
    SS_TRY(ss_host_buffers_open(self));
    SS_TRY(ss_block_record_open(SS_TRIAL_STEPS, 0, &self->trial));
    self->call = ss_alloc(n, sizeof(*self->call), "pending collectives");
    self->end = ss_alloc(n, sizeof(*self->end), "op ends");
    self->runs = ss_alloc(n, sizeof(*self->runs), "op flags");
    self->hashes = ss_alloc(dp, sizeof(*self->hashes), "hashes of replicas");
    bool ok = self->call && self->end && self->runs && self->hashes;
    return ok ? SS_OK : SS_ERR_NO_MEMORY;
}

static void host_unload(struct ss_engine *engine)
{
    struct ss_host *self = ss_host_of(engine);
    ss_host_progress_stop(self);
    ss_host_buffers_close(self);
    ss_block_record_close(&self->trial);
    ss_free(self->call);
    ss_free(self->end);
    ss_free(self->runs);
    ss_free(self->hashes);
    self->call = NULL;
    self->end = NULL;
    self->runs = NULL;
    self->hashes = NULL;
    self->work = (struct ss_engine_work){0};
}

static enum ss_status host_load(struct ss_engine *engine,
                                const struct ss_engine_work *work)
{
    struct ss_host *self = ss_host_of(engine);
    enum ss_status status;
    self->work = *work;
    SS_TRY_GOTO(check_plan(self), status, failed);
    SS_TRY_GOTO(allocate(self), status, failed);
    ss_host_lanes_clear(self);
    ss_host_measure_rate(self);
    SS_TRY_GOTO(ss_host_reset(engine), status, failed);
    self->variance = ss_host_weight_variance(self);
    SS_TRY_GOTO(ss_host_progress_start(self), status, failed);
    atomic_store(&self->base.progress->n_calls, 0);
    atomic_store(&self->base.progress->collective, -1);
    return SS_OK;
failed:
    host_unload(engine);
    return status;
}

static enum ss_status host_meet_all(struct ss_engine *engine)
{
    struct ss_rt *group = ss_host_of(engine)->comms.group;
    return group ? ss_barrier_all(group) : SS_OK;
}

static int64_t host_now(struct ss_engine *engine)
{
    (void)engine;
    return ss_clock_ns();
}

static int host_overlap_measurable(struct ss_engine *engine)
{
    return ss_host_of(engine)->progress.on;
}

static void host_close(struct ss_engine *engine)
{
    struct ss_host *self = ss_host_of(engine);
    ss_blas_unload(&self->blas);
    ss_free(self);
}

static int host_paths(struct ss_engine *engine, struct ss_path_row *rows,
                      int max)
{
    struct ss_rt *group = ss_host_of(engine)->comms.group;
    if (!group || group->size < 2 || max < 1)
        return 0;
    rows[0] = (struct ss_path_row){.library = "mpi", .ranks = 1};
    group->ops->carriers(group, rows[0].carrier, sizeof(rows[0].carrier));
    if (rows[0].carrier[0] == '\0')
        (void)ss_copy(rows[0].carrier, sizeof(rows[0].carrier),
                      SS_PATH_UNKNOWN);
    return 1;
}

const struct ss_engine_ops ss_engine_host = {
    .name = "host",
    .version = SS_ENGINE_VERSION,
    .caps = SS_CAP_DATA,
    .open = host_open,
    .describe = host_describe,
    .peak_flops = host_peak_flops,
    .connect_all = host_connect_all,
    .load = host_load,
    .reset = ss_host_reset,
    .meet_all = host_meet_all,
    .block_begin = ss_host_block_begin,
    .enqueue = ss_host_enqueue,
    .mark = ss_host_mark,
    .drain = ss_host_drain,
    .block_end = ss_host_block_end,
    .now = host_now,
    .check_all = ss_host_check_all,
    .paths = host_paths,
    .overlap_measurable = host_overlap_measurable,
    .unload = host_unload,
    .disconnect = host_disconnect,
    .abort = NULL,
    .close = host_close,
};
