/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RDMA is there, and the bytes went over sockets: the quietest way to lose
 * most of a network. Three witnesses are held against each other: what the
 * plan sends to other nodes, what network devices sent, what RDMA ports sent.
 * Where a node has no active port, nothing is said. Pure; must not know how
 * the counters were read.
 */
#include "analysis/socket_fallback.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/units.h"

#define MOST 0.5
#define ENOUGH 1e7 /* bytes: below it, start-up traffic decides */

bool ss_is_socket_fallback(const struct ss_node_bytes *node)
{
    double rdma = node->rdma > node->sockets ? node->rdma - node->sockets : 0;
    return node->active > 0 && node->planned >= ENOUGH &&
           node->sockets >= MOST * node->planned && node->sockets > rdma;
}

/* Steps that communicated, of those that are stored: a part of all. */
static double steps_of(const struct ss_point_data *point)
{
    double steps = 0;
    for (int b = 0; b < point->n_blocks; b++)
        if (point->block[b].variant != SS_COMPUTE_ONLY)
            steps += point->block[b].steps + 1;
    return steps;
}

static void add_plan(const struct ss_run_data *run,
                     const struct ss_point_data *point,
                     struct ss_node_bytes *node)
{
    double steps = steps_of(point);
    for (int r = 0; r < point->n_ranks && r < run->n_ranks; r++) {
        int at = run->rank[r].node;
        double bytes = point->rank[r].between_bytes;
        if (at >= 0 && at < run->n_nodes && isfinite(bytes))
            node[at].planned += steps * bytes;
    }
}

static void add_port(const struct ss_net_row *row, struct ss_node_bytes *node)
{
    size_t used = strlen(node->ports);
    node->rdma += (double)row->tx_bytes;
    if (row->active != 1 || strstr(node->ports, row->interface))
        return;
    node->active++;
    (void)ss_format(node->ports + used, sizeof(node->ports) - used, "%s%s",
                    used ? " " : "", row->interface);
}

static bool is_busier(const struct ss_net_row *a, const struct ss_net_row *b)
{
    if (a->physical != b->physical)
        return a->physical > b->physical;
    return a->tx_bytes > b->tx_bytes;
}

/* Hardware adds up. Without any that is known, as in a virtual machine, the
 * busiest device stands for the bridges and tunnels that count it again. */
static void add_sockets(const struct ss_point_data *point, int at,
                        struct ss_node_bytes *node)
{
    const struct ss_net_row *busiest = NULL;
    double physical = 0;
    for (int i = 0; i < point->n_nets; i++) {
        const struct ss_net_row *row = &point->net[i];
        if (row->node != at || strcmp(row->kind, "net") != 0 ||
            strcmp(row->interface, "lo") == 0)
            continue;
        physical += row->physical == 1 ? (double)row->tx_bytes : 0;
        if (!busiest || is_busier(row, busiest))
            busiest = row;
    }
    if (!busiest)
        return;
    node->sockets += physical > 0 ? physical : (double)busiest->tx_bytes;
    (void)ss_copy(node->interface, sizeof(node->interface), busiest->interface);
}

void ss_node_bytes_sum(const struct ss_run_data *run,
                       struct ss_node_bytes *node)
{
    for (int p = 0; p < run->n_points; p++) {
        const struct ss_point_data *point = &run->point[p];
        if (point->meta.nodes < 2)
            continue;
        add_plan(run, point, node);
        for (int i = 0; i < point->n_nets; i++)
            if (strcmp(point->net[i].kind, "rdma") == 0 &&
                point->net[i].node < run->n_nodes)
                add_port(&point->net[i], &node[point->net[i].node]);
        for (int n = 0; n < run->n_nodes; n++)
            add_sockets(point, n, &node[n]);
    }
}

static void add_finding(struct ss_findings *list,
                        const struct ss_node_bytes *node, int worst, int nodes)
{
    const struct ss_run_data *run = list->run;
    struct ss_finding *f = ss_findings_add(list, SS_SOCKET_FALLBACK, SS_ERROR);
    const struct ss_node_bytes *w = &node[worst];
    char sockets[24], rdma[24], planned[24];
    if (!f)
        return;
    f->confidence = 1;
    if (nodes == 1)
        (void)ss_copy(f->node, sizeof(f->node), run->node[worst].name);
    (void)ss_copy(f->link, sizeof(f->link), w->ports);
    (void)ss_copy(f->value, sizeof(f->value), w->interface);
    (void)ss_format(
        f->evidence, sizeof(f->evidence),
        "%s sent %s over sockets (most by %s) and %s by RDMA ports, where the "
        "plan sends at least %s to other nodes; %d RDMA port%s active there: "
        "%s; so on %d of %d nodes",
        run->node[worst].name,
        ss_format_bytes(w->sockets, sockets, sizeof(sockets)), w->interface,
        ss_format_bytes(w->rdma, rdma, sizeof(rdma)),
        ss_format_bytes(w->planned, planned, sizeof(planned)), w->active,
        w->active == 1 ? " is" : "s are", w->ports, nodes, run->n_nodes);
    (void)ss_copy(f->advice, sizeof(f->advice),
                  "see why the library does not use RDMA: NCCL_IB_DISABLE, "
                  "NCCL_IB_HCA, NCCL_NET and its plugins, UCX_TLS, memory "
                  "limits (ulimit -l), devices inside a container");
}

enum ss_status ss_find_socket_fallback(struct ss_findings *list)
{
    const struct ss_run_data *run = list->run;
    struct ss_node_bytes *node =
        ss_alloc((size_t)run->n_nodes, sizeof(*node), "bytes of nodes");
    int worst = -1, nodes = 0;
    if (!node)
        return SS_ERR_NO_MEMORY;
    ss_node_bytes_sum(run, node);
    for (int n = 0; n < run->n_nodes; n++) {
        if (!ss_is_socket_fallback(&node[n]))
            continue;
        nodes++;
        if (worst < 0 || node[n].sockets > node[worst].sockets)
            worst = n;
    }
    if (nodes > 0)
        add_finding(list, node, worst, nodes);
    ss_free(node);
    return SS_OK;
}
