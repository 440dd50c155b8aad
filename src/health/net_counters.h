/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_HEALTH_NET_COUNTERS_H
#define SS_HEALTH_NET_COUNTERS_H

#include <stdbool.h>

#include "base/status.h"
#include "store/schema.h"

/**
 * Byte counters of all network devices of this host:
 * <root>/class/net/X/statistics (rx_bytes, tx_bytes) and
 * <root>/class/infiniband/X/ports/N/counters (port_rcv_data, port_xmit_data, in
 * units of 4 bytes); operstate or state, and whether there is hardware behind
 * it. `root` is "/sys", a parameter so that tests can plant
 * trees. Local; no privilege.
 */
struct ss_net_snapshot {
    int n;
    struct ss_net_row *row; /**< owned; absolute counts */
};
enum ss_status ss_net_read(const char *root, struct ss_net_snapshot *out);
/** after - before per interface (32-bit wrap allowed for); rows of `after`. */
enum ss_status ss_net_delta(const struct ss_net_snapshot *before,
                            const struct ss_net_snapshot *after,
                            struct ss_net_snapshot *out);
void ss_net_free(struct ss_net_snapshot *snapshot);

#endif
