/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list of findings: names, culprits, order. Must not know what is a fault:
 * the files that add to it do.
 */
#include "analysis/findings.h"

#include <math.h>

#include "base/mem.h"
#include "base/str.h"

const char *ss_finding_name(enum ss_finding_kind kind)
{
    static const char *const name[SS_FINDING_KINDS] = {
        [SS_STRAGGLER_RANK] = "straggler_rank",
        [SS_SLOW_DEVICE] = "slow_device",
        [SS_SLOW_NODE] = "slow_node",
        [SS_SLOW_LINK] = "slow_link",
        [SS_SLOW_PATH] = "slow_path",
        [SS_SLOW_RAIL] = "slow_rail",
        [SS_SLOW_UNIFORM] = "slow_uniform",
        [SS_INTERMITTENT_LINK] = "intermittent_link",
        [SS_SOCKET_FALLBACK] = "socket_fallback",
        [SS_NO_GDR] = "no_gdr",
        [SS_IDLE_RAIL] = "idle_rail",
        [SS_PORT_DOWN] = "port_down",
        [SS_PORT_RATE] = "port_rate",
        [SS_PORT_ERRORS] = "port_errors",
        [SS_EXTRA_BYTES] = "extra_bytes",
        [SS_CORRUPTION] = "corruption",
        [SS_ENV_DRIFT] = "env_drift",
        [SS_HANG] = "hang",
        [SS_LOST_RANK] = "lost_rank",
        [SS_ACCOUNTING] = "accounting",
        [SS_CLOCK_SHIFTED] = "clock_shifted",
        [SS_SHARED_CORES] = "shared_cores",
    };

    return kind < SS_FINDING_KINDS ? name[kind] : "unknown";
}

const char *ss_severity_name(enum ss_severity severity)
{
    static const char *const name[] = {"info", "warning", "error"};

    return severity <= SS_ERROR ? name[severity] : "unknown";
}

struct ss_finding *ss_findings_add(struct ss_findings *list,
                                   enum ss_finding_kind kind,
                                   enum ss_severity severity)
{
    if (list->failed)
        return NULL;
    if (list->n == list->cap) {
        size_t cap = list->cap ? 2 * (size_t)list->cap : 16;
        void *grown = ss_realloc(list->v, cap, sizeof(*list->v), "findings");
        if (!grown) {
            list->failed = true;
            return NULL;
        }
        list->v = grown;
        list->cap = (int)cap;
    }
    struct ss_finding *finding = &list->v[list->n++];
    *finding = (struct ss_finding){.kind = kind,
                                   .severity = severity,
                                   .rank = -1,
                                   .factor = NAN,
                                   .factor_lo = NAN,
                                   .factor_hi = NAN,
                                   .confidence = NAN};
    return finding;
}

void ss_finding_at(const struct ss_run_data *run, int rank,
                   struct ss_finding *finding)
{
    finding->rank = rank;
    if (rank < 0 || rank >= run->n_ranks)
        return;
    const struct ss_rank_row *row = &run->rank[rank];
    if (row->node >= 0 && row->node < run->n_nodes)
        ss_copy(finding->node, sizeof(finding->node),
                run->node[row->node].name);
    else
        ss_copy(finding->node, sizeof(finding->node), row->host);
    ss_copy(finding->uuid, sizeof(finding->uuid), row->uuid);
    if (row->device < 0)
        return;
    if (row->device_name[0] != '\0')
        ss_format(finding->device, sizeof(finding->device), "%d %.48s",
                  (int)row->device, row->device_name);
    else
        ss_format(finding->device, sizeof(finding->device), "%d",
                  (int)row->device);
}

/** Is a worse than b? */
static bool worse(const struct ss_finding *a, const struct ss_finding *b)
{
    if (a->severity != b->severity)
        return a->severity > b->severity;
    double fa = isnan(a->factor) ? 0 : a->factor;
    double fb = isnan(b->factor) ? 0 : b->factor;
    return fa > fb;
}

/* Insertion keeps equals in order; a list this long would be a file of
 * nothing but faults. */
void ss_findings_sort(struct ss_findings *list)
{
    for (int i = 1; i < list->n; i++) {
        struct ss_finding x = list->v[i];
        int j = i;
        for (; j > 0 && worse(&x, &list->v[j - 1]); j--)
            list->v[j] = list->v[j - 1];
        list->v[j] = x;
    }
}
