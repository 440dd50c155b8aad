/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_ENGINE_COLL_LIB_H
#define SS_ENGINE_COLL_LIB_H

#include "base/coll_rate.h"
#include "cluster/rt.h"
#include "cluster/topology.h"
#include "config/config.h"

/**
 * A library of collectives with the buffers they work on, as a table, so that
 * one loop measures MPI on host memory and NCCL on device memory. Elements are
 * fp32. Buffers are the library's own; only put and get look into them.
 */
struct ss_coll_task {
    enum ss_coll_op op;
    bool in_place;
    uint64_t count; /**< as ss_coll_count says */
};

struct ss_coll_lib;
struct ss_coll_lib_ops {
    const char *library; /**< as in the collectives table */
    /** Does it have this call? */
    bool (*runs)(enum ss_coll_op, bool in_place);
    /** Bytes left for buffers; NULL: the host's memory. */
    double (*memory)(struct ss_coll_lib *);
    /** Communicator of the group's ranks. Collective over it. */
    enum ss_status (*connect_all)(struct ss_coll_lib *, struct ss_rt *group);
    void (*disconnect)(struct ss_coll_lib *);
    /** Room for inputs and results of so many elements. */
    enum ss_status (*reserve)(struct ss_coll_lib *, uint64_t elements);
    /** Elements [at, at + n) of this rank's input; of its result. */
    enum ss_status (*put)(struct ss_coll_lib *, const struct ss_coll_task *,
                          uint64_t at, const float *, uint64_t n);
    enum ss_status (*get)(struct ss_coll_lib *, const struct ss_coll_task *,
                          uint64_t at, float *, uint64_t n);
    /** Calls back to back; returns when the last is done here. Collective over
     * the group. */
    enum ss_status (*run_all)(struct ss_coll_lib *, const struct ss_coll_task *,
                              long calls);
    void (*close)(struct ss_coll_lib *);
};

struct ss_coll_lib {
    const struct ss_coll_lib_ops *ops;
    struct ss_rt *group; /**< of the last connect_all, borrowed */
    void *state;
};

/** NCCL on this rank's device. Local; SS_ERR_ENV where there is none. */
enum ss_status ss_coll_device_open(const struct ss_config *config,
                                   const struct ss_place *place,
                                   struct ss_coll_lib *out);

/** Does such a call exist? Neither MPI nor NCCL sends in place to all. */
static inline bool ss_coll_runs(enum ss_coll_op op, bool in_place)
{
    bool apart = op == SS_OP_COLL_ALL_TO_ALL || op == SS_OP_COLL_SENDRECV;
    return in_place ? !apart : op != SS_OP_COLL_BROADCAST;
}
/** Where input starts in the result's buffer, in place. */
static inline uint64_t ss_coll_own_part(const struct ss_coll_task *task,
                                        int rank)
{
    return task->op == SS_OP_COLL_ALL_GATHER ? (uint64_t)rank * task->count : 0;
}

#endif
