/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The checks of an engine without data: exact integers through the real
 * runtime, once for each kind of collective and dimension of the plan, with
 * the planted corruption. GEMM and replica rows are not claimed, because there
 * is nothing behind them.
 */
#include "engine/check.h"
#include "engine/null.h"

#define CHECK_ELEMS UINT64_C(256) /* of each operand, at least one a rank */

static uint64_t count_for(int ranks)
{
    uint64_t share = CHECK_ELEMS / (uint64_t)ranks;
    return share > 0 ? share : 1;
}

uint64_t ss_null_check_elems(const struct ss_plan *plan)
{
    uint64_t most = CHECK_ELEMS;
    for (int dim = 0; dim < SS_DIMS; dim++)
        if ((uint64_t)plan->layout.dim[dim] > most)
            most = (uint64_t)plan->layout.dim[dim];
    return 2 * most;
}

/* Does the planted corruption hit a collective of this kind and dimension? */
static bool is_corrupt(const struct ss_null *self, enum ss_op_kind kind,
                       enum ss_dim dim)
{
    const struct ss_plan *plan = self->work.plan;
    for (int i = 0; i < plan->n_ops; i++)
        if (plan->op[i].kind == kind && plan->op[i].dim == dim &&
            ss_null_fault_hits(self, &self->corrupt, i))
            return true;
    return false;
}

static const char *op_name(const struct ss_null *self, int first, bool flip)
{
    const struct ss_plan *plan = self->work.plan;
    return plan->op[flip ? self->corrupt.op : first].name;
}

static enum ss_status check_one_all(const struct ss_null *self, int first,
                                    enum ss_coll coll,
                                    struct ss_check_sink *sink)
{
    const struct ss_op *op = &self->work.plan->op[first];
    struct ss_rt *rt = self->comms.dim[op->dim];
    struct ss_coll_wrong wrong;
    struct ss_coll_check check = {
        .rt = rt,
        .kind = coll,
        .dtype = SS_DT_I64,
        .send = self->scratch,
        .recv = self->scratch + self->scratch_elems / 2,
        .count = count_for(rt->size),
        .flip = is_corrupt(self, op->kind, op->dim),
    };
    SS_TRY(ss_coll_check_all(&check, &wrong));
    const char *kind = ss_op_kind_name(op->kind);
    if (wrong.found)
        ss_check_add(sink, kind, false,
                     "%s over %s: element %llu is %.17g, expected %lld",
                     op_name(self, first, check.flip), ss_dim_name(op->dim),
                     (unsigned long long)wrong.at, wrong.got,
                     (long long)wrong.expected);
    else
        ss_check_add(sink, kind, true, "%llu exact integers over %s",
                     (unsigned long long)check.count, ss_dim_name(op->dim));
    return SS_OK;
}

enum ss_status ss_null_check_all(struct ss_engine *engine, const char *when,
                                 struct ss_check_row *rows, int max, int *n)
{
    struct ss_null *self = ss_null_of(engine);
    struct ss_check_sink sink = {.rows = rows,
                                 .max = max,
                                 .rank = self->work.logical_rank,
                                 .when = when};
    *n = 0;
    for (int kind = 0; kind < SS_OP_KINDS; kind++) {
        enum ss_coll coll;
        if (!ss_coll_of((enum ss_op_kind)kind, &coll))
            continue;
        for (int dim = 0; dim < SS_DIMS; dim++) {
            int first = ss_coll_largest(self->work.plan, (enum ss_op_kind)kind,
                                        (enum ss_dim)dim);
            if (first >= 0 && self->comms.dim[dim])
                SS_TRY(check_one_all(self, first, coll, &sink));
        }
    }
    *n = sink.n;
    return SS_OK;
}
