/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file of choices: read when an engine opens, written after something new
 * was measured. Losing it costs a few seconds of measuring, so nothing here is
 * worth failing a run for. Must not know what a product or a device is.
 */
#include "engine/gemm_cache.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/mem.h"

#define VERSION "1"
#define FILE_MAX ((size_t)32 << 20)
#define LINE_MAX_BYTES 320
#define PATH_BYTES 512

void ss_gemm_cache_free(struct ss_gemm_cache *cache)
{
    ss_free(cache->row);
    *cache = (struct ss_gemm_cache){0};
}

const struct ss_gemm_choice *
ss_gemm_cache_find(const struct ss_gemm_cache *cache, uint64_t key)
{
    for (int i = 0; i < cache->n; i++)
        if (cache->row[i].key == key)
            return &cache->row[i];
    return NULL;
}

static bool same(const struct ss_gemm_choice *a, const struct ss_gemm_choice *b)
{
    return a->fused == b->fused &&
           memcmp(a->algo, b->algo, sizeof(a->algo)) == 0;
}

enum ss_status ss_gemm_cache_put(struct ss_gemm_cache *cache,
                                 const struct ss_gemm_choice *choice)
{
    for (int i = 0; i < cache->n; i++) {
        if (cache->row[i].key != choice->key)
            continue;
        cache->changed = cache->changed || !same(&cache->row[i], choice);
        cache->row[i] = *choice;
        return SS_OK;
    }
    if (cache->n == SS_GEMM_CACHE_MAX)
        return SS_OK; /* it is a cache: what does not fit is measured again */
    if (cache->n == cache->room) {
        int room = cache->room > 0 ? 2 * cache->room : 16;
        struct ss_gemm_choice *row = ss_realloc(
            cache->row, (size_t)room, sizeof(*row), "choices of products");
        if (!row)
            return SS_ERR_NO_MEMORY;
        cache->row = row;
        cache->room = room;
    }
    cache->row[cache->n++] = *choice;
    cache->changed = true;
    return SS_OK;
}

/* All of a line but its check, which is a hash of this. */
static int print_row(const struct ss_gemm_choice *c, char *out, size_t size)
{
    const uint64_t *a = c->algo;
    int n = snprintf(
        out, size,
        VERSION " %016" PRIx64 " %d %d %d %.6g %.6g"
                " %016" PRIx64 " %016" PRIx64 " %016" PRIx64 " %016" PRIx64
                " %016" PRIx64 " %016" PRIx64 " %016" PRIx64 " %016" PRIx64,
        c->key, c->fused, c->candidates, c->chosen, (double)c->first_ms,
        (double)c->best_ms, a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7]);
    return n;
}

static uint64_t check_of(const char *line, int n)
{
    return XXH64(line, (size_t)n, 0);
}

void ss_gemm_cache_print(const struct ss_gemm_cache *cache, struct ss_buf *out)
{
    char line[LINE_MAX_BYTES];
    for (int i = 0; i < cache->n; i++) {
        int n = print_row(&cache->row[i], line, sizeof(line));
        ss_buf_printf(out, "%s %016" PRIx64 "\n", line, check_of(line, n));
    }
}

/* The next word of a line as a number; *ok turns false when it is none. */
static uint64_t next_hex(char **at, bool *ok)
{
    char *end = *at;
    errno = 0;
    uint64_t value = strtoull(*at, &end, 16);
    *ok = *ok && end != *at && errno == 0;
    *at = end;
    return value;
}

static int next_int(char **at, bool *ok)
{
    char *end = *at;
    long value = strtol(*at, &end, 10);
    *ok = *ok && end != *at && value >= 0 && value <= 1000000;
    *at = end;
    return *ok ? (int)value : 0;
}

static float next_ms(char **at, bool *ok)
{
    char *end = *at;
    float value = strtof(*at, &end);
    *ok = *ok && end != *at && value >= 0;
    *at = end;
    return value;
}

/* `line` without its end of line; the check must be that of what is printed
 * again, so that no other spelling passes. */
