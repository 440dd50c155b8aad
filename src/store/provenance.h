/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_STORE_PROVENANCE_H
#define SS_STORE_PROVENANCE_H

#include "base/str.h"
#include "store/schema.h"

/** This rank's variables as "NAME=value\n" lines, sorted: all NCCL_*, UCX_*,
 * OMPI_*, CUDA_*, OMP_*, SLURM_*, SS_*, OPENBLAS_*, LD_LIBRARY_PATH, and
 * cpuset, binary hash, library versions given as extra lines. Values that name
 * the rank itself (OMPI_COMM_WORLD_RANK, SLURM_PROCID, ...) are left out. */
enum ss_status ss_variables_collect(char *const *environment,
                                    struct ss_buf *out);
/** More such lines: content of NCCL's configuration files (/etc/nccl.conf below
 * `root`, ~/.nccl.conf, NCCL_CONF_FILE) and of its plugins (libnccl-net* in
 * LD_LIBRARY_PATH). Those that are not there have no line. */
enum ss_status ss_files_collect(const char *root, char *const *environment,
                                struct ss_buf *out);
/** And where the libraries that compute or communicate were loaded from, with
 * the mark of their build. */
enum ss_status ss_libraries_collect(struct ss_buf *out);
/**
 * Pure: diffs the texts of all ranks into rows: one row a distinct value, with
 * the list of ranks ("0-3,7"); differs = 1 where there is more than one.
 * Equal everywhere: one row, ranks "all".
 */
enum ss_status ss_variables_diff(const char *const *texts, int n,
                                 struct ss_variable_row **out, int *n_out);
/** Versions of the libraries in this binary (HDF5, OpenBLAS, MPI given by the
 * caller ...). */
enum ss_status ss_versions_collect(const char *mpi_version,
                                   struct ss_variable_row **out, int *n_out);

#endif
