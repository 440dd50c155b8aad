/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What NCCL says of its transports at INFO level: one line a connection,
 * ending in "via P2P/CUMEM" or "via NET/IB/0/GDRDMA", one of the network's
 * devices, and the node's topology. The words are not an interface of NCCL's,
 * so a line of another form counts as "other" and nothing depends on there
 * being any. Pure; knows no NCCL.
 */
#include "engine/coll_nccl_log.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"

#define LINE_MAX_BYTES ((size_t)2048)

static bool starts(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static struct ss_nccl_net *net_of(const char *after_net,
                                  struct ss_nccl_paths *paths)
{
    return starts(after_net, "Socket") ? &paths->sockets : &paths->net;
}

/* Of "NET/IB/3/GDRDMA" the device 3. */
static void note_used(const char *via, struct ss_nccl_paths *paths)
{
    const char *name = strchr(via, '/');
    const char *slash = name ? strchr(name + 1, '/') : NULL;
    char *end = NULL;
    unsigned long index = slash ? strtoul(slash + 1, &end, 10) : 32;
    struct ss_nccl_net *net;
    if (!slash || end == slash + 1)
        return;
    net = net_of(name + 1, paths);
    if (index < SS_COUNT_OF(net->device))
        net->used |= UINT32_C(1) << index;
    if (net->kind[0] == '\0')
        (void)ss_format(net->kind, sizeof(net->kind), "%.*s",
                        (int)(slash - name - 1), name + 1);
}

static int *counter_of(const char *via, struct ss_nccl_paths *paths)
{
    if (starts(via, "P2P") || starts(via, "direct pointer"))
        return &paths->p2p;
    if (starts(via, "SHM"))
        return &paths->shm;
    if (!starts(via, "NET/"))
        return &paths->other;
    note_used(via, paths);
    if (starts(via, "NET/Socket"))
        return &paths->socket;
    return strstr(via, "/GDRDMA") ? &paths->rdma : &paths->bounce;
}

/* "mlx5_0:1/IB": the name, and what kind of network it is. */
static void note_device(const char *text, unsigned long index,
                        struct ss_nccl_net *net)
{
    size_t name = strcspn(text, ": "), all = strcspn(text, " ");
    const char *slash = memchr(text, '/', all);
    if (index < SS_COUNT_OF(net->device))
        (void)ss_format(net->device[index], sizeof(net->device[0]), "%.*s",
                        (int)name, text);
    if (slash)
        (void)ss_format(net->kind, sizeof(net->kind), "%.*s",
                        (int)(text + all - slash - 1), slash + 1);
}

/* "NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [RO]; OOB eth0:10.0.0.1<0>" */
static void note_network(const char *line, struct ss_nccl_paths *paths)
{
    const char *at = strstr(line, "NET/");
    const char *list = at ? strstr(at, " : Using ") : NULL;
    struct ss_nccl_net *net;
    if (!list)
        return;
    net = net_of(at + 4, paths);
    (void)ss_format(net->kind, sizeof(net->kind), "%.*s", (int)(list - at - 4),
                    at + 4);
    for (at = strchr(list, '['); at; at = strchr(at, '[')) {
        char *end;
        unsigned long index = strtoul(++at, &end, 10);
        if (end != at && *end == ']')
            note_device(end + 1, index, net);
    }
}

static void parse_line(const char *line, struct ss_nccl_paths *paths)
{
    const char *via = strstr(line, " via ");
    if (via && strstr(line, "Channel ") && strstr(line, "->"))
        ++*counter_of(via + 5, paths);
    else if (strstr(line, "+ NVL["))
        paths->nvlink = true;
    else
        note_network(line, paths);
}

void ss_nccl_log_parse(const char *text, struct ss_nccl_paths *paths)
{
    char line[LINE_MAX_BYTES];
    while (*text) {
        size_t len = strcspn(text, "\n");
        (void)ss_format(line, sizeof(line), "%.*s", (int)len, text);
        parse_line(line, paths);
        text += len + (text[len] == '\n');
    }
}

/* "mlx5_0,mlx5_3"; a device without a name is its number. */
static void list_devices(const struct ss_nccl_net *net, char *out, size_t size)
{
    size_t used = 0;
    out[0] = '\0';
    for (unsigned i = 0; i < SS_COUNT_OF(net->device) && used < size; i++) {
        if (!(net->used >> i & 1))
            continue;
        if (net->device[i][0])
            (void)ss_format(out + used, size - used, "%s%s", used ? "," : "",
                            net->device[i]);
        else
            (void)ss_format(out + used, size - used, "%sdevice %u",
                            used ? "," : "", i);
        used += strlen(out + used);
    }
}

int ss_nccl_paths_rows(const struct ss_nccl_paths *paths,
                       const struct ss_nccl_paths *before,
                       struct ss_path_row *rows)
{
    static const struct ss_nccl_paths none;
    const struct ss_nccl_paths *b = before ? before : &none;
    const struct {
        int n;
        const char *carrier;
        const struct ss_nccl_net *net;
    } kind[SS_NCCL_PATHS] = {
        {paths->p2p - b->p2p, SS_PATH_P2P, NULL},
        {paths->shm - b->shm, SS_PATH_MEMORY, NULL},
        {paths->rdma - b->rdma, SS_PATH_GPUDIRECT, &paths->net},
        {paths->bounce - b->bounce, SS_PATH_RDMA, &paths->net},
        {paths->socket - b->socket, SS_PATH_SOCKETS, &paths->sockets},
        {paths->other - b->other, SS_PATH_OTHER, NULL}};
    int n = 0;
    for (int i = 0; i < SS_NCCL_PATHS; i++) {
        if (kind[i].n <= 0)
            continue;
        struct ss_path_row *row = &rows[n++];
        *row = (struct ss_path_row){.connections = kind[i].n, .ranks = 1};
        (void)ss_copy(row->library, sizeof(row->library), "nccl");
        (void)ss_copy(row->carrier, sizeof(row->carrier), kind[i].carrier);
        if (i == 0 && paths->nvlink)
            (void)ss_copy(row->network, sizeof(row->network), SS_PATH_NVLINK);
        if (!kind[i].net)
            continue;
        (void)ss_copy(row->network, sizeof(row->network), kind[i].net->kind);
        list_devices(kind[i].net, row->devices, sizeof(row->devices));
    }
    return n;
}
