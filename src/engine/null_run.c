/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How time passes on the null engine. Every lane has a clock of its own; a
 * collective ends for all at the last rank's ready, or its lane's previous
 * end, plus its cost. Ready times travel as non-blocking messages that are
 * waited for only when somebody needs the end, so that enqueue does not block
 * and ranks may run far apart. On the virtual clock all of it is arithmetic;
 * on the real one the same arithmetic is slept.
 */
#include <stdatomic.h>
#include <time.h>

#include "base/clock.h"
#include "engine/null.h"

#define POLL_NS INT64_C(200000) /* real clock: between looks while asleep */
#define NAP_NS INT64_C(50000)   /* real clock: between looks while waiting */

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static struct ss_null_pending *slot(struct ss_null *self, int64_t number)
{
    return &self->ring[number % self->slots];
}

static const struct ss_op *op_at(const struct ss_null *self, int index)
{
    return &self->work.plan->op[index];
}

static int64_t clock_of(const struct ss_null *self)
{
    if (self->real)
        return ss_clock_ns();
    int64_t latest = self->lane_end[0];
    for (int lane = 1; lane < SS_LANES; lane++)
        latest = later(latest, self->lane_end[lane]);
    return latest;
}

static void note(const struct ss_null *self, int op, int step,
                 struct ss_op_event event)
{
    if (self->spec.sampled)
        self->record->event[(int64_t)step * self->record->ops + op] = event;
}

/* Latest end of the waits of an op that ran here; comm or not, as asked. */
static int64_t end_of_waits(const struct ss_null *self, const struct ss_op *op,
                            bool comm)
{
    int64_t latest = self->begin;
    for (int i = 0; i < op->n_waits; i++) {
        int w = op->wait[i];
        if (self->runs[w] && ss_op_is_comm(op_at(self, w)) == comm)
            latest = later(latest, self->end[w]);
    }
    return latest;
}

/* The last collective that must have ended before this op's start is known. */
static int64_t last_awaited(const struct ss_null *self, const struct ss_op *op)
{
    int64_t last = -1;
    for (int i = 0; i < op->n_waits; i++)
        if (self->runs[op->wait[i]])
            last = later(last, self->seq[op->wait[i]]);
    return last;
}

/* Sends this rank's ready, now that it is known. */
static enum ss_status post(struct ss_null *self, struct ss_null_pending *p)
{
    const struct ss_op *op = op_at(self, p->op);
    struct ss_rt *rt = self->comms.dim[op->dim];
    p->ready = later(p->ready, end_of_waits(self, op, true));
    if (op->lane == SS_LANE_COMPUTE)
        p->ready = later(p->ready, self->lane_end[SS_LANE_COMPUTE]);
    p->latest = p->ready;
    p->request.active = 0;
    self->posted++;
    if (!rt)
        return SS_OK;
    return rt->ops->icollective(rt, SS_COLL_ALL_REDUCE, NULL, &p->latest, 1,
                                SS_DT_I64, SS_RED_MAX, 0, &p->request);
}

/* In issue order, as far as ready times are known: equal on all members. */
static enum ss_status post_ready(struct ss_null *self)
{
    while (self->posted < self->tail &&
           slot(self, self->posted)->after < self->head)
        SS_TRY(post(self, slot(self, self->posted)));
    return SS_OK;
}

/* Real clock: stamps the posted ones whose last rank has arrived. */
static enum ss_status poll(struct ss_null *self, int *unseen)
{
    *unseen = 0;
    for (int64_t i = self->head; i < self->posted; i++) {
        struct ss_null_pending *p = slot(self, i);
        struct ss_rt *rt = self->comms.dim[op_at(self, p->op)->dim];
        int done = 1;
        if (p->seen != SS_NO_TIME)
            continue;
        if (rt)
            SS_TRY(rt->ops->test(rt, &p->request, &done));
        if (done)
            p->seen = ss_clock_ns();
        else
            ++*unseen;
    }
    return SS_OK;
}

static void nap(int64_t ns)
{
    const struct timespec t = {.tv_nsec = (long)ns};
    nanosleep(&t, NULL);
}

/* Real clock: sleeps, looking at what is in flight from time to time. */
static enum ss_status sleep_until(struct ss_null *self, int64_t when)
{
    int unseen = 1;
    while (unseen > 0 && ss_clock_ns() < when - POLL_NS) {
        SS_TRY(poll(self, &unseen));
        if (unseen > 0)
            nap(POLL_NS);
    }
    ss_clock_sleep_until(when);
    return SS_OK;
}

