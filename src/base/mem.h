/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_BASE_MEM_H
#define SS_BASE_MEM_H

#include <stddef.h>

#include "base/status.h"

/**
 * All heap memory of the program comes through here, so that tests can fail
 * the n-th allocation and count what is left. Zero-filled. NULL on failure,
 * with the error text set ("cannot allocate 18.2 GB for gradients"); `what`
 * names the thing. Overflow of count * size is a failure. A size of 0 gives a
 * valid, freeable pointer.
 */
void *ss_alloc(size_t count, size_t size, const char *what)
    __attribute__((warn_unused_result));
/** Grows or shrinks; new bytes are NOT zeroed; on failure `old` is intact. */
void *ss_realloc(void *old, size_t count, size_t size, const char *what)
    __attribute__((warn_unused_result));
/** Copies a string. */
char *ss_strdup(const char *text) __attribute__((warn_unused_result));
/** Accepts NULL. */
void ss_free(void *memory);

/**
 * Torture hook, per thread: the n-th allocation from now (1 = the next) fails
 * once; 0 turns it off. ss_mem_calls() counts this thread's allocations.
 */
void ss_mem_fail_at(long n);
long ss_mem_calls(void);
/** Live allocations of the whole process (atomic): 0 = no leak. */
long ss_mem_live(void);

/**
 * Arena: many small allocations freed at once. Not thread-safe.
 * ss_arena_alloc returns 16-byte aligned zeroed memory or NULL.
 */
struct ss_arena;
enum ss_status ss_arena_open(struct ss_arena **out);
void *ss_arena_alloc(struct ss_arena *arena, size_t count, size_t size);
char *ss_arena_strdup(struct ss_arena *arena, const char *text);
void ss_arena_close(struct ss_arena *arena);

#endif
