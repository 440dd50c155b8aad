/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is true of a kind of op, whatever the plan it stands in.
 */
#include "plan/plan.h"

bool ss_op_is_comm(const struct ss_op *op)
{
    return op->kind >= SS_OP_ALL_REDUCE;
}

const char *ss_op_kind_name(enum ss_op_kind kind)
{
    static const char *const names[] = {
        "gemm",       "elementwise",    "optimizer",  "copy",      "all_reduce",
        "all_gather", "reduce_scatter", "all_to_all", "broadcast", "send",
        "recv"};
    return names[kind];
}

bool ss_op_runs(const struct ss_op *op, enum ss_variant variant)
{
    switch (variant) {
    case SS_COMPUTE_ONLY:
        return !ss_op_is_comm(op);
    case SS_COMM_ONLY:
        return ss_op_is_comm(op);
    default:
        return true;
    }
}
