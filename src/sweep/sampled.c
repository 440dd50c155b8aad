/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Moves what the pure attribution needs between the ranks of a communicator:
 * ready times, then blocked times. Runs between rounds, never in a timed
 * region. Inner dimensions come first (tp before dp), so that a rank which is
 * late in an outer one because it waited in an inner one can name whom it
 * waited for.
 */
#include "sweep/sampled.h"

#include "cluster/agree.h"
#include "sweep/sampled_work.h"

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

/** Every member's ready times of this step; last_ready of each collective. */
static enum ss_status exchange_ready(struct ss_sampled_work *work,
                                     enum ss_dim d,
                                     const struct ss_op_event *event)
{
    struct ss_dim_view *dim = &work->dim[d];
    struct ss_rt *rt = work->run->comms.dim[d];
    int64_t *mine = dim->ready + (size_t)dim->members * (size_t)dim->n;

    if (dim->n == 0)
        return SS_OK;
    for (int i = 0; i < dim->n; i++)
        mine[i] = event[dim->op[i]].ready;
    SS_TRY(
        ss_allgather_all(rt, mine, (size_t)dim->n * sizeof(*mine), dim->ready));
    for (int i = 0; i < dim->n; i++) {
        int64_t last = dim->ready[i];
        for (int m = 1; m < dim->members; m++)
            last = max64(last, dim->ready[m * dim->n + i]);
        work->last_ready[dim->op[i]] = last;
    }
    return SS_OK;
}

/** Members began the block at times of their own. */
static enum ss_status exchange_begin(struct ss_sampled_work *work,
                                     enum ss_dim d, int64_t begin)
{
    struct ss_dim_view *dim = &work->dim[d];

    if (dim->n == 0)
        return SS_OK;
    return ss_allgather_all(work->run->comms.dim[d], &begin, sizeof(begin),
                            dim->since);
}

/** Whom a blocked span waited for: rank in the group, or -1. */
static int span_culprit(const struct ss_sampled_work *work,
                        const struct ss_blocked *span)
{
    enum ss_dim d = work->run->plan.op[span->op].dim;

    return work->dim[d].culprit[work->position[span->op]];
}

/** Adds what of a span lies in [from, to] to blocked time; the longest wait
 * names whom. */
static int64_t add_span(const struct ss_blamed *b, int64_t from, int64_t to,
                        int64_t *longest, int64_t *whom)
{
    int64_t part = min64(b->span.end, to) - max64(b->span.begin, from);

    if (part <= 0)
        return 0;
    if (b->span.waiting > *longest) {
        *longest = b->span.waiting;
        *whom = b->whom;
    }
    return part;
}

/** This rank's blocked time before each collective of the dimension, and the
 * rank that most of it was spent waiting for. Before the first one lies the
 * end of the previous step. */