static enum ss_status wait_real(struct ss_null *self, struct ss_null_pending *p)
{
    int unseen;
    for (;;) {
        SS_TRY(poll(self, &unseen));
        if (p->seen != SS_NO_TIME)
            return SS_OK;
        if (self->spec.deadline_ns && ss_clock_ns() > self->spec.deadline_ns)
            return ss_fail(SS_ERR_TIMEOUT,
                           "%s did not end before the block's deadline",
                           op_at(self, p->op)->name);
        nap(NAP_NS);
    }
}

static enum ss_status wait_for(struct ss_null *self, struct ss_null_pending *p)
{
    struct ss_progress *progress = self->base.progress;
    struct ss_rt *rt = self->comms.dim[op_at(self, p->op)->dim];
    enum ss_status status = SS_OK;
    atomic_store_explicit(&progress->nth, p->nth, memory_order_relaxed);
    atomic_store_explicit(&progress->collective, p->op, memory_order_relaxed);
    if (self->real)
        status = wait_real(self, p);
    else if (rt)
        status = rt->ops->wait(rt, &p->request);
    atomic_store_explicit(&progress->collective, -1, memory_order_relaxed);
    return status;
}

/* Ends the oldest collective: from here on its time is known. */
static enum ss_status resolve_one(struct ss_null *self)
{
    struct ss_null_pending *p = slot(self, self->head);
    const struct ss_op *op = op_at(self, p->op);
    if (self->posted == self->head)
        SS_TRY(post(self, p));
    SS_TRY(wait_for(self, p));
    int64_t free_at = self->lane_end[op->lane];
    int64_t last = self->real ? p->seen : p->latest;
    int64_t end = later(last, free_at) + ss_null_cost(self, p->op, p->step);
    struct ss_op_event event = {p->enqueued, p->ready, later(p->ready, free_at),
                                end};
    self->lane_end[op->lane] = end;
    self->end[p->op] = end;
    note(self, p->op, p->step, event);
    self->head++;
    return post_ready(self);
}

static enum ss_status resolve_to(struct ss_null *self, int64_t number)
{
    while (self->head <= number)
        SS_TRY(resolve_one(self));
    return SS_OK;
}

static int64_t enqueued_at(const struct ss_null *self)
{
    /* A virtual host issues the whole block at once: it is never the cause of
     * an idle lane. */
    return self->real ? ss_clock_ns() : self->begin;
}

static enum ss_status enqueue_comm(struct ss_null *self, int index, int step)
{
    const struct ss_op *op = op_at(self, index);
    if (self->tail - self->head == self->slots)
        SS_TRY(resolve_one(self));
    int64_t after = last_awaited(self, op);
    if (op->lane == SS_LANE_COMPUTE)
        after = later(after, self->lane_seq[SS_LANE_COMPUTE]);
    *slot(self, self->tail) = (struct ss_null_pending){
        .op = index,
        .step = step,
        .nth = atomic_load_explicit(&self->base.progress->n_calls,
                                    memory_order_relaxed),
        .after = after,
        .enqueued = enqueued_at(self),
        .ready = end_of_waits(self, op, false),
        .seen = SS_NO_TIME,
    };
    self->seq[index] = self->tail;
    self->lane_seq[op->lane] = self->tail;
    self->tail++;
    return post_ready(self);
}

static enum ss_status enqueue_compute(struct ss_null *self, int index, int step)
{
    const struct ss_op *op = op_at(self, index);
    struct ss_op_event event = {.enqueued = enqueued_at(self)};
    int64_t cost = ss_null_cost(self, index, step);
    SS_TRY(resolve_to(self,
                      later(last_awaited(self, op), self->lane_seq[op->lane])));
    int64_t start = self->lane_end[op->lane];
    start = later(start, end_of_waits(self, op, false));
    start = later(start, end_of_waits(self, op, true));
    bool sleeps = self->real && op->lane == SS_LANE_COMPUTE;
    if (sleeps) {
        SS_TRY(sleep_until(self, start));
        start = ss_clock_ns();
    }
    int64_t end = start + cost;
    if (sleeps && cost > 0) {
        SS_TRY(sleep_until(self, end));
        end = ss_clock_ns();
    }
    event.ready = event.start = start;
    event.end = end;
    self->lane_end[op->lane] = self->end[index] = end;
    note(self, index, step, event);
    return SS_OK;
}

