/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collectives of NCCL on device memory, for a probe: the table of coll_lib.h
 * over the communicators of coll_nccl.c and one stream. Must not know what is
 * measured, nor any plan.
 */
#include "engine/coll_lib.h"
#include "engine/cuda.h"

#include "base/mem.h"

struct coll_device {
    struct ss_cuda_device device;
    struct ss_nccl_api *api;
    struct ss_nccl *nccl;
    cudaStream_t stream;
    float *input, *result;
    uint64_t room;
};

static struct coll_device *state_of(const struct ss_coll_lib *lib)
{
    return lib->state;
}

static enum ss_status said(const struct coll_device *d, cudaError_t error,
                           const char *what)
{
    if (error == cudaSuccess)
        return SS_OK;
    return ss_fail(error == cudaErrorMemoryAllocation ? SS_ERR_NO_MEMORY
                                                      : SS_ERR_DEVICE,
                   "device %d (%s): cannot %s: %s", d->device.ordinal,
                   d->device.name, what, cudaGetErrorString(error));
}

static bool device_runs(enum ss_coll_op op, bool in_place)
{
    /* coll_nccl reduces in place, and has no ring */
    if (op == SS_OP_COLL_ALL_REDUCE)
        return in_place;
    return op != SS_OP_COLL_SENDRECV && ss_coll_runs(op, in_place);
}

static double device_memory(struct ss_coll_lib *lib)
{
    size_t left = 0, all = 0;

    (void)lib;
    return cudaMemGetInfo(&left, &all) == cudaSuccess ? (double)left : 0;
}

static void device_disconnect(struct ss_coll_lib *lib)
{
    struct coll_device *d = state_of(lib);

    ss_nccl_close(d->nccl);
    d->nccl = NULL;
    lib->group = NULL;
}

static enum ss_status device_connect_all(struct ss_coll_lib *lib,
                                         struct ss_rt *group)
{
    struct coll_device *d = state_of(lib);
    struct ss_comms comms = {.group = group};

    comms.dim[SS_DIM_DP] = group;
    lib->group = group;
    SS_TRY(ss_nccl_open(d->api, NULL, &d->nccl));
    return ss_nccl_connect_all(d->nccl, &comms);
}

static void give_back(struct coll_device *d)
{
    (void)cudaFree(d->input);
    (void)cudaFree(d->result);
    d->input = d->result = NULL;
    d->room = 0;
}

static enum ss_status device_reserve(struct ss_coll_lib *lib, uint64_t elements)
{
    struct coll_device *d = state_of(lib);
    size_t bytes = elements * sizeof(float);

    if (elements <= d->room)
        return SS_OK;
    give_back(d);
    SS_TRY(said(d, cudaMalloc((void **)&d->input, bytes), "take memory"));
    SS_TRY(said(d, cudaMalloc((void **)&d->result, bytes), "take memory"));
    /* timed on numbers, also where nothing is put */
    SS_TRY(said(d, cudaMemset(d->input, 0, bytes), "clear memory"));
    SS_TRY(said(d, cudaMemset(d->result, 0, bytes), "clear memory"));
    d->room = elements;
    return SS_OK;
}

/** NCCL scatters in place to the rank's own part, and gathers from it. */
static uint64_t own_part(const struct ss_coll_lib *lib,
                         const struct ss_coll_task *task)
{
    bool parts = task->op == SS_OP_COLL_ALL_GATHER ||
                 task->op == SS_OP_COLL_REDUCE_SCATTER;
    return task->in_place && parts ? (uint64_t)lib->group->rank * task->count
                                   : 0;
}

static float *input_of(const struct ss_coll_lib *lib,
                       const struct ss_coll_task *task)
{
    struct coll_device *d = state_of(lib);

    if (!task->in_place)
        return d->input;
    return d->result +
           (task->op == SS_OP_COLL_ALL_GATHER ? own_part(lib, task) : 0);
}

static float *result_of(const struct ss_coll_lib *lib,
                        const struct ss_coll_task *task)
{
    struct coll_device *d = state_of(lib);

    return d->result +
           (task->op == SS_OP_COLL_REDUCE_SCATTER ? own_part(lib, task) : 0);
}

