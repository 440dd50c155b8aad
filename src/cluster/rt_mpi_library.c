/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which MPI library this process would use: the first words of its own
 * version text, without starting it.
 */
#include <mpi.h>

#include "cluster/hostid.h"
#include "cluster/rt.h"

void ss_rt_library(char *out, size_t size)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int len;

    (void)MPI_Get_library_version(text, &len);
    ss_host_trim_version(text, out, size);
}
