/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_CLUSTER_TOPOLOGY_H
#define SS_CLUSTER_TOPOLOGY_H

#include "cluster/rt.h"

/** A process of some host, over time (siblings.h); pid 0: not known. */
struct ss_process {
    int64_t pid;
    uint64_t start; /**< ticks since the boot */
    uint64_t space; /**< namespace of process numbers */
};

/** What one rank says of its place. Plain data, gathered over all ranks. */
struct ss_place {
    int32_t mpi_rank;
    int32_t local_rank; /**< within the shared-memory split */
    int32_t node;       /**< index in node order, set by ss_topology_* */
    int32_t device;     /**< index of the device on its node, -1: none */
    int32_t domain;     /**< index of the domain, set here */
    int32_t cores;      /**< cores of this rank's cpuset */
    int32_t sharers;    /**< ranks of this host whose cpuset overlaps, itself
                         * included: 1 = alone */
    int32_t pad;
    struct ss_process process;
    uint64_t fabric[2]; /**< NVML fabric cluster uuid hash + clique; 0: none */
    char host[64];
    char boot_id[40];
    char bus_id[24]; /**< PCI bus id of the device, "" for a CPU share */
    char uuid[48];   /**< device; "" for a CPU share */
    char device_name[64];
    char cpuset[128]; /**< list format, cut with "..." */
    char block[64];   /**< scheduler topology (SLURM_TOPOLOGY_ADDR) */
};

/** The machine as all ranks see it; `place[i]` is logical rank i. */
struct ss_topology {
    int ranks, nodes, domains;
    int min_devices;        /**< ranks on the smallest node */
    int max_domain;         /**< ranks of the largest domain */
    struct ss_place *place; /**< [ranks], owned */
    char (*node_name)[64];  /**< [nodes], owned */
};

/** This rank's place from the system (hwloc, boot id, cpuset); local except
 * for the shared-memory split. Device fields stay empty: the engine fills. */
enum ss_status ss_place_detect_all(struct ss_rt *rt, struct ss_place *out);
/**
 * Gathers all places and orders them: domain, node (scheduler topology, else
 * natural order of names), PCI bus id, MPI rank. order: SS_ORDER_* of config;
 * random uses seed. Collective; equal on all ranks.
 */
enum ss_status ss_topology_build_all(struct ss_rt *rt,
                                     const struct ss_place *mine, int order,
                                     uint64_t seed, struct ss_topology *out);
/** The pure part of it: places by MPI rank in, ordered out. */
enum ss_status ss_topology_order(const struct ss_place *places, int n,
                                 int order, uint64_t seed,
                                 struct ss_topology *out);
void ss_topology_free(struct ss_topology *topology);
/**
 * The world with logical rank = rank (a split by logical order).
 */
enum ss_status ss_topology_world_all(struct ss_rt *rt,
                                     const struct ss_topology *topology,
                                     struct ss_rt **out);
/** Nodes spanned by logical ranks [first, first + n). */
int ss_topology_nodes_of(const struct ss_topology *topology, int first, int n);

/**
 * Disjoint groups of `size` logical ranks side by side. Pass 0 packs from
 * rank 0; ranks left over form the filler group (index -1 when fewer than
 * `unit`: idle). Pass 1 (only if there are left-overs) is shifted so that the
 * last rank is covered.
 */
struct ss_grouping {
    int size;                      /**< ranks per group */
    int first;                     /**< logical rank where group 0 starts */
    int count;                     /**< groups of the curve */
    int passes;                    /**< 1 or 2 */
    int filler_first, filler_size; /**< size 0: none */
};
void ss_grouping_make(int world, int size, int unit, int pass,
                      struct ss_grouping *out);
/** Group index of a logical rank, -1 when it is in none, -2 in the filler. */
int ss_grouping_of(const struct ss_grouping *grouping, int rank);

#endif
