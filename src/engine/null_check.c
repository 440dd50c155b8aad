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

static enum ss_status check_coll_all(struct ss_engine *engine, int first,
                                     struct ss_check_sink *sink)
{
    const struct ss_null *self = ss_null_of(engine);
    const struct ss_op *op = &self->work.plan->op[first];
    struct ss_rt *rt = self->comms.dim[op->dim];
    if (!rt)
        return SS_OK;
    struct ss_coll_wrong wrong;
    struct ss_coll_check check = {
        .rt = rt,
        .dtype = SS_DT_I64,
        .send = self->scratch,
        .recv = self->scratch + self->scratch_elems / 2,
        .count = count_for(rt->size),
        .flip = is_corrupt(self, op->kind, op->dim),
    };
    (void)ss_coll_of(op->kind, &check.kind); /* load refused every other op */
    SS_TRY(ss_coll_check_all(&check, &wrong));
    ss_check_add_coll(sink, op, op_name(self, first, check.flip), check.count,
                      &wrong);
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
    const struct ss_plan_check check = {
        .engine = engine,
        .plan = self->work.plan,
        .coll_all = check_coll_all,
    };
    enum ss_status status = ss_check_plan_all(&check, &sink);
    *n = sink.n;
    return status;
}
