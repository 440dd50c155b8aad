/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is wrong, who did it, how sure that is, and what to do; then the
 * verdict with its grounds. Worst first, as the analysis ordered them. It
 * must not weigh anything anew.
 */
#include <math.h>
#include <string.h>

#include "report/parts.h"

/* "rank 3 on node05, device 1 (GPU-...), link eth0": whatever is known. */
static void append_part(char *text, size_t size, const char *label,
                        const char *value)
{
    size_t used = strlen(text);
    if (value[0])
        ss_format(text + used, size - used, "%s%s%s", used ? ", " : "", label,
                  value);
}

static void culprit_text(const struct ss_finding *f, char *text, size_t size)
{
    char rank[16] = "";
    text[0] = '\0';
    if (f->rank >= 0)
        ss_format(rank, sizeof rank, "%d", f->rank);
    append_part(text, size, "rank ", rank);
    append_part(text, size, "node ", f->node);
    append_part(text, size, "device ", f->device);
    append_part(text, size, "", f->uuid);
    append_part(text, size, "link ", f->link);
    append_part(text, size, "rail ", f->rail);
    append_part(text, size, "", f->setting);
    append_part(text, size, "", f->value);
}

static void effect_text(const struct ss_finding *f, char *text, size_t size)
{
    size_t used;
    text[0] = '\0';
    if (isfinite(f->factor))
        ss_format(text, size, "; %.3g times slower than its peers", f->factor);
    used = strlen(text);
    if (isfinite(f->factor) && isfinite(f->factor_lo) && isfinite(f->factor_hi))
        ss_format(text + used, size - used, " (95 %%: %.3g-%.3g)", f->factor_lo,
                  f->factor_hi);
    used = strlen(text);
    if (isfinite(f->confidence))
        ss_format(text + used, size - used, "; confidence %s %%",
                  ss_word_percent(f->confidence).text);
}

static void put_finding(const struct ss_finding *f, int number,
                        struct ss_buf *out)
{
    char first[16];
    char culprit[640];
    char effect[160];
    char text[1024];
    culprit_text(f, culprit, sizeof culprit);
    effect_text(f, effect, sizeof effect);
    ss_format(text, sizeof text, "%s %s%s%s%s", ss_severity_name(f->severity),
              ss_finding_name(f->kind), culprit[0] ? ": " : "", culprit,
              effect);
    ss_format(first, sizeof first, "%3d. ", number);
    ss_wrap(out, first, text);
    if (f->evidence[0])
        ss_wrap(out, "     evidence: ", f->evidence);
    if (f->advice[0])
        ss_wrap(out, "     advice:   ", f->advice);
}

void ss_text_findings(const struct ss_result *result, struct ss_buf *out)
{
    ss_buf_printf(out, "\nFindings%s\n",
                  result->n_findings == 0 ? ": none" : "");
    for (int i = 0; i < result->n_findings; i++)
        put_finding(&result->finding[i], i + 1, out);
}

void ss_text_verdict(const struct ss_result *result, struct ss_buf *out)
{
    static const char *const words[] = {[SS_PASS] = "pass",
                                        [SS_FAIL] = "fail",
                                        [SS_INCONCLUSIVE] = "inconclusive",
                                        [SS_NONE] =
                                            "none (no limits were asked)"};
    const struct ss_verdict *v = &result->verdict;
    ss_buf_printf(out, "\nVerdict: %s, exit code %d\n", words[v->result],
                  v->exit_code);
    for (int i = 0; i < v->n_reasons; i++)
        ss_wrap(out, "  - ", v->reason[i]);
}
