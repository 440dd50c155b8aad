/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the time of one step of one rank went. Walks the compute lane from
 * mark to mark and hands every nanosecond to exactly one term, so that the
 * identity holds whatever the events say: times outside the step or before the
 * cursor are cut, never dropped. Must not know other ranks: their part is
 * already in last_ready.
 */
#include "analysis/attribution.h"

#define UNSPLIT_BOUNDS                                                         \
    10 /* shorter spans than so many bounds are not split                      \
        */

struct walk {
    const struct ss_step_view *view;
    struct ss_step_terms *terms;
    struct ss_blocked *blocked;
    int max, n;
    int64_t cursor;
};

/** What a span is blocked on: the collectives that end after the cursor. */
struct hold {
    int last_ready_op; /* -1: nothing */
    int last_end_op;
    int64_t last_ready, end;
};

static int64_t clamp(int64_t v, int64_t lo, int64_t hi)
{
    return v < lo ? lo : v > hi ? hi : v;
}

static bool ran(const struct ss_step_view *view, int op)
{
    return view->event[op].start != SS_NO_TIME &&
           view->event[op].end != SS_NO_TIME;
}

static void hold_on(const struct walk *walk, int op, struct hold *hold)
{
    int64_t end = walk->view->event[op].end;
    int64_t ready = walk->view->last_ready[op];

    if (end <= walk->cursor)
        return;
    if (hold->last_ready_op < 0 || ready > hold->last_ready) {
        hold->last_ready = ready;
        hold->last_ready_op = op;
    }
    if (hold->last_end_op < 0 || end > hold->end) {
        hold->end = end;
        hold->last_end_op = op;
    }
}

/** A wait that the pipeline's schedule has; plans do not yet say how long it
 * would last ideally, so all of it counts. */
static bool is_pipeline_receive(const struct ss_op *op)
{
    return op->kind == SS_OP_RECV && op->dim == SS_DIM_PP;
}

static void keep_span(struct walk *walk, const struct ss_blocked *span)
{
    if (walk->n < walk->max)
        walk->blocked[walk->n++] = *span;
}

/** Gives [cursor, until] to waiting and transfer. */
static void take_blocked(struct walk *walk, const struct hold *hold,
                         int compute_op, int64_t until)
{
    const struct ss_plan *plan = walk->view->plan;
    struct ss_step_terms *terms = walk->terms;
    struct ss_blocked span = {.op = hold->last_ready_op,
                              .compute_op = compute_op,
                              .begin = walk->cursor,
                              .end = until};
    int64_t length = until - walk->cursor;

    if (length <= 0)
        return;
    walk->cursor = until;
    if (length < UNSPLIT_BOUNDS * walk->view->clock_bound) {
        span.unsplit = true;
        terms->unsplit += length;
    } else {
        span.waiting = clamp(hold->last_ready - span.begin, 0, length);
        span.transfer = length - span.waiting;
        terms->transfer[plan->op[hold->last_end_op].dim] += span.transfer;
        if (is_pipeline_receive(&plan->op[span.op])) {
            terms->bubble += span.waiting;
            span.waiting = 0;
        } else {
            terms->waiting += span.waiting;
        }
    }
    keep_span(walk, &span);
}

/** Idle time before an op that waits for no event (any more). */
static void take_idle(struct walk *walk, int64_t enqueued, int64_t start)
{
    int64_t issued = clamp(enqueued, walk->cursor, start);

    walk->terms->launch += issued - walk->cursor;
    walk->terms->other += start - issued;
    walk->cursor = start;
}

/** The gap between the cursor and the start of compute op `index`. */
static void take_gap(struct walk *walk, int index, int64_t start)
{
    const struct ss_step_view *view = walk->view;
    const struct ss_op *op = &view->plan->op[index];
    struct hold hold = {.last_ready_op = -1, .last_end_op = -1};
    int64_t input_end = walk->cursor;

    for (int w = 0; w < op->n_waits; w++) {
        int on = op->wait[w];
        if (!ran(view, on))
            continue;
        if (ss_op_is_comm(&view->plan->op[on]))
            hold_on(walk, on, &hold);
        else if (view->event[on].end > input_end)
            input_end = view->event[on].end;
    }
    if (hold.last_end_op >= 0)
        take_blocked(walk, &hold, index, clamp(hold.end, walk->cursor, start));
    input_end = clamp(input_end, walk->cursor, start);
    walk->terms->input += input_end - walk->cursor;
    walk->cursor = input_end;
    take_idle(walk, view->event[index].enqueued, start);
}

