/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Versions of what this process runs on. Libraries of other rooms are asked
 * through the dynamic linker: the store links none of them, and one that is
 * not in the process simply has no row. It must not know how they are used.
 */
#include "store/provenance.h"

#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <sys/utsname.h>

#include <hdf5.h>
#include <xxhash.h>

#include "base/mem.h"
#include "base/symbol.h"

/* Functions of no argument that return a text. */
static const struct {
    const char *name;
    const char *symbol;
} texts[] = {
    {"openblas", "openblas_get_config"},
    {"openblas core", "openblas_get_corename"},
    {"libyaml", "yaml_get_version_string"},
    {"jansson", "jansson_version_str"},
    {"ucx", "ucp_get_version_string"},
};

#define ROWS_MAX (SS_COUNT_OF(texts) + 8)

struct rows {
    struct ss_variable_row *row;
    int n;
};

static void add(struct rows *rows, const char *name, const char *value)
{
    struct ss_variable_row *row;
    if (!value || !*value)
        return;
    row = &rows->row[rows->n++];
    ss_copy(row->name, sizeof row->name, name);
    ss_copy(row->value, sizeof row->value, value);
    ss_copy(row->ranks, sizeof row->ranks, "all");
}

static void add_hdf5(struct rows *rows)
{
    unsigned major = 0;
    unsigned minor = 0;
    unsigned release = 0;
    char text[48];
    if (H5get_libversion(&major, &minor, &release) < 0)
        return;
    ss_format(text, sizeof text, "%u.%u.%u", major, minor, release);
    add(rows, "hdf5", text);
}

static void add_kernel(struct rows *rows)
{
    struct utsname name;
    if (uname(&name) == 0)
        add(rows, "kernel", name.release);
}

static void add_xxhash(struct rows *rows)
{
    unsigned version = XXH_versionNumber();
    char text[48];
    ss_format(text, sizeof text, "%u.%u.%u", version / 10000,
              version / 100 % 100, version % 100);
    add(rows, "xxhash", text);
}

static void add_linked(struct rows *rows)
{
    for (size_t i = 0; i < SS_COUNT_OF(texts); i++) {
        const char *(*ask)(void) = NULL;
        if (!ss_symbol_find(RTLD_DEFAULT, texts[i].symbol, &ask))
            continue;
        add(rows, texts[i].name, ask());
    }
}

static void add_hwloc(struct rows *rows)
{
    unsigned (*ask)(void) = NULL;
    char text[48];
    unsigned version;
    if (!ss_symbol_find(RTLD_DEFAULT, "hwloc_get_api_version", &ask))
        return;
    version = ask();
    ss_format(text, sizeof text, "api %u.%u.%u", version >> 16,
              version >> 8 & 0xff, version & 0xff);
    add(rows, "hwloc", text);
}

enum ss_status ss_versions_collect(const char *mpi_version,
                                   struct ss_variable_row **out, int *n_out)
{
    struct rows rows = {0};
    rows.row = ss_alloc(ROWS_MAX, sizeof *rows.row, "a table of versions");
    if (!rows.row)
        return SS_ERR_NO_MEMORY;
    add(&rows, "compiler", __VERSION__);
    add(&rows, "glibc", gnu_get_libc_version());
    add(&rows, "mpi", mpi_version);
    add_hdf5(&rows);
    add_kernel(&rows);
    add_xxhash(&rows);
    add_linked(&rows);
    add_hwloc(&rows);
    *out = rows.row;
    *n_out = rows.n;
    return SS_OK;
}
