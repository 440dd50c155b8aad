/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes at every network interface, from sysfs: the only witness of traffic
 * that no library reports. A device that vanishes between two reads, or a file
 * that cannot be read, costs its row and nothing else. It must not know what
 * traffic was expected.
 */
#include "health/net_counters.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"

#define COUNTER_MAX ((size_t)64)
/* InfiniBand counts words of 4 bytes. */
#define RDMA_UNIT UINT64_C(4)

struct list {
    struct ss_net_snapshot rows;
    int cap;
};

static bool is_entry(const char *name)
{
    return name[0] != '.';
}

static bool parse_counter(const struct ss_buf *text, uint64_t *out)
{
    char *end = NULL;
    if (text->len == 0 || text->data[0] < '0' || text->data[0] > '9')
        return false;
    errno = 0;
    *out = strtoull(text->data, &end, 10);
    return errno == 0 && (*end == '\n' || *end == '\0');
}

/* A small file, to be freed where *ok; false where it cannot be read. */
static enum ss_status read_small(const char *folder, const char *file,
                                 struct ss_buf *text, bool *ok)
{
    char path[PATH_MAX];
    *ok = false;
    if (!ss_format(path, sizeof path, "%s/%s", folder, file))
        return SS_OK;
    enum ss_status status = ss_read_file(path, COUNTER_MAX, text);
    *ok = status == SS_OK;
    return status == SS_ERR_NO_MEMORY ? status : SS_OK;
}

/* A decimal counter in a file of its own; *ok is false where there is none. */
static enum ss_status read_counter(const char *folder, const char *file,
                                   uint64_t *out, bool *ok)
{
    struct ss_buf text;
    SS_TRY(read_small(folder, file, &text, ok));
    if (!*ok)
        return SS_OK;
    *ok = parse_counter(&text, out);
    ss_buf_free(&text);
    return SS_OK;
}

/* Both counters of an interface; a row only where both can be read. */
static enum ss_status read_pair(const char *folder, const char *const files[2],
                                struct ss_net_row *row, bool *ok)
{
    SS_TRY(read_counter(folder, files[0], &row->rx_bytes, ok));
    if (!*ok)
        return SS_OK;
    return read_counter(folder, files[1], &row->tx_bytes, ok);
}

static enum ss_status add_row(struct list *list, const struct ss_net_row *row)
{
    if (list->rows.n == list->cap) {
        int cap = list->cap ? list->cap * 2 : 16;
        struct ss_net_row *grown = ss_realloc(list->rows.row, (size_t)cap,
                                              sizeof *grown, "net counters");
        if (!grown)
            return SS_ERR_NO_MEMORY;
        list->rows.row = grown;
        list->cap = cap;
    }
    list->rows.row[list->rows.n++] = *row;
    return SS_OK;
}

/* Does the small file say this word? 0: there is none to read. */
static enum ss_status says(const char *folder, const char *file,
                           const char *word, int32_t *out)
{
    struct ss_buf text;
    bool ok;
    *out = 0;
    SS_TRY(read_small(folder, file, &text, &ok));
    if (!ok)
        return SS_OK;
    *out = strstr(ss_buf_text(&text), word) ? 1 : -1;
    ss_buf_free(&text);
    return SS_OK;
}

static bool has_hardware(const char *folder)
{
    char path[PATH_MAX];
    return ss_format(path, sizeof path, "%s/device", folder) &&
           access(path, F_OK) == 0;
}

static enum ss_status add_net(struct list *list, const char *folder,
                              const char *name)
{
    static const char *const files[] = {"rx_bytes", "tx_bytes"};
    struct ss_net_row row = {0};
    char path[PATH_MAX];
    bool ok = false;
    ss_copy(row.interface, sizeof row.interface, name);
    ss_copy(row.kind, sizeof row.kind, "net");
    if (ss_format(path, sizeof path, "%s/%s/statistics", folder, name))
        SS_TRY(read_pair(path, files, &row, &ok));
    if (!ok || !ss_format(path, sizeof path, "%s/%s", folder, name))
        return SS_OK;
    row.physical = has_hardware(path);
    SS_TRY(says(path, "operstate", "up", &row.active));
    return ok ? add_row(list, &row) : SS_OK;
}