enum ss_status ss_null_enqueue(struct ss_engine *engine, int index, int step)
{
    struct ss_null *self = ss_null_of(engine);
    bool comm = ss_op_is_comm(op_at(self, index));
    /* a planted failure of a collective comes after this rank's part in it:
     * the peers are not to be left waiting */
    if (!comm)
        SS_TRY(ss_null_faults_enter(self, index));
    else if (ss_null_fault_hits(self, &self->hang, index))
        return ss_null_faults_enter(self, index);
    SS_TRY(comm ? enqueue_comm(self, index, step)
                : enqueue_compute(self, index, step));
    return comm ? ss_null_faults_enter(self, index) : SS_OK;
}

enum ss_status ss_null_mark(struct ss_engine *engine, int step, bool join)
{
    struct ss_null *self = ss_null_of(engine);
    int64_t *end = &self->lane_end[SS_LANE_COMPUTE];
    SS_TRY(resolve_to(self,
                      join ? self->tail - 1 : self->lane_seq[SS_LANE_COMPUTE]));
    for (int lane = 0; join && lane < SS_LANES; lane++)
        *end = later(*end, self->lane_end[lane]);
    if (self->real) {
        SS_TRY(sleep_until(self, *end));
        *end = ss_clock_ns();
    }
    self->record->mark[step] = *end;
    return SS_OK;
}

/* null.pace: a virtual block lasts as long on the wall as by its own clock. */
static enum ss_status pace(const struct ss_null *self, int64_t deadline_ns)
{
    int64_t when = self->wall_begin + clock_of(self) - self->begin;
    bool late = deadline_ns && when > deadline_ns;
    ss_clock_sleep_until(late ? deadline_ns : when);
    return late ? ss_fail(SS_ERR_TIMEOUT,
                          "the planted block takes %lld ms, longer than its "
                          "deadline",
                          (long long)((when - self->wall_begin) / SS_NS_PER_MS))
                : SS_OK;
}

enum ss_status ss_null_drain(struct ss_engine *engine, int64_t deadline_ns)
{
    struct ss_null *self = ss_null_of(engine);
    SS_TRY(resolve_to(self, self->tail - 1));
    if (self->real) {
        for (int lane = 0; lane < SS_LANES; lane++)
            SS_TRY(sleep_until(self, self->lane_end[lane]));
        return SS_OK;
    }
    return self->config->null_pace ? pace(self, deadline_ns) : SS_OK;
}

enum ss_status ss_null_block_begin(struct ss_engine *engine,
                                   const struct ss_block_spec *spec,
                                   struct ss_block_record *record)
{
    struct ss_null *self = ss_null_of(engine);
    const struct ss_plan *plan = self->work.plan;
    self->spec = *spec;
    self->record = record;
    self->begin = clock_of(self);
    self->wall_begin = ss_clock_ns();
    for (int lane = 0; lane < SS_LANES; lane++) {
        self->lane_end[lane] = self->begin;
        self->lane_seq[lane] = -1;
    }
    for (int i = 0; i < plan->n_ops; i++) {
        self->runs[i] = ss_op_runs(&plan->op[i], spec->variant);
        self->end[i] = self->begin;
        self->seq[i] = -1;
    }
    record->begin_ns = self->begin;
    record->accuracy_ns = self->real ? NAP_NS : 0;
    record->anchor_width_ns = 0;
    return SS_OK;
}

enum ss_status ss_null_block_end(struct ss_engine *engine)
{
    struct ss_null *self = ss_null_of(engine);
    self->record->end_ns = clock_of(self);
    return SS_OK;
}

enum ss_status ss_null_meet_all(struct ss_engine *engine)
{
    struct ss_null *self = ss_null_of(engine);
    int64_t clock = clock_of(self);
    struct ss_rt *group = self->comms.group;
    if (group)
        SS_TRY(ss_allreduce_all(group, &clock, 1, SS_DT_I64, SS_RED_MAX));
    for (int lane = 0; lane < SS_LANES; lane++)
        self->lane_end[lane] = self->real ? ss_clock_ns() : clock;
    return SS_OK;
}

int64_t ss_null_now(struct ss_engine *engine)
{
    return clock_of(ss_null_of(engine));
}
