/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_PROBE_CONTEXT_H
#define SS_PROBE_CONTEXT_H

/* What the files of this room share: one probe on one rank. */

#include "cluster/topology.h"
#include "cluster/watchdog.h"
#include "health/net_counters.h"
#include "health/ports.h"
#include "probe/coll.h"
#include "probe/pair.h"
#include "probe/probe.h"
#include "probe/tournament.h"
#include "store/store.h"

#define SS_PROBE_LANES 3
/** Timed batches of a direction: the first time that a pair meets, and later.
 */
#define SS_PROBE_SAMPLES 3
#define SS_PROBE_QUICK_SAMPLES 2
enum { SS_PASS_ALL, SS_PASS_SECOND, SS_PASS_SOAK, SS_PASS_COLLS, SS_PASSES };

/** What the collectives of a probe leave behind on this rank. */
struct ss_coll_rows {
    struct ss_coll_row *row; /**< owned; of groups that this rank leads */
    int64_t n, cap;
    struct ss_check_row *check; /**< owned */
    int n_checks, cap_checks;
    uint64_t cut_bytes; /**< least size that was left out, 0 */
};

struct ss_probe {
    const struct ss_probe_args *args;
    const struct ss_config *config;
    struct ss_rt *launcher, *world, *node; /**< node: ranks of this host */
    struct ss_topology topology;
    struct ss_place place;
    struct ss_run_data run; /**< provenance, rank 0 */
    struct ss_watchdog *dog;
    struct ss_progress *progress;
    struct ss_progress idle_progress; /**< before the watchdog is there */
    char out[512], folder[544];
    int claim;         /**< rank 0: on the folder */
    bool by_node;      /**< pairs of nodes, else of ranks */
    int n, me;         /**< who is paired; this rank among them, -1: none */
    int *rank_of;      /**< [n] world ranks */
    int *partner;      /**< [n] scratch */
    int rounds, total; /**< different rounds; with repeats */
    struct ss_lane lane[SS_PROBE_LANES];
    int n_lanes;
    char lane_note[160]; /**< why a lane is missing */
    uint64_t sizes[SS_MESSAGES_MAX];
    int n_sizes;
    int64_t budget_ns, started_ns, slice_ns;
    size_t soak_message; /**< of a soak's batches, and how many */
    int64_t soak_count;
    char cut[160]; /**< what the budget had no time for; of the pass */
    int order[SS_PASSES], n_passes; /**< what is planned, in order */
    unsigned coll_ops;              /**< bits of enum ss_coll_op */
    struct ss_coll_rows colls;
    struct ss_pair_rows rows;   /**< of the pass in work, this rank's */
    struct ss_net_snapshot net; /**< at its start, node leaders only */
    struct ss_ports ports;      /**< the same */
    struct ss_point_data pass[SS_PASSES]; /**< gathered, rank 0 */
};

/* setup.c */
enum ss_status ss_probe_open_all(struct ss_rt *rt,
                                 const struct ss_probe_args *args,
                                 struct ss_probe *probe);
void ss_probe_close(struct ss_probe *probe);
enum ss_status ss_probe_forecast(const struct ss_probe *probe,
                                 struct ss_buf *out);
/* output.c: provenance, folder, watchdog; the rows of a pass to a part */
enum ss_status ss_probe_begin_all(struct ss_probe *probe);
enum ss_status ss_probe_pass_begin(struct ss_probe *probe);
enum ss_status ss_probe_pass_end_all(struct ss_probe *probe, int pass,
                                     int64_t started, const char *note);
/** "tournament" */
const char *ss_probe_pass_name(int pass);
/** Agreement, marked as a meeting for last words. */
enum ss_status ss_probe_meet_all(struct ss_probe *probe, bool may_stop,
                                 enum ss_status mine);
/* rounds.c: one matching, everybody at once */
enum ss_status ss_probe_round_all(struct ss_probe *probe, int pass, int round,
                                  const int *partner);
/** The tournament, the second pass, the soak. */
enum ss_status ss_probe_first_pass_all(struct ss_probe *probe);
enum ss_status ss_probe_second_pass_all(struct ss_probe *probe);
enum ss_status ss_probe_soak_all(struct ss_probe *probe);
/* collectives.c: in every kind of group */
enum ss_status ss_probe_colls_all(struct ss_probe *probe);

#endif
