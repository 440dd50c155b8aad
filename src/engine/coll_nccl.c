/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Communicators and operations over NCCL, which nobody else calls. A
 * communicator is non-blocking: every call is followed by looking until NCCL
 * has taken it, so that a peer that died cannot hold this rank, and the
 * watchdog can end it. Must not know plans or lanes.
 */
#include "engine/coll_nccl.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "cluster/agree.h"
#include "engine/coll_nccl_api.h"

#define SPIN_NS INT64_C(200000)             /* then sleep between looks */
#define GRACE_NS (INT64_C(500) * 1000000)   /* for the owner to abort itself */
#define CLOSE_NS (INT64_C(5) * SS_NS_PER_S) /* to come down in good order */

struct ss_nccl {
    const struct ss_nccl_api *api;
    struct ss_progress *progress;
    ncclComm_t parent; /* NULL where one dimension is the whole group */
    ncclComm_t dim[SS_DIMS];
    atomic_bool told;     /* to abort */
    pthread_mutex_t lock; /* of ending the communicators */
    bool ended;           /* aborted or destroyed: handles are gone */
};

static void nap(void)
{
    const struct timespec t = {.tv_nsec = 20000};
    nanosleep(&t, NULL);
}

static enum ss_status told_to_stop(void)
{
    return ss_fail(SS_ERR_TIMEOUT, "NCCL was aborted by the watchdog");
}

static enum ss_status failed(const struct ss_nccl *nccl, ncclComm_t comm,
                             const char *what, ncclResult_t result)
{
    const char *last = nccl->api->ncclGetLastError(comm);
    const char *words = last && *last ? last : "set NCCL_DEBUG=WARN for more";
    return ss_fail(SS_ERR_TRANSPORT, "NCCL cannot %s: %s (%s)", what,
                   nccl->api->ncclGetErrorString(result), words);
}

/* Until NCCL has done what it was asked; `result` is what the call returned. */
static enum ss_status settle(struct ss_nccl *nccl, ncclComm_t comm,
                             ncclResult_t result, const char *what)
{
    int64_t begin = 0;
    while (result == ncclInProgress) {
        if (atomic_load_explicit(&nccl->told, memory_order_relaxed))
            return told_to_stop();
        ncclResult_t asked = nccl->api->ncclCommGetAsyncError(comm, &result);
        if (asked != ncclSuccess)
            return failed(nccl, comm, what, asked);
        if (result != ncclInProgress)
            break;
        int64_t now = ss_clock_ns();
        begin = begin ? begin : now;
        if (now - begin > SPIN_NS)
            nap();
    }
    return result == ncclSuccess ? SS_OK : failed(nccl, comm, what, result);
}

static void put(_Atomic int64_t *word, int64_t value)
{
    atomic_store_explicit(word, value, memory_order_relaxed);
}

/* A rank that has asked for the communicator waits; one that has not is what
 * it waits for, and the last words of both must tell. */
static void mark_waiting(struct ss_nccl *nccl, bool waits)
{
    struct ss_progress *at = nccl->progress;
    if (!at)
        return;
    if (waits)
        put(&at->nth,
            1 + atomic_load_explicit(&at->n_calls, memory_order_relaxed));
    put(&at->collective, waits ? SS_CONNECTING : -1);
}

static ncclConfig_t config_of(void)
{
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    return config;
}

/* A communicator of all ranks of rt. */
static enum ss_status create_all(struct ss_nccl *nccl, struct ss_rt *rt,
                                 ncclComm_t *out)
{
    ncclUniqueId id = {{0}};
    ncclConfig_t config = config_of();
    enum ss_status status = SS_OK;
    if (rt->rank == 0) {
        ncclResult_t result = nccl->api->ncclGetUniqueId(&id);
        if (result != ncclSuccess)
            status = failed(nccl, NULL, "start", result);
    }
    SS_TRY(ss_agree_all(rt, status));
    SS_TRY(ss_bcast_all(rt, &id, sizeof(id), 0));
    ncclResult_t result =
        nccl->api->ncclCommInitRankConfig(out, rt->size, id, rt->rank, &config);
    mark_waiting(nccl, true);
    status = settle(nccl, *out, result, "create a communicator");
    mark_waiting(nccl, false);
    return status;
}

/* A child is not there before the parent is done with it. */
static enum ss_status await_child(struct ss_nccl *nccl, ncclComm_t *child)
{
    ncclResult_t parent = ncclInProgress;
    ncclComm_t volatile *there = child;
    while (parent == ncclInProgress || (parent == ncclSuccess && !*there)) {
        if (atomic_load_explicit(&nccl->told, memory_order_relaxed))
            return told_to_stop();
        ncclResult_t asked =
            nccl->api->ncclCommGetAsyncError(nccl->parent, &parent);
        parent = asked != ncclSuccess ? asked : parent;
        nap();
    }
    if (parent != ncclSuccess)
        return failed(nccl, nccl->parent, "split a communicator", parent);
    return settle(nccl, *there, ncclInProgress, "split a communicator");
}

