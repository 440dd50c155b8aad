/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_REPORT_REPORT_H
#define SS_REPORT_REPORT_H

#include <stdbool.h>

#include "analysis/result.h"
#include "base/str.h"

enum ss_report_format { SS_FORMAT_TEXT, SS_FORMAT_JSON, SS_FORMAT_CSV };
enum ss_report_ranks { SS_RANKS_WORST, SS_RANKS_ALL, SS_RANKS_NONE };

/** Renders into memory; the caller prints. Text fits 100 columns. */
enum ss_status ss_report_render(const struct ss_result *result,
                                enum ss_report_format format,
                                enum ss_report_ranks ranks, struct ss_buf *out);
/** The verdict object alone, as JSON (stored in the file). */
enum ss_status ss_report_verdict_json(const struct ss_verdict *verdict,
                                      struct ss_buf *out);

/** The same back; false (and *out untouched) for what is not such an object. */
bool ss_report_verdict_read(const char *json, struct ss_verdict *out);

#endif
