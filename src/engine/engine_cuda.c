/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cuda engine: training steps on NVIDIA devices, products through
 * cuBLASLt, communication through NCCL, all other ops as kernels of our own.
 * This file is its life; how a block runs is in cuda_run.c. Must not know MPI,
 * nor what a sweep is.
 */
#include <limits.h>
#include <math.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "engine/coll_nccl_ras.h"
#include "engine/cuda.h"
#include "engine/exec.h"

#define WORDS_BYTES 64

enum ss_status ss_cuda_said(const struct ss_cuda *self, int error,
                            const char *what)
{
    if (error == (int)cudaSuccess)
        return SS_OK;
    return ss_fail(SS_ERR_DEVICE, "device %d (%s) cannot %s: %s",
                   self->device.ordinal, self->device.bus_id, what,
                   cudaGetErrorString((cudaError_t)error));
}

void *ss_cuda_at(const struct ss_cuda *self, struct ss_ref ref)
{
    if (ref.buf < 0 || ref.buf >= SS_BUF_ROLES || !self->buffer[ref.buf])
        return NULL;
    return (char *)self->buffer[ref.buf] +
           ref.at * ss_dtype_size(ss_cuda_type(self, ref));
}

enum ss_dtype ss_cuda_type(const struct ss_cuda *self, struct ss_ref ref)
{
    return self->work.plan->buffer[ref.buf].dtype;
}

static enum ss_status open_lanes(struct ss_cuda *self)
{
    int least = 0, greatest = 0;
    SS_TRY(ss_cuda_said(
        self, (int)cudaDeviceGetStreamPriorityRange(&least, &greatest),
        "ask for priorities"));
    for (int lane = 0; lane < SS_LANES; lane++) {
        /* a collective must get its blocks in between those of a product */
        int priority = lane >= SS_LANE_COMM ? greatest : least;
        SS_TRY(ss_cuda_said(
            self,
            (int)cudaStreamCreateWithPriority(&self->lane[lane],
                                              cudaStreamNonBlocking, priority),
            "make a stream"));
        SS_TRY(ss_cuda_said(self,
                            (int)cudaEventCreateWithFlags(
                                &self->tail[lane], cudaEventDisableTiming),
                            "make an event"));
    }
    return ss_cuda_said(
        self,
        (int)cudaEventCreateWithFlags(&self->fork, cudaEventDisableTiming),
        "make an event");
}

static enum ss_status open_libraries(struct ss_cuda *self)
{
    SS_TRY(ss_lt_open(&self->lt));
    cublasStatus_t status = self->lt->cublasLtCreate(&self->blas);
    if (status != CUBLAS_STATUS_SUCCESS)
        return ss_fail(SS_ERR_DEVICE,
                       "cuBLASLt does not start on device %d: "
                       "%s",
                       self->device.ordinal,
                       self->lt->cublasLtGetStatusString(status));
    SS_TRY(ss_cuda_said(self,
                        (int)cudaMalloc(&self->workspace, SS_CUDA_WORKSPACE),
                        "take a workspace"));
    SS_TRY(ss_cuda_said(self,
                        (int)cudaMalloc((void **)&self->words, WORDS_BYTES),
                        "take memory"));
    return ss_cuda_normals_open(self);
}

static void close_lanes(struct ss_cuda *self)
{
    if (self->fork)
        (void)cudaEventDestroy(self->fork);
    for (int lane = 0; lane < SS_LANES; lane++) {
        if (self->tail[lane])
            (void)cudaEventDestroy(self->tail[lane]);
        if (self->lane[lane])
            (void)cudaStreamDestroy(self->lane[lane]);
    }
}

static void cuda_close(struct ss_engine *engine)
{
    struct ss_cuda *self = ss_cuda_of(engine);
    ss_cuda_clock_close(self);
    close_lanes(self);
    if (self->blas)
        (void)self->lt->cublasLtDestroy(self->blas);
    (void)cudaFree(self->workspace);
    (void)cudaFree(self->words);
    (void)cudaFree(self->normals);
    if (self->nccl_log[0])
        (void)unlink(self->nccl_log);
    ss_nccl_unload(self->nccl_api);
    ss_gemm_cache_free(&self->cache);
    ss_lt_close(self->lt);
    ss_nvml_close(self->nvml);
    pthread_mutex_destroy(&self->nccl_lock);
    ss_free(self);
}

static enum ss_status bring_up(struct ss_cuda *self)
{
    SS_TRY(ss_nvml_open(self->device.bus_id, &self->nvml));
    SS_TRY(ss_nccl_load(&self->nccl_api));
    SS_TRY(ss_nccl_prepare(self->nccl_log, sizeof(self->nccl_log)));
    SS_TRY(open_lanes(self));
    SS_TRY(ss_cuda_clock_open(self));
    if (ss_gemm_cache_path(self->config->device_gemm_cache, self->products,
                           sizeof(self->products)))
        SS_TRY(ss_gemm_cache_read(&self->cache, self->products));
    else
        self->products[0] = '\0';
    return open_libraries(self);
}

