/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collectives as MPI takes them, started or run to their end. The two are not
 * the same code in MPI: blocking ones have tuned algorithms, so that a probe
 * must not measure the others in their place. Must not check anything: the
 * caller did.
 */
#include "cluster/rt_mpi_coll.h"

#include <string.h>

#include "base/dtype.h"

/* MPI knows in place at the root of a reduction only: elsewhere recv holds the
 * input. */
static const void *reduced(const struct ss_mpi_coll *c)
{
    if (c->send)
        return c->send;
    return c->rank == c->root ? MPI_IN_PLACE : c->recv;
}

static void root_copies(const struct ss_mpi_coll *c)
{
    int size = 0;
    (void)MPI_Type_size(c->type, &size);
    if (c->rank == c->root && c->send && c->send != c->recv && c->n > 0)
        memcpy(c->recv, c->send, (size_t)c->n * (size_t)size);
}

/* NOLINTNEXTLINE(clang-analyzer-optin.mpi.MPI-Checker): the caller waits */
int ss_mpi_coll_start(const struct ss_mpi_coll *c, MPI_Request *handle)
{
    const void *from = c->send ? c->send : MPI_IN_PLACE;
    switch (c->kind) {
    case SS_COLL_ALL_REDUCE:
        return MPI_Iallreduce(from, c->recv, c->n, c->type, c->op, c->comm,
                              handle);
    case SS_COLL_ALL_GATHER:
        return MPI_Iallgather(from, c->n, c->type, c->recv, c->n, c->type,
                              c->comm, handle);
    case SS_COLL_REDUCE_SCATTER:
        return MPI_Ireduce_scatter_block(from, c->recv, c->n, c->type, c->op,
                                         c->comm, handle);
    case SS_COLL_ALL_TO_ALL:
        return MPI_Ialltoall(from, c->n, c->type, c->recv, c->n, c->type,
                             c->comm, handle);
    case SS_COLL_REDUCE:
        return MPI_Ireduce(reduced(c), c->recv, c->n, c->type, c->op, c->root,
                           c->comm, handle);
    case SS_COLL_BROADCAST:
        break;
    }
    root_copies(c);
    return MPI_Ibcast(c->recv, c->n, c->type, c->root, c->comm, handle);
}

int ss_mpi_coll_run(const struct ss_mpi_coll *c)
{
    const void *from = c->send ? c->send : MPI_IN_PLACE;
    switch (c->kind) {
    case SS_COLL_ALL_REDUCE:
        return MPI_Allreduce(from, c->recv, c->n, c->type, c->op, c->comm);
    case SS_COLL_ALL_GATHER:
        return MPI_Allgather(from, c->n, c->type, c->recv, c->n, c->type,
                             c->comm);
    case SS_COLL_REDUCE_SCATTER:
        return MPI_Reduce_scatter_block(from, c->recv, c->n, c->type, c->op,
                                        c->comm);
    case SS_COLL_ALL_TO_ALL:
        return MPI_Alltoall(from, c->n, c->type, c->recv, c->n, c->type,
                            c->comm);
    case SS_COLL_REDUCE:
        return MPI_Reduce(reduced(c), c->recv, c->n, c->type, c->op, c->root,
                          c->comm);
    case SS_COLL_BROADCAST:
        break;
    }
    root_copies(c);
    return MPI_Bcast(c->recv, c->n, c->type, c->root, c->comm);
}
