/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Faults of RDMA ports and rails that a probe saw: ports that are down, slower
 * or narrower than their peers, that count errors; rails without traffic;
 * bytes that took sockets though ports are up. A probe knows what it sent.
 * Must not read anything: the tables are the evidence.
 */
#include <math.h>
#include <string.h>

#include "analysis/findings.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/units.h"

/** Under 0.8 of its peers: an error (DESIGN section 5). */
#define ERROR_FACTOR 1.25
/** Bytes of a node below which start-up traffic decides. */
#define ENOUGH 1e7
/** A rail is idle under this part of its node's busiest. */
#define IDLE 0.01

/** Speeds of InfiniBand: what one lane of each generation carries, and the
 * fewest lanes that are sold (HDR100 and NDR200 are half ports). From the
 * IBTA's roadmap. */
static const struct {
    const char *name;
    double lane_gbit;
    int lanes;
} generation[] = {
    {"SDR", 2.5, 4},  {"DDR", 5, 4},   {"QDR", 10, 4},
    {"FDR10", 10, 4}, {"FDR", 14, 4},  {"EDR", 25, 4},
    {"HDR", 50, 2},   {"NDR", 100, 2}, {"XDR", 200, 2},
};

static bool is_active(const struct ss_port_row *port)
{
    return strcmp(port->state, "ACTIVE") == 0;
}

static struct ss_finding *accuse(struct ss_findings *list,
                                 const struct ss_port_row *port,
                                 enum ss_finding_kind kind,
                                 enum ss_severity severity)
{
    const struct ss_run_data *run = list->run;

    for (int i = 0; i < list->n; i++) /* another pass saw it already */
        if (list->v[i].kind == kind &&
            strcmp(list->v[i].link, port->port) == 0 &&
            strcmp(list->v[i].node, run->node[port->node].name) == 0)
            return NULL;
    struct ss_finding *f = ss_findings_add(list, kind, severity);
    if (!f)
        return NULL;
    f->confidence = 1;
    ss_copy(f->node, sizeof(f->node), run->node[port->node].name);
    ss_copy(f->link, sizeof(f->link), port->port);
    return f;
}

static void judge_state(struct ss_findings *list,
                        const struct ss_port_row *port)
{
    if (is_active(port) || !port->state[0] ||
        strcmp(port->physical, "Disabled") == 0)
        return; /* somebody meant it */
    struct ss_finding *f = accuse(list, port, SS_PORT_DOWN, SS_WARNING);
    if (!f)
        return;
    ss_copy(f->value, sizeof(f->value), port->state);
    ss_format(f->evidence, sizeof(f->evidence),
              "port %s of %s is %s (physically: %s)", port->port, f->node,
              port->state, port->physical[0] ? port->physical : "not known");
    ss_copy(f->advice, sizeof(f->advice),
            strcmp(port->state, "DOWN") == 0
                ? "look at the cable and the switch, or disable the port"
                : "see why no subnet manager has brought it up");
}

static void judge_errors(struct ss_findings *list,
                         const struct ss_port_row *port)
{
    struct ss_finding *f = port->error_count > 0
                               ? accuse(list, port, SS_PORT_ERRORS, SS_WARNING)
                               : NULL;

    if (!f)
        return;
    ss_format(f->value, sizeof(f->value), "%llu",
              (unsigned long long)port->error_count);
    ss_format(f->evidence, sizeof(f->evidence),
              "error counters of port %s on %s rose during the probe: %s",
              port->port, f->node, port->errors);
    ss_copy(f->advice, sizeof(f->advice),
            "reseat or replace cable and transceiver; errors under load only "
            "are a bad cable more often than a bad adapter");
}

/** The rate that a port of its generation has at least; 0: not known. */
static double least_rate(const struct ss_port_row *port)
{
    const char *close = strchr(port->rate, ')');

    for (size_t i = 0; close && i < SS_COUNT_OF(generation); i++) {
        size_t n = strlen(generation[i].name);
        if ((size_t)(close - port->rate) > n && close[-(long)n - 1] == ' ' &&
            strncmp(close - n, generation[i].name, n) == 0)
            return generation[i].lane_gbit * generation[i].lanes;
    }
    return 0;
}

