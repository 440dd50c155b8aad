/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What large collectives should reach on this hardware: a ring is as fast as
 * its slowest link, so busbw is a node's uplinks together between nodes, and
 * what a device's NVLinks carry one way inside a domain, less what headers and
 * protocol take. Where the hardware is not known, nothing is expected, and
 * that is said. Must not judge.
 */
#include "analysis/expect.h"

#include <math.h>
#include <string.h>

#include "base/str.h"

/** Payload of a 4 KiB InfiniBand packet; of Ethernet with TCP at an MTU of
 * 1500 (1448 of 1538 bytes on the wire). */
#define RDMA_PAYLOAD 0.9927
#define TCP_PAYLOAD 0.9415

/** One way over all NVLinks of a device (NVIDIA's figure), and the busbw that
 * all-reduce was seen to reach over eight of them. */
static const struct {
    const char *device; /* part of the driver's name */
    double one_way_gbs, ring_gbs;
} nvlink[] = {
    {"V100-SXM", 150, 122},       {"A100-SXM", 300, 232},
    {"H100 80GB HBM3", 450, 370}, {"H200", 450, 370},
    {"B200", 900, 682},
};

double ss_expect_wire(const struct ss_run_data *run, double given, char *from,
                      size_t size)
{
    const struct ss_point_data *point = NULL;
    double least = INFINITY;

    if (given > 0) {
        ss_format(from, size, "probe.wire: %g Gbit/s a node", given / 1e9);
        return given;
    }
    for (int p = 0; p < run->n_points && !point; p++)
        if (run->point[p].n_ports > 0)
            point = &run->point[p];
    for (int n = 0; n < run->n_nodes; n++) {
        double gbit = 0;
        for (int i = 0; point && i < point->n_ports; i++)
            if (point->port[i].node == n &&
                strcmp(point->port[i].state, "ACTIVE") == 0)
                gbit += point->port[i].gbit;
        least = fmin(least, gbit);
    }
    if (!isfinite(least) || !(least > 0)) {
        ss_copy(from, size, "unknown links; probe.wire gives their rate");
        return 0;
    }
    ss_format(from, size, "RDMA ports: %g Gbit/s a node", least);
    return least * 1e9;
}

static void inside_domain(const struct ss_run_data *run,
                          struct ss_coll_result *coll)
{
    int rank = coll->row->first_rank;
    const char *name =
        rank >= 0 && rank < run->n_ranks ? run->rank[rank].device_name : "";

    for (size_t i = 0; i < SS_COUNT_OF(nvlink); i++) {
        if (!strstr(name, nvlink[i].device))
            continue;
        coll->expected_gbs = nvlink[i].ring_gbs;
        ss_format(coll->expected_from, sizeof(coll->expected_from),
                  "NVLink %g GB/s one way, rings reach %g of it",
                  nvlink[i].one_way_gbs, nvlink[i].ring_gbs);
        return;
    }
    ss_format(coll->expected_from, sizeof(coll->expected_from),
              "unknown links of %.48s", name[0] ? name : "this device");
}

void ss_expect_coll(const struct ss_run_data *run, struct ss_coll_result *coll)
{
    const struct ss_coll_row *row = coll->row;
    char from[64];

    if (row->nodes < 2) {
        if (strcmp(row->library, "nccl") == 0)
            inside_domain(run, coll);
        else
            ss_copy(coll->expected_from, sizeof(coll->expected_from),
                    "memory of one host: no expectation");
        return;
    }
    double wire = ss_expect_wire(run, row->wire_bits, from, sizeof(from));
    double share = row->wire_bits > 0 ? TCP_PAYLOAD : RDMA_PAYLOAD;
    if (wire > 0) {
        coll->expected_gbs = share * wire / 8e9;
        ss_format(coll->expected_from, sizeof(coll->expected_from),
                  "%s, %.4g %% payload, flat ring", from, 100 * share);
    } else {
        ss_copy(coll->expected_from, sizeof(coll->expected_from), from);
    }
}