static enum ss_status device_put(struct ss_coll_lib *lib,
                                 const struct ss_coll_task *task, uint64_t at,
                                 const float *v, uint64_t n)
{
    return said(state_of(lib),
                cudaMemcpy(input_of(lib, task) + at, v, n * sizeof(*v),
                           cudaMemcpyHostToDevice),
                "copy to it");
}

static enum ss_status device_get(struct ss_coll_lib *lib,
                                 const struct ss_coll_task *task, uint64_t at,
                                 float *v, uint64_t n)
{
    return said(state_of(lib),
                cudaMemcpy(v, result_of(lib, task) + at, n * sizeof(*v),
                           cudaMemcpyDeviceToHost),
                "copy from it");
}

/** Looks, and never waits without looking: a peer may be gone. */
static enum ss_status drain(struct coll_device *d)
{
    cudaError_t error;

    while ((error = cudaStreamQuery(d->stream)) == cudaErrorNotReady)
        SS_TRY(ss_nccl_poll(d->nccl));
    return said(d, error, "run a collective");
}

static enum ss_status device_run_all(struct ss_coll_lib *lib,
                                     const struct ss_coll_task *task,
                                     long calls)
{
    static const enum ss_op_kind kind[SS_COLL_OPS] = {
        [SS_OP_COLL_ALL_REDUCE] = SS_OP_ALL_REDUCE,
        [SS_OP_COLL_ALL_GATHER] = SS_OP_ALL_GATHER,
        [SS_OP_COLL_REDUCE_SCATTER] = SS_OP_REDUCE_SCATTER,
        [SS_OP_COLL_ALL_TO_ALL] = SS_OP_ALL_TO_ALL,
        [SS_OP_COLL_BROADCAST] = SS_OP_BROADCAST,
    };
    struct coll_device *d = state_of(lib);
    const struct ss_nccl_call call = {
        .kind = kind[task->op],
        .dim = SS_DIM_DP,
        .dtype = SS_DT_F32,
        .send = input_of(lib, task),
        .recv = result_of(lib, task),
        .count = task->count,
        .peer = 0,
    };

    for (long i = 0; i < calls; i++)
        SS_TRY(ss_nccl_enqueue(d->nccl, &call, d->stream));
    return drain(d);
}

static void device_close(struct ss_coll_lib *lib)
{
    struct coll_device *d = state_of(lib);

    ss_nccl_close(d->nccl);
    give_back(d);
    if (d->stream)
        (void)cudaStreamDestroy(d->stream);
    ss_nccl_unload(d->api);
    ss_free(d);
    *lib = (struct ss_coll_lib){0};
}

static enum ss_status start(struct coll_device *d,
                            const struct ss_config *config,
                            const struct ss_place *place)
{
    SS_TRY(ss_cuda_device_find(config, place, &d->device));
    if (d->device.slot >= 0)
        SS_TRY(ss_nccl_pose(place->host, d->device.slot));
    SS_TRY(ss_nccl_load(&d->api));
    return said(d, cudaStreamCreateWithFlags(&d->stream, cudaStreamNonBlocking),
                "make a stream");
}

enum ss_status ss_coll_device_open(const struct ss_config *config,
                                   const struct ss_place *place,
                                   struct ss_coll_lib *out)
{
    static const struct ss_coll_lib_ops ops = {
        .library = "nccl",
        .runs = device_runs,
        .memory = device_memory,
        .connect_all = device_connect_all,
        .disconnect = device_disconnect,
        .reserve = device_reserve,
        .put = device_put,
        .get = device_get,
        .run_all = device_run_all,
        .close = device_close,
    };
    struct coll_device *d = ss_alloc(1, sizeof(*d), "collectives");

    *out = (struct ss_coll_lib){0};
    if (!d)
        return SS_ERR_NO_MEMORY;
    enum ss_status status = start(d, config, place);
    *out = (struct ss_coll_lib){.ops = &ops, .state = d};
    if (status != SS_OK)
        device_close(out);
    return status;
}
