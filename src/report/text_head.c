/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The head of the text report: what ran, where, on what. Only what a reader
 * needs to judge whether two reports may be compared; the rest is in the
 * file. It must not know any engine.
 */
#include <math.h>
#include <string.h>

#include "base/units.h"
#include "report/parts.h"

enum { LABEL = 12 }; /* width of the labels at the left */

static void field(struct ss_buf *out, const char *label, const char *text)
{
    char first[LABEL + 1];
    ss_format(first, sizeof first, "%-*s", LABEL, label);
    ss_wrap(out, first, text);
}

static void put_run(const struct ss_run_data *run, struct ss_buf *out)
{
    char text[256];
    ss_format(text, sizeof text, "%s of %s, stepscale %s", run->run_id,
              ss_word_time(run->start_ns).text, run->version);
    field(out, "run", text);
}

static void put_model(const struct ss_run_data *run, struct ss_buf *out)
{
    char text[384];
    size_t used;
    ss_format(text, sizeof text, "%s, %s, gradients %s on the wire", run->model,
              run->precision, run->grad_dtype);
    used = strlen(text);
    if (run->skeleton)
        ss_format(text + used, sizeof text - used,
                  "; GEMM skeleton, %.0f %% of the model's FLOPs: not "
                  "comparable with published MFU",
                  run->skeleton_share * 100);
    field(out, "model", text);
}

/* "4 on 2 nodes (node01, node02)", at most four names. */
static void put_nodes(const struct ss_run_data *run, struct ss_buf *out)
{
    char text[512];
    size_t used;
    int shown = run->n_nodes < 4 ? run->n_nodes : 4;
    ss_format(text, sizeof text, "%d on %s", run->n_ranks,
              ss_counted(run->n_nodes, "node").text);
    for (int i = 0; i < shown; i++) {
        used = strlen(text);
        ss_format(text + used, sizeof text - used, "%s%s", i ? ", " : ": ",
                  run->node[i].name);
    }
    used = strlen(text);
    if (shown < run->n_nodes)
        ss_format(text + used, sizeof text - used, ", ... %s",
                  run->node[run->n_nodes - 1].name);
    used = strlen(text);
    if (run->share_devices)
        ss_format(text + used, sizeof text - used,
                  "; ranks share devices: no verdict on speed");
    field(out, "devices", text);
}

static void put_load(const struct ss_result *result, struct ss_buf *out)
{
    int beside = 0;
    for (int i = 0; i < result->n_points; i++)
        beside |= result->point[i].meta->group_count > 1;
    field(out, "load",
          beside ? "sizes below the world ran as groups side by side; the "
                   "column load says beside how many"
                 : "each size ran alone");
}

static void put_peak(const struct ss_run_data *run, struct ss_buf *out)
{
    char text[256];
    if (isfinite(run->peak_flops))
        ss_format(text, sizeof text, "%.0f TFLOP/s per device (%s)",
                  run->peak_flops / 1e12, run->peak_source);
    else
        ss_copy(text, sizeof text,
                "unknown for this device, so MFU is not "
                "given");
    field(out, "peak", text);
}

static void put_state(const struct ss_result *result, struct ss_buf *out)
{
    if (result->complete)
        return;
    field(out, "INCOMPLETE",
          result->run->end_reason[0] ? result->run->end_reason
                                     : "the run did not finish; what is "
                                       "below did");
}

void ss_text_head(const struct ss_result *result, struct ss_buf *out)
{
    const struct ss_run_data *run = result->run;
    put_run(run, out);
    field(out, "engine", run->engine);
    if (run->model[0])
        put_model(run, out);
    put_nodes(run, out);
    if (result->transports[0])
        field(out, "transports", result->transports);
    if (result->n_points > 0)
        put_load(result, out);
    if (run->model[0])
        put_peak(run, out);
    put_state(result, out);
}