static enum ss_status cuda_open(const struct ss_engine_args *args,
                                struct ss_engine **out)
{
    struct ss_cuda_device device;
    SS_TRY(ss_cuda_device_find(args->config, args->place, &device));
    struct ss_cuda *self = ss_alloc(1, sizeof(*self), "the cuda engine");
    if (!self)
        return SS_ERR_NO_MEMORY;
    self->base.ops = &ss_engine_cuda;
    self->config = args->config;
    self->place = *args->place;
    self->device = device;
    ss_state_age_clear(&self->age);
    pthread_mutex_init(&self->nccl_lock, NULL);
    enum ss_status status = bring_up(self);
    if (status == SS_OK)
        *out = &self->base;
    else
        cuda_close(&self->base);
    return status;
}

static enum ss_status new_nccl(struct ss_cuda *self)
{
    struct ss_nccl *nccl = NULL;
    enum ss_status status =
        ss_nccl_open(self->nccl_api, self->base.progress, &nccl);
    pthread_mutex_lock(&self->nccl_lock);
    self->nccl = nccl;
    pthread_mutex_unlock(&self->nccl_lock);
    return status;
}

static void cuda_disconnect(struct ss_engine *engine)
{
    struct ss_cuda *self = ss_cuda_of(engine);
    pthread_mutex_lock(&self->nccl_lock);
    struct ss_nccl *nccl = self->nccl;
    self->nccl = NULL;
    pthread_mutex_unlock(&self->nccl_lock);
    ss_nccl_close(nccl);
    self->comms = (struct ss_comms){0};
}

static bool communicates(const struct ss_comms *comms)
{
    for (int d = 0; d < SS_DIMS; d++)
        if (comms->dim[d])
            return true;
    return false;
}

static enum ss_status cuda_connect_all(struct ss_engine *engine,
                                       const struct ss_comms *comms,
                                       int64_t *create_ns)
{
    struct ss_cuda *self = ss_cuda_of(engine);
    int64_t begin = ss_clock_ns();
    self->comms = *comms;
    *create_ns = 0;
    if (!communicates(comms))
        return SS_OK;
    if (self->device.slot >= 0)
        SS_TRY(ss_nccl_pose(self->place.host, self->device.slot));
    ss_cuda_read_log(self, &self->paths_before);
    enum ss_status status = new_nccl(self);
    /* a rank that has no memory must not leave the others in creation */
    if (status == SS_OK)
        status = ss_nccl_connect_all(self->nccl, comms);
    *create_ns = ss_clock_ns() - begin;
    if (status != SS_OK)
        cuda_disconnect(engine);
    return status;
}

static void cuda_abort(struct ss_engine *engine)
{
    struct ss_cuda *self = ss_cuda_of(engine);
    atomic_store(&self->aborted, true);
    pthread_mutex_lock(&self->nccl_lock);
    if (self->nccl)
        ss_nccl_abort(self->nccl);
    pthread_mutex_unlock(&self->nccl_lock);
}

/* Less than 2 s. */
static void cuda_explain(struct ss_engine *engine, struct ss_buf *out)
{
    (void)engine;
    ss_nccl_ras_ask(environ, 1800 * SS_NS_PER_MS, out);
}

static bool type_is_done(enum ss_dtype dtype)
{
    return dtype == SS_DT_F32 || dtype == SS_DT_F64 || dtype == SS_DT_BF16 ||
           dtype == SS_DT_FP16;
}

static enum ss_status check_types(struct ss_cuda *self)
{
    const struct ss_plan *plan = self->work.plan;
    if (plan->n_buffers != SS_BUF_ROLES)
        return ss_fail(SS_ERR_INTERNAL, "a plan has %d buffers, not %d",
                       plan->n_buffers, SS_BUF_ROLES);
    enum ss_dtype type = plan->buffer[SS_BUF_WEIGHT].dtype;
    bool ok = type_is_done(type) && plan->precision != SS_PRECISION_FP8;
    for (int i = 0; i < plan->n_buffers; i++) {
        enum ss_dtype other = plan->buffer[i].dtype;
        bool wide_grad =
            i == SS_BUF_GRAD && other == SS_DT_F32 && type != SS_DT_F64;
        ok = ok && (other == type || wide_grad);
    }
    self->storage = type;
    if (ok)
        return SS_OK;
    return ss_fail(SS_ERR_CONFIG,
                   "the cuda engine computes bf16, fp16, tf32, fp32 and fp64, "
                   "with gradients of the same type or fp32: set "
                   "model.precision and model.grad_dtype accordingly");
}

