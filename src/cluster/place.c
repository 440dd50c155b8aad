/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where this rank runs, asked of the system: cores through hwloc, the host
 * and its boot, the scheduler's word on the network. Knows nothing of devices;
 * the engine adds them.
 */
#include <hwloc.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "cluster/agree.h"
#include "cluster/hostid.h"
#include "cluster/siblings.h"
#include "cluster/topology.h"

#define MASK_WORDS 64 /* 4,096 CPUs a host */

struct mask {
    unsigned long word[MASK_WORDS];
};

static enum ss_status failed(const char *what)
{
    return ss_fail(SS_ERR_ENV, "hwloc cannot %s on this host", what);
}

/* "0-3,8-11"; cut where it does not fit, since it is only shown. */
static void list_cpus(hwloc_const_bitmap_t set, char *out, size_t size)
{
    int len = hwloc_bitmap_list_snprintf(out, size, set);
    if (len >= (int)size)
        (void)ss_copy(out + size - 4, 4, "...");
}

/* Cores that the set touches: one hardware thread is a share of a core. */
static int count_cores(hwloc_topology_t topology, hwloc_const_bitmap_t set)
{
    int cores = 0;
    hwloc_obj_t core = NULL;
    while ((core = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_CORE, core)))
        cores += hwloc_bitmap_intersects(core->cpuset, set) != 0;
    int units = hwloc_bitmap_weight(set);
    return cores > 0 ? cores : units > 0 ? units : 1;
}

static enum ss_status read_cpus(hwloc_topology_t topology, hwloc_bitmap_t set,
                                struct ss_place *out, struct mask *mask)
{
    if (hwloc_topology_load(topology) != 0)
        return failed("read the topology");
    if (hwloc_get_cpubind(topology, set, HWLOC_CPUBIND_PROCESS) != 0)
        hwloc_bitmap_copy(set, hwloc_topology_get_topology_cpuset(topology));
    hwloc_bitmap_and(set, set, hwloc_topology_get_topology_cpuset(topology));
    list_cpus(set, out->cpuset, sizeof(out->cpuset));
    out->cores = count_cores(topology, set);
    for (unsigned i = 0; i < MASK_WORDS; i++)
        mask->word[i] = hwloc_bitmap_to_ith_ulong(set, i);
    return SS_OK;
}

static enum ss_status detect_cpus(struct ss_place *out, struct mask *mask)
{
    hwloc_topology_t topology;
    if (hwloc_topology_init(&topology) != 0)
        return failed("start");
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    enum ss_status status =
        set ? read_cpus(topology, set, out, mask) : failed("allocate a cpuset");
    hwloc_bitmap_free(set);
    hwloc_topology_destroy(topology);
    return status;
}

static bool overlap(const struct mask *a, const struct mask *b)
{
    for (size_t i = 0; i < MASK_WORDS; i++)
        if (a->word[i] & b->word[i])
            return true;
    return false;
}

static enum ss_status count_sharers(struct ss_rt *host, const struct mask *mask,
                                    struct ss_place *out)
{
    size_t n = (size_t)host->size;
    struct mask *all = ss_alloc(n, sizeof(*all), "cpusets of the host");
    enum ss_status status = all ? SS_OK : SS_ERR_NO_MEMORY;
    status = ss_agree_all(host, status);
    if (status == SS_OK && all)
        status = ss_allgather_all(host, mask, sizeof(*mask), all);
    out->local_rank = host->rank;
    for (size_t i = 0; all && status == SS_OK && i < n; i++)
        out->sharers += overlap(mask, &all[i]);
    ss_free(all);
    return status;
}

enum ss_status ss_place_detect_all(struct ss_rt *rt, struct ss_place *out)
{
    struct ss_host_id id;
    struct mask mask = {{0}};
    struct ss_place place = {.mpi_rank = rt->world_rank, .device = -1};
    struct ss_rt *host = NULL;
    ss_host_identify(&id);
    ss_process_identify(&place.process);
    (void)ss_copy(place.host, sizeof(place.host), rt->host);
    (void)ss_copy(place.boot_id, sizeof(place.boot_id), id.boot_id);
    const char *block = getenv("SLURM_TOPOLOGY_ADDR");
    (void)ss_copy(place.block, sizeof(place.block), block ? block : "");
    enum ss_status status = detect_cpus(&place, &mask);
    SS_TRY(ss_agree_all(rt, status));
    status = rt->ops->split_host_all(rt, &host);
    SS_TRY_GOTO(ss_agree_all(rt, status), status, out_host);
    status = count_sharers(host, &mask, &place);
    status = ss_agree_all(rt, status);
    if (status == SS_OK)
        *out = place;
out_host:
    ss_rt_close(host);
    return status;
}
