/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory for the reduction of one sampled block, taken once per block and not
 * per step. Must not know what is done with it (sampled.c).
 */
#include "sweep/sampled_work.h"

#include "base/mem.h"

static enum ss_status open_dim(struct ss_sampled_work *work, enum ss_dim d)
{
    const struct ss_plan *plan = &work->run->plan;
    struct ss_rt *rt = work->run->comms.dim[d];
    struct ss_dim_view *dim = &work->dim[d];

    if (!rt)
        return SS_OK;
    for (int i = 0; i < plan->n_ops; i++)
        if (ss_op_is_comm(&plan->op[i]) && plan->op[i].dim == d)
            dim->n++;
    dim->members = rt->size;
    dim->me = rt->rank;
    size_t n = (size_t)dim->n, all = n * (size_t)rt->size;
    dim->op = ss_alloc(n, sizeof(*dim->op), "collectives");
    dim->culprit = ss_alloc(n, sizeof(*dim->culprit), "last arrivers");
    dim->last = ss_alloc(n, sizeof(*dim->last), "last ready times");
    dim->since = ss_alloc((size_t)rt->size, sizeof(*dim->since), "begins");
    /* one row more: this rank's own row before the exchange */
    dim->ready = ss_alloc(all + n, sizeof(*dim->ready), "ready times");
    dim->only = ss_alloc(all, sizeof(*dim->only), "blocked times");
    dim->blocked =
        ss_alloc(2 * (all + n), sizeof(*dim->blocked), "blocked times");
    if (!dim->op || !dim->culprit || !dim->last || !dim->since || !dim->ready ||
        !dim->only || !dim->blocked)
        return SS_ERR_NO_MEMORY;
    for (int i = 0, at = 0; i < plan->n_ops; i++)
        if (ss_op_is_comm(&plan->op[i]) && plan->op[i].dim == d) {
            work->position[i] = at;
            dim->op[at++] = i;
        }
    return SS_OK;
}

void ss_sampled_work_close(struct ss_sampled_work *work)
{
    for (int d = 0; d < SS_DIMS; d++) {
        struct ss_dim_view *dim = &work->dim[d];
        ss_free(dim->op);
        ss_free(dim->culprit);
        ss_free(dim->last);
        ss_free(dim->since);
        ss_free(dim->ready);
        ss_free(dim->only);
        ss_free(dim->blocked);
    }
    ss_free(work->last_ready);
    ss_free(work->position);
    ss_free(work->scratch);
    ss_free(work->span);
    ss_free(work->before);
    ss_free(work->stat);
}

enum ss_status ss_sampled_work_open(struct ss_point_run *run,
                                    struct ss_sampled_work *work)
{
    size_t ops = (size_t)run->plan.n_ops, ranks = (size_t)run->size;
    size_t scratch = 2 * (ops > ranks ? ops : ranks) + 2;

    *work = (struct ss_sampled_work){.run = run, .max_spans = run->plan.n_ops};
    work->last_ready = ss_alloc(ops, sizeof(int64_t), "last ready times");
    work->position = ss_alloc(ops, sizeof(int), "positions");
    work->scratch = ss_alloc(scratch, sizeof(int64_t), "scratch");
    work->span = ss_alloc(ops, sizeof(*work->span), "blocked spans");
    work->before = ss_alloc(ops, sizeof(*work->before), "blocked spans");
    work->stat = ss_alloc(ranks, sizeof(*work->stat), "arrival counts");
    if (!work->last_ready || !work->position || !work->scratch || !work->span ||
        !work->before || !work->stat)
        return SS_ERR_NO_MEMORY;
    for (int d = 0; d < SS_DIMS; d++)
        SS_TRY(open_dim(work, (enum ss_dim)d));
    return SS_OK;
}
