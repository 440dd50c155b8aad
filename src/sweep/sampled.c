/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Moves what the pure attribution needs between the ranks of a communicator:
 * ready times, then blocked times. Runs between rounds, never in a timed
 * region. Inner dimensions come first (tp before dp), so that a rank which is
 * late in an outer one because it waited in an inner one can name whom it
 * waited for.
 */
#include "sweep/sampled.h"

#include "analysis/attribution.h"
#include "base/mem.h"
#include "cluster/agree.h"

/** The collectives of one dimension in plan order, and what was exchanged. */
struct dim_view {
    int n, members, me;
    int *op;          /**< [n] op index */
    int64_t *ready;   /**< [members][n] */
    int64_t *blocked; /**< [members][2 n]: blocked ns, then whom (or -1) */
    int64_t *only;    /**< [members][n]: the blocked half of it */
    int64_t *begin;   /**< [members] */
    int64_t *last;    /**< [n] */
    int *culprit;     /**< [n] rank in the group, -1: nobody */
};

struct work {
    struct ss_point_run *run;
    struct dim_view dim[SS_DIMS];
    int64_t *last_ready; /**< [ops] */
    int *position;       /**< [ops] index within its dimension */
    int64_t *scratch;
    struct ss_blocked *span;
    int n_spans, max_spans;
    struct ss_arrival_stat *stat;
    enum ss_status stored; /**< a failure to store must not stop the exchange */
};

static const enum ss_dim inner_first[SS_DIMS] = {
    SS_DIM_TP, SS_DIM_CP, SS_DIM_EP, SS_DIM_PP, SS_DIM_DP};