static enum ss_status add_port(struct list *list, const char *ports,
                               const char *device, const char *port)
{
    static const char *const files[] = {"port_rcv_data", "port_xmit_data"};
    struct ss_net_row row = {0};
    char path[PATH_MAX];
    bool ok = false;
    ss_format(row.interface, sizeof row.interface, "%s/%s", device, port);
    ss_copy(row.kind, sizeof row.kind, "rdma");
    if (ss_format(path, sizeof path, "%s/%s/counters", ports, port))
        SS_TRY(read_pair(path, files, &row, &ok));
    if (ss_format(path, sizeof path, "%s/%s", ports, port))
        SS_TRY(says(path, "state", "ACTIVE", &row.active));
    row.physical = 1;
    row.rx_bytes *= RDMA_UNIT;
    row.tx_bytes *= RDMA_UNIT;
    return ok ? add_row(list, &row) : SS_OK;
}

static enum ss_status add_device(struct list *list, const char *folder,
                                 const char *device)
{
    char ports[PATH_MAX];
    enum ss_status status = SS_OK;
    struct dirent *entry;
    DIR *dir;
    if (!ss_format(ports, sizeof ports, "%s/%s/ports", folder, device))
        return SS_OK;
    dir = opendir(ports);
    while (dir && status == SS_OK && (entry = readdir(dir)) != NULL) {
        if (is_entry(entry->d_name))
            status = add_port(list, ports, device, entry->d_name);
    }
    if (dir)
        closedir(dir);
    return status;
}

/* A class that the kernel does not have is no error: no rows. */
static enum ss_status
each_device(struct list *list, const char *root, const char *class,
            enum ss_status (*add)(struct list *, const char *, const char *))
{
    char folder[PATH_MAX];
    enum ss_status status = SS_OK;
    struct dirent *entry;
    DIR *dir;
    if (!ss_format(folder, sizeof folder, "%s/class/%s", root, class))
        return ss_fail(SS_ERR_CONFIG, "the path %.80s... is too long", root);
    dir = opendir(folder);
    while (dir && status == SS_OK && (entry = readdir(dir)) != NULL) {
        if (is_entry(entry->d_name))
            status = add(list, folder, entry->d_name);
    }
    if (dir)
        closedir(dir);
    return status;
}

/* The order of readdir is no order. */
static int by_name(const void *a, const void *b)
{
    const struct ss_net_row *x = a;
    const struct ss_net_row *y = b;
    int kinds = strcmp(x->kind, y->kind);
    return kinds ? kinds : ss_natural_compare(x->interface, y->interface);
}

enum ss_status ss_net_read(const char *root, struct ss_net_snapshot *out)
{
    struct list list = {.cap = 0};
    enum ss_status status = each_device(&list, root, "net", add_net);
    if (status == SS_OK)
        status = each_device(&list, root, "infiniband", add_device);
    if (status != SS_OK) {
        ss_net_free(&list.rows);
        return status;
    }
    if (list.rows.n > 0)
        qsort(list.rows.row, (size_t)list.rows.n, sizeof *list.rows.row,
              by_name);
    *out = list.rows;
    return SS_OK;
}

static const struct ss_net_row *find(const struct ss_net_snapshot *snapshot,
                                     const struct ss_net_row *row)
{
    for (int i = 0; i < snapshot->n; i++) {
        if (by_name(&snapshot->row[i], row) == 0)
            return &snapshot->row[i];
    }
    return NULL;
}

/*
 * Some counters have 32 bits (in units: 34 bits of bytes on InfiniBand). One
 * that is smaller than before and was within its 32 bits has wrapped; another
 * has been reset, by a driver that was loaded again.
 */
static uint64_t grown(uint64_t before, uint64_t after, uint64_t unit)
{
    uint64_t wrap = (UINT64_C(1) << 32) * unit;
    if (after >= before)
        return after - before;
    return before < wrap ? wrap - before + after : after;
}

enum ss_status ss_net_delta(const struct ss_net_snapshot *before,
                            const struct ss_net_snapshot *after,
                            struct ss_net_snapshot *out)
{
    struct ss_net_row *rows =
        ss_alloc((size_t)after->n, sizeof *rows, "net counters");
    if (!rows)
        return SS_ERR_NO_MEMORY;
    for (int i = 0; i < after->n; i++) {
        const struct ss_net_row *now = &after->row[i];
        const struct ss_net_row *then = find(before, now);
        uint64_t unit = strcmp(now->kind, "rdma") == 0 ? RDMA_UNIT : 1;
        rows[i] = *now;
        if (!then) /* it appeared in between, counting from 0 */
            continue;
        rows[i].rx_bytes = grown(then->rx_bytes, now->rx_bytes, unit);
        rows[i].tx_bytes = grown(then->tx_bytes, now->tx_bytes, unit);
    }
    *out = (struct ss_net_snapshot){.n = after->n, .row = rows};
    return SS_OK;
}

void ss_net_free(struct ss_net_snapshot *snapshot)
{
    ss_free(snapshot->row);
    *snapshot = (struct ss_net_snapshot){0};
}