/* The members of a dimension agree on a color: the least group rank. */
static enum ss_status split_all(struct ss_nccl *nccl, struct ss_rt *group,
                                struct ss_rt *dim, ncclComm_t *out)
{
    ncclConfig_t config = config_of();
    int color = group->rank;
    SS_TRY(ss_bcast_all(dim, &color, sizeof(color), 0));
    ncclResult_t result =
        nccl->api->ncclCommSplit(nccl->parent, color, dim->rank, out, &config);
    if (result != ncclSuccess && result != ncclInProgress)
        return failed(nccl, nccl->parent, "split a communicator", result);
    mark_waiting(nccl, true);
    enum ss_status status = await_child(nccl, out);
    mark_waiting(nccl, false);
    return status;
}

static enum ss_status connect_all(struct ss_nccl *nccl,
                                  const struct ss_comms *comms)
{
    int n = 0, only = -1;
    for (int d = 0; d < SS_DIMS; d++) {
        if (!comms->dim[d])
            continue;
        only = d;
        n++;
    }
    if (n == 0)
        return SS_OK;
    if (n == 1)
        return create_all(nccl, comms->dim[only], &nccl->dim[only]);
    SS_TRY(create_all(nccl, comms->group, &nccl->parent));
    for (int d = 0; d < SS_DIMS; d++)
        if (comms->dim[d])
            SS_TRY(split_all(nccl, comms->group, comms->dim[d], &nccl->dim[d]));
    return SS_OK;
}

enum ss_status ss_nccl_open(const struct ss_nccl_api *api,
                            struct ss_progress *progress, struct ss_nccl **out)
{
    struct ss_nccl *nccl = ss_alloc(1, sizeof(*nccl), "communicators of NCCL");
    if (!nccl)
        return SS_ERR_NO_MEMORY;
    nccl->api = api;
    nccl->progress = progress;
    pthread_mutex_init(&nccl->lock, NULL);
    *out = nccl;
    return SS_OK;
}

enum ss_status ss_nccl_connect_all(struct ss_nccl *nccl,
                                   const struct ss_comms *comms)
{
    enum ss_status status = connect_all(nccl, comms);
    if (status != SS_OK)
        atomic_store(&nccl->told, true); /* closing must not wait for peers */
    return status;
}

static void each_comm(struct ss_nccl *nccl, ncclResult_t (*does)(ncclComm_t))
{
    for (int d = 0; d < SS_DIMS; d++)
        if (nccl->dim[d])
            (void)does(nccl->dim[d]);
    if (nccl->parent)
        (void)does(nccl->parent);
}

/* The handles die here, once. */
static void end_by_abort(struct ss_nccl *nccl)
{
    pthread_mutex_lock(&nccl->lock);
    if (!nccl->ended) {
        nccl->ended = true;
        each_comm(nccl, nccl->api->ncclCommAbort);
    }
    pthread_mutex_unlock(&nccl->lock);
}

static bool has_ended(struct ss_nccl *nccl)
{
    pthread_mutex_lock(&nccl->lock);
    bool ended = nccl->ended;
    pthread_mutex_unlock(&nccl->lock);
    return ended;
}

void ss_nccl_abort(struct ss_nccl *nccl)
{
    int64_t until = ss_clock_ns() + GRACE_NS;
    if (!nccl || atomic_exchange(&nccl->told, true))
        return;
    /* The measuring thread looks at `told` and aborts by itself, in safety;
     * one that a full launch queue holds cannot, and is set free from here. */
    while (!has_ended(nccl) && ss_clock_ns() < until)
        nap();
    end_by_abort(nccl);
}

/* Finalize is collective where a transport has to be flushed, and peers may
 * be gone: it gets a little time, then the communicators are aborted. */
static bool comes_down(struct ss_nccl *nccl, ncclComm_t comm, int64_t until)
{
    ncclResult_t result = nccl->api->ncclCommFinalize(comm);
    while (result == ncclInProgress) {
        if (nccl->api->ncclCommGetAsyncError(comm, &result) != ncclSuccess)
            return false;
        if (atomic_load(&nccl->told) || ss_clock_ns() > until)
            return false;
        if (result == ncclInProgress)
            nap();
    }
    return result == ncclSuccess;
}

static bool all_come_down(struct ss_nccl *nccl)
{
    int64_t until = ss_clock_ns() + CLOSE_NS;
    bool ok = !atomic_load(&nccl->told);
    for (int d = 0; d < SS_DIMS; d++)
        if (nccl->dim[d])
            ok = ok && comes_down(nccl, nccl->dim[d], until);
    if (nccl->parent)
        ok = ok && comes_down(nccl, nccl->parent, until);
    return ok;
}

