/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_ANALYSIS_PAIRS_H
#define SS_ANALYSIS_PAIRS_H

#include "analysis/localise.h"
#include "store/schema.h"

/** A row's rate in bytes/s; both ways: of the two together. */
double ss_pair_rate(const struct ss_pair_row *row);
/**
 * The samples that faults are named from: one way, of the largest size, by
 * MPI, of the passes [first, last]. Appends to *out (owned, grown from *n).
 */
enum ss_status ss_pair_samples(const struct ss_pair_row *row, int64_t n_rows,
                               int first, int last, struct ss_link_sample **out,
                               int *n);

#endif
