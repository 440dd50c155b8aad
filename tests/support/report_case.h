/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_TESTS_REPORT_CASE_H
#define SS_TESTS_REPORT_CASE_H

#include "analysis/result.h"

enum { CASE_RANKS = 4, CASE_NODES = 2, CASE_POINTS = 5, CASE_FINDINGS = 2 };

/** A finished run made by hand: what every report test renders. */
struct report_case {
    struct ss_run_data run;
    struct ss_rank_row rank_row[CASE_RANKS];
    struct ss_node_row node[CASE_NODES];
    struct ss_variable_row version[3];
    struct ss_point_row meta[CASE_POINTS];
    struct ss_point_result point[CASE_POINTS];
    struct ss_rank_result rank[CASE_RANKS];
    struct ss_finding finding[CASE_FINDINGS];
    struct ss_result result;
};

/** Two nodes, four ranks, rank 3 slow; weak 1, 2, 4, strong 2, 4. The point
 * strong 2 was skipped: every number of it is NaN. */
void report_case_fill(struct report_case *c);
/** Every number of the point NaN, as of a point that was never measured. */
void report_case_blank(struct ss_point_result *point);

#endif
