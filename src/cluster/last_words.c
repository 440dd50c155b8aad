/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last words of a rank that will not finish: one small text file each,
 * readable by a person, by the rank that judges and by a later `report`. A
 * file is complete or absent (written aside, synced, renamed). Must not know
 * who is still alive; the judge has only the files.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/units.h"
#include "cluster/watchdog.h"

#define FILE_MAX ((size_t)32 * 1024) /* words, and a library's answer */

/* The fields of the file, once: key, where it lies, and its kind. */
enum kind { TEXT, INT32, INT64 };
#define FIELD(kind, name)                                                      \
    {                                                                          \
        kind, #name, offsetof(struct ss_last_words, name),                     \
            sizeof(((struct ss_last_words *)0)->name)                          \
    }
static const struct field {
    enum kind kind;
    const char *name;
    size_t at, size;
} fields[] = {
    FIELD(INT32, rank),       FIELD(TEXT, host),
    FIELD(TEXT, run_id),      FIELD(TEXT, why),
    FIELD(TEXT, phase),       FIELD(INT64, point),
    FIELD(INT64, block),      FIELD(INT64, step),
    FIELD(INT64, op),         FIELD(INT64, last_op),
    FIELD(INT64, collective), FIELD(INT64, nth),
    FIELD(TEXT, op_name),     FIELD(INT32, in_collective),
    FIELD(INT32, peer_first), FIELD(INT32, peer_count),
    FIELD(TEXT, gone),        FIELD(TEXT, down),
};

static int64_t get_int(const struct field *field, const void *base)
{
    const char *from = (const char *)base + field->at;
    int32_t narrow;
    int64_t wide;
    if (field->kind == INT32) {
        memcpy(&narrow, from, sizeof(narrow));
        return narrow;
    }
    memcpy(&wide, from, sizeof(wide));
    return wide;
}

static void set_int(const struct field *field, void *base, int64_t value)
{
    char *to = (char *)base + field->at;
    int32_t narrow = (int32_t)value;
    if (field->kind == INT32)
        memcpy(to, &narrow, sizeof(narrow));
    else
        memcpy(to, &value, sizeof(value));
}

/* A control character in a name must not become a line of the file. */
static void put_text(struct ss_buf *buf, const char *text, size_t size)
{
    for (size_t i = 0; i < size && text[i]; i++) {
        char c = (unsigned char)text[i] < 0x20 ? '?' : text[i];
        ss_buf_append(buf, &c, 1);
    }
}

static void put(struct ss_buf *buf, const struct ss_last_words *words)
{
    for (size_t i = 0; i < SS_COUNT_OF(fields); i++) {
        const struct field *field = &fields[i];
        ss_buf_printf(buf, "%s=", field->name);
        if (field->kind == TEXT)
            put_text(buf, (const char *)words + field->at, field->size);
        else
            ss_buf_printf(buf, "%lld", (long long)get_int(field, words));
        ss_buf_append(buf, "\n", 1);
    }
}

static enum ss_status io_error(const char *what, const char *path)
{
    return ss_fail(SS_ERR_IO, "cannot %s %s: %s", what, path, strerror(errno));
}

static enum ss_status write_synced(const char *path, const struct ss_buf *buf)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0)
        return io_error("create", path);
    enum ss_status status = SS_OK;
    if (write(fd, buf->data, buf->len) != (ssize_t)buf->len || fsync(fd) != 0)
        status = io_error("write", path);
    if (close(fd) != 0 && status == SS_OK)
        status = io_error("close", path);
    return status;
}

enum ss_status ss_last_words_write(const char *folder,
                                   const struct ss_last_words *words)
{
    char path[4096], aside[4096];
    struct ss_buf buf;
    if (ss_last_call_over(folder))
        return SS_OK;
    if (!ss_format(path, sizeof(path), "%s/last-%d.txt", folder, words->rank) ||
        !ss_format(aside, sizeof(aside), "%s/last-%d.tmp", folder, words->rank))
        return ss_fail(SS_ERR_IO, "the path of folder %.100s is too long",
                       folder);
    ss_buf_init(&buf, FILE_MAX);
    put(&buf, words);
    enum ss_status status = ss_buf_status(&buf);
    if (status == SS_OK)
        status = write_synced(aside, &buf);
    if (status == SS_OK && rename(aside, path) != 0)
        status = io_error("rename", aside);
    ss_buf_free(&buf);
    return status;
}

