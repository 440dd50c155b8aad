/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_CLUSTER_RT_H
#define SS_CLUSTER_RT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/dtype.h"
#include "base/status.h"

/**
 * The runtime: what the program needs of a launcher and of MPI, as a table
 * (after UCX's ucx_perf_rte_t). rt_mpi: real MPI. rt_threads: n ranks as
 * threads of one process, for tests. rt_solo: one rank, no launcher.
 *
 * Names ending in _all are collective over the runtime's ranks, called by all
 * in the same order. Everything else is local or point to point. Lengths are
 * bytes unless a dtype is given. Any transport error is SS_ERR_TRANSPORT with
 * the library's own words; the job cannot go on after it.
 */
enum ss_red { SS_RED_SUM, SS_RED_MIN, SS_RED_MAX };
enum ss_coll {
    SS_COLL_ALL_REDUCE,
    SS_COLL_ALL_GATHER,
    SS_COLL_REDUCE_SCATTER,
    SS_COLL_ALL_TO_ALL,
    SS_COLL_BROADCAST,
    SS_COLL_REDUCE
};

/** A pending operation; inline, no allocation. NULL-like when `active` = 0. */
struct ss_request {
    int active;
    uint64_t word[6]; /**< the runtime's own */
};

struct ss_rt;
struct ss_rt_ops {
    const char *name; /**< "mpi", "threads", "solo" */
    enum ss_status (*barrier_all)(struct ss_rt *);
    /** In place. */
    enum ss_status (*allreduce_all)(struct ss_rt *, void *data, size_t count,
                                    enum ss_dtype, enum ss_red);
    enum ss_status (*bcast_all)(struct ss_rt *, void *data, size_t len,
                                int root);
    /** Equal lengths; recv (size * len bytes) only on root. */
    enum ss_status (*gather_all)(struct ss_rt *, const void *send, size_t len,
                                 void *recv, int root);
    enum ss_status (*allgather_all)(struct ss_rt *, const void *send,
                                    size_t len, void *recv);
    /** A child of the ranks with the same color, ordered by key then rank;
     * color < 0: *out = NULL. Closed before its parent. */
    enum ss_status (*split_all)(struct ss_rt *, int color, int key,
                                struct ss_rt **out);
    /** A child of the ranks that share memory (one host). */
    enum ss_status (*split_host_all)(struct ss_rt *, struct ss_rt **out);
    /** Blocking point to point; tag 0..1000. */
    enum ss_status (*send)(struct ss_rt *, const void *, size_t, int to,
                           int tag);
    enum ss_status (*recv)(struct ss_rt *, void *, size_t, int from, int tag);
    enum ss_status (*isend)(struct ss_rt *, const void *, size_t, int to,
                            int tag, struct ss_request *);
    enum ss_status (*irecv)(struct ss_rt *, void *, size_t, int from, int tag,
                            struct ss_request *);
    /**
     * Non-blocking collective on host memory; buffers live until done.
     * Counts as in MPI: count is elements contributed per rank (all_reduce,
     * all_gather, all_to_all: per peer; reduce_scatter: received per rank).
     * send == NULL means in place where MPI allows it. Started in the same
     * order on all ranks of this runtime.
     */
    enum ss_status (*icollective)(struct ss_rt *, enum ss_coll,
                                  const void *send, void *recv, size_t count,
                                  enum ss_dtype, enum ss_red, int root,
                                  struct ss_request *);
    /** The same, over when it returns: what a library does best, where that is
     * not starting it and waiting. NULL: ss_collective_all does just that. */
    enum ss_status (*collective_all)(struct ss_rt *, enum ss_coll,
                                     const void *send, void *recv, size_t count,
                                     enum ss_dtype, enum ss_red, int root);
    /** done = 1 when complete; progresses. Inactive requests are done. */
    enum ss_status (*test)(struct ss_rt *, struct ss_request *, int *done);
    enum ss_status (*wait)(struct ss_rt *, struct ss_request *);
    /** Drives pending communication; local. */
    void (*progress)(struct ss_rt *);
    /** Ends the whole job with this code; does not return. */
    void (*abort)(struct ss_rt *, int code);
    /** Collective for the world (finalises MPI), local for children. */
    void (*close)(struct ss_rt *);
    /** One line: library and version ("Open MPI v4.1.4"). */
    const char *(*version)(struct ss_rt *);
    /** What carries messages, as far as the library tells: "pml ob1, btl self
     * tcp"; "": it does not. */
    void (*carriers)(struct ss_rt *, char *out, size_t size);
};

