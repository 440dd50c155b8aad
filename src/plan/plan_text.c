/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plan for readers: what it is, its ops (plan_fold.c), its sums. At most 100
 * columns. It must not decide anything: all it prints stands in the plan.
 */
#include <inttypes.h>

#include "base/units.h"
#include "plan/fold.h"

static const char *precision_name(int precision)
{
    static const char *const names[] = {"auto", "fp64", "fp32", "tf32",
                                        "bf16", "fp16", "fp8"};
    return names[precision];
}

static void print_rank(const struct ss_plan *plan, struct ss_buf *out)
{
    const struct ss_layout *l = &plan->layout;
    const char *join = "";
    ss_buf_printf(out, "layout      ");
    for (int d = 0; d < SS_DIMS; d++) {
        if (l->dim[d] == 1 && d > SS_DIM_TP)
            continue;
        ss_buf_printf(out, "%s%s %d", join, ss_dim_name((enum ss_dim)d),
                      l->dim[d]);
        join = " x ";
    }
    if (l->zero > 0)
        ss_buf_printf(out, ", zero %d", l->zero);
    if (l->sp)
        ss_buf_printf(out, ", sequence parallel");
    ss_buf_printf(out, "; plan of rank %d of %d\n",
                  ss_layout_rank(l, &plan->coords), ss_layout_size(l));
}

static void print_model(const struct ss_model *m, struct ss_buf *out)
{
    ss_buf_printf(out,
                  "model       %s: %" PRId64 " layers, hidden %" PRId64
                  ", ffn %" PRId64,
                  m->name, m->layers, m->hidden, m->ffn);
    if (m->heads > 0)
        ss_buf_printf(out, ", %" PRId64 " heads", m->heads);
    if (m->kv_heads != m->heads)
        ss_buf_printf(out, " (%" PRId64 " kv)", m->kv_heads);
    ss_buf_printf(out, "\n");
    if (m->skeleton)
        ss_buf_printf(out,
                      "            GEMM skeleton, %.1f %% of the model's "
                      "FLOPs: no attention core, norms, head, loss\n",
                      100 * m->skeleton_share);
}

static void print_sizes(const struct ss_plan *plan, struct ss_buf *out)
{
    char params[24], memory[24], bucket[24];
    ss_format_count((double)plan->params, params, sizeof params);
    ss_format_bytes(ss_plan_memory(plan), memory, sizeof memory);
    ss_format_binary(plan->bucket_bytes, bucket, sizeof bucket);
    ss_buf_printf(out, "tokens      %" PRId64 " per dp rank and step",
                  plan->tokens);
    if (plan->layout.micro_batches > 1)
        ss_buf_printf(out, ", %d micro-batches of %" PRId64,
                      plan->layout.micro_batches, plan->micro_tokens);
    ss_buf_printf(out, "\nprecision   %s, gradients %s\n",
                  precision_name(plan->precision),
                  ss_dtype_name(plan->grad_dtype));
    ss_buf_printf(out, "rank        %s parameters, %s of memory\n", params,
                  memory);
    ss_buf_printf(out, "bucket      %s%s\n", bucket,
                  plan->bucket_bytes == SS_PLAN_BUCKET_DEFAULT
                      ? " (default, untuned)"
                      : "");
    ss_buf_printf(out, "hash        %016" PRIx64 "\n", ss_plan_hash(plan));
}

static void print_row(struct ss_buf *out, const char *name, double flops,
                      double bytes)
{
    char f[24], b[24];
    ss_format_count(flops, f, sizeof f);
    ss_format_bytes(bytes, b, sizeof b);
    ss_buf_printf(out, "%-12s  %12s  %12s\n", name, flops > 0 ? f : "-",
                  bytes > 0 ? b : "-");
}

/* Bytes are memory traffic of compute phases and messages of communication. */
static void print_sums(const struct ss_plan *plan, struct ss_buf *out)
{
    double bytes = 0;
    char model[24];
    ss_buf_printf(out, "\n%-12s  %12s  %12s\n", "phase", "FLOPs", "bytes");
    for (int p = 0; p < SS_PHASES; p++) {
        if (plan->phase_flops[p] > 0 || plan->phase_bytes[p] > 0)
            print_row(out, ss_phase_name((enum ss_phase)p),
                      plan->phase_flops[p], plan->phase_bytes[p]);
        bytes += plan->phase_bytes[p];
    }
    print_row(out, "all", plan->flops, bytes);
    ss_format_count(plan->model_flops, model, sizeof model);
    ss_buf_printf(out, "model FLOPs of this rank: %s\n", model);
    for (int d = 0; d < SS_DIMS; d++) {
        char text[24];
        ss_format_bytes(plan->comm_bytes[d], text, sizeof text);
        if (plan->layout.dim[d] > 1)
            ss_buf_printf(out, "messages over %s: %s\n",
                          ss_dim_name((enum ss_dim)d), text);
    }
}

enum ss_status ss_plan_print(const struct ss_plan *plan, struct ss_buf *out)
{
    print_rank(plan, out);
    print_model(&plan->model, out);
    print_sizes(plan, out);
    SS_TRY(ss_fold_print(plan, out));
    print_sums(plan, out);
    return ss_buf_status(out);
}
