/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One op as a line of text. Folding compares these lines, so they hold nothing
 * that tells one layer's op from the next layer's.
 */
#include <inttypes.h>
#include <string.h>

#include "base/units.h"
#include "plan/fold.h"

static const char *lane_name(enum ss_lane lane)
{
    if (lane == SS_LANE_COMPUTE)
        return "compute";
    if (lane == SS_LANE_INPUT)
        return "input";
    return ss_dim_name((enum ss_dim)(lane - SS_LANE_COMM));
}

static const char *map_name(enum ss_map map)
{
    static const char *const names[] = {"none",     "gelu",         "gelu_bwd",
                                        "mul_silu", "mul_silu_bwd", "add"};
    return names[map];
}

/* Buckets are numbered; the number would keep layers from folding. */
static const char *label(const struct ss_op *op)
{
    if (op->kind == SS_OP_ALL_REDUCE && op->dim == SS_DIM_DP)
        return "bucket";
    return op->name;
}

static void format_work(const struct ss_op *op, char *out, size_t size)
{
    char bytes[24];
    ss_format_bytes(op->bytes, bytes, sizeof bytes);
    if (op->kind == SS_OP_GEMM)
        ss_format(out, size, "gemm %" PRId64 " x %" PRId64 " x %" PRId64 "%s",
                  op->m, op->n, op->k, op->accumulate ? " +=" : "");
    else if (op->kind == SS_OP_ELEMENTWISE)
        ss_format(out, size, "%s %" PRIu64, map_name(op->map), op->count);
    else if (op->peer >= 0)
        ss_format(out, size, "%s %s, peer %d", ss_op_kind_name(op->kind), bytes,
                  op->peer);
    else
        ss_format(out, size, "%s %s", ss_op_kind_name(op->kind), bytes);
}

void ss_fold_line(const struct ss_plan *plan, const struct ss_op *op, char *out,
                  size_t size)
{
    char work[64], waits[64] = "";
    size_t len = 0;
    format_work(op, work, sizeof work);
    for (int i = 0; i < op->n_waits && len < sizeof waits; i++) {
        ss_format(waits + len, sizeof waits - len, "%s%s",
                  i == 0 ? "  after " : ", ", label(&plan->op[op->wait[i]]));
        len += strlen(waits + len);
    }
    ss_format(out, size, "%-7s  %-9s  %-13s  %-26s%s", lane_name(op->lane),
              ss_phase_name(op->phase), label(op), work, waits);
    len = strlen(out);
    while (len > 0 && out[len - 1] == ' ')
        out[--len] = '\0';
}
