/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_ENGINE_COLL_NCCL_LOG_H
#define SS_ENGINE_COLL_NCCL_LOG_H

#include <stddef.h>

/** Connections by what carries them, as NCCL's own log reports them. */
struct ss_nccl_paths {
    int p2p;    /**< between devices: NVLink or PCIe */
    int shm;    /**< through memory of the host */
    int rdma;   /**< RDMA between network card and device (GPUDirect) */
    int bounce; /**< RDMA through memory of the host */
    int socket;
    int other;
};

/** Pure: adds what a log says. */
void ss_nccl_log_parse(const char *text, struct ss_nccl_paths *paths);
/** "24 P2P, 8 RDMA with GPUDirect, 2 sockets"; "" when there is none. */
void ss_nccl_paths_text(const struct ss_nccl_paths *paths, char *out,
                        size_t size);

#endif