static void blocked_before(const struct ss_sampled_work *work,
                           const struct ss_dim_view *dim, int64_t *blocked,
                           int64_t *whom)
{
    const int64_t *ready = dim->ready + (size_t)dim->me * (size_t)dim->n;

    for (int i = 0; i < dim->n; i++) {
        int64_t from = i > 0 ? ready[i - 1] : dim->since[dim->me], longest = 0;
        blocked[i] = 0;
        whom[i] = -1;
        for (int s = 0; i == 0 && s < work->n_before; s++)
            blocked[i] +=
                add_span(&work->before[s], from, ready[i], &longest, &whom[i]);
        for (int s = 0; s < work->n_spans; s++) {
            const struct ss_blamed b = {work->span[s],
                                        span_culprit(work, &work->span[s])};
            blocked[i] += add_span(&b, from, ready[i], &longest, &whom[i]);
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

static void name_culprits(struct ss_sampled_work *work, enum ss_dim d)
{
    struct ss_dim_view *dim = &work->dim[d];

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
static enum ss_status judge_dim(struct ss_sampled_work *work, enum ss_dim d,
                                int64_t threshold)
{
    struct ss_dim_view *dim = &work->dim[d];
    struct ss_point_run *run = work->run;
    size_t row = 2 * (size_t)dim->n;
    int64_t *mine = dim->blocked + (size_t)dim->members * row;

    if (dim->n == 0)
        return SS_OK;
    blocked_before(work, dim, mine, mine + dim->n);
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
        .begin = dim->since,
        .threshold = threshold,
    };
    ss_arrivals_judge(&in, work->scratch, dim->culprit, dim->last, work->stat);
    name_culprits(work, d);
    dim->mine = work->stat[dim->me];
    return SS_OK;
}

/** This rank's arrivals; and each rank once that was last in any collective
 * seen from here. */
static void count_late(struct ss_sampled_work *work)
{
    struct ss_samples *samples = work->run->samples;

    for (int d = 0; d < SS_DIMS; d++) {
        samples->last_arrivals += work->dim[d].mine.last_arrivals;
        samples->excess[d] += work->dim[d].mine.excess;
        samples->collectives += work->dim[d].n;
    }
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
static enum ss_status store_step(struct ss_sampled_work *work,
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

/** What the next step needs of this one. */
static void remember(struct ss_sampled_work *work)
{
    for (int s = 0; s < work->n_spans; s++)
        work->before[s] = (struct ss_blamed){
            work->span[s], span_culprit(work, &work->span[s])};
    work->n_before = work->n_spans;
    for (int d = 0; d < SS_DIMS; d++) {
        struct ss_dim_view *dim = &work->dim[d];
        for (int m = 0; dim->n > 0 && m < dim->members; m++)
            dim->since[m] = dim->ready[m * dim->n + dim->n - 1];
    }
}

/** When a step began for which there is no mark: the first of a block. */
static int64_t first_start(const struct ss_op_event *event, int ops,
                           int64_t end)
{
    for (int i = 0; i < ops; i++)
        if (event[i].start != SS_NO_TIME)
            end = min64(end, event[i].start);
    return end;
}

/** Judges the arrivals of one step; the dimensions inner first. */
static enum ss_status judge_step(struct ss_sampled_work *work)
{
    const struct ss_point_run *run = work->run;
    int64_t tie = max64(3 * run->bound_ns, run->step_ns[SS_WHOLE] / 500);

    for (int i = 0; i < SS_DIMS; i++)
        SS_TRY(judge_dim(work, inner_first[i], tie));
    remember(work);
    return SS_OK;
}

/** Step 0 is not stored: it only says how step 1 began. */
static enum ss_status reduce_step(struct ss_sampled_work *work,
                                  const struct ss_raw_block *raw, int block,
                                  int step)
{
    struct ss_point_run *run = work->run;
    const struct ss_block_record *record = &raw->record;
    const struct ss_op_event *event =
        record->event + (size_t)step * (size_t)record->ops;
    int64_t end = record->mark[step];
    struct ss_step_view view = {
        .plan = &run->plan,
        .variant = raw->variant,
        .event = event,
        .last_ready = work->last_ready,
        .begin = step > 0 ? record->mark[step - 1]
                          : first_start(event, record->ops, end),
        .end = end,
        .clock_bound = run->bound_ns,
    };
    bool comm = raw->variant != SS_COMPUTE_ONLY;
    struct ss_step_terms terms;

    for (int d = 0; comm && d < SS_DIMS; d++) {
        SS_TRY(exchange_ready(work, (enum ss_dim)d, event));
        if (step == 0)
            SS_TRY(exchange_begin(work, (enum ss_dim)d, view.begin));
    }
    ss_attribute_step(&view, work->scratch, &terms, work->span, work->max_spans,
                      &work->n_spans);
    if (comm)
        SS_TRY(judge_step(work));
    if (step == 0)
        return SS_OK;
    if (comm)
        count_late(work);
    if (work->stored == SS_OK)
        work->stored = store_step(work, &terms, block, step - 1);
    return SS_OK;
}

enum ss_status ss_sampled_reduce_all(struct ss_point_run *run,
                                     const struct ss_raw_block *raw, int block)
{
    struct ss_sampled_work work;
    enum ss_status status =
        ss_agree_all(run->comms.group, ss_sampled_work_open(run, &work));

    for (int step = 0; status == SS_OK && step < raw->record.steps; step++)
        status = reduce_step(&work, raw, block, step);
    if (status == SS_OK)
        status = work.stored;
    ss_sampled_work_close(&work);
    return status;
}
