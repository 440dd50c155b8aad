/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The report as text: the order of its parts. The sentence first, because
 * many readers stop there; then the verdict's grounds from coarse to fine.
 * Each table is followed by the meaning of its columns, so that a newcomer
 * needs no manual. It must not compute.
 */
#include "report/parts.h"

enum ss_status ss_text_render(const struct ss_result *result,
                              enum ss_report_ranks ranks, struct ss_buf *out)
{
    ss_wrap(out, "", result->sentence);
    ss_buf_printf(out, "\n");
    ss_text_head(result, out);
    if (result->n_points > 0 || result->n_pairs == 0) {
        SS_TRY(ss_text_curves(result, out));
        SS_TRY(ss_text_ranks(result, ranks, out));
    }
    if (result->n_pairs > 0)
        SS_TRY(ss_text_pairs(result, out));
    if (result->n_colls > 0)
        SS_TRY(ss_text_colls(result, out));
    ss_text_findings(result, out);
    ss_text_notes(result, out);
    ss_text_verdict(result, out);
    return ss_buf_status(out);
}
