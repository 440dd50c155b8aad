/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Aligning host clocks by least-RTT ping-pong. "One clock" is decided by boot
 * id and time namespace, not by host name: containers on one kernel share the
 * raw clock exactly, and measuring would only add error. The root serves one
 * leader a clock after the other, so that their round trips do not queue
 * behind each other. Must not know what is timed.
 */
#include "cluster/clocksync.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cluster/agree.h"
#include "cluster/hostid.h"

enum { TAG_PING = 911, TAG_PONG = 912, TAG_SAMPLE = 913 };

/* A rank and the clock it reads. Sorted: the first of a run leads it. */
struct reader {
    uint64_t clock;
    int rank, leader;
};

static int by_clock(const void *a, const void *b)
{
    const struct reader *x = a, *y = b;
    if (x->clock != y->clock)
        return x->clock < y->clock ? -1 : 1;
    return x->rank - y->rank;
}

static int by_rank(const void *a, const void *b)
{
    return ((const struct reader *)a)->rank - ((const struct reader *)b)->rank;
}

/* readers[i] is rank i, with the lowest rank of its clock as leader. */
static void find_leaders(const uint64_t *clocks, int n, struct reader *readers)
{
    for (int i = 0; i < n; i++)
        readers[i] = (struct reader){clocks[i], i, i};
    qsort(readers, (size_t)n, sizeof(*readers), by_clock);
    for (int i = 1; i < n; i++)
        if (readers[i].clock == readers[i - 1].clock)
            readers[i].leader = readers[i - 1].leader;
    qsort(readers, (size_t)n, sizeof(*readers), by_rank);
}

static enum ss_status serve(struct ss_rt *rt, int peer, int rounds)
{
    for (int i = 0; i < rounds; i++) {
        char ping;
        SS_TRY(rt->ops->recv(rt, &ping, 1, peer, TAG_PING));
        int64_t now = ss_clock_ns();
        SS_TRY(rt->ops->send(rt, &now, sizeof(now), peer, TAG_PONG));
    }
    return SS_OK;
}

/* The root read its clock between t0 and t1, so the middle is off by at most
 * half of the round trip; a first ping that waited its turn loses. */
static enum ss_status measure(struct ss_rt *rt, int rounds,
                              struct ss_clock_sample *out)
{
    int64_t best = INT64_MAX;
    for (int i = 0; i < rounds; i++) {
        char ping = 0;
        int64_t root, t0 = ss_clock_ns();
        SS_TRY(rt->ops->send(rt, &ping, 1, 0, TAG_PING));
        SS_TRY(rt->ops->recv(rt, &root, sizeof(root), 0, TAG_PONG));
        int64_t t1 = ss_clock_ns();
        if (t1 - t0 >= best)
            continue;
        best = t1 - t0;
        out->local_ns = t0 + best / 2;
        out->offset_ns = root - out->local_ns;
        out->bound_ns = best / 2 + 1;
    }
    return SS_OK;
}

static enum ss_status serve_leaders(struct ss_rt *rt, int rounds,
                                    const struct reader *readers)
{
    for (int i = 1; i < rt->size; i++)
        if (readers[i].leader == i)
            SS_TRY(serve(rt, i, rounds));
    return SS_OK;
}

static enum ss_status lead(struct ss_rt *rt, int rounds,
                           const struct reader *readers,
                           struct ss_clock_sample *out)
{
    SS_TRY(measure(rt, rounds, out));
    for (int i = rt->rank + 1; i < rt->size; i++)
        if (readers[i].leader == rt->rank)
            SS_TRY(rt->ops->send(rt, out, sizeof(*out), i, TAG_SAMPLE));
    return SS_OK;
}

static enum ss_status align(struct ss_rt *rt, int rounds,
                            const struct reader *readers,
                            struct ss_clock_sample *out)
{
    int leader = readers[rt->rank].leader;
    struct ss_clock_sample sample = {.local_ns = ss_clock_ns()};
    if (rt->rank == 0)
        SS_TRY(serve_leaders(rt, rounds, readers));
    else if (leader == rt->rank)
        SS_TRY(lead(rt, rounds, readers, &sample));
    else if (leader != 0)
        SS_TRY(rt->ops->recv(rt, &sample, sizeof(sample), leader, TAG_SAMPLE));
    *out = sample;
    return SS_OK;
}

static enum ss_status sync_all(struct ss_rt *rt, int rounds, uint64_t *clocks,
                               struct reader *readers,
                               struct ss_clock_sample *out)
{
    struct ss_host_id id;
    ss_host_identify(&id);
    uint64_t mine = ss_host_clock_word(&id);
    SS_TRY(ss_agree_all(rt, clocks && readers ? SS_OK : SS_ERR_NO_MEMORY));
    SS_TRY(ss_allgather_all(rt, &mine, sizeof(mine), clocks));
    find_leaders(clocks, rt->size, readers);
    return align(rt, rounds, readers, out);
}

enum ss_status ss_clock_sync_all(struct ss_rt *rt, int rounds,
                                 struct ss_clock_sample *out)
{
    size_t n = (size_t)rt->size;
    uint64_t *clocks = ss_alloc(n, sizeof(*clocks), "clock identities");
    struct reader *readers = ss_alloc(n, sizeof(*readers), "clock readers");
    enum ss_status status =
        sync_all(rt, rounds < 1 ? 1 : rounds, clocks, readers, out);
    ss_free(readers);
    ss_free(clocks);
    return status;
}

int64_t ss_clock_align(const struct ss_clock_map *map, int64_t local_ns)
{
    const struct ss_clock_sample *a = &map->before, *b = &map->after;
    if (local_ns <= a->local_ns || b->local_ns <= a->local_ns)
        return local_ns + a->offset_ns;
    if (local_ns >= b->local_ns)
        return local_ns + b->offset_ns;
    double share =
        (double)(local_ns - a->local_ns) / (double)(b->local_ns - a->local_ns);
    double drift = (double)(b->offset_ns - a->offset_ns) * share;
    return local_ns + a->offset_ns + (int64_t)drift;
}

int64_t ss_clock_bound(const struct ss_clock_map *map)
{
    return map->before.bound_ns > map->after.bound_ns ? map->before.bound_ns
                                                      : map->after.bound_ns;
}