static enum ss_status check_op(const struct ss_cuda *self,
                               const struct ss_op *op)
{
    if (!ss_op_is_comm(op))
        return SS_OK;
    if (!ss_nccl_does(op->kind) || !self->comms.dim[op->dim] || !self->nccl)
        return ss_fail(SS_ERR_INTERNAL, "%s has no communicator of %s",
                       op->name, ss_dim_name(op->dim));
    return SS_OK;
}

static enum ss_status allocate(struct ss_cuda *self)
{
    const struct ss_plan *plan = self->work.plan;
    size_t dp = (size_t)plan->layout.dim[SS_DIM_DP];
    self->op = ss_alloc((size_t)plan->n_ops, sizeof(*self->op), "op data");
    self->hashes = ss_alloc(dp, sizeof(*self->hashes), "hashes of replicas");
    if (!self->op || !self->hashes)
        return SS_ERR_NO_MEMORY;
    SS_TRY(ss_block_record_open(SS_TRIAL_STEPS, 0, &self->trial));
    SS_TRY(ss_cuda_buffers_open(self));
    return ss_cuda_events_open(self);
}

static void cuda_unload(struct ss_engine *engine)
{
    struct ss_cuda *self = ss_cuda_of(engine);
    /* nothing may run in memory that goes; after an abort nothing does */
    if (!atomic_load(&self->aborted))
        for (int lane = 0; lane < SS_LANES; lane++)
            if (ss_cuda_wait_lane(self, lane) != SS_OK)
                break;
    ss_cuda_graphs_close(self);
    ss_cuda_gemms_close(self);
    ss_cuda_events_close(self);
    ss_cuda_buffers_close(self);
    ss_block_record_close(&self->trial);
    ss_free(self->op);
    ss_free(self->hashes);
    self->op = NULL;
    self->hashes = NULL;
    self->work = (struct ss_engine_work){0};
}

static enum ss_status start(struct ss_cuda *self)
{
    const struct ss_plan *plan = self->work.plan;
    SS_TRY(check_types(self));
    for (int i = 0; i < plan->n_ops; i++)
        SS_TRY(check_op(self, &plan->op[i]));
    self->chains =
        self->always_chains || !ss_nccl_orders_launches(self->nccl_api);
    SS_TRY(allocate(self));
    SS_TRY(ss_cuda_fill(self));
    SS_TRY(ss_cuda_fill_rest(self));
    SS_TRY(ss_cuda_gemms_open(self));
    SS_TRY(ss_cuda_reset(&self->base));
    return ss_cuda_weight_variance(self, &self->variance);
}

static enum ss_status cuda_load(struct ss_engine *engine,
                                const struct ss_engine_work *work)
{
    struct ss_cuda *self = ss_cuda_of(engine);
    self->work = *work;
    enum ss_status status = start(self);
    if (status != SS_OK) {
        cuda_unload(engine);
        return status;
    }
    atomic_store(&self->base.progress->n_calls, 0);
    atomic_store(&self->base.progress->collective, -1);
    return SS_OK;
}

static enum ss_status cuda_meet_all(struct ss_engine *engine)
{
    struct ss_cuda *self = ss_cuda_of(engine);
    struct ss_rt *group = self->comms.group;
    SS_TRY(ss_cuda_gemms_settle_all(self));
    return group ? ss_barrier_all(group) : SS_OK;
}

static int64_t cuda_now(struct ss_engine *engine)
{
    (void)engine;
    return ss_clock_ns();
}

static int cuda_overlap_measurable(struct ss_engine *engine)
{
    (void)engine; /* a copy engine or other multiprocessors carry it */
    return 1;
}

const struct ss_engine_ops ss_engine_cuda = {
    .name = "cuda",
    .version = SS_ENGINE_VERSION,
    .caps = SS_CAP_DEVICE | SS_CAP_DATA | SS_CAP_ASYNC,
    .open = cuda_open,
    .describe = ss_cuda_describe,
    .peak_flops = ss_cuda_peak_flops,
    .connect_all = cuda_connect_all,
    .load = cuda_load,
    .reset = ss_cuda_reset,
    .meet_all = cuda_meet_all,
    .block_begin = ss_cuda_block_begin,
    .enqueue = ss_cuda_enqueue,
    .mark = ss_cuda_mark,
    .drain = ss_cuda_drain,
    .block_end = ss_cuda_block_end,
    .now = cuda_now,
    .check_all = ss_cuda_check_all,
    .overlap_measurable = cuda_overlap_measurable,
    .paths = ss_cuda_paths,
    .unload = cuda_unload,
    .disconnect = cuda_disconnect,
    .abort = cuda_abort,
    .explain = cuda_explain,
    .close = cuda_close,
};
