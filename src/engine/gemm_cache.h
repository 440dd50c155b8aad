/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_ENGINE_GEMM_CACHE_H
#define SS_ENGINE_GEMM_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "base/str.h"

/*
 * What measuring the algorithms of products has found, kept between points
 * and between runs: one line of a text file per product. A key is a hash of
 * all that the choice depends on (device, driver, library, shape, types,
 * alignment, epilogue), so that one file serves many machines.
 */

#define SS_GEMM_ALGO_WORDS 8
#define SS_GEMM_CACHE_MAX 65536

/** One choice; `algo` is the library's own word for it. */
struct ss_gemm_choice {
    uint64_t key;
    bool fused;              /**< the function after it is in its epilogue */
    int candidates, chosen;  /**< measured, and which was taken */
    float first_ms, best_ms; /**< the first offered, unfused; the choice */
    uint64_t algo[SS_GEMM_ALGO_WORDS];
};

struct ss_gemm_cache {
    struct ss_gemm_choice *row; /**< owned */
    int n, room;
    bool changed; /**< since it was read */
};

void ss_gemm_cache_free(struct ss_gemm_cache *cache);
/** NULL: not in it. */
const struct ss_gemm_choice *
ss_gemm_cache_find(const struct ss_gemm_cache *cache, uint64_t key);
/** Adds, or replaces what has the same key. */
enum ss_status ss_gemm_cache_put(struct ss_gemm_cache *cache,
                                 const struct ss_gemm_choice *choice);
/** Adds the lines of a file's text; a line that is damaged, or of another
 * version, is as good as none. */
enum ss_status ss_gemm_cache_parse(struct ss_gemm_cache *cache,
                                   const char *text);
void ss_gemm_cache_print(const struct ss_gemm_cache *cache, struct ss_buf *out);

/** Where the file is: `option` is "auto" ($XDG_CACHE_HOME or ~/.cache, then
 * stepscale/products), "off", or a path. false: nowhere. */
bool ss_gemm_cache_path(const char *option, char *out, size_t size);
/** A file that is missing or unreadable gives an empty cache. */
enum ss_status ss_gemm_cache_read(struct ss_gemm_cache *cache,
                                  const char *path);
/** Writes beside and renames, so that a reader sees the old or the new file;
 * what others have added meanwhile is kept. SS_ERR_IO with the reason. */
enum ss_status ss_gemm_cache_write(struct ss_gemm_cache *cache,
                                   const char *path);

#endif
