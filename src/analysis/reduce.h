/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_ANALYSIS_REDUCE_H
#define SS_ANALYSIS_REDUCE_H

#include "analysis/result.h"

/*
 * Within this room: the raw samples of one point, reduced by group and by
 * rank. Times in ms. Local, pure; memory is the caller's through open, close.
 */

#define SS_MS 1e-6 /**< ns to ms */

/** Which blocks of a point. */
struct ss_block_choice {
    enum ss_variant variant;
    int sampled;
};

/** One group of the curve. */
struct ss_group_stat {
    int index; /**< as the file numbers it */
    int n;
    const int *member; /**< logical ranks, ascending; into point_stat */
    struct ss_estimate whole, compute, comm; /**< of T(k), unsampled blocks */
    double sampled_median; /**< whole, sampled blocks; NaN: none */
};

struct ss_point_stat {
    const struct ss_point_data *data;
    int *members;
    struct ss_group_stat *group; /**< [n_groups], by index, none empty */
    int n_groups;
    int median, slowest; /**< positions in group; -1: nothing measured */
};

/** Reduces one point. A point without ranks or blocks gives no groups. */
enum ss_status ss_point_stat_open(const struct ss_point_data *data,
                                  struct ss_point_stat *out);
void ss_point_stat_close(struct ss_point_stat *stat);

/** Is this block one of the chosen? */
bool ss_block_chosen(const struct ss_block_row *block,
                     const struct ss_block_choice *choice);
/** Median of a rank's own steps in one block; scratch: block->steps. */
double ss_rank_block_median(const struct ss_point_data *data, int rank,
                            const struct ss_block_row *block, double *scratch);
/** The rank's own cadence: the median of its block medians; NaN: no blocks.
 * scratch: ss_point_scratch(data) doubles. */
double ss_rank_cadence(const struct ss_point_data *data, int rank,
                       const struct ss_block_choice *choice, double *scratch);
size_t ss_point_scratch(const struct ss_point_data *data);

/** The base groups inside one group (result.h, "base"). */
struct ss_base_match {
    int n;              /**< groups; 0: no base */
    double median, max; /**< T(n0), ms */
    const struct ss_point_stat *point;
    const struct ss_group_stat *group; /**< whose T is the median */
};
enum ss_status ss_base_find(const struct ss_point_stat *points, int n,
                            const struct ss_point_stat *of,
                            const struct ss_group_stat *group,
                            struct ss_base_match *out);

/* point.c: everything of one point */
enum ss_status ss_point_fill(const struct ss_run_data *run,
                             const struct ss_point_stat *points, int n,
                             const struct ss_point_stat *stat,
                             struct ss_point_result *out);
/* terms.c: the means over sampled steps, per point and per rank */
enum ss_status ss_point_fill_terms(const struct ss_point_stat *stat,
                                   struct ss_point_result *out);
/* counters.c: clocks, power, capping of the median group */
void ss_point_fill_counters(const struct ss_point_stat *stat,
                            struct ss_point_result *out);

/* startup.c */
/** Fills largest_started and not_started. */
void ss_startup_find(const struct ss_analysis_args *args,
                     struct ss_result *result);

#endif
