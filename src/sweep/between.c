/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes that a plan has a rank send to other nodes, at least: what the byte
 * counters of a node are held against. The least that any algorithm can do
 * with whole nodes, shared evenly by the node's members of a group: a ring or
 * a tree sends that or more. Pure: a plan and a topology, no counters.
 */
#include "sweep/between.h"

#include <string.h>

#include "base/mem.h"

/* One dimension of this rank's group, as nodes see it. */
struct spread {
    int n;     /* members */
    int here;  /* of them on this rank's node */
    int nodes; /* that they span */
};

/* Who of which group? `seen` is for marking nodes. */
struct asker {
    const struct ss_layout *layout;
    const struct ss_topology *topology;
    int first, rank;
    bool *seen; /* [nodes] */
};

static struct spread spread_of(const struct asker *asker, enum ss_dim dim)
{
    const struct ss_place *place = asker->topology->place;
    struct spread spread = {0};
    int mine = ss_layout_color(asker->layout, asker->rank - asker->first, dim);
    int size = ss_layout_size(asker->layout);
    memset(asker->seen, 0, (size_t)asker->topology->nodes);
    for (int m = 0; m < size; m++) {
        int node = place[asker->first + m].node;
        if (ss_layout_color(asker->layout, m, dim) != mine)
            continue;
        spread.n++;
        spread.here += node == place[asker->rank].node;
        spread.nodes += !asker->seen[node];
        asker->seen[node] = true;
    }
    return spread;
}

/* Of the message of S bytes, as nccl-tests counts it. */
static double least_of(const struct ss_op *op, const struct spread *s)
{
    double whole = op->bytes;
    double others = (double)(s->n - s->here) / s->n;
    double nodes = (double)(s->nodes - 1) / s->nodes;
    switch (op->kind) {
    case SS_OP_ALL_REDUCE:
        return 2 * whole * nodes / s->here;
    case SS_OP_ALL_GATHER:
    case SS_OP_REDUCE_SCATTER:
        return whole * others / s->here;
    case SS_OP_ALL_TO_ALL:
        return whole * others;
    case SS_OP_BROADCAST:
        return whole * nodes / s->here;
    default:
        return 0; /* a pair: who the peer is, this plan's pipeline knows */
    }
}

enum ss_status ss_between_bytes(const struct ss_plan *plan,
                                const struct ss_topology *topology, int first,
                                int rank, double *out)
{
    struct spread spread[SS_DIMS];
    struct asker asker = {&plan->layout, topology, first, rank, NULL};
    asker.seen = ss_alloc((size_t)topology->nodes, 1, "nodes of a group");
    if (!asker.seen)
        return SS_ERR_NO_MEMORY;
    for (int d = 0; d < SS_DIMS; d++)
        spread[d] = spread_of(&asker, (enum ss_dim)d);
    ss_free(asker.seen);
    *out = 0;
    for (int i = 0; i < plan->n_ops; i++)
        if (ss_op_is_comm(&plan->op[i]))
            *out += least_of(&plan->op[i], &spread[plan->op[i].dim]);
    return SS_OK;
}
