/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sizes and bandwidths of collectives as nccl-tests defines them. The bus
 * factor makes rates of different collectives and rank counts comparable with
 * a link's rate. Must not know who runs them.
 */
#include "base/coll_rate.h"

#include <string.h>

static const char *const names[SS_COLL_OPS + 1] = {
    [SS_OP_COLL_ALL_REDUCE] = "all_reduce",
    [SS_OP_COLL_ALL_GATHER] = "all_gather",
    [SS_OP_COLL_REDUCE_SCATTER] = "reduce_scatter",
    [SS_OP_COLL_ALL_TO_ALL] = "alltoall",
    [SS_OP_COLL_BROADCAST] = "broadcast",
    [SS_OP_COLL_SENDRECV] = "sendrecv",
};

const char *const *ss_coll_names(void)
{
    return names;
}

int ss_coll_find(const char *name)
{
    for (int i = 0; i < SS_COLL_OPS; i++)
        if (strcmp(names[i], name) == 0)
            return i;
    return -1;
}

/** Does the size hold a part of every rank? */
static int has_parts(enum ss_coll_op op)
{
    return op == SS_OP_COLL_ALL_GATHER || op == SS_OP_COLL_REDUCE_SCATTER ||
           op == SS_OP_COLL_ALL_TO_ALL;
}

uint64_t ss_coll_count(enum ss_coll_op op, uint64_t bytes, int ranks,
                       int element)
{
    uint64_t parts = has_parts(op) ? (uint64_t)ranks : 1;
    uint64_t count = bytes / (uint64_t)element / parts;

    return count > 0 ? count : 1;
}

uint64_t ss_coll_bytes(enum ss_coll_op op, uint64_t count, int ranks,
                       int element)
{
    return count * (uint64_t)element * (has_parts(op) ? (uint64_t)ranks : 1);
}

double ss_coll_bus_factor(enum ss_coll_op op, int ranks)
{
    double n = ranks;

    if (op == SS_OP_COLL_ALL_REDUCE)
        return 2 * (n - 1) / n;
    return has_parts(op) ? (n - 1) / n : 1;
}
