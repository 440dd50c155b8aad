/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_HEALTH_PORTS_H
#define SS_HEALTH_PORTS_H

#include "base/status.h"
#include "store/schema.h"

/** Error counters of an InfiniBand or RoCE port, as sysfs names them. */
#define SS_PORT_COUNTERS 8

/**
 * RDMA ports of this host: <root>/class/infiniband/X/ports/N (state, rate,
 * link_layer, counters) and the PCIe link of their adapter
 * (<root>/class/infiniband/X/device). What cannot be read is "" or 0.
 */
struct ss_ports {
    int n;
    struct ss_port_row *row;             /**< owned; by name; error_count 0 */
    uint64_t (*count)[SS_PORT_COUNTERS]; /**< owned; absolute */
};
enum ss_status ss_ports_read(const char *root, struct ss_ports *out);
/** Fills after->row: errors since `before`, in number and in words. */
void ss_ports_compare(const struct ss_ports *before, struct ss_ports *after);
void ss_ports_free(struct ss_ports *ports);
/** Pure: "200 Gb/sec (4X HDR)" -> 200 and 4; 0 where it says nothing. */
double ss_port_rate(const char *text, int *lanes);

#endif
