/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of libraries that are loaded at run time. C has no cast from a
 * pointer to an object to one to a function; POSIX has this copy. Must not
 * know which libraries those are.
 */
#include "base/symbol.h"

#include <dlfcn.h>
#include <string.h>

bool ss_symbol_find(void *library, const char *name, void *function)
{
    void *symbol = dlsym(library, name);
    memcpy(function, &symbol, sizeof symbol);
    return symbol != NULL;
}
