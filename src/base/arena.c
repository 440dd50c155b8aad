/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many small allocations with one end of life: plans, parsed lists, tables of
 * ranks. Chunks are never reused or moved, so pointers stay valid until close
 * and fresh memory is zero because ss_alloc zeroes it. It must not be shared
 * between threads; it holds no lock on purpose.
 */
#include "base/mem.h"

#include <stdalign.h>
#include <stdint.h>
#include <string.h>

#define CHUNK_BYTES ((size_t)64 * 1024)
#define ALIGN ((size_t)16)

struct chunk {
    struct chunk *next;
    size_t used;
    size_t cap;
    alignas(16) unsigned char data[];
};

struct ss_arena {
    struct chunk *chunks; /* the newest first */
};

enum ss_status ss_arena_open(struct ss_arena **out)
{
    struct ss_arena *arena = ss_alloc(1, sizeof *arena, "an arena");
    if (!arena)
        return SS_ERR_NO_MEMORY;
    *out = arena;
    return SS_OK;
}

static struct chunk *add_chunk(struct ss_arena *arena, size_t bytes)
{
    size_t cap = bytes > CHUNK_BYTES ? bytes : CHUNK_BYTES;
    struct chunk *chunk = ss_alloc(1, sizeof *chunk + cap, "an arena");
    if (!chunk)
        return NULL;
    chunk->cap = cap;
    chunk->next = arena->chunks;
    arena->chunks = chunk;
    return chunk;
}

void *ss_arena_alloc(struct ss_arena *arena, size_t count, size_t size)
{
    size_t limit = (size_t)PTRDIFF_MAX - sizeof(struct chunk) - ALIGN;
    struct chunk *chunk = arena->chunks;
    void *memory;
    size_t bytes;
    if (size != 0 && count > limit / size)
        return ss_alloc(count, size, "an arena"); /* fails, with the text */
    bytes = (count * size + ALIGN - 1) & ~(ALIGN - 1);
    if (bytes == 0)
        bytes = ALIGN;
    if (!chunk || chunk->cap - chunk->used < bytes)
        chunk = add_chunk(arena, bytes);
    if (!chunk)
        return NULL;
    memory = chunk->data + chunk->used;
    chunk->used += bytes;
    return memory;
}

char *ss_arena_strdup(struct ss_arena *arena, const char *text)
{
    size_t len = strlen(text) + 1;
    char *copy = ss_arena_alloc(arena, len, 1);
    if (copy)
        memcpy(copy, text, len);
    return copy;
}

void ss_arena_close(struct ss_arena *arena)
{
    struct chunk *chunk;
    if (!arena)
        return;
    while ((chunk = arena->chunks) != NULL) {
        arena->chunks = chunk->next;
        ss_free(chunk);
    }
    ss_free(arena);
}
