/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The door of the room: one finished result in, text, JSON or CSV out, always
 * into memory, so that a caller decides where it goes and a test can read it.
 * It must not compute: a number that is missing here is the analysis's to add.
 */
#include "report/parts.h"

enum ss_status ss_report_render(const struct ss_result *result,
                                enum ss_report_format format,
                                enum ss_report_ranks ranks, struct ss_buf *out)
{
    switch (format) {
    case SS_FORMAT_TEXT:
        return ss_text_render(result, ranks, out);
    case SS_FORMAT_JSON:
        return ss_json_render(result, ranks, out);
    case SS_FORMAT_CSV:
        return ss_csv_render(result, out);
    }
    return ss_fail(SS_ERR_INTERNAL, "unknown report format %d", (int)format);
}
