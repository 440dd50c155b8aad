/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_ANALYSIS_RESULT_H
#define SS_ANALYSIS_RESULT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "config/config.h"
#include "store/schema.h"
#include "timing/phase.h"
#include "timing/stats.h"

/*
 * What the analysis derives from a run's data: the source of text, JSON and
 * CSV. Members are named as in the JSON (DESIGN section 8). NaN = null.
 */

enum ss_finding_kind {
    SS_STRAGGLER_RANK,
    SS_SLOW_DEVICE,
    SS_SLOW_NODE,
    SS_SLOW_LINK,
    SS_SLOW_PATH,
    SS_SLOW_RAIL,
    SS_SLOW_UNIFORM,
    SS_INTERMITTENT_LINK,
    SS_SOCKET_FALLBACK,
    SS_NO_GDR,
    SS_IDLE_RAIL,
    SS_PORT_DOWN,
    SS_PORT_RATE,
    SS_PORT_ERRORS,
    SS_EXTRA_BYTES,
    SS_CORRUPTION,
    SS_ENV_DRIFT,
    SS_HANG,
    SS_LOST_RANK,
    SS_ACCOUNTING,
    SS_CLOCK_SHIFTED,
    SS_SHARED_CORES,
    SS_FINDING_KINDS
};
enum ss_severity { SS_INFO, SS_WARNING, SS_ERROR };
const char *ss_finding_name(enum ss_finding_kind kind); /**< "straggler_rank" */
const char *ss_severity_name(enum ss_severity severity);

struct ss_finding {
    enum ss_finding_kind kind;
    enum ss_severity severity;
    int rank; /**< logical, -1: none */
    char node[64], device[64], uuid[48], link[64], rail[32], setting[64],
        value[256];
    double factor, factor_lo,
        factor_hi; /**< healthy / faulty's cost ratio, >= 1 */
    double confidence;
    char evidence[512], advice[256];
};

/** One rank of a group of the curve; ms. step and compute_only: the median of
 * the rank's own block medians; wait and excess: means over sampled steps. */
struct ss_rank_result {
    int rank, mpi_rank, group;
    const char *node; /**< into run data */
    char device[64];
    const char *uuid;
    double step_ms, compute_only_ms, wait_ms, excess_ms;
    int64_t last_arrivals, collectives;
};

/**
 * One point: the numbers of its median group by T. Efficiency is paired with
 * the base: the groups of the points of the same curve and mode whose size is
 * meta->base_size and whose ranks lie inside this group (those of the same
 * load, unless they cover fewer of its ranks than those of another load do).
 * E = f median T(n0) / T(n), e_devices = median T(n0) / max T(n0), e_comm = f
 * max T(n0) / T(n); f = 1 (weak), n0 / n (strong). At size = base_size all are
 * 1. Busy and the other terms are means over the sampled steps of the whole
 * variant and the ranks of the group; exposed is the mean over those ranks.
 * shape_efficiency = FLOP/s per device of compute-only over that of the base
 * group whose T is the median.
 */
struct ss_point_result {
    const struct ss_point_row *meta;
    const struct ss_point_data *data; /**< meta and samples: into run data */
    int slowest_group;
    double slowest_efficiency;
    struct ss_estimate step;         /**< ms, of the median group by T */
    double step_min_ms, step_max_ms; /**< over groups' medians */
    struct ss_ratio efficiency;
    double e_devices, e_comm, base_ms;
    double parallel_efficiency, shape_efficiency;
    double compute_only_ms, comm_only_ms, exposed_ms, hidden_share,
        interference_ms;
    double compute_only_half; /**< relative half-width; +inf: no interval */
    double sampled_ms, busy_ms, transfer_ms, transfer_by[SS_DIMS],
        wait_persistent_ms, wait_jitter_ms, unsplit_ms, bubble_ms, input_ms,
        launch_ms, other_ms;
    double phases_ms[SS_PHASES];
    double mfu, hfu, tokens_per_s, tokens_per_s_per_device, tflops_per_device;
    double clock_mhz, power_w, capped_share, clock_bound_us, comm_create_ms;
    double first_step_ms;   /**< after the communicators; slowest rank */
    double perturbed_share; /**< slow-down of sampled blocks */
    const char *status;
    unsigned flags; /**< enum ss_point_flag */
    int n_ranks;
    struct ss_rank_result *rank; /**< owned */
};
/** The interval of interference_ms holds 0 (or there is none, and it is below
 * 0): the two are told apart no better. The number stands all the same. */
