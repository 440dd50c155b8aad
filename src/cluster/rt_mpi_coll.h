/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_CLUSTER_RT_MPI_COLL_H
#define SS_CLUSTER_RT_MPI_COLL_H

#include <mpi.h>

#include "cluster/rt.h"

/** One collective as MPI takes it; counts and in place (send == NULL) as in
 * rt.h. For rt_mpi.c alone. */
struct ss_mpi_coll {
    enum ss_coll kind;
    const void *send;
    void *recv;
    int n;
    MPI_Datatype type;
    MPI_Op op;
    int root;
    MPI_Comm comm;
    int rank;
};
/** MPI's own codes. */
int ss_mpi_coll_start(const struct ss_mpi_coll *call, MPI_Request *handle);
int ss_mpi_coll_run(const struct ss_mpi_coll *call);

#endif
