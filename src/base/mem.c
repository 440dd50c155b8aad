/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one door to the heap. Being the only caller of malloc, it can fail the
 * n-th allocation of a thread on request (torture tests) and count what is
 * still alive (leak tests) without any tool around the program. It must not
 * know what the memory is for beyond the word it puts into the error text.
 */
#include "base/mem.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"

/* The counters are per thread so that one thread rank can be made to fail. */
static _Thread_local long fail_in;
static _Thread_local long calls;
static atomic_long live;

static void set_text(double bytes, const char *what)
{
    char amount[32];
    enum ss_status status = ss_fail(
        SS_ERR_NO_MEMORY,
        "cannot allocate %s for %s: out of memory; use a smaller "
        "model or fewer ranks per node",
        ss_format_bytes(bytes, amount, sizeof amount), what ? what : "a table");
    (void)status;
}

/* True when this call has to fail: planted, or larger than any object. */
static bool refused(size_t count, size_t size, const char *what)
{
    bool planted = fail_in > 0 && --fail_in == 0;
    bool too_large = size != 0 && count > (size_t)PTRDIFF_MAX / size;
    calls++;
    if (planted || too_large)
        set_text((double)count * (double)size, what);
    return planted || too_large;
}

void *ss_alloc(size_t count, size_t size, const char *what)
{
    void *memory;
    if (refused(count, size, what))
        return NULL;
    if (count == 0 || size == 0)
        count = size = 1;
    memory = calloc(count, size);
    if (!memory)
        set_text((double)count * (double)size, what);
    else
        atomic_fetch_add_explicit(&live, 1, memory_order_relaxed);
    return memory;
}

void *ss_realloc(void *old, size_t count, size_t size, const char *what)
{
    void *memory;
    if (refused(count, size, what))
        return NULL;
    if (count == 0 || size == 0)
        count = size = 1;
    memory = realloc(old, count * size);
    if (!memory)
        set_text((double)count * (double)size, what);
    else if (!old)
        atomic_fetch_add_explicit(&live, 1, memory_order_relaxed);
    return memory;
}

char *ss_strdup(const char *text)
{
    size_t len = strlen(text) + 1;
    char *copy = ss_alloc(len, 1, "a text");
    if (copy)
        memcpy(copy, text, len);
    return copy;
}

void ss_free(void *memory)
{
    if (!memory)
        return;
    atomic_fetch_sub_explicit(&live, 1, memory_order_relaxed);
    free(memory);
}

void ss_mem_fail_at(long n)
{
    fail_in = n;
}

long ss_mem_calls(void)
{
    return calls;
}

long ss_mem_live(void)
{
    return atomic_load_explicit(&live, memory_order_relaxed);
}
