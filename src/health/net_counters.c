/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Byte counters from sysfs. A device that vanishes while being read, or has no
 * counters, is left out: what is missing is visible in the table. Must not
 * judge what the numbers mean.
 */
#include "health/net_counters.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/units.h"

/** One number in a small file; false when there is none. */
static bool read_count(const char *folder, const char *name, uint64_t *out)
{
    char path[512];
    struct ss_buf text;
    int64_t value = -1;

    if (!ss_format(path, sizeof(path), "%s/%s", folder, name) ||
        ss_read_file(path, 4096, &text) != SS_OK)
        return false;
    if (text.len > 0)
        text.data[strcspn(text.data, "\n ")] = '\0';
    bool good = ss_parse_int(ss_buf_text(&text), &value) == SS_OK && value >= 0;
    ss_buf_free(&text);
    *out = (uint64_t)value;
    return good;
}

static enum ss_status add(struct ss_net_snapshot *snapshot,
                          const struct ss_net_row *row)
{
    size_t n = (size_t)snapshot->n + 1;
    struct ss_net_row *bigger =
        ss_realloc(snapshot->row, n, sizeof(*bigger), "network counters");

    if (!bigger)
        return SS_ERR_NO_MEMORY;
    snapshot->row = bigger;
    snapshot->row[snapshot->n++] = *row;
    return SS_OK;
}

typedef enum ss_status (*entry_fn)(const char *folder, const char *name,
                                   struct ss_net_snapshot *out);

static int visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/** Calls fn for every entry of a folder, in the order of names. A folder that
 * is not there has no entries. */
static enum ss_status each_entry(const char *folder, entry_fn fn,
                                 struct ss_net_snapshot *out)
{
    struct dirent **entry = NULL;
    int n = scandir(folder, &entry, visible, alphasort);
    enum ss_status status = SS_OK;

    for (int i = 0; i < n; i++) {
        if (status == SS_OK)
            status = fn(folder, entry[i]->d_name, out);
        free(entry[i]); /* scandir's own malloc */
    }
    free(entry);
    return status;
}

static enum ss_status add_net(const char *folder, const char *name,
                              struct ss_net_snapshot *out)
{
    struct ss_net_row row = {.node = 0};
    char path[512];

    if (!ss_format(path, sizeof(path), "%s/%s/statistics", folder, name) ||
        !read_count(path, "rx_bytes", &row.rx_bytes) ||
        !read_count(path, "tx_bytes", &row.tx_bytes))
        return SS_OK;
    ss_copy(row.interface, sizeof(row.interface), name);
    ss_copy(row.kind, sizeof(row.kind), "net");
    return add(out, &row);
}

/** folder is .../infiniband/DEVICE/ports; counters are in units of 4 bytes. */
static enum ss_status add_port(const char *folder, const char *name,
                               struct ss_net_snapshot *out)
{
    struct ss_net_row row = {.node = 0};
    char path[512], device[512];

    if (!ss_format(path, sizeof(path), "%s/%s/counters", folder, name) ||
        !read_count(path, "port_rcv_data", &row.rx_bytes) ||
        !read_count(path, "port_xmit_data", &row.tx_bytes))
        return SS_OK;
    row.rx_bytes *= 4;
    row.tx_bytes *= 4;
    ss_copy(device, sizeof(device), folder);
    *strrchr(device, '/') = '\0';
    ss_format(row.interface, sizeof(row.interface), "%s/%s",
              strrchr(device, '/') + 1, name);
    ss_copy(row.kind, sizeof(row.kind), "rdma");
    return add(out, &row);
}

static enum ss_status add_device(const char *folder, const char *name,
                                 struct ss_net_snapshot *out)
{
    char ports[512];

    if (!ss_format(ports, sizeof(ports), "%s/%s/ports", folder, name))
        return SS_OK;
    return each_entry(ports, add_port, out);
}

enum ss_status ss_net_read(const char *root, struct ss_net_snapshot *out)
{
    struct ss_net_snapshot snapshot = {0};
    char folder[512];
    enum ss_status status = SS_OK;

    ss_format(folder, sizeof(folder), "%s/class/net", root);
    status = each_entry(folder, add_net, &snapshot);
    ss_format(folder, sizeof(folder), "%s/class/infiniband", root);
    if (status == SS_OK)
        status = each_entry(folder, add_device, &snapshot);
    if (status != SS_OK) {
        ss_net_free(&snapshot);
        return status;
    }
    *out = snapshot;
    return SS_OK;
}

static const struct ss_net_row *find(const struct ss_net_snapshot *snapshot,
                                     const struct ss_net_row *like)
{
    for (int i = 0; i < snapshot->n; i++)
        if (strcmp(snapshot->row[i].interface, like->interface) == 0 &&
            strcmp(snapshot->row[i].kind, like->kind) == 0)
            return &snapshot->row[i];
    return NULL;
}

/** Old port counters have 32 bits (of 4-byte units) and wrap. */
static uint64_t counted(uint64_t before, uint64_t after, const char *kind)
{
    const uint64_t span = UINT64_C(4) << 32;

    if (after >= before)
        return after - before;
    if (strcmp(kind, "rdma") == 0 && before < span)
        return after + span - before;
    return after; /* the device was reset in between */
}

enum ss_status ss_net_delta(const struct ss_net_snapshot *before,
                            const struct ss_net_snapshot *after,
                            struct ss_net_snapshot *out)
{
    struct ss_net_snapshot delta = {0};

    for (int i = 0; i < after->n; i++) {
        struct ss_net_row row = after->row[i];
        const struct ss_net_row *was = find(before, &row);
        if (was) {
            row.rx_bytes = counted(was->rx_bytes, row.rx_bytes, row.kind);
            row.tx_bytes = counted(was->tx_bytes, row.tx_bytes, row.kind);
        }
        if (add(&delta, &row) != SS_OK) {
            ss_net_free(&delta);
            return SS_ERR_NO_MEMORY;
        }
    }
    *out = delta;
    return SS_OK;
}

void ss_net_free(struct ss_net_snapshot *snapshot)
{
    ss_free(snapshot->row);
    *snapshot = (struct ss_net_snapshot){0};
}
