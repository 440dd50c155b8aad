/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_BASE_SYMBOL_H
#define SS_BASE_SYMBOL_H

#include <stdbool.h>

/** Looks up a function of a library that dlopen gave (or RTLD_DEFAULT) and
 * stores its address in *function, the address of a pointer to a function, as
 * POSIX wants it. False, and NULL stored, where the library lacks it. */
bool ss_symbol_find(void *library, const char *name, void *function);

#endif
