/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Logical ranks: a total order of the places that does not depend on how the
 * launcher mapped them. Pure apart from the two _all functions at the end.
 * Works on small keys (node, domain) found once by sorting, so that 10,000
 * ranks take milliseconds and names are compared once a node.
 */
#include "cluster/topology.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/random.h"
#include "base/str.h"
#include "cluster/agree.h"
#include "cluster/hostid.h"

enum { ORDER_TOPOLOGY, ORDER_LAUNCHER, ORDER_RANDOM }; /* as in config */

/* One rank while it is being sorted. */
struct item {
    const struct ss_place *place;
    uint64_t host; /* hash of name and boot */
    int node;      /* place in node order */
    int domain;    /* place in domain order */
    uint64_t fabric[2];
    bool lone; /* no fabric: the node is its own domain */
};

static int compare_int(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int compare_word(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int compare_host(const struct item *a, const struct item *b)
{
    int order = compare_word(a->host, b->host);
    order = order ? order : strcmp(a->place->host, b->place->host);
    return order ? order : strcmp(a->place->boot_id, b->place->boot_id);
}

static int by_host(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    int order = compare_host(x, y);
    return order ? order : compare_int(x->place->mpi_rank, y->place->mpi_rank);
}

/* The order of nodes that people expect: switches, then n9 before n10. */
static int by_name(const void *a, const void *b)
{
    const struct ss_place *x = (*(struct item *const *)a)->place;
    const struct ss_place *y = (*(struct item *const *)b)->place;
    int order = ss_natural_compare(x->block, y->block);
    order = order ? order : ss_natural_compare(x->host, y->host);
    order = order ? order : strcmp(x->host, y->host);
    return order ? order : strcmp(x->boot_id, y->boot_id);
}

static int compare_fabric(const struct item *a, const struct item *b)
{
    int order = compare_int(a->lone, b->lone);
    order = order ? order : compare_word(a->fabric[0], b->fabric[0]);
    return order ? order : compare_word(a->fabric[1], b->fabric[1]);
}

static int by_fabric(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    int order = compare_fabric(x, y);
    return order ? order : compare_int(x->node, y->node);
}

/* Domains in the order of their first node; two on one node by their key. */
static int by_first_node(const void *a, const void *b)
{
    const struct item *x = *(struct item *const *)a;
    const struct item *y = *(struct item *const *)b;
    int order = compare_int(x->node, y->node);
    return order ? order : compare_fabric(x, y);
}

static int by_place(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    int order = compare_int(x->domain, y->domain);
    order = order ? order : compare_int(x->node, y->node);
    order = order ? order : strcasecmp(x->place->bus_id, y->place->bus_id);
    return order ? order : compare_int(x->place->mpi_rank, y->place->mpi_rank);
}

static int by_mpi_rank(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    return compare_int(x->place->mpi_rank, y->place->mpi_rank);
}

typedef int (*compare_fn)(const void *, const void *);

/* Sorts so that equal items stand together in runs, and the first of each run
 * into `first`, ordered by `heads`. Returns the number of runs. */
static int number_runs(struct item *items, int n, struct item **first,
                       compare_fn sort, compare_fn heads,
                       int (*same)(const struct item *, const struct item *))
{
    int runs = 0;
    qsort(items, (size_t)n, sizeof(*items), sort);
    for (int i = 0; i < n; i++)
        if (i == 0 || same(&items[i - 1], &items[i]) != 0)
            first[runs++] = &items[i];
    qsort(first, (size_t)runs, sizeof(struct item *), heads);
    return runs;
}

static void number_nodes(struct item *items, int n, struct item **first)
{
    int nodes = number_runs(items, n, first, by_host, by_name, compare_host);
    for (int node = 0; node < nodes; node++) {
        const struct item *end = items + n;
        for (struct item *at = first[node]; at < end; at++) {
            if (compare_host(at, first[node]) != 0)
                break;
            at->node = node;
        }
    }
    for (int i = 0; i < n; i++)
        if (items[i].lone)
            items[i].fabric[0] = (uint64_t)items[i].node;
}

static int number_domains(struct item *items, int n, struct item **first)
{
    int domains =
        number_runs(items, n, first, by_fabric, by_first_node, compare_fabric);
    for (int domain = 0; domain < domains; domain++) {
        const struct item *end = items + n;
        for (struct item *at = first[domain]; at < end; at++) {
            if (compare_fabric(at, first[domain]) != 0)
                break;
            at->domain = domain;
        }
    }
    return domains;
}

/* Sorted by place: nodes get their index by first appearance. */
static int renumber_nodes(struct item *items, int n, int *index)
{
    int nodes = 0;
    memset(index, -1, (size_t)n * sizeof(*index));
    for (int i = 0; i < n; i++) {
        int *at = &index[items[i].node];
        *at = *at < 0 ? nodes++ : *at;
        items[i].node = *at;
    }
    return nodes;
}

static void reorder(struct item *items, int n, int order, uint64_t seed,
                    int *index)
{
    struct ss_random random;
    for (int i = 0; i < n; i++)
        index[i] = i;
    if (order == ORDER_LAUNCHER)
        qsort(items, (size_t)n, sizeof(*items), by_mpi_rank);
    if (order != ORDER_RANDOM)
        return;
    ss_random_seed(&random, seed);
    ss_random_shuffle(&random, index, (size_t)n);
}

static int extreme_count(int *counts, int n, bool largest)
{
    int best = n > 0 ? counts[0] : 0;
    for (int i = 1; i < n; i++)
        if (largest ? counts[i] > best : counts[i] < best)
            best = counts[i];
    return best;
}

/* Fills out->place in the final order, and the counts. */
static void emit(const struct item *items, int *index, struct ss_topology *out)
{
    int n = out->ranks;
    for (int i = 0; i < n; i++) {
        const struct item *item = &items[index[i]];
        out->place[i] = *item->place;
        out->place[i].node = item->node;
        out->place[i].domain = item->domain;
        (void)ss_copy(out->node_name[item->node], 64, item->place->host);
    }
    memset(index, 0, (size_t)n * sizeof(*index));
    for (int i = 0; i < n; i++)
        index[out->place[i].node]++;
    out->min_devices = extreme_count(index, out->nodes, false);
    memset(index, 0, (size_t)n * sizeof(*index));
    for (int i = 0; i < n; i++)
        index[out->place[i].domain]++;
    out->max_domain = extreme_count(index, out->domains, true);
}

static enum ss_status order_items(struct item *items, struct item **first,
                                  int *index, int order, uint64_t seed,
                                  struct ss_topology *out)
{
    int n = out->ranks;
    number_nodes(items, n, first);
    out->domains = number_domains(items, n, first);
    qsort(items, (size_t)n, sizeof(*items), by_place);
    out->nodes = renumber_nodes(items, n, index);
    out->place = ss_alloc((size_t)n, sizeof(*out->place), "places");
    out->node_name =
        ss_alloc((size_t)out->nodes, sizeof(*out->node_name), "node names");
    if (!out->place || !out->node_name) {
        ss_topology_free(out);
        return SS_ERR_NO_MEMORY;
    }
    reorder(items, n, order, seed, index);
    emit(items, index, out);
    return SS_OK;
}

enum ss_status ss_topology_order(const struct ss_place *places, int n,
                                 int order, uint64_t seed,
                                 struct ss_topology *out)
{
    struct ss_topology made = {.ranks = n};
    size_t count = (size_t)n;
    struct item *items = ss_alloc(count, sizeof(*items), "places to sort");
    struct item **first =
        ss_alloc(count, sizeof(struct item *), "nodes to sort");
    int *index = ss_alloc(count, sizeof(*index), "an order of ranks");
    enum ss_status status = SS_ERR_NO_MEMORY;
    if (items && first && index) {
        for (int i = 0; i < n; i++) {
            const struct ss_place *place = &places[i];
            uint64_t boot = ss_host_hash(place->boot_id, 0);
            items[i] = (struct item){
                .place = place,
                .host = ss_host_hash(place->host, boot),
                .fabric = {place->fabric[0], place->fabric[1]},
                .lone = place->fabric[0] == 0 && place->fabric[1] == 0};
        }
        status = order_items(items, first, index, order, seed, &made);
    }
    if (status == SS_OK)
        *out = made;
    ss_free(index);
    ss_free(first);
    ss_free(items);
    return status;
}

void ss_topology_free(struct ss_topology *topology)
{
    ss_free(topology->place);
    ss_free(topology->node_name);
    *topology = (struct ss_topology){0};
}

enum ss_status ss_topology_build_all(struct ss_rt *rt,
                                     const struct ss_place *mine, int order,
                                     uint64_t seed, struct ss_topology *out)
{
    struct ss_topology made = {0};
    struct ss_place *all =
        ss_alloc((size_t)rt->size, sizeof(*all), "places of all ranks");
    enum ss_status status = all ? SS_OK : SS_ERR_NO_MEMORY;
    SS_TRY_GOTO(ss_agree_all(rt, status), status, out_all);
    SS_ASSERT(all);
    status = ss_allgather_all(rt, mine, sizeof(*mine), all);
    if (status == SS_OK)
        status = ss_topology_order(all, rt->size, order, seed, &made);
    status = ss_agree_all(rt, status);
    if (status == SS_OK)
        *out = made;
    else
        ss_topology_free(&made);
out_all:
    ss_free(all);
    return status;
}

enum ss_status ss_topology_world_all(struct ss_rt *rt,
                                     const struct ss_topology *topology,
                                     struct ss_rt **out)
{
    int key = 0;
    while (key < topology->ranks &&
           topology->place[key].mpi_rank != rt->world_rank)
        key++;
    struct ss_rt *world = NULL;
    enum ss_status status = ss_split_all(rt, 0, key, &world);
    status = ss_agree_all(rt, status);
    if (status != SS_OK) {
        ss_rt_close(world);
        return status;
    }
    world->logical = key + 1;
    *out = world;
    return SS_OK;
}