/** The best rate of this port on other nodes, or of the ports beside it. */
static double peer_rate(const struct ss_point_data *point,
                        const struct ss_port_row *port, const char **who)
{
    double same = 0, beside = 0;

    for (int i = 0; i < point->n_ports; i++) {
        const struct ss_port_row *other = &point->port[i];
        bool here = other->node == port->node;
        if (!is_active(other))
            continue;
        if (!here && strcmp(other->port, port->port) == 0)
            same = fmax(same, other->gbit);
        if (here)
            beside = fmax(beside, other->gbit);
    }
    *who = same > 0 ? "the same port of other nodes" : "ports beside it";
    return same > 0 ? same : beside;
}

static void judge_rate(struct ss_findings *list,
                       const struct ss_point_data *point,
                       const struct ss_port_row *port)
{
    const char *who = "";
    double peers = peer_rate(point, port, &who);
    double least = least_rate(port);

    if (!is_active(port) || !(port->gbit > 0))
        return;
    if (least > peers) {
        peers = least;
        who = "ports of its generation";
    }
    bool narrow =
        port->pcie_lanes > 0 && port->pcie_lanes < port->pcie_lanes_most;
    double factor = peers / port->gbit;
    if (narrow)
        factor = fmax(factor, (double)port->pcie_lanes_most / port->pcie_lanes);
    if (factor < 1.01)
        return;
    struct ss_finding *f =
        accuse(list, port, SS_PORT_RATE,
               factor > ERROR_FACTOR && !narrow ? SS_ERROR : SS_WARNING);
    if (!f)
        return;
    f->factor = factor;
    ss_copy(f->value, sizeof(f->value), port->rate);
    if (peers / port->gbit >= 1.01)
        ss_format(f->evidence, sizeof(f->evidence),
                  "port %s of %s runs at %s, %s at %g Gb/s", port->port,
                  f->node, port->rate, who, peers);
    else
        ss_format(f->evidence, sizeof(f->evidence),
                  "the adapter of port %s on %s has %d of %d PCIe lanes",
                  port->port, f->node, port->pcie_lanes, port->pcie_lanes_most);
    ss_copy(f->advice, sizeof(f->advice),
            narrow ? "reseat the adapter, or look at its slot"
                   : "a lane may be dead or the link trained down: reseat or "
                     "replace the cable, then reset the port");
}

/* --- what went where ------------------------------------------------------ */

struct node_bytes {
    double payload;       /* that the probe sent to other nodes */
    double sockets, rdma; /* that left */
    double busiest;       /* port */
    int active;
    char interface[32], ports[64];
};

static void add_payload(const struct ss_point_data *point, int nodes,
                        struct node_bytes *v)
{
    for (int64_t i = 0; i < point->n_pairs; i++) {
        const struct ss_pair_row *row = &point->pair[i];
        double bytes = (double)row->bytes * (double)row->messages;
        if (strcmp(row->level, "node") != 0 || row->a >= nodes ||
            row->b >= nodes)
            continue;
        v[row->a].payload += bytes;
        if (strcmp(row->direction, "one_way") != 0)
            v[row->b].payload += bytes;
    }
}

static void add_counters(const struct ss_point_data *point, int nodes,
                         struct node_bytes *v)
{

    for (int i = 0; i < point->n_nets; i++) {
        const struct ss_net_row *row = &point->net[i];
        double bytes = (double)row->tx_bytes;
        if (row->node >= nodes || strcmp(row->interface, "lo") == 0)
            continue;
        struct node_bytes *node = &v[row->node];
        bool rdma = strcmp(row->kind, "rdma") == 0;
        if (rdma) {
            node->rdma += bytes;
            node->busiest = fmax(node->busiest, bytes);
            continue;
        }
        /* bridges and bonds count the same bytes again: the busiest */

        if (bytes > node->sockets) {
            node->sockets = bytes;
            ss_copy(node->interface, sizeof(node->interface), row->interface);
        }
    }
}

static void add_ports(const struct ss_point_data *point, struct node_bytes *v)
{
    for (int i = 0; i < point->n_ports; i++) {
        struct node_bytes *node = &v[point->port[i].node];
        size_t used = strlen(node->ports);
        if (!is_active(&point->port[i]))
            continue;
        node->active++;
        ss_format(node->ports + used, sizeof(node->ports) - used, "%s%s",
                  used ? " " : "", point->port[i].port);
    }
}

