/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gathering unequal lengths to one rank. The root receives every rank's part
 * straight into its place, in pieces, so that neither a count nor a staging
 * buffer grows with the job. In a large world only one leader a host talks to
 * the root and passes its neighbours' parts on: the root then needs one
 * connection a host, not one a rank.
 */
#include <string.h>

#include "base/mem.h"
#include "cluster/agree.h"
#include "cluster/rt.h"

#define PIECE_BYTES ((size_t)64 << 20)
#define FLAT_RANKS 1024 /* above: over host leaders */

enum { TAG_UP = 901, TAG_LENGTH = 902, TAG_ROOT = 903 };

/* What the root knows of a rank: how much, and through whom it comes. */
struct part {
    uint64_t len;
    int32_t leader, pad;
};

struct gathering {
    struct ss_rt *rt;
    int root, leader;
    struct ss_rt *host; /* NULL: everyone talks to the root */
    struct part *part;  /* [size], on the root */
    size_t *offset;     /* [size], on the root */
    char *data;         /* on the root */
    void *piece;        /* of a leader that passes parts on */
};

static size_t piece(size_t left)
{
    return left < PIECE_BYTES ? left : PIECE_BYTES;
}

static enum ss_status send_pieces(struct ss_rt *rt, const void *data,
                                  size_t len, int to, int tag)
{
    for (size_t at = 0; at < len; at += PIECE_BYTES)
        SS_TRY(rt->ops->send(rt, (const char *)data + at, piece(len - at), to,
                             tag));
    return SS_OK;
}

static enum ss_status recv_pieces(struct ss_rt *rt, void *data, size_t len,
                                  int from, int tag)
{
    for (size_t at = 0; at < len; at += PIECE_BYTES)
        SS_TRY(
            rt->ops->recv(rt, (char *)data + at, piece(len - at), from, tag));
    return SS_OK;
}

/* Fills g->host and g->leader: the root on its own host, else the lowest. */
static enum ss_status find_leader(struct gathering *g)
{
    g->leader = g->root;
    if (g->rt->size <= FLAT_RANKS)
        return SS_OK;
    enum ss_status status = g->rt->ops->split_host_all(g->rt, &g->host);
    SS_TRY(ss_agree_all(g->rt, status));
    int32_t here[2] = {g->rt->rank == g->root, -g->rt->rank};
    SS_TRY(ss_allreduce_all(g->host, here, 2, SS_DT_I32, SS_RED_MAX));
    g->leader = here[0] ? g->root : -here[1];
    return SS_OK;
}

static enum ss_status allocate(struct gathering *g, bool is_root, size_t *lens)
{
    int n = g->rt->size;
    size_t total = 0;
    if (is_root) {
        SS_ASSERT(g->part);
        g->offset = ss_alloc((size_t)n, sizeof(*g->offset), "gather offsets");
        if (!g->offset)
            return SS_ERR_NO_MEMORY;
        for (int i = 0; i < n; i++) {
            lens[i] = (size_t)g->part[i].len;
            g->offset[i] = total;
            total += lens[i];
        }
        g->data = ss_alloc(total, 1, "the samples of all ranks");
        return g->data ? SS_OK : SS_ERR_NO_MEMORY;
    }
    if (g->host && g->leader == g->rt->rank)
        g->piece = ss_alloc(PIECE_BYTES, 1, "a piece of a neighbour's data");
    bool needed = g->host && g->leader == g->rt->rank;
    return needed && !g->piece ? SS_ERR_NO_MEMORY : SS_OK;
}

static enum ss_status collect(struct gathering *g, const void *mine)
{
    int n = g->rt->size;
    const struct part *part = g->part;
    SS_ASSERT(part && g->offset);
    if (part[g->root].len > 0)
        memcpy(g->data + g->offset[g->root], mine, part[g->root].len);
    for (int i = 0; i < n; i++) {
        bool direct = part[i].leader == g->root;
        if (i != g->root)
            SS_TRY(recv_pieces(g->rt, g->data + g->offset[i], part[i].len,
                               direct ? i : part[i].leader, TAG_ROOT));
    }
    return SS_OK;
}

/* One neighbour's part, passed on piece by piece. */
static enum ss_status pass_on(struct gathering *g, int from)
{
    uint64_t len;
    SS_TRY(g->host->ops->recv(g->host, &len, sizeof(len), from, TAG_LENGTH));
    for (size_t at = 0; at < len; at += PIECE_BYTES) {
        size_t n = piece(len - at);
        SS_TRY(g->host->ops->recv(g->host, g->piece, n, from, TAG_UP));
        SS_TRY(g->rt->ops->send(g->rt, g->piece, n, g->root, TAG_ROOT));
    }
    return SS_OK;
}

/* In rank order, which is the order of the host's ranks. */
static enum ss_status lead(struct gathering *g, const void *mine, size_t len)
{
    SS_TRY(send_pieces(g->rt, mine, len, g->root, TAG_ROOT));
    for (int i = 0; i < g->host->size; i++)
        if (i != g->host->rank)
            SS_TRY(pass_on(g, i));
    return SS_OK;
}

static enum ss_status hand_up(struct gathering *g, const void *mine, size_t len)
{
    uint64_t length = len;
    if (g->leader == g->root)
        return send_pieces(g->rt, mine, len, g->root, TAG_ROOT);
    if (g->leader == g->rt->rank)
        return lead(g, mine, len);
    SS_TRY(g->host->ops->send(g->host, &length, sizeof(length), 0, TAG_LENGTH));
    return send_pieces(g->host, mine, len, 0, TAG_UP);
}

static enum ss_status gather_parts(struct gathering *g, const void *send,
                                   size_t len, size_t *lens)
{
    struct ss_rt *rt = g->rt;
    bool is_root = rt->rank == g->root;
    enum ss_status status = SS_OK;
    if (is_root) {
        g->part = ss_alloc((size_t)rt->size, sizeof(*g->part), "gather list");
        status = g->part ? SS_OK : SS_ERR_NO_MEMORY;
    }
    SS_TRY(ss_agree_all(rt, status));
    SS_TRY(find_leader(g));
    struct part mine = {.len = len, .leader = g->leader};
    SS_TRY(ss_gather_all(rt, &mine, sizeof(mine), g->part, g->root));
    SS_TRY(ss_agree_all(rt, allocate(g, is_root, lens)));
    return is_root ? collect(g, send) : hand_up(g, send, len);
}

enum ss_status ss_gatherv_all(struct ss_rt *rt, const void *send, size_t len,
                              void **recv, size_t *lens, int root)
{
    struct gathering g = {.rt = rt, .root = root};
    enum ss_status status = gather_parts(&g, send, len, lens);
    if (status == SS_OK && rt->rank == root)
        *recv = g.data;
    else
        ss_free(g.data);
    ss_free(g.part);
    ss_free(g.offset);
    ss_free(g.piece);
    ss_rt_close(g.host);
    return status;
}
