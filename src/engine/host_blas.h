/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_ENGINE_HOST_BLAS_H
#define SS_ENGINE_HOST_BLAS_H

#include <cblas.h>

#include "base/status.h"

/*
 * OpenBLAS as the host engine needs it, loaded when that engine opens. Linked
 * in, it would start a thread for each core of the machine in every process,
 * before main and for `report` too; and where memory is limited (ulimit -v)
 * such a thread asks for its buffer for ever and the process cannot end.
 */
#define SS_BLAS_FUNCTIONS(X)                                                   \
    X(cblas_sgemm)                                                             \
    X(cblas_dgemm)                                                             \
    X(openblas_get_num_threads)                                                \
    X(openblas_set_num_threads)

struct ss_blas {
    void *library; /**< NULL: not loaded */
#define X(name) __typeof__(&(name)) name;
    SS_BLAS_FUNCTIONS(X)
#undef X
};

/** SS_ERR_ENV with the remedy where it cannot be loaded. Local. */
enum ss_status ss_blas_load(struct ss_blas *out);
/** Also of one that was never loaded. */
void ss_blas_unload(struct ss_blas *blas);

#endif