void ss_nccl_close(struct ss_nccl *nccl)
{
    if (!nccl)
        return;
    if (!all_come_down(nccl))
        end_by_abort(nccl);
    pthread_mutex_lock(&nccl->lock);
    if (!nccl->ended)
        each_comm(nccl, nccl->api->ncclCommDestroy);
    nccl->ended = true;
    pthread_mutex_unlock(&nccl->lock);
    pthread_mutex_destroy(&nccl->lock);
    ss_free(nccl);
}

static bool type_of(enum ss_dtype dtype, ncclDataType_t *out)
{
    switch (dtype) {
    case SS_DT_F32:
        *out = ncclFloat32;
        return true;
    case SS_DT_F64:
        *out = ncclFloat64;
        return true;
    case SS_DT_BF16:
        *out = ncclBfloat16;
        return true;
    case SS_DT_FP16:
        *out = ncclFloat16;
        return true;
    default:
        return false;
    }
}

bool ss_nccl_does(enum ss_op_kind kind)
{
    return kind >= SS_OP_ALL_REDUCE && kind <= SS_OP_RECV;
}

/* Every pair at once, as one launch. */
static ncclResult_t all_to_all(const struct ss_nccl *nccl,
                               const struct ss_nccl_call *call, ncclComm_t comm,
                               ncclDataType_t type, cudaStream_t stream)
{
    size_t part = (size_t)call->count * ss_dtype_size(call->dtype);
    int ranks = 0;
    ncclResult_t result = nccl->api->ncclCommCount(comm, &ranks);
    if (result != ncclSuccess)
        return result;
    (void)nccl->api->ncclGroupStart();
    for (int peer = 0; peer < ranks; peer++) {
        size_t at = (size_t)peer * part;
        (void)nccl->api->ncclSend((const char *)call->send + at,
                                  (size_t)call->count, type, peer, comm,
                                  stream);
        (void)nccl->api->ncclRecv((char *)call->recv + at, (size_t)call->count,
                                  type, peer, comm, stream);
    }
    return nccl->api->ncclGroupEnd();
}

static ncclResult_t launch(const struct ss_nccl *nccl,
                           const struct ss_nccl_call *call, ncclComm_t comm,
                           ncclDataType_t type, cudaStream_t stream)
{
    size_t count = (size_t)call->count;
    switch (call->kind) {
    case SS_OP_ALL_REDUCE:
        return nccl->api->ncclAllReduce(call->recv, call->recv, count, type,
                                        ncclSum, comm, stream);
    case SS_OP_ALL_GATHER:
        return nccl->api->ncclAllGather(call->send, call->recv, count, type,
                                        comm, stream);
    case SS_OP_REDUCE_SCATTER:
        return nccl->api->ncclReduceScatter(call->send, call->recv, count, type,
                                            ncclSum, comm, stream);
    case SS_OP_ALL_TO_ALL:
        return all_to_all(nccl, call, comm, type, stream);
    case SS_OP_BROADCAST:
        return nccl->api->ncclBroadcast(call->recv, call->recv, count, type,
                                        call->peer, comm, stream);
    case SS_OP_SEND:
        return nccl->api->ncclSend(call->send, count, type, call->peer, comm,
                                   stream);
    case SS_OP_RECV:
        return nccl->api->ncclRecv(call->recv, count, type, call->peer, comm,
                                   stream);
    default:
        return ncclInvalidUsage;
    }
}

enum ss_status ss_nccl_enqueue(struct ss_nccl *nccl,
                               const struct ss_nccl_call *call, void *stream)
{
    ncclDataType_t type;
    ncclComm_t comm = nccl->dim[call->dim];
    const char *name = ss_op_kind_name(call->kind);
    if (atomic_load_explicit(&nccl->told, memory_order_relaxed))
        return ss_nccl_poll(nccl);
    if (!type_of(call->dtype, &type))
        return ss_fail(SS_ERR_INTERNAL, "NCCL has no type for %s of %s", name,
                       ss_dtype_name(call->dtype));
    ncclResult_t result = launch(nccl, call, comm, type, (cudaStream_t)stream);
    return settle(nccl, comm, result, name);
}

enum ss_status ss_nccl_poll(struct ss_nccl *nccl)
{
    if (atomic_load_explicit(&nccl->told, memory_order_relaxed)) {
        end_by_abort(nccl);
        return told_to_stop();
    }
    for (int d = 0; d < SS_DIMS; d++) {
        ncclResult_t result = ncclSuccess;
        if (!nccl->dim[d])
            continue;
        ncclResult_t asked =
            nccl->api->ncclCommGetAsyncError(nccl->dim[d], &result);
        result = asked != ncclSuccess ? asked : result;
        if (result != ncclSuccess && result != ncclInProgress)
            return failed(nccl, nccl->dim[d], "communicate", result);
    }
    return SS_OK;
}