static void judge_idle(struct ss_findings *list,
                       const struct ss_point_data *point,
                       const struct node_bytes *v)
{
    char most[24], least[24];

    for (int i = 0; i < point->n_ports; i++) {
        const struct ss_port_row *port = &point->port[i];
        const struct node_bytes *node = &v[port->node];
        double sent = NAN;
        for (int k = 0; k < point->n_nets; k++)
            if (point->net[k].node == port->node &&
                strcmp(point->net[k].interface, port->port) == 0)
                sent = (double)point->net[k].tx_bytes;
        if (!is_active(port) || node->busiest < ENOUGH ||
            !(sent < IDLE * node->busiest))
            continue;
        struct ss_finding *f = accuse(list, port, SS_IDLE_RAIL, SS_WARNING);
        if (!f)
            continue;
        ss_copy(f->rail, sizeof(f->rail), port->port);
        ss_format(f->evidence, sizeof(f->evidence),
                  "port %s of %s is active and sent %s, while the busiest port "
                  "beside it sent %s",
                  port->port, f->node,
                  ss_format_bytes(sent, least, sizeof(least)),
                  ss_format_bytes(node->busiest, most, sizeof(most)));
        ss_copy(f->advice, sizeof(f->advice),
                "see whether the library was told to use it: NCCL_IB_HCA, "
                "UCX_NET_DEVICES, UCX_MAX_RNDV_RAILS, affinity of the ranks");
    }
}

static void judge_fallback(struct ss_findings *list, const struct node_bytes *v,
                           int nodes)
{
    char payload[24], sockets[24], rdma[24];

    for (int n = 0; n < nodes; n++) {
        const struct node_bytes *node = &v[n];
        if (node->active == 0 || node->payload < ENOUGH ||
            node->sockets < node->payload / 2 ||
            node->rdma > node->sockets / 10)
            continue;
        struct ss_finding *f =
            ss_findings_add(list, SS_SOCKET_FALLBACK, SS_ERROR);
        if (!f)
            return;
        f->confidence = 1;
        ss_copy(f->node, sizeof(f->node), list->run->node[n].name);
        ss_copy(f->link, sizeof(f->link), node->interface);
        ss_format(
            f->evidence, sizeof(f->evidence),
            "%s sent %s of payload: %s left by %s, a socket's interface, "
            "and %s by RDMA, though %d ports are active: %s",
            f->node, ss_format_bytes(node->payload, payload, sizeof(payload)),
            ss_format_bytes(node->sockets, sockets, sizeof(sockets)),
            node->interface, ss_format_bytes(node->rdma, rdma, sizeof(rdma)),
            node->active, node->ports);
        ss_copy(f->advice, sizeof(f->advice),
                "see why the library does not use RDMA: UCX_TLS, OMPI_MCA_pml "
                "and btl, NCCL_IB_DISABLE, ulimit -l, devices in a container");
    }
}

static enum ss_status judge_bytes(struct ss_findings *list)
{
    const struct ss_run_data *run = list->run;
    int nodes = run->n_nodes;
    struct node_bytes *v =
        ss_alloc((size_t)nodes, sizeof(*v), "bytes of nodes");
    const struct ss_point_data *last = NULL;

    if (!v)
        return SS_ERR_NO_MEMORY;
    for (int p = 0; p < run->n_points; p++) {
        const struct ss_point_data *point = &run->point[p];
        if (point->n_ports == 0)
            continue;
        add_payload(point, nodes, v);
        add_counters(point, nodes, v);
        if (point->n_pairs > 0)
            judge_idle(list, point, v);
        last = point;
    }
    if (last)
        add_ports(last, v);
    judge_fallback(list, v, nodes);
    ss_free(v);
    return SS_OK;
}

enum ss_status ss_find_ports(struct ss_findings *list)
{
    const struct ss_run_data *run = list->run;

    for (int p = 0; p < run->n_points; p++)
        for (int i = 0; i < run->point[p].n_ports; i++) {
            const struct ss_port_row *port = &run->point[p].port[i];
            judge_state(list, port);
            judge_rate(list, &run->point[p], port);
            judge_errors(list, port);
        }
    return judge_bytes(list);
}
