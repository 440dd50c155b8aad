/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The folder of parts: its name, its creation, what stands in it and its end.
 * Only names that this program gives are ever listed or removed, because the
 * folder lies beside the user's own files. It must not know what a part holds.
 */
#include "store/part_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "store/store.h"

#define LAST_WORDS_MAX ((size_t)64 * 1024)
#define ROOM "store"

void ss_out_choose(const char *asked, const char *run_id, char *out,
                   size_t size)
{
    char stamp[32] = "";
    time_t now = time(NULL);
    struct tm tm;
    if (asked[0]) {
        ss_copy(out, size, asked);
        return;
    }
    if (localtime_r(&now, &tm))
        strftime(stamp, sizeof stamp, "%Y%m%d-%H%M%S", &tm);
    ss_format(out, size, "stepscale-%s-%.8s.h5", stamp, run_id);
}

bool ss_part_folder(const char *out, char *folder, size_t size)
{
    return ss_format(folder, size, "%s.part", out);
}

enum ss_status ss_part_path(const char *folder, int index,
                            char path[SS_PATH_MAX])
{
    if (!ss_format(path, SS_PATH_MAX, "%s/%04d.h5", folder, index))
        return ss_fail(SS_ERR_CONFIG, "the path %.80s... is too long", folder);
    return SS_OK;
}

bool ss_part_parse_name(const char *name, int *index)
{
    size_t digits = strspn(name, "0123456789");
    char canonical[32];
    if (digits < 4 || digits > 8 || strcmp(name + digits, ".h5") != 0)
        return false;
    *index = (int)strtol(name, NULL, 10);
    ss_format(canonical, sizeof canonical, "%04d.h5", *index);
    return strcmp(canonical, name) == 0;
}

/* Fails while the disk is full or read-only, before anything is measured. */
enum ss_status ss_part_prove_writable(const char *folder)
{
    static const char text[] = "stepscale\n";
    enum ss_status status = SS_OK;
    char path[SS_PATH_MAX];
    int fd;
    if (!ss_format(path, sizeof path, "%s/.writable", folder))
        return ss_fail(SS_ERR_CONFIG, "the path %.80s... is too long", folder);
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0)
        return ss_disk_fail("write to", folder, errno);
    errno = ENOSPC; /* what a short write means */
    if (write(fd, text, sizeof text) != (ssize_t)sizeof text || fsync(fd) < 0)
        status = ss_disk_fail("write to", folder, errno);
    if (close(fd) < 0 && status == SS_OK)
        status = ss_disk_fail("write to", folder, errno);
    unlink(path);
    return status;
}

static int compare_ints(const void *a, const void *b)
{
    int x = *(const int *)a;
    int y = *(const int *)b;
    return (x > y) - (x < y);
}

static enum ss_status add_index(struct ss_part_list *list, int *cap, int index)
{
    if (list->n == *cap) {
        int more = *cap ? *cap * 2 : 64;
        int *grown = ss_realloc(list->index, (size_t)more, sizeof *grown,
                                "a list of parts");
        if (!grown)
            return SS_ERR_NO_MEMORY;
        list->index = grown;
        *cap = more;
    }
    list->index[list->n++] = index;
    return SS_OK;
}

enum ss_status ss_part_list(const char *folder, struct ss_part_list *out)
{
    struct ss_part_list list = {0};
    enum ss_status status = SS_OK;
    struct dirent *entry;
    int cap = 0;
    int index;
    DIR *dir = opendir(folder);
    if (!dir)
        return ss_fail(SS_ERR_CONFIG, "cannot open folder %s: %s", folder,
                       strerror(errno));
    while (status == SS_OK && (entry = readdir(dir)) != NULL) {
        if (ss_part_parse_name(entry->d_name, &index))
            status = add_index(&list, &cap, index);
    }
    closedir(dir);
    if (status != SS_OK) {
        ss_free(list.index);
        return status;
    }
    if (list.n > 0)
        qsort(list.index, (size_t)list.n, sizeof *list.index, compare_ints);
    *out = list;
    return SS_OK;
}

static bool is_last_words(const char *name)
{
    size_t len = strlen(name);
    return strncmp(name, "last-", 5) == 0 && len > 9 &&
           strcmp(name + len - 4, ".txt") == 0;
}

static int only_last_words(const struct dirent *entry)
{
    return is_last_words(entry->d_name);
}

static int by_nature(const struct dirent **a, const struct dirent **b)
{
    return ss_natural_compare((*a)->d_name, (*b)->d_name);
}

/* Words that cannot be read are not worth a run: only memory is. */
static enum ss_status append_words(const char *folder, const char *name,
                                   struct ss_buf *out)
{
    char path[SS_PATH_MAX];
    struct ss_buf text;
    enum ss_status status;
    if (!ss_format(path, sizeof path, "%s/%s", folder, name))
        return SS_OK;
    status = ss_read_file(path, LAST_WORDS_MAX, &text);
    if (status == SS_ERR_NO_MEMORY)
        return status;
    if (status != SS_OK) {
        ss_log(SS_LOG_WARN, ROOM, "%s", ss_error_text());
        return SS_OK;
    }
    ss_buf_printf(out, "%s:\n%s%s", name, ss_buf_text(&text),
                  text.len && text.data[text.len - 1] == '\n' ? "" : "\n");
    ss_buf_free(&text);
    return ss_buf_status(out);
}

enum ss_status ss_part_last_words(const char *folder, struct ss_buf *out)
{
    struct dirent **names = NULL;
    enum ss_status status = SS_OK;
    int n = scandir(folder, &names, only_last_words, by_nature);
    if (n < 0)
        return ss_fail(SS_ERR_CONFIG, "cannot open folder %s: %s", folder,
                       strerror(errno));
    for (int i = 0; i < n; i++) {
        if (status == SS_OK)
            status = append_words(folder, names[i]->d_name, out);
        free(names[i]);
    }
    free(names);
    return status;
}

static void remove_file(const char *folder, const char *name)
{
    char path[SS_PATH_MAX];
    if (ss_format(path, sizeof path, "%s/%s", folder, name) &&
        unlink(path) < 0 && errno != ENOENT)
        ss_log(SS_LOG_WARN, ROOM, "cannot remove %s: %s", path,
               strerror(errno));
}

/* "0007.h5.tmp": a part whose writer died. */
static bool is_unfinished(const char *name)
{
    size_t len = strlen(name);
    char part[32];
    int index;
    if (len < 5 || len >= sizeof part || strcmp(name + len - 4, ".tmp") != 0)
        return false;
    ss_format(part, sizeof part, "%.*s", (int)len - 4, name);
    return ss_part_parse_name(part, &index);
}

static int is_leftover(const struct dirent *entry)
{
    return is_last_words(entry->d_name) || is_unfinished(entry->d_name) ||
           strncmp(entry->d_name, "last-call", 9) == 0;
}

void ss_part_tidy(const char *folder)
{
    struct dirent **names = NULL;
    int n = scandir(folder, &names, is_leftover, NULL);
    for (int i = 0; i < n; i++) {
        remove_file(folder, names[i]->d_name);
        free(names[i]);
    }
    free(names);
}

void ss_part_remove(const char *folder, const struct ss_part_list *parts)
{
    char part[32];
    for (int i = 0; i < parts->n; i++) {
        ss_format(part, sizeof part, "%04d.h5", parts->index[i]);
        remove_file(folder, part);
    }
    ss_part_tidy(folder);
    if (rmdir(folder) < 0)
        ss_log(SS_LOG_WARN, ROOM,
               "folder %s stays, because it holds files of other origin: %s",
               folder, strerror(errno));
}
