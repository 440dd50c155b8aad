/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_HEALTH_LOCAL_H
#define SS_HEALTH_LOCAL_H

#include <stdbool.h>

#include "base/status.h"

/** How bad: Nagios has the same three. */
enum ss_level { SS_LEVEL_OK, SS_LEVEL_WARNING, SS_LEVEL_CRITICAL };

/** What was looked at, and what was found. */
struct ss_local_row {
    enum ss_level level;
    char what[16];  /**< port, link, gpu, memlock, shm */
    char text[176]; /**< "mlx5_0/1 is DOWN; ..." */
};
struct ss_local {
    int n, n_gpus, n_ports;
    struct ss_local_row *row; /**< owned; in the order looked at */
    bool starved;             /**< memory ran out while looking */
};

/** Where to look; tests plant trees. */
struct ss_local_places {
    const char *sys;    /**< "/sys" */
    const char *shm;    /**< "/dev/shm" */
    double memlock;     /**< soft limit in bytes, INFINITY: none */
    double shm_minimum; /**< bytes free below which it is critical; 0: 64 MB */
    /** Does the driver see the GPU at this PCI address? */
    bool (*gpu_answers)(const char *bus_id);
};

/**
 * Facts of this node, judged alone: ports, PCIe links of GPUs and adapters,
 * GPUs that the driver lost, locked memory, shared memory. Without privilege,
 * in well under a second, touching nothing. A row for every fault; an OK row
 * per kind where there is none. SS_ERR_NO_MEMORY only.
 */
enum ss_status ss_local_check(const struct ss_local_places *places,
                              struct ss_local *out);
enum ss_level ss_local_level(const struct ss_local *local);
void ss_local_free(struct ss_local *local);

/** This machine's places. */
void ss_local_places(struct ss_local_places *out);

#endif
