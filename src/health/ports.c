/* SPDX-License-Identifier: Apache-2.0 */
/*
 * State, rate, width and error counters of RDMA ports, from sysfs. It reads
 * and subtracts; a file that is not there is a fact that is not known. Must
 * not know what a port should be.
 */
#include "health/ports.h"

#include <dirent.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

#define TEXT_MOST ((size_t)128)

static const char *const counters[SS_PORT_COUNTERS] = {
    "symbol_error",
    "link_error_recovery",
    "link_downed",
    "port_rcv_errors",
    "port_xmit_discards",
    "port_rcv_remote_physical_errors",
    "local_link_integrity_errors",
    "excessive_buffer_overrun_errors",
};

/** The first line of folder/file, "" where there is none. */
static enum ss_status line_of(const char *folder, const char *file, char *out,
                              size_t size)
{
    char path[PATH_MAX];
    struct ss_buf text;

    out[0] = '\0';
    if (!ss_format(path, sizeof(path), "%s/%s", folder, file))
        return SS_OK;
    enum ss_status status = ss_read_file(path, TEXT_MOST, &text);
    if (status == SS_OK)
        ss_format(out, size, "%.*s", (int)strcspn(ss_buf_text(&text), "\n"),
                  ss_buf_text(&text));
    ss_buf_free(&text);
    if (status == SS_ERR_NO_MEMORY)
        return status;
    ss_error_set(NULL);
    return SS_OK;
}

double ss_port_rate(const char *text, int *lanes)
{
    const char *open = strchr(text, '(');
    char *end = NULL;
    double gbit = strtod(text, &end);

    *lanes = open ? (int)strtol(open + 1, NULL, 10) : 0;
    return end == text || gbit < 0 ? 0 : gbit;
}

static enum ss_status fill(const char *ports, const char *device,
                           const char *port, struct ss_port_row *row,
                           uint64_t *count)
{
    char folder[PATH_MAX], text[64];

    *row = (struct ss_port_row){0};
    ss_format(row->port, sizeof(row->port), "%s/%s", device, port);
    if (!ss_format(folder, sizeof(folder), "%s/%s", ports, port))
        return SS_OK;
    SS_TRY(line_of(folder, "link_layer", row->link_layer,
                   sizeof(row->link_layer)));
    SS_TRY(line_of(folder, "rate", row->rate, sizeof(row->rate)));
    SS_TRY(line_of(folder, "state", text, sizeof(text)));
    const char *colon = strstr(text, ": "); /* "4: ACTIVE" */
    ss_copy(row->state, sizeof(row->state), colon ? colon + 2 : text);
    SS_TRY(line_of(folder, "phys_state", text, sizeof(text)));
    colon = strstr(text, ": ");
    ss_copy(row->physical, sizeof(row->physical), colon ? colon + 2 : text);
    row->gbit = ss_port_rate(row->rate, &row->lanes);
    for (int i = 0; i < SS_PORT_COUNTERS; i++) {
        ss_format(folder, sizeof(folder), "%s/%s/counters", ports, port);
        SS_TRY(line_of(folder, counters[i], text, sizeof(text)));
        count[i] = strtoull(text, NULL, 10);
    }
    if (!ss_format(folder, sizeof(folder), "%s/../device", ports))
        return SS_OK;
    SS_TRY(line_of(folder, "current_link_width", text, sizeof(text)));
    row->pcie_lanes = (int32_t)strtol(text, NULL, 10);
    SS_TRY(line_of(folder, "max_link_width", text, sizeof(text)));
    row->pcie_lanes_most = (int32_t)strtol(text, NULL, 10);
    return SS_OK;
}

static enum ss_status add(struct ss_ports *out, const char *ports,
                          const char *device, const char *port)
{
    size_t n = (size_t)out->n + 1;
    void *row = ss_realloc(out->row, n, sizeof(*out->row), "ports");

    if (!row)
        return SS_ERR_NO_MEMORY;
    out->row = row;
    void *count = ss_realloc(out->count, n, sizeof(*out->count), "ports");
    if (!count)
        return SS_ERR_NO_MEMORY;
    out->count = count;
    out->n++;
    return fill(ports, device, port, &out->row[n - 1], out->count[n - 1]);
}

static int is_entry(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static enum ss_status add_device(struct ss_ports *out, const char *root,
                                 const char *device)
{
    struct dirent **names = NULL;
    char ports[PATH_MAX];
    enum ss_status status = SS_OK;

    if (!ss_format(ports, sizeof(ports), "%s/class/infiniband/%s/ports", root,
                   device))
        return SS_OK;
    int n = scandir(ports, &names, is_entry, versionsort);
    for (int i = 0; i < n; i++) {
        if (status == SS_OK)
            status = add(out, ports, device, names[i]->d_name);
        free(names[i]);
    }
    free(names);
    return status;
}

enum ss_status ss_ports_read(const char *root, struct ss_ports *out)
{
    struct dirent **names = NULL;
    char folder[PATH_MAX];
    enum ss_status status = SS_OK;

    *out = (struct ss_ports){0};
    if (!ss_format(folder, sizeof(folder), "%s/class/infiniband", root))
        return SS_OK;
    int n = scandir(folder, &names, is_entry, versionsort);
    for (int i = 0; i < n; i++) {
        if (status == SS_OK)
            status = add_device(out, root, names[i]->d_name);
        free(names[i]);
    }
    free(names);
    if (status != SS_OK)
        ss_ports_free(out);
    return status;
}

void ss_ports_compare(const struct ss_ports *before, struct ss_ports *after)
{
    for (int i = 0; i < after->n; i++) {
        struct ss_port_row *row = &after->row[i];
        const uint64_t *then = NULL;
        size_t at = 0;
        for (int k = 0; k < before->n; k++)
            if (strcmp(before->row[k].port, row->port) == 0)
                then = before->count[k];
        for (int c = 0; then && c < SS_PORT_COUNTERS; c++) {
            uint64_t now = after->count[i][c];
            if (now <= then[c]) /* none, or reset */
                continue;
            row->error_count += now - then[c];
            ss_format(row->errors + at, sizeof(row->errors) - at, "%s%s +%llu",
                      at ? ", " : "", counters[c],
                      (unsigned long long)(now - then[c]));
            at += strlen(row->errors + at);
        }
    }
}

void ss_ports_free(struct ss_ports *ports)
{
    ss_free(ports->row);
    ss_free(ports->count);
    *ports = (struct ss_ports){0};
}
