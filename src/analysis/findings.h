/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_ANALYSIS_FINDINGS_H
#define SS_ANALYSIS_FINDINGS_H

#include "analysis/reduce.h"

/* Within this room: the growing list of findings, and who fills it. */

struct ss_findings {
    const struct ss_run_data *run;
    struct ss_finding *v; /**< owned until the result takes it */
    int n, cap;
    bool failed; /**< an allocation failed: sticky */
};

/** A new finding without culprit, factor and confidence; NULL: no memory. */
struct ss_finding *ss_findings_add(struct ss_findings *list,
                                   enum ss_finding_kind kind,
                                   enum ss_severity severity);
/** Fills rank, node, device and uuid from the run's tables. */
void ss_finding_at(const struct ss_run_data *run, int rank,
                   struct ss_finding *finding);
/** Worst first: severity, then factor, then the order of discovery. */
void ss_findings_sort(struct ss_findings *list);

/* findings_run.c: what the run's own records say */
void ss_find_hang(struct ss_findings *list,
                  const struct ss_analysis_args *args);
void ss_find_corruption(struct ss_findings *list);
void ss_find_drift(struct ss_findings *list);
void ss_find_shared_cores(struct ss_findings *list);
/** Do ranks of this run take turns on a core? Then what they say of each
 * other's speed is never an error. */
bool ss_ranks_share_cores(const struct ss_run_data *run);
/* findings_points.c: what does not add up */
void ss_find_accounting(struct ss_findings *list,
                        const struct ss_point_result *point, int n);
void ss_find_clock_shift(struct ss_findings *list,
                         const struct ss_point_result *point, int n);

/* findings_points.c */
/** Half-width of the interval of whole - compute-only, ms. */
double ss_point_noise_ms(const struct ss_point_result *point);

/* pairs.c */
enum ss_status ss_reduce_pairs(const struct ss_run_data *run,
                               struct ss_result *out);
/* colls.c, coll_fit.c: collectives to numbers; times to a line, or two */
enum ss_status ss_reduce_colls(const struct ss_run_data *run,
                               struct ss_result *out);
void ss_coll_fit(const struct ss_coll_result *coll, int n,
                 struct ss_fit_result *out);
/* findings_ports.c: RDMA ports, idle rails, sockets beside RDMA; of probes */
enum ss_status ss_find_ports(struct ss_findings *list);
/* findings_pairs.c: slow nodes, links and paths, from the pairs table */
enum ss_status ss_find_links(struct ss_findings *list, double min_effect,
                             struct ss_result *out);
/** Name of an end of a pair: the node, or "rank 3 (node05)". */
void ss_pair_end(const struct ss_run_data *run, const char *level, int which,
                 char *out, size_t size);

/** A rank that may be a straggler. */
struct ss_suspect {
    int rank;
    bool compute;          /**< slow without any communication */
    double factor, lo, hi; /**< its time over its peers' */
    double confidence;
    int blocks, slow_blocks; /**< compute-only blocks; in which it was slower */
    int64_t late_steps, sampled_steps;
    double excess_ms; /**< mean per sampled step at the largest size */
    int excess_size;  /**< ranks at that size */
};
struct ss_suspects {
    struct ss_suspect *v; /**< owned; ascending by rank */
    int n;
};
/* slow_compute.c: ranks slow on their own, with the suspects' late steps 0 */
enum ss_status ss_suspect_compute(const struct ss_run_data *run,
                                  double min_effect, struct ss_suspects *out);
/* slow_arrival.c: adds what arrivals say of those, and ranks that are late
 * though their compute alone is not slow */
enum ss_status ss_suspect_arrivals(const struct ss_run_data *run,
                                   const struct ss_point_result *point, int n,
                                   double min_effect, struct ss_suspects *io);
/* stragglers.c: suspects to findings: slow_node, slow_device, straggler_rank */
enum ss_status ss_find_stragglers(struct ss_findings *list,
                                  const struct ss_point_result *point, int n,
                                  double min_effect);

#endif
