/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OpenBLAS at run time: the only place that names its file. Must not know what
 * is multiplied.
 */
#include "engine/host_blas.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/symbol.h"
#include "engine/engine.h"

#define LIBRARY "libopenblas.so.0"
#define ADDRESSES ((size_t)512 << 20)

void ss_engine_prepare(void)
{
    /* an engine asks for its threads itself, when it knows its cores */
    (void)setenv("OPENBLAS_NUM_THREADS", "1", 0);
}

static enum ss_status cannot_load(struct ss_blas *blas)
{
    const char *why = dlerror();
    ss_blas_unload(blas);
    return ss_fail(SS_ERR_ENV,
                   "cannot load OpenBLAS for the host engine (%s): install "
                   "it, or name its folder in LD_LIBRARY_PATH",
                   why ? why : "no reason given");
}

/* OpenBLAS takes 128 MB of addresses a thread, and tries again for ever where a
 * limit refuses them. */
static enum ss_status addresses_are_left(void)
{
    void *got = mmap(NULL, ADDRESSES, PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (got == MAP_FAILED)
        return ss_fail(SS_ERR_ENV,
                       "the host engine needs %d MB of address space, and a "
                       "limit leaves less: raise it (ulimit -v)",
                       (int)(ADDRESSES >> 20));
    (void)munmap(got, ADDRESSES);
    return SS_OK;
}

enum ss_status ss_blas_load(struct ss_blas *out)
{
    *out = (struct ss_blas){0};
    SS_TRY(addresses_are_left());
    /* global: the provenance asks for its version by name */
    out->library = dlopen(LIBRARY, RTLD_NOW | RTLD_GLOBAL);
    if (!out->library)
        return cannot_load(out);
#define X(name)                                                                \
    if (!ss_symbol_find(out->library, #name, &out->name))                      \
        return cannot_load(out);
    SS_BLAS_FUNCTIONS(X)
#undef X
    return SS_OK;
}

void ss_blas_unload(struct ss_blas *blas)
{
    if (blas->library)
        (void)dlclose(blas->library);
    *blas = (struct ss_blas){0};
}
