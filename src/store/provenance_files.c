/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that change how a job communicates without being on its command line:
 * NCCL's configuration, its plugins, and which library was loaded from where.
 * One line each, so that a node that has another one is seen in the diff. It
 * must not know what any of them does.
 */
#include "store/provenance.h"

#include <dirent.h>
#include <elf.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "base/mem.h"

#define FILE_MAX ((size_t)64 << 20) /* a plugin has a few MB */
#define ETC_CONF "/etc/nccl.conf"
#define PLUGIN "libnccl-net"

/* What carries bytes or computes, by the start of the file's name. */
static const char *const watched[] = {
    "libnccl.so", PLUGIN,         "libcuda.so", "libcublasLt.so", "libmpi.so",
    "libucp.so",  "libfabric.so", "libibverbs", "libmlx5",        "libopenblas",
};

static const char *value_of(char *const *environment, const char *name)
{
    size_t len = strlen(name);
    for (; environment && *environment; environment++)
        if (strncmp(*environment, name, len) == 0 && (*environment)[len] == '=')
            return *environment + len + 1;
    return NULL;
}

/* A file that is not there has no line: "(unset)" beside those that have it. */
static enum ss_status append_file(const char *name, const char *path,
                                  struct ss_buf *out)
{
    struct ss_buf text;
    enum ss_status status = ss_read_file(path, FILE_MAX, &text);
    if (status == SS_ERR_NO_MEMORY)
        return status;
    if (status == SS_OK)
        ss_buf_printf(out, "(file) %s=xxh64 %016llx, %zu bytes\n", name,
                      (unsigned long long)XXH64(text.data, text.len, 0),
                      text.len);
    ss_buf_free(&text);
    ss_error_set(NULL); /* not to be there is no error */
    return SS_OK;
}

static enum ss_status append_plugins_of(const char *folder, struct ss_buf *out)
{
    enum ss_status status = SS_OK;
    DIR *dir = *folder ? opendir(folder) : NULL;
    if (!dir)
        return SS_OK;
    for (struct dirent *entry; status == SS_OK && (entry = readdir(dir));) {
        char path[PATH_MAX];
        if (strncmp(entry->d_name, PLUGIN, strlen(PLUGIN)) == 0 &&
            ss_format(path, sizeof path, "%s/%s", folder, entry->d_name))
            status = append_file(path, path, out);
    }
    closedir(dir);
    return status;
}

/* NCCL loads a plugin with its first communicator, after this is asked. */
static enum ss_status append_plugins(const char *folders, struct ss_buf *out)
{
    while (folders && *folders) {
        char folder[PATH_MAX];
        size_t len = strcspn(folders, ":");
        if (ss_format(folder, sizeof folder, "%.*s", (int)len, folders))
            SS_TRY(append_plugins_of(folder, out));
        folders += len + (folders[len] == ':');
    }
    return SS_OK;
}

enum ss_status ss_files_collect(const char *root, char *const *environment,
                                struct ss_buf *out)
{
    const char *home = value_of(environment, "HOME");
    const char *named = value_of(environment, "NCCL_CONF_FILE");
    char path[PATH_MAX];
    if (ss_format(path, sizeof path, "%s%s", root, ETC_CONF))
        SS_TRY(append_file(ETC_CONF, path, out));
    if (home && ss_format(path, sizeof path, "%s/.nccl.conf", home))
        SS_TRY(append_file("~/.nccl.conf", path, out));
    if (named && *named)
        SS_TRY(append_file("NCCL_CONF_FILE", named, out));
    SS_TRY(append_plugins(value_of(environment, "LD_LIBRARY_PATH"), out));
    return ss_buf_status(out);
}

static size_t padded(size_t bytes)
{
    return (bytes + 3) & ~(size_t)3;
}

/* The mark that the linker gave a build, out of one segment of notes. */
static bool find_mark(const unsigned char *at, size_t left, char *out,
                      size_t size)
{
    ElfW(Nhdr) note;
    while (left >= sizeof note) {
        memcpy(&note, at, sizeof note);
        size_t name = sizeof note, mark = name + padded(note.n_namesz);
        size_t all = mark + padded(note.n_descsz);
        if (all > left)
            return false;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
            memcmp(at + name, "GNU", 4) == 0) {
            for (size_t b = 0; b < note.n_descsz && 2 * b + 2 < size; b++)
                ss_format(out + 2 * b, 3, "%02x", at[mark + b]);
            return true;
        }
        at += all;
        left -= all;
    }
    return false;
}

static void build_mark(const struct dl_phdr_info *info, char *out, size_t size)
{
    out[0] = '\0';
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *head = &info->dlpi_phdr[i];
        /* mapped by the linker. NOLINTNEXTLINE(performance-no-int-to-ptr) */
        const void *at = (const void *)(info->dlpi_addr + head->p_vaddr);
        if (head->p_type == PT_NOTE && find_mark(at, head->p_memsz, out, size))
            return;
    }
}

static int append_library(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct ss_buf *out = arg;
    const char *slash = strrchr(info->dlpi_name, '/');
    const char *name = slash ? slash + 1 : info->dlpi_name;
    char real[PATH_MAX], id[64];
    (void)size;
    for (size_t i = 0; i < SS_COUNT_OF(watched); i++) {
        if (strncmp(name, watched[i], strlen(watched[i])) != 0)
            continue;
        build_mark(info, id, sizeof id);
        ss_buf_printf(out, "(library) %s=%s%s%s\n", name,
                      realpath(info->dlpi_name, real) ? real : info->dlpi_name,
                      id[0] ? " build " : "", id);
        break;
    }
    return 0;
}

enum ss_status ss_libraries_collect(struct ss_buf *out)
{
    (void)dl_iterate_phdr(append_library, out);
    return ss_buf_status(out);
}
