/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_ENGINE_COLL_NCCL_H
#define SS_ENGINE_COLL_NCCL_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/engine.h"

/*
 * The communicators of one point over NCCL, one a dimension. Non-blocking:
 * nothing here waits without looking whether it was told to give up. The type
 * of a stream is cudaStream_t, untyped here.
 */
struct ss_nccl;

/** NCCL, loaded: SS_ERR_ENV says why it cannot be. */
struct ss_nccl_api;
enum ss_status ss_nccl_load(struct ss_nccl_api **out);
void ss_nccl_unload(struct ss_nccl_api *api);
/** "2.28.9", of the library that is loaded. */
void ss_nccl_version(const struct ss_nccl_api *api, char *out, size_t size);
/** Does it keep one launch order across communicators (2.26)? If not, the
 * caller must chain them. */
bool ss_nccl_orders_launches(const struct ss_nccl_api *api);
/**
 * Before the first communicator of the process: the plan's one launch order
 * across communicators, and a log. Leaves alone what the user has set. `log`
 * becomes the file that NCCL writes to, for coll_nccl_log.h, "" where the user
 * has it elsewhere.
 */
enum ss_status ss_nccl_prepare(char *log, size_t size);
/** For ranks that share a device, before the first communicator: the `slot`-th
 * rank on it poses as a host of its own, since NCCL refuses two ranks of one
 * host on one device. */
enum ss_status ss_nccl_pose(const char *host, int slot);
/** Can it run this kind of op? */
bool ss_nccl_does(enum ss_op_kind kind);

/** The api is borrowed, and so is progress, where a rank that waits for a
 * communicator says so: SS_CONNECTING (engine.h); NULL: it does not. */
enum ss_status ss_nccl_open(const struct ss_nccl_api *api,
                            struct ss_progress *progress, struct ss_nccl **out);
/** Collective over the group: one parent, split by dimension where there are
 * several. May be aborted by ss_nccl_abort from another thread. The runtimes
 * are used here only. */
enum ss_status ss_nccl_connect_all(struct ss_nccl *nccl,
                                   const struct ss_comms *comms);
/** Not collective; waits at most 5 s for the communicators to come down. */
void ss_nccl_close(struct ss_nccl *nccl);

/** One op on the communicator of its dimension. */
struct ss_nccl_call {
    enum ss_op_kind kind;
    enum ss_dim dim;
    enum ss_dtype dtype;
    const void *send; /**< unused by all-reduce and broadcast: in place */
    void *recv;
    uint64_t count; /**< as in struct ss_op */
    int peer;
};
enum ss_status ss_nccl_enqueue(struct ss_nccl *nccl,
                               const struct ss_nccl_call *call, void *stream);
/** Errors that came after the enqueue; SS_ERR_TIMEOUT once told to abort. */
enum ss_status ss_nccl_poll(struct ss_nccl *nccl);
/** From any thread but not beside close: pending operations return, nothing
 * works after it. */
void ss_nccl_abort(struct ss_nccl *nccl);

#endif
