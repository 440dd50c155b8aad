/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The conformance cases of what stands on the runtime table: agreement, clocks,
 * the logical world. The same rules as in rt_cases.c.
 */
#include <stdio.h>
#include <string.h>

#include "cluster/agree.h"
#include "cluster/clocksync.h"
#include "cluster/topology.h"
#include "support/rt_cases.h"

enum ss_status rt_case_agreement(struct ss_rt *rt, void *arg)
{
    (void)arg;
    char expected[SS_ERROR_TEXT_MAX];
    int last = rt->size - 1;
    SS_TRY(ss_agree_all(rt, SS_OK));
    enum ss_status mine =
        rt->rank == last ? ss_fail(SS_ERR_ENV, "cold") : SS_OK;
    RT_CHECK(ss_agree_all(rt, mine) == SS_ERR_ENV);
    (void)snprintf(expected, sizeof(expected), "rank %d on ", last);
    /* alone, "all ranks" failed: no rank is named */
    RT_CHECK((strncmp(ss_error_text(), expected, strlen(expected)) == 0) ==
             (last > 0));
    RT_CHECK(strstr(ss_error_text(), last ? ": cold" : "cold"));
    RT_CHECK(!strstr(ss_error_text(), "more"));
    /* An agreed text is agreed again without growing. */
    memcpy(expected, ss_error_text(), strlen(ss_error_text()) + 1);
    RT_CHECK(ss_agree_all(rt, SS_ERR_ENV) == SS_ERR_ENV);
    RT_CHECK(strcmp(expected, ss_error_text()) == 0);
    /* What all ranks say alike is said once, of nobody. */
    mine = ss_fail(SS_ERR_CONFIG, "typo");
    RT_CHECK(ss_agree_all(rt, mine) == SS_ERR_CONFIG);
    RT_CHECK(strcmp(ss_error_text(), "typo") == 0);
    /* The higher status wins; the lowest rank of it speaks. */
    mine = rt->rank == 0 ? ss_fail(SS_ERR_IO, "disk")
                         : ss_fail(SS_ERR_CONFIG, "word %d", rt->rank);
    RT_CHECK(ss_agree_all(rt, mine) == (last ? SS_ERR_CONFIG : SS_ERR_IO));
    RT_CHECK(strstr(ss_error_text(), last ? ": word 1" : "disk"));
    RT_CHECK((strstr(ss_error_text(), "(and 2 more ranks)") != NULL) ==
             (last == 3));
    RT_CHECK((strstr(ss_error_text(), "(and 1 more rank)") != NULL) ==
             (last == 2));
    return SS_OK;
}

enum ss_status rt_case_words(struct ss_rt *rt, void *arg)
{
    (void)arg;
    SS_TRY(ss_agree_word_all(rt, 42, "config"));
    if (rt->size == 1)
        return SS_OK;
    uint64_t word = rt->rank == 1 ? 0x17 : 0x42;
    RT_CHECK(ss_agree_word_all(rt, word, "config") == SS_ERR_CONFIG);
    RT_CHECK(strncmp(ss_error_text(), "rank 1 on ", 10) == 0);
    RT_CHECK(strstr(ss_error_text(),
                    ": another config (0x0000000000000017, rank 0 has "
                    "0x0000000000000042)"));
    return SS_OK;
}

/* One machine, one clock: exact, whatever the host names say. */
enum ss_status rt_case_clocks(struct ss_rt *rt, void *arg)
{
    (void)arg;
    struct ss_clock_map map;
    SS_TRY(ss_clock_sync_all(rt, 64, &map.before));
    SS_TRY(ss_clock_sync_all(rt, 64, &map.after));
    RT_CHECK(map.before.offset_ns == 0 && map.before.bound_ns == 0);
    RT_CHECK(ss_clock_bound(&map) == 0);
    RT_CHECK(ss_clock_align(&map, 12345) == 12345);
    return SS_OK;
}

enum ss_status rt_case_logical_world(struct ss_rt *rt, void *arg)
{
    (void)arg;
    struct ss_place place = {.mpi_rank = rt->world_rank, .device = -1};
    struct ss_topology topology;
    struct ss_rt *world;
    memcpy(place.host, rt->host, sizeof(place.host));
    /* The device addresses run against the ranks. */
    (void)snprintf(place.bus_id, sizeof(place.bus_id), "0000:%04x",
                   (unsigned)(rt->size - rt->rank));
    SS_TRY(ss_topology_build_all(rt, &place, 0, 0, &topology));
    RT_CHECK(topology.ranks == rt->size);
    SS_TRY(ss_topology_world_all(rt, &topology, &world));
    RT_CHECK(topology.place[world->rank].mpi_rank == rt->world_rank);
    RT_CHECK(world->world_rank == rt->world_rank);
    if (topology.nodes == 1)
        RT_CHECK(world->rank == rt->size - 1 - rt->rank);
    ss_rt_close(world);
    ss_topology_free(&topology);
    return SS_OK;
}

enum ss_status rt_case_own_place(struct ss_rt *rt, void *arg)
{
    (void)arg;
    struct ss_place place;
    if (rt->size > 8) /* each rank asks the system */
        return SS_OK;
    SS_TRY(ss_place_detect_all(rt, &place));
    RT_CHECK(place.mpi_rank == rt->world_rank && place.cores >= 1);
    RT_CHECK(place.sharers >= 1 && place.sharers <= rt->size);
    RT_CHECK(strcmp(place.host, rt->host) == 0 && place.cpuset[0]);
    RT_CHECK(place.device == -1 && place.boot_id[0]);
    return SS_OK;
}
