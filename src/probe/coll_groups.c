/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who is together in which kind of group, from the topology alone. Groups of
 * one kind are disjoint and run at once, as they do in training. Must not know
 * what runs in them.
 */
#include <string.h>

#include "probe/coll.h"

const char *ss_coll_group_name(enum ss_coll_group kind)
{
    static const char *const name[SS_COLL_GROUPS] = {
        [SS_GROUP_WORLD] = "world",
        [SS_GROUP_DOMAIN] = "domain",
        [SS_GROUP_ONE_PER_NODE] = "one_per_node",
        [SS_GROUP_RAIL] = "rail",
        [SS_GROUP_HALF] = "half",
    };
    return name[kind];
}

static bool first_of_node(const struct ss_topology *t, int rank)
{
    for (int i = 0; i < rank; i++)
        if (t->place[i].node == t->place[rank].node)
            return false;
    return true;
}

/** Ranks of the same domain before this one. */
static int rail_of(const struct ss_topology *t, int rank)
{
    int before = 0;

    for (int i = rank - 1; i >= 0; i--)
        before += t->place[i].domain == t->place[rank].domain;
    return before;
}

/** Ranks of equal color are together; -1: in no group. */
static int color_of(const struct ss_topology *t, enum ss_coll_group kind,
                    int rank)
{
    switch (kind) {
    case SS_GROUP_DOMAIN:
        return t->place[rank].domain;
    case SS_GROUP_ONE_PER_NODE:
        return first_of_node(t, rank) ? 0 : -1;
    case SS_GROUP_RAIL:
        return rail_of(t, rank);
    case SS_GROUP_HALF:
        return rank < t->ranks / 2 ? 0 : 1;
    default:
        return 0;
    }
}

/** Colors become leaders; groups of one vanish. Returns how many are left. */
static int settle(const struct ss_topology *t, enum ss_coll_group kind,
                  int *leader, int *color)
{
    int members = 0;

    for (int r = 0; r < t->ranks; r++)
        color[r] = color_of(t, kind, r);
    for (int r = 0; r < t->ranks; r++) {
        int same = 0;
        leader[r] = -1;
        for (int i = t->ranks - 1; i >= 0 && color[r] >= 0; i--)
            if (color[i] == color[r]) {
                leader[r] = i;
                same++;
            }
        if (same < 2)
            leader[r] = -1;
        members += leader[r] >= 0;
    }
    return members;
}

bool ss_coll_group_make(const struct ss_topology *topology,
                        enum ss_coll_group kind, int *leader, int *scratch)
{
    size_t bytes = (size_t)topology->ranks * sizeof(*leader);

    for (int earlier = 0; earlier < (int)kind; earlier++) {
        int *other = scratch + topology->ranks;
        settle(topology, kind, leader, scratch);
        settle(topology, (enum ss_coll_group)earlier, other, scratch);
        if (memcmp(leader, other, bytes) == 0)
            return false;
    }
    return settle(topology, kind, leader, scratch) > 0;
}
