/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_ANALYSIS_SOCKET_FALLBACK_H
#define SS_ANALYSIS_SOCKET_FALLBACK_H

#include "analysis/findings.h"

/** One node's bytes over all points that span nodes. */
struct ss_node_bytes {
    double planned;     /**< that it had to send to others, at least */
    double sockets;     /**< sent by network devices */
    double rdma;        /**< sent by RDMA ports, all of it */
    int active;         /**< RDMA ports that are up */
    char ports[64];     /**< their names, as far as they fit */
    char interface[32]; /**< of the network device that sent most */
};
/** Pure: did most of the plan's bytes go over sockets although RDMA ports are
 * up? Traffic of a socket may itself be seen at a port (IPoIB, RoCE): a port
 * carried only what it sent beyond that. */
bool ss_is_socket_fallback(const struct ss_node_bytes *node);
/** Adds what the points' counters say of every node to node[run->n_nodes]. */
void ss_node_bytes_sum(const struct ss_run_data *run,
                       struct ss_node_bytes *node);
/** The finding socket_fallback, one for all nodes. */
enum ss_status ss_find_socket_fallback(struct ss_findings *list);

#endif