static bool parse_row(char *line, struct ss_gemm_choice *c)
{
    char again[LINE_MAX_BYTES], *at = line + strlen(VERSION);
    bool ok = strncmp(line, VERSION " ", strlen(VERSION) + 1) == 0;
    if (!ok)
        return false;
    *c = (struct ss_gemm_choice){.key = next_hex(&at, &ok)};
    c->fused = next_int(&at, &ok) != 0;
    c->candidates = next_int(&at, &ok);
    c->chosen = next_int(&at, &ok);
    c->first_ms = next_ms(&at, &ok);
    c->best_ms = next_ms(&at, &ok);
    for (int i = 0; i < SS_GEMM_ALGO_WORDS; i++)
        c->algo[i] = next_hex(&at, &ok);
    uint64_t check = next_hex(&at, &ok);
    int n = ok ? print_row(c, again, sizeof(again)) : 0;
    return ok && *at == '\0' && strncmp(again, line, (size_t)n) == 0 &&
           check == check_of(again, n);
}

enum ss_status ss_gemm_cache_parse(struct ss_gemm_cache *cache,
                                   const char *text)
{
    char line[LINE_MAX_BYTES];
    struct ss_gemm_choice choice;
    bool changed = cache->changed;
    for (const char *end; *text != '\0'; text = *end ? end + 1 : end) {
        end = strchr(text, '\n');
        if (!end)
            end = text + strlen(text);
        size_t n = (size_t)(end - text);
        if (n >= sizeof(line))
            continue;
        memcpy(line, text, n);
        line[n] = '\0';
        if (parse_row(line, &choice))
            SS_TRY(ss_gemm_cache_put(cache, &choice));
    }
    cache->changed = changed;
    return SS_OK;
}

bool ss_gemm_cache_path(const char *option, char *out, size_t size)
{
    const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (strcmp(option, "off") == 0)
        return false;
    if (option[0] != '\0' && strcmp(option, "auto") != 0)
        return ss_copy(out, size, option);
    if (xdg && xdg[0] == '/')
        return ss_format(out, size, "%s/stepscale/products", xdg);
    return home && home[0] == '/' &&
           ss_format(out, size, "%s/.cache/stepscale/products", home);
}

enum ss_status ss_gemm_cache_read(struct ss_gemm_cache *cache, const char *path)
{
    struct ss_buf text;
    if (ss_read_file(path, FILE_MAX, &text) != SS_OK) {
        ss_error_set(NULL);
        return SS_OK;
    }
    enum ss_status status = ss_gemm_cache_parse(cache, ss_buf_text(&text));
    ss_buf_free(&text);
    return status;
}

/* All folders above a path; those that exist are left as they are. */
static void make_folders(const char *path)
{
    char folder[PATH_BYTES];
    if (!ss_copy(folder, sizeof(folder), path))
        return;
    for (char *at = strchr(folder + 1, '/'); at; at = strchr(at + 1, '/')) {
        *at = '\0';
        (void)mkdir(folder, 0755);
        *at = '/';
    }
}

static enum ss_status cannot(const char *what, const char *path)
{
    return ss_fail(SS_ERR_IO,
                   "cannot %s %s: %s; set device.gemm_cache to another path, "
                   "or to off",
                   what, path, strerror(errno));
}

static enum ss_status put_text(const char *beside, const char *path,
                               const struct ss_buf *text)
{
    FILE *file = fopen(beside, "w");
    if (!file)
        return cannot("create", beside);
    bool ok = fputs(ss_buf_text(text), file) >= 0;
    ok = fclose(file) == 0 && ok;
    if (ok && rename(beside, path) == 0)
        return SS_OK;
    enum ss_status status = cannot("write", path);
    (void)unlink(beside);
    return status;
}

/* What others have added since we read it is kept; ours wins. */
static enum ss_status merge(const struct ss_gemm_cache *ours, const char *path,
                            struct ss_buf *out)
{
    struct ss_gemm_cache all = {0};
    enum ss_status status = ss_gemm_cache_read(&all, path);
    for (int i = 0; i < ours->n && status == SS_OK; i++)
        status = ss_gemm_cache_put(&all, &ours->row[i]);
    if (status == SS_OK)
        ss_gemm_cache_print(&all, out);
    ss_gemm_cache_free(&all);
    return status == SS_OK ? ss_buf_status(out) : status;
}

enum ss_status ss_gemm_cache_write(struct ss_gemm_cache *cache,
                                   const char *path)
{
    char beside[PATH_BYTES + 32];
    struct ss_buf text;
    if (!ss_format(beside, sizeof(beside), "%s.%ld", path, (long)getpid()))
        return ss_fail(SS_ERR_CONFIG, "device.gemm_cache is too long");
    make_folders(path);
    ss_buf_init(&text, FILE_MAX);
    enum ss_status status = merge(cache, path, &text);
    if (status == SS_OK)
        status = put_text(beside, path, &text);
    ss_buf_free(&text);
    if (status == SS_OK)
        cache->changed = false;
    return status;
}
