/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What NCCL says of its transports at INFO level: one line a connection,
 * ending in "via P2P/CUMEM" or "via NET/IB/0/GDRDMA". The words are not an
 * interface of NCCL's, so a line of another form counts as "other" and nothing
 * depends on there being any. Pure; knows no NCCL.
 */
#include "engine/coll_nccl_log.h"

#include <stdbool.h>
#include <string.h>

#include "base/str.h"

static bool starts(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* Is `word` within the line that begins at `text`? */
static bool on_line(const char *text, const char *word)
{
    const char *at = strstr(text, word), *end = strchr(text, '\n');
    return at && (!end || at < end);
}

static int *counter_of(const char *via, struct ss_nccl_paths *paths)
{
    if (starts(via, "P2P") || starts(via, "direct pointer"))
        return &paths->p2p;
    if (starts(via, "SHM"))
        return &paths->shm;
    if (starts(via, "NET/Socket"))
        return &paths->socket;
    if (starts(via, "NET/"))
        return on_line(via, "/GDRDMA") ? &paths->rdma : &paths->bounce;
    return &paths->other;
}

void ss_nccl_log_parse(const char *text, struct ss_nccl_paths *paths)
{
    static const char mark[] = " via ";
    const char *line = text;
    while (line && *line) {
        const char *next = strchr(line, '\n');
        const char *via = strstr(line, mark);
        bool here = via && (!next || via < next);
        if (here && on_line(line, "Channel ") && on_line(line, "->"))
            ++*counter_of(via + sizeof(mark) - 1, paths);
        line = next ? next + 1 : NULL;
    }
}

void ss_nccl_paths_text(const struct ss_nccl_paths *paths, char *out,
                        size_t size)
{
    const struct {
        int n;
        const char *words;
    } part[] = {{paths->p2p, "P2P"},
                {paths->shm, "through host memory"},
                {paths->rdma, "RDMA with GPUDirect"},
                {paths->bounce, "RDMA without GPUDirect"},
                {paths->socket, "sockets"},
                {paths->other, "other"}};
    size_t at = 0;
    out[0] = '\0';
    for (size_t i = 0; i < SS_COUNT_OF(part) && at < size; i++) {
        if (part[i].n == 0)
            continue;
        (void)ss_format(out + at, size - at, "%s%d %s", at ? ", " : "",
                        part[i].n, part[i].words);
        at += strlen(out + at);
    }
}