bool ss_interference_is_noise(const struct ss_point_result *point);
enum ss_point_flag {
    SS_FLAG_PERTURBED = 1,
    SS_FLAG_CLOCK_SHIFTED = 2,
    SS_FLAG_AUTOCORRELATED = 4,
    SS_FLAG_SHARED_DEVICES = 8,
    SS_FLAG_OVERLAP_NOT_MEASURABLE = 16
};

/** One pair of nodes or devices: median over its rounds, of one library and
 * direction. */
struct ss_pair_result {
    const struct ss_pair_row
        *row;               /**< the first of its rows: who, how, which */
    int64_t bytes;          /**< of a message, at most */
    int n;                  /**< batches */
    double latency_us, gbs; /**< one of them NaN */
};

/** One collective of one size in one group. Rates: NaN for small sizes. */
struct ss_coll_result {
    const struct ss_coll_row *row; /**< the first of its rows */
    struct ss_estimate time_us;    /**< of a call, over batches */
    double p5_us, p95_us;          /**< of single calls */
    double algbw_gbs, busbw_gbs;
    double wire_share; /**< by counters; NaN: not seen, or rate unknown */
    double wire_flat, wire_tree; /**< bounds: flat ring, hierarchical */
    double expected_gbs;         /**< busbw; NaN: no expectation */
    char expected_from[96];      /**< its derivation, or why there is none */
};
/** time = alpha + bytes / rate over the sizes of one op, group and buffers. */
struct ss_fit_result {
    const struct ss_coll_row *row; /**< of the smallest size */
    int sizes;
    double alpha_us, beta_gbs; /**< beta as busbw; NaN: fewer than 3 sizes */
    double residual;           /**< relative, root mean square */
    int64_t kink_bytes; /**< a second line from this size on fits better; 0 */
};

enum ss_verdict_result { SS_PASS, SS_FAIL, SS_INCONCLUSIVE, SS_NONE };
struct ss_verdict {
    enum ss_verdict_result result;
    int exit_code;
    int n_reasons;
    char reason[16][256];
};

struct ss_result {
    const struct ss_run_data *run; /**< borrowed: keep it alive */
    int complete;
    int largest_started;  /**< size that ran a step, 0: none */
    int not_started;      /**< next size tried without success, 0: none */
    char sentence[256];   /**< the first line of the report */
    char transports[256]; /**< what carried communication, in words */
    int n_points;
    struct ss_point_result *point; /**< [n_points], curve by curve, by size */
    int64_t n_pairs;
    struct ss_pair_result *pair;           /**< by library, direction, a, b */
    double pairs_healthy_gbs, pairs_noise; /**< of pairs nobody slows; NaN */
    int64_t n_colls;
    struct ss_coll_result *coll; /**< by library, op, group, buffers, size */
    int n_fits;
    struct ss_fit_result *fit;
    int n_findings;
    struct ss_finding *finding; /**< worst first */
    struct ss_verdict verdict;
};

/** Limits from a rules file and config (analysis/verdict.h reads YAML text). */
struct ss_rules {
    double min_effect, min_effect_link;
    int n;
    struct ss_rule {
        char metric[48]; /**< "efficiency", "e_comm", "mfu",
                            "tflops_per_device", ... */
        char mode[8];    /**< "" any */
        int size;        /**< 0: every size, -1: the largest */
        double min, max; /**< NaN: none */
        int line;
    } rule[64];
};
/** Parses a rules file's text; all problems together. */
enum ss_status ss_rules_parse(const char *text, size_t len, const char *name,
                              struct ss_rules *out, struct ss_buf *problems);

/**
 * Everything of DESIGN section 2 from the raw samples. Pure (no MPI, no
 * engine). last_words: sentence of a hang (may be ""), with its culprits.
 */
struct ss_analysis_args {
    const struct ss_run_data *run;
    const struct ss_rules *rules;
    const char *hang_sentence;
    const int *hang_ranks;
    int n_hang_ranks;
    int hang_lost; /**< 1: lost_rank, 0: hang */
    int hang_size; /**< ranks of the group that hangs, 0: no hang */
};
enum ss_status ss_analyse(const struct ss_analysis_args *args,
                          struct ss_result *out);
void ss_result_free(struct ss_result *result);

/** The one place that decides (DESIGN section 5): findings, rules, status. */
void ss_verdict_decide(const struct ss_result *result,
                       const struct ss_rules *rules, struct ss_verdict *out);

#endif
