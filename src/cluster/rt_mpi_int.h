/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_CLUSTER_RT_MPI_INT_H
#define SS_CLUSTER_RT_MPI_INT_H

#include "cluster/rt.h"

/* Between rt_mpi.c and rt_mpi_carriers.c only. */

/** The op `carriers` of the MPI runtime. */
void ss_mpi_carriers(struct ss_rt *rt, char *out, size_t size);

#endif