static bool take(struct ss_last_words *words, const char *line, size_t len)
{
    char text[256];
    const char *equals = memchr(line, '=', len);
    if (!equals)
        return len == 0;
    size_t key = (size_t)(equals - line);
    (void)ss_format(text, sizeof(text), "%.*s", (int)(len - key - 1),
                    equals + 1);
    for (size_t i = 0; i < SS_COUNT_OF(fields); i++) {
        const struct field *field = &fields[i];
        if (strlen(field->name) != key || memcmp(field->name, line, key) != 0)
            continue;
        int64_t value;
        if (field->kind == TEXT)
            (void)ss_copy((char *)words + field->at, field->size, text);
        else if (ss_parse_int(text, &value) == SS_OK)
            set_int(field, words, value);
        else
            return false;
        return true;
    }
    return true; /* a newer version's key */
}

/* A line that ends in ":" begins the next record. */
static bool is_heading(const char *line, size_t len)
{
    return len > 0 && line[len - 1] == ':' && !memchr(line, '=', len);
}

/* One record, up to the end or a heading; *text moves behind it. */
static bool parse_next(const char **text, struct ss_last_words *words)
{
    bool good = true;
    *words = (struct ss_last_words){.rank = -1, .op = -1, .collective = -1};
    while (**text) {
        size_t len = strcspn(*text, "\n");
        if (is_heading(*text, len))
            break;
        good &= take(words, *text, len);
        *text += len + ((*text)[len] == '\n');
    }
    return good &&
           (words->rank >= 0 || strcmp(words->why, SS_WHY_LAUNCHER) == 0);
}

static bool parse(const char *text, struct ss_last_words *words)
{
    return parse_next(&text, words) && !*text;
}

static bool read_one(const char *folder, const char *name,
                     struct ss_last_words *words)
{
    char path[4096];
    struct ss_buf buf;
    bool good = false;
    if (!ss_format(path, sizeof(path), "%s/%s", folder, name))
        return false;
    if (ss_read_file(path, FILE_MAX, &buf) == SS_OK)
        good = parse(ss_buf_text(&buf), words);
    if (!good)
        ss_log(SS_LOG_WARN, "cluster", "last words %s are not readable", path);
    ss_buf_free(&buf);
    return good;
}

static bool is_ours(const char *name)
{
    size_t len = strlen(name);
    return len > 9 && strncmp(name, "last-", 5) == 0 &&
           strcmp(name + len - 4, ".txt") == 0;
}

static int by_rank(const void *a, const void *b)
{
    const struct ss_last_words *x = a, *y = b;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

static enum ss_status make_room(struct ss_last_words **list, int n, int *room)
{
    if (n < *room)
        return SS_OK;
    int more = *room * 2 + 16;
    void *grown = ss_realloc(*list, (size_t)more, sizeof(**list), "last words");
    if (!grown)
        return SS_ERR_NO_MEMORY;
    *list = grown;
    *room = more;
    return SS_OK;
}

static enum ss_status read_folder(DIR *dir, const char *folder,
                                  struct ss_last_words **list, int *n)
{
    int room = 0;
    for (struct dirent *entry; (entry = readdir(dir));) {
        if (!is_ours(entry->d_name))
            continue;
        SS_TRY(make_room(list, *n, &room));
        *n += read_one(folder, entry->d_name, &(*list)[*n]);
    }
    if (*n > 0)
        qsort(*list, (size_t)*n, sizeof(**list), by_rank);
    return SS_OK;
}

enum ss_status ss_last_words_read(const char *folder,
                                  struct ss_last_words **out, int *n)
{
    struct ss_last_words *list = NULL;
    int count = 0;
    DIR *dir = opendir(folder);
    if (!dir)
        return io_error("open folder", folder);
    enum ss_status status = read_folder(dir, folder, &list, &count);
    (void)closedir(dir);
    if (status != SS_OK) {
        ss_free(list);
        return status;
    }
    *out = list;
    *n = count;
    return SS_OK;
}

static enum ss_status parse_all(const char *text, struct ss_last_words **list,
                                int *n)
{
    int room = 0;
    while (*text) {
        size_t len = strcspn(text, "\n");
        if (is_heading(text, len))
            text += len + (text[len] == '\n');
        SS_TRY(make_room(list, *n, &room));
        if (parse_next(&text, &(*list)[*n]))
            (*n)++;
        else
            ss_log(SS_LOG_WARN, "cluster", "some last words are not readable");
    }
    if (*n > 0)
        qsort(*list, (size_t)*n, sizeof(**list), by_rank);
    return SS_OK;
}

enum ss_status ss_last_words_parse(const char *text, struct ss_last_words **out,
                                   int *n)
{
    struct ss_last_words *list = NULL;
    int count = 0;
    enum ss_status status = parse_all(text, &list, &count);
    if (status != SS_OK) {
        ss_free(list);
        return status;
    }
    *out = list;
    *n = count;
    return SS_OK;
}
