/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Groups of equal size side by side on the logical ranks, and what is left
 * over: arithmetic only.
 */
#include "cluster/topology.h"

void ss_grouping_make(int world, int size, int unit, int pass,
                      struct ss_grouping *out)
{
    SS_ASSERT(world > 0 && size > 0 && unit > 0);
    int count = world / size;
    int left = world - count * size;
    int filler = count > 0 ? left / unit * unit : 0;
    *out = (struct ss_grouping){.size = size, .count = count};
    out->passes = count > 0 && left > 0 ? 2 : 1;
    out->first = pass > 0 && out->passes == 2 ? left : 0;
    out->filler_first = out->first > 0 ? 0 : count * size;
    out->filler_size = filler;
}

int ss_grouping_of(const struct ss_grouping *grouping, int rank)
{
    int in_groups = rank - grouping->first;
    int in_filler = rank - grouping->filler_first;
    if (in_groups >= 0 && in_groups < grouping->count * grouping->size)
        return in_groups / grouping->size;
    return in_filler >= 0 && in_filler < grouping->filler_size ? -2 : -1;
}

/* In topology order nodes ascend and a change is a new node; in another order
 * a rank counts when nobody before it is on its node. */
int ss_topology_nodes_of(const struct ss_topology *topology, int first, int n)
{
    int nodes = 0, highest = -1;
    for (int i = first; i < first + n; i++) {
        int node = topology->place[i].node;
        bool seen = node <= highest;
        if (seen && node < highest) {
            seen = false;
            for (int j = first; j < i && !seen; j++)
                seen = topology->place[j].node == node;
        }
        highest = node > highest ? node : highest;
        nodes += !seen;
    }
    return nodes;
}
