/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_ANALYSIS_VERDICT_H
#define SS_ANALYSIS_VERDICT_H

#include "analysis/result.h"

/* Within this room: the quantities that rules may limit. */

/** Index of a metric by name, -1: unknown. */
int ss_metric_find(const char *name);
/** Their names, NULL-ended. */
const char *const *ss_metric_names(void);
/** Value of a metric at a point with its 95 % interval; NaN: not applicable.
 * Metrics without an interval have lo = hi = value. */
struct ss_ratio ss_metric_value(const struct ss_point_result *point,
                                int metric);

/* sentence_pairs.c: the same where pairs were measured and no steps */
void ss_pairs_sentence(const struct ss_result *result, char *out, size_t size);
/* sentence.c: the report's first line */
void ss_sentence_write(struct ss_result *result, const char *hang_sentence);

#endif
