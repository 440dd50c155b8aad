/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_PLAN_FOLD_H
#define SS_PLAN_FOLD_H

#include "plan/plan.h"

/** Inside the plan room: the list of ops, repetitions folded into loops. */
enum ss_status ss_fold_print(const struct ss_plan *plan, struct ss_buf *out);
/** The line of one op, without its number: equal for ops that differ only in
 * layer, micro-batch and place. */
void ss_fold_line(const struct ss_plan *plan, const struct ss_op *op, char *out,
                  size_t size);

#endif