struct ss_rt {
    const struct ss_rt_ops *ops;
    int rank, size;
    /** Rank in MPI_COMM_WORLD or its like, whatever the splits. */
    int world_rank;
    char host[64];
    /** Logical rank + 1 below the logical world, which messages name; 0: none
     * yet. Inherited by splits. */
    int logical;
};

/** "Open MPI v4.1.4": the MPI library, which need not be started. */
void ss_rt_library(char *out, size_t size);

/**
 * Opens the world. MPI_THREAD_MULTIPLE is asked for. ss_rt_open chooses: under
 * a launcher rt_mpi, else rt_solo; a launcher's task count over 1 without PMI
 * variables is SS_ERR_ENV ("srun --mpi=pmix"). argc, argv go to MPI_Init.
 */
enum ss_status ss_rt_open_all(int *argc, char ***argv, struct ss_rt **out);
enum ss_status ss_rt_mpi_open_all(int *argc, char ***argv, struct ss_rt **out);
enum ss_status ss_rt_solo_open(struct ss_rt **out);
/** Pure: what the environment says. 1: launcher, 0: none, -1: missing PMI. */
int ss_rt_detect(char *const *environment, char *launcher, size_t size);
/** Pure: what the launcher tells a rank before MPI_Init. */
struct ss_launched {
    int rank;         /**< 0 where it says nothing */
    int ranks, nodes; /**< 1 where it says nothing; nodes may be too many */
};
void ss_rt_launched(char *const *environment, struct ss_launched *out);

/** Runs fn on n threads, each with its own rt; returns when all did. `hosts`
 * pretends that ranks r*hosts/n share a host. Result: first non-OK status. */
typedef enum ss_status (*ss_rank_fn)(struct ss_rt *rt, void *arg);
enum ss_status ss_rt_threads_run(int n, int hosts, ss_rank_fn fn, void *arg);
/** Threads only: makes the next n-th runtime call on this rank fail. */
void ss_rt_threads_fail_at(struct ss_rt *rt, long n);

/* Thin wrappers, so that calls read as verbs. */
static inline enum ss_status ss_barrier_all(struct ss_rt *rt)
{
    return rt->ops->barrier_all(rt);
}
static inline enum ss_status ss_allreduce_all(struct ss_rt *rt, void *data,
                                              size_t count, enum ss_dtype type,
                                              enum ss_red red)
{
    return rt->ops->allreduce_all(rt, data, count, type, red);
}
static inline enum ss_status ss_bcast_all(struct ss_rt *rt, void *data,
                                          size_t len, int root)
{
    return rt->ops->bcast_all(rt, data, len, root);
}
static inline enum ss_status ss_gather_all(struct ss_rt *rt, const void *send,
                                           size_t len, void *recv, int root)
{
    return rt->ops->gather_all(rt, send, len, recv, root);
}
static inline enum ss_status
ss_allgather_all(struct ss_rt *rt, const void *send, size_t len, void *recv)
{
    return rt->ops->allgather_all(rt, send, len, recv);
}
static inline enum ss_status ss_split_all(struct ss_rt *rt, int color, int key,
                                          struct ss_rt **out)
{
    SS_TRY(rt->ops->split_all(rt, color, key, out));
    if (*out)
        (*out)->logical = rt->logical;
    return SS_OK;
}
/** A sum of SS_DT_F32 (or what `kind` does to such elements), root 0. */
static inline enum ss_status ss_collective_all(struct ss_rt *rt,
                                               enum ss_coll kind,
                                               const void *send, void *recv,
                                               size_t count)
{
    struct ss_request request = {0};
    if (rt->ops->collective_all)
        return rt->ops->collective_all(rt, kind, send, recv, count, SS_DT_F32,
                                       SS_RED_SUM, 0);
    SS_TRY(rt->ops->icollective(rt, kind, send, recv, count, SS_DT_F32,
                                SS_RED_SUM, 0, &request));
    return rt->ops->wait(rt, &request);
}
/** The rank that a message to the user names. */
static inline int ss_rt_named_rank(const struct ss_rt *rt)
{
    return rt->logical > 0 ? rt->logical - 1 : rt->world_rank;
}
/** Variable lengths, gathered to root in rank order: recv and lens (size
 * entries) on root only, recv allocated with ss_alloc. In pieces of <= 64 MB;
 * above 1,024 ranks over host leaders (rt_gather.c). */
enum ss_status ss_gatherv_all(struct ss_rt *rt, const void *send, size_t len,
                              void **recv, size_t *lens, int root);
void ss_rt_close(struct ss_rt *rt);

#endif