static int64_t max64(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t min64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static enum ss_status open_dim(struct work *work, enum ss_dim d)
{
    const struct ss_plan *plan = &work->run->plan;
    struct ss_rt *rt = work->run->comms.dim[d];
    struct dim_view *dim = &work->dim[d];

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
    dim->begin = ss_alloc((size_t)rt->size, sizeof(*dim->begin), "begins");
    /* one row more: this rank's own row before the exchange */
    dim->ready = ss_alloc(all + n, sizeof(*dim->ready), "ready times");
    dim->only = ss_alloc(all, sizeof(*dim->only), "blocked times");
    dim->blocked =
        ss_alloc(2 * (all + n), sizeof(*dim->blocked), "blocked times");
    if (!dim->op || !dim->culprit || !dim->last || !dim->begin || !dim->ready ||
        !dim->only || !dim->blocked)
        return SS_ERR_NO_MEMORY;
    for (int i = 0, at = 0; i < plan->n_ops; i++)
        if (ss_op_is_comm(&plan->op[i]) && plan->op[i].dim == d) {
            work->position[i] = at;
            dim->op[at++] = i;
        }
    return SS_OK;
}

static void close_work(struct work *work)
{
    for (int d = 0; d < SS_DIMS; d++) {
        struct dim_view *dim = &work->dim[d];
        ss_free(dim->op);
        ss_free(dim->culprit);
        ss_free(dim->last);
        ss_free(dim->begin);
        ss_free(dim->ready);
        ss_free(dim->only);
        ss_free(dim->blocked);
    }
    ss_free(work->last_ready);
    ss_free(work->position);
    ss_free(work->scratch);
    ss_free(work->span);
    ss_free(work->stat);
}

static enum ss_status open_work(struct ss_point_run *run, struct work *work)
{
    size_t ops = (size_t)run->plan.n_ops, ranks = (size_t)run->size;
    size_t scratch = 2 * (ops > ranks ? ops : ranks) + 2;

    *work = (struct work){.run = run, .max_spans = run->plan.n_ops};
    work->last_ready = ss_alloc(ops, sizeof(int64_t), "last ready times");
    work->position = ss_alloc(ops, sizeof(int), "positions");
    work->scratch = ss_alloc(scratch, sizeof(int64_t), "scratch");
    work->span = ss_alloc(ops, sizeof(*work->span), "blocked spans");
    work->stat = ss_alloc(ranks, sizeof(*work->stat), "arrival counts");
    if (!work->last_ready || !work->position || !work->scratch || !work->span ||
        !work->stat)
        return SS_ERR_NO_MEMORY;
    for (int d = 0; d < SS_DIMS; d++)
        SS_TRY(open_dim(work, (enum ss_dim)d));
    return SS_OK;
}

/** Every member's ready times of this step; last_ready of each collective. */
static enum ss_status exchange_ready(struct work *work, enum ss_dim d,
                                     const struct ss_op_event *event,
                                     int64_t begin)
{
    struct dim_view *dim = &work->dim[d];
    struct ss_rt *rt = work->run->comms.dim[d];
    int64_t *mine = dim->ready + (size_t)dim->members * (size_t)dim->n;

    if (dim->n == 0)
        return SS_OK;
    for (int i = 0; i < dim->n; i++)
        mine[i] = event[dim->op[i]].ready;
    SS_TRY(
        ss_allgather_all(rt, mine, (size_t)dim->n * sizeof(*mine), dim->ready));
    SS_TRY(ss_allgather_all(rt, &begin, sizeof(begin), dim->begin));
    for (int i = 0; i < dim->n; i++) {
        int64_t last = dim->ready[i];
        for (int m = 1; m < dim->members; m++)
            last = max64(last, dim->ready[m * dim->n + i]);
        work->last_ready[dim->op[i]] = last;
    }
    return SS_OK;
}

/** Whom a blocked span waited for: rank in the group, or -1. */
static int span_culprit(const struct work *work, const struct ss_blocked *span)
{
    enum ss_dim d = work->run->plan.op[span->op].dim;

    return work->dim[d].culprit[work->position[span->op]];
}

/** This rank's blocked time before each collective of the dimension, and the
 * rank that most of it was spent waiting for. */
static void blocked_before(const struct work *work, const struct dim_view *dim,
                           int64_t begin, int64_t *blocked, int64_t *whom)
{
    const int64_t *ready = dim->ready + (size_t)dim->me * (size_t)dim->n;

    for (int i = 0; i < dim->n; i++) {
        int64_t from = i > 0 ? ready[i - 1] : begin, longest = 0;
        blocked[i] = 0;
        whom[i] = -1;
        for (int s = 0; s < work->n_spans; s++) {
            const struct ss_blocked *span = &work->span[s];
            int64_t part =
                min64(span->end, ready[i]) - max64(span->begin, from);
            if (part <= 0)
                continue;
            blocked[i] += part;
            if (span->waiting > longest) {
                longest = span->waiting;
                whom[i] = span_culprit(work, span);
            }
        }
    }
}

/** A member index of the dimension as a rank of the group. */
static int group_rank(const struct ss_point_run *run, enum ss_dim d, int member)
{
    struct ss_coords at = run->plan.coords;

    at.at[d] = member;
    return ss_layout_rank(&run->plan.layout, &at);
}

static void name_culprits(struct work *work, enum ss_dim d)
{
    struct dim_view *dim = &work->dim[d];

    for (int i = 0; i < dim->n; i++) {
        int who = dim->culprit[i];
        if (who >= 0) {
            dim->culprit[i] = group_rank(work->run, d, who);
        } else if (who <= -2) { /* passed on: to whom did that one wait? */
            int64_t m = -2 - who;
            dim->culprit[i] = (int)dim->blocked[m * 2 * dim->n + dim->n + i];
        }
    }
}

/** Exchanges blocked times and judges the dimension's arrivals. */
static enum ss_status judge_dim(struct work *work, enum ss_dim d, int64_t begin,
                                int64_t threshold)
{
    struct dim_view *dim = &work->dim[d];
    struct ss_point_run *run = work->run;
    size_t row = 2 * (size_t)dim->n;
    int64_t *mine = dim->blocked + (size_t)dim->members * row;

    if (dim->n == 0)
        return SS_OK;
    blocked_before(work, dim, begin, mine, mine + dim->n);
    SS_TRY(ss_allgather_all(run->comms.dim[d], mine, row * sizeof(*mine),
                            dim->blocked));
    for (int m = 0; m < dim->members; m++) {
        for (int i = 0; i < dim->n; i++)
            dim->only[m * dim->n + i] =
                dim->blocked[(size_t)m * row + (size_t)i];
        work->stat[m] = (struct ss_arrival_stat){0};
    }
    struct ss_arrivals in = {
        .ranks = dim->members,
        .n = dim->n,
        .ready = dim->ready,
        .blocked = dim->only,
        .begin = dim->begin,
        .threshold = threshold,
    };
    ss_arrivals_judge(&in, work->scratch, dim->culprit, dim->last, work->stat);
    name_culprits(work, d);
    run->samples->last_arrivals += work->stat[dim->me].last_arrivals;
    run->samples->excess[d] += work->stat[dim->me].excess;
    run->samples->collectives += dim->n;
    return SS_OK;
}

/** Counts each rank once that was last in any collective seen from here. */
static void count_late(struct work *work)
{
    struct ss_samples *samples = work->run->samples;

    for (int rank = 0; rank < samples->group_size; rank++) {
        bool late = false;
        for (int d = 0; d < SS_DIMS && !late; d++)
            for (int i = 0; i < work->dim[d].n && !late; i++)
                late = work->dim[d].culprit[i] == rank;
        samples->late_steps[rank] += late;
    }
    samples->sampled_steps++;
}

static void terms_row(const struct ss_step_terms *t, int rank, int block,
                      int step, struct ss_terms_row *row)
{
    *row = (struct ss_terms_row){
        .rank = rank,
        .block = block,
        .step = step,
        .step_ns = t->step,
        .busy_ns = t->busy,
        .transfer_dp_ns = t->transfer[SS_DIM_DP],
        .transfer_tp_ns = t->transfer[SS_DIM_TP],
        .transfer_pp_ns = t->transfer[SS_DIM_PP],
        .transfer_ep_ns = t->transfer[SS_DIM_EP],
        .transfer_cp_ns = t->transfer[SS_DIM_CP],
        .waiting_ns = t->waiting,
        .unsplit_ns = t->unsplit,
        .bubble_ns = t->bubble,
        .input_ns = t->input,
        .launch_ns = t->launch,
        .other_ns = t->other,
        .comm_union_ns = t->comm_union,
        .phase_input_ns = t->phase[SS_PHASE_input],
        .phase_forward_ns = t->phase[SS_PHASE_forward],
        .phase_backward_ns = t->phase[SS_PHASE_backward],
        .phase_dp_comm_ns = t->phase[SS_PHASE_dp_comm],
        .phase_tp_comm_ns = t->phase[SS_PHASE_tp_comm],
        .phase_pp_comm_ns = t->phase[SS_PHASE_pp_comm],
        .phase_ep_comm_ns = t->phase[SS_PHASE_ep_comm],
        .phase_cp_comm_ns = t->phase[SS_PHASE_cp_comm],
        .phase_optimizer_ns = t->phase[SS_PHASE_optimizer],
    };
}

/** Stores the step: its terms, and the spans that may prove persistent. */
static enum ss_status store_step(struct work *work,
                                 const struct ss_step_terms *terms, int block,
                                 int step)
{
    struct ss_samples *samples = work->run->samples;
    struct ss_terms_row row;

    terms_row(terms, work->run->first + work->run->comms.group->rank, block,
              step, &row);
    SS_TRY(ss_samples_add_terms(samples, &row));
    for (int s = 0; s < work->n_spans; s++) {
        const struct ss_blocked *span = &work->span[s];
        struct ss_wait wait = {samples->n_terms - 1, span->waiting, -1};
        if (span->unsplit || span->waiting == 0)
            continue;
        wait.culprit = span_culprit(work, span);
        SS_TRY(ss_samples_add_wait(samples, &wait));
    }
    return SS_OK;
}

static enum ss_status reduce_step(struct work *work,
                                  const struct ss_raw_block *raw, int block,
                                  int step)
{
    struct ss_point_run *run = work->run;
    const struct ss_block_record *record = &raw->record;
    const struct ss_op_event *event =
        record->event + (size_t)step * (size_t)record->ops;
    struct ss_step_view view = {
        .plan = &run->plan,
        .variant = raw->variant,
        .event = event,
        .last_ready = work->last_ready,
        .begin = record->mark[step - 1],
        .end = record->mark[step],
        .clock_bound = run->bound_ns,
    };
    bool comm = raw->variant != SS_COMPUTE_ONLY;
    int64_t tie = max64(3 * run->bound_ns, run->step_ns[SS_WHOLE] / 500);
    struct ss_step_terms terms;

    for (int d = 0; comm && d < SS_DIMS; d++)
        SS_TRY(exchange_ready(work, (enum ss_dim)d, event, view.begin));
    ss_attribute_step(&view, work->scratch, &terms, work->span, work->max_spans,
                      &work->n_spans);
    for (int i = 0; comm && i < SS_DIMS; i++)
        SS_TRY(judge_dim(work, inner_first[i], view.begin, tie));
    if (comm)
        count_late(work);
    if (work->stored == SS_OK)
        work->stored = store_step(work, &terms, block, step - 1);
    return SS_OK;
}

enum ss_status ss_sampled_reduce_all(struct ss_point_run *run,
                                     const struct ss_raw_block *raw, int block)
{
    struct work work;
    enum ss_status status =
        ss_agree_all(run->comms.group, open_work(run, &work));

    for (int step = 1; status == SS_OK && step < raw->record.steps; step++)
        status = reduce_step(&work, raw, block, step);
    if (status == SS_OK)
        status = work.stored;
    close_work(&work);
    return status;
}
