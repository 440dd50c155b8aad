/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_ANALYSIS_EXPECT_H
#define SS_ANALYSIS_EXPECT_H

#include "analysis/result.h"

/**
 * Rate of a node's links together, bit/s: as given by probe.wire in the row,
 * else the active RDMA ports of the weakest node; 0: not known. `from`: how it
 * is known, or why it is not.
 */
double ss_expect_wire(const struct ss_run_data *run, double given, char *from,
                      size_t size);
/** Fills expected_gbs and expected_from of a collective of a large size. */
void ss_expect_coll(const struct ss_run_data *run, struct ss_coll_result *coll);

#endif