/** An op of the compute lane: the gap before it, then itself. */
static void take_op(struct walk *walk, int index)
{
    const struct ss_step_view *view = walk->view;
    const struct ss_op_event *event = &view->event[index];
    int64_t start = clamp(event->start, walk->cursor, view->end);
    int64_t end = clamp(event->end, start, view->end);

    take_gap(walk, index, start);
    if (ss_op_is_comm(&view->plan->op[index])) {
        struct hold hold = {.last_ready_op = -1, .last_end_op = -1};
        hold_on(walk, index, &hold);
        if (hold.last_end_op >= 0)
            take_blocked(walk, &hold, index, end);
    } else {
        walk->terms->busy += end - start;
        walk->cursor = end;
    }
}

/** What lies between the last op of the compute lane and the mark. Comm-only
 * steps end when all lanes have; elsewhere nothing explains it. */
static void take_tail(struct walk *walk)
{
    const struct ss_step_view *view = walk->view;
    struct hold hold = {.last_ready_op = -1, .last_end_op = -1};

    if (view->variant == SS_COMM_ONLY)
        for (int i = 0; i < view->plan->n_ops; i++)
            if (ss_op_is_comm(&view->plan->op[i]) && ran(view, i))
                hold_on(walk, i, &hold);
    if (hold.last_end_op >= 0)
        take_blocked(walk, &hold, -1, clamp(hold.end, walk->cursor, view->end));
    walk->terms->other += view->end - walk->cursor;
    walk->cursor = view->end;
}

/** Union of the ops' spans by phase; ops of a phase start in issue order. */
static void phase_spans(const struct ss_step_view *view,
                        struct ss_step_terms *terms)
{
    int64_t covered[SS_PHASES];

    for (int p = 0; p < SS_PHASES; p++)
        covered[p] = INT64_MIN;
    for (int i = 0; i < view->plan->n_ops; i++) {
        enum ss_phase phase = view->plan->op[i].phase;
        int64_t from = view->event[i].start, to = view->event[i].end;
        if (!ran(view, i) || to <= covered[phase])
            continue;
        terms->phase[phase] +=
            to - (from > covered[phase] ? from : covered[phase]);
        covered[phase] = to;
    }
}

/** Union over the collectives of [last ready, end]; they come nearly sorted,
 * so insertion is enough. */
static int64_t comm_union(const struct ss_step_view *view, int64_t *from)
{
    int64_t *to = from + view->plan->n_ops, sum = 0, covered = INT64_MIN;
    int n = 0;

    for (int i = 0; i < view->plan->n_ops; i++) {
        int64_t ready, end = view->event[i].end;
        int j = n;
        if (!ss_op_is_comm(&view->plan->op[i]) || !ran(view, i))
            continue;
        ready = view->last_ready[i];
        if (ready >= end)
            continue;
        for (; j > 0 && from[j - 1] > ready; j--) {
            from[j] = from[j - 1];
            to[j] = to[j - 1];
        }
        from[j] = ready;
        to[j] = end;
        n++;
    }
    for (int i = 0; i < n; i++) {
        if (to[i] <= covered)
            continue;
        sum += to[i] - (from[i] > covered ? from[i] : covered);
        covered = to[i];
    }
    return sum;
}

void ss_attribute_step(const struct ss_step_view *view, int64_t *scratch,
                       struct ss_step_terms *terms, struct ss_blocked *blocked,
                       int max, int *n)
{
    struct walk walk = {.view = view,
                        .terms = terms,
                        .blocked = blocked,
                        .max = max,
                        .cursor = view->begin};

    *terms = (struct ss_step_terms){.step = view->end - view->begin};
    for (int i = 0; i < view->plan->n_ops; i++)
        if (view->plan->op[i].lane == SS_LANE_COMPUTE && ran(view, i))
            take_op(&walk, i);
    take_tail(&walk);
    terms->comm_union = comm_union(view, scratch);
    phase_spans(view, terms);
    *n = walk.n;
}

bool ss_is_persistent(int64_t late_steps, int64_t sampled_steps)
{
    return 2 * late_steps > sampled_steps;
}
