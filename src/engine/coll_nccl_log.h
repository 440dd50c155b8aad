/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_ENGINE_COLL_NCCL_LOG_H
#define SS_ENGINE_COLL_NCCL_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "store/schema.h"

/** Devices of one network, as NCCL numbers them, and which of them are used. */
struct ss_nccl_net {
    char kind[16];       /**< IB, RoCE, Socket, or a plugin's name */
    char device[32][24]; /**< mlx5_0, eth0; "" where the log names none */
    uint32_t used;       /**< bit i: a connection goes over device i */
};

/** Connections by what carries them, as NCCL's own log reports them. */
struct ss_nccl_paths {
    int p2p;    /**< between devices: NVLink or PCIe */
    int shm;    /**< through memory of the host */
    int rdma;   /**< RDMA between network card and device (GPUDirect) */
    int bounce; /**< RDMA through memory of the host */
    int socket;
    int other;
    bool nvlink;                     /**< the node has it */
    struct ss_nccl_net sockets, net; /**< net: whatever is no socket */
};

/** Pure: adds what a log says. */
void ss_nccl_log_parse(const char *text, struct ss_nccl_paths *paths);
/** Pure: one row a kind of which there are more than `before` (NULL: none);
 * returns how many, at most SS_NCCL_PATHS. */
#define SS_NCCL_PATHS 6
int ss_nccl_paths_rows(const struct ss_nccl_paths *paths,
                       const struct ss_nccl_paths *before,
                       struct ss_path_row *rows);

#endif
