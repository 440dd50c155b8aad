/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads cuBLASLt of the major version that this build's headers describe. Must
 * not know what is multiplied.
 */
#include "engine/cuda_lt.h"

#include <dlfcn.h>
#include <stdbool.h>

#include "base/mem.h"
#include "base/symbol.h"

#define TEXT(x) TEXT_OF(x)
#define TEXT_OF(x) #x
#define LIBRARY "libcublasLt.so." TEXT(CUBLAS_VER_MAJOR)

enum ss_status ss_lt_open(struct ss_lt **out)
{
    struct ss_lt *lt = ss_alloc(1, sizeof(*lt), "functions of cuBLASLt");
    if (!lt)
        return SS_ERR_NO_MEMORY;
    lt->library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    bool ok = lt->library != NULL;
#define X(name) ok = ok && ss_symbol_find(lt->library, #name, &lt->name);
    SS_LT_FUNCTIONS(X)
#undef X
    if (ok) {
        *out = lt;
        return SS_OK;
    }
    const char *why = dlerror();
    enum ss_status status =
        ss_fail(SS_ERR_ENV,
                "cannot load cuBLASLt (%s): install CUDA's libraries, or name "
                "their folder in LD_LIBRARY_PATH",
                why ? why : "no reason given");
    ss_lt_close(lt);
    return status;
}

void ss_lt_close(struct ss_lt *lt)
{
    /* the library stays: unloading takes longer than the process has left */
    ss_free(lt);
}
