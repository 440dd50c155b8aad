/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_TESTS_STORE_FOLDER_H
#define SS_TESTS_STORE_FOLDER_H

#include <stddef.h>

/* A fresh folder for one test; its name is the test's state. */
int folder_open(void **state);
/** Removes it with all it holds. */
int folder_close(void **state);
/** "<folder>/<name>"; valid for the next 8 calls. */
const char *folder_path(const char *folder, const char *name);
/** Writes a file in it. */
void folder_put(const char *folder, const char *name, const void *bytes,
                size_t len);

#endif
