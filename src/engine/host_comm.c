/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collectives of the host engine. Each lane runs one at a time, in order, as a
 * stream would, so that the start and end of each are its own; MPI makes
 * progress only inside its calls, so pump() must be called often, by the
 * measuring thread or by the progress thread, never by both at once. An end is
 * stamped by the first look that sees it. Knows nothing of GEMMs.
 */
#include <sched.h>
#include <stdatomic.h>

#include "base/clock.h"
#include "base/str.h"
#include "engine/host.h"

#define NO_OP (-1)

void ss_host_lanes_clear(struct ss_host *self)
{
    for (int i = 0; i < SS_LANES; i++)
        self->lane[i] = (struct ss_host_lane){NO_OP, NO_OP};
    for (int i = 0; i < self->work.plan->n_ops; i++)
        self->call[i].pending = false;
    self->in_flight = 0;
    self->failure = SS_OK;
}

/* When the input of a queued call was complete; false: it is not yet. */
static bool is_ready(const struct ss_host *self, const struct ss_op *op,
                     int64_t *ready)
{
    for (int i = 0; i < op->n_waits; i++) {
        int w = op->wait[i];
        if (!self->runs[w])
            continue;
        if (self->end[w] == SS_NO_TIME)
            return false;
        if (self->end[w] > *ready)
            *ready = self->end[w];
    }
    return true;
}

/* MPI wants a shard that already lies in its place to be named as such. */
static const void *send_of(const struct ss_host *self, const struct ss_op *op,
                           const struct ss_rt *rt)
{
    const char *send = ss_host_at(self, op->a);
    const char *recv = ss_host_at(self, op->c);
    size_t shard = (size_t)rt->rank * (size_t)op->count * self->elem_size;
    if (op->kind == SS_OP_ALL_REDUCE)
        return NULL;
    if (op->kind == SS_OP_ALL_GATHER && send == recv + shard)
        return NULL;
    return send == recv ? NULL : send;
}

static enum ss_status start(struct ss_host *self, struct ss_host_call *call)
{
    const struct ss_op *op = &self->work.plan->op[call->op];
    struct ss_rt *rt = self->comms.dim[op->dim];
    enum ss_coll kind = SS_COLL_ALL_REDUCE;
    (void)ss_coll_of(op->kind, &kind); /* load refused every other op */
    call->started = true;
    call->event.start = ss_clock_ns();
    return rt->ops->icollective(rt, kind, send_of(self, op, rt),
                                ss_host_at(self, op->c), (size_t)op->count,
                                self->dtype, SS_RED_SUM, 0, &call->request);
}

static void finish(struct ss_host *self, struct ss_host_lane *lane,
                   struct ss_host_call *call)
{
    call->event.end = ss_clock_ns();
    call->pending = false;
    lane->first = call->next;
    if (lane->first == NO_OP)
        lane->last = NO_OP;
    self->end[call->op] = call->event.end;
    self->in_flight--;
    if (self->spec.sampled)
        self->record
            ->event[(int64_t)call->step * self->record->ops + call->op] =
            call->event;
}

/* One look at the first call of a lane; *moved: it ended, look at the next. */
static enum ss_status look(struct ss_host *self, struct ss_host_lane *lane,
                           bool *moved)
{
    struct ss_host_call *call = &self->call[lane->first];
    const struct ss_op *op = &self->work.plan->op[call->op];
    struct ss_rt *rt = self->comms.dim[op->dim];
    int done = 0;
    *moved = false;
    if (!call->started) {
        if (!is_ready(self, op, &call->event.ready))
            return SS_OK;
        SS_TRY(start(self, call));
    }
    SS_TRY(rt->ops->test(rt, &call->request, &done));
    if (done)
        finish(self, lane, call);
    *moved = done;
    return SS_OK;
}

enum ss_status ss_host_pump(struct ss_host *self)
{
    if (self->failure != SS_OK) {
        ss_error_set(self->failure_text);
        return self->failure;
    }
    for (int i = 0; i < SS_LANES && self->in_flight > 0; i++) {
        struct ss_host_lane *lane = &self->lane[i];
        bool moved = true;
        while (moved && lane->first != NO_OP)
            SS_TRY(look(self, lane, &moved));
    }
    return SS_OK;
}

static void enlist(struct ss_host *self, int index)
{
    struct ss_host_lane *lane = &self->lane[self->work.plan->op[index].lane];
    if (lane->last == NO_OP)
        lane->first = index;
    else
        self->call[lane->last].next = index;
    lane->last = index;
    self->in_flight++;
}

enum ss_status ss_host_submit(struct ss_host *self, int index, int step)
{
    int64_t now = ss_clock_ns();
    if (self->call[index].pending) /* of the previous step */
        SS_TRY(ss_host_wait(self, index));
    self->call[index] = (struct ss_host_call){
        .op = index,
        .step = step,
        .next = NO_OP,
        .pending = true,
        .nth = atomic_load_explicit(&self->base.progress->n_calls,
                                    memory_order_relaxed),
        .event = {.enqueued = now, .ready = self->record->begin_ns},
    };
    self->end[index] = SS_NO_TIME;
    enlist(self, index);
    return ss_host_pump(self);
}

static enum ss_status too_late(const struct ss_host *self, int op)
{
    return ss_fail(SS_ERR_TIMEOUT, "%s did not end before the block's deadline",
                   self->work.plan->op[op].name);
}

/* With nothing else to drive, and no deadline of its own to keep, the wait is
 * left to MPI, which knows best how to wait; the watchdog looks on. */
static bool may_block(const struct ss_host *self,
                      const struct ss_host_lane *lane)
{
    int busy = 0;
    for (int i = 0; i < SS_LANES; i++)
        busy += self->lane[i].first != NO_OP;
    return busy == 1 && lane->first != NO_OP &&
           self->call[lane->first].started && !self->progress.on &&
           self->spec.deadline_ns == 0;
}

static enum ss_status block_on(struct ss_host *self, struct ss_host_lane *lane)
{
    struct ss_host_call *call = &self->call[lane->first];
    struct ss_rt *rt = self->comms.dim[self->work.plan->op[call->op].dim];
    SS_TRY(rt->ops->wait(rt, &call->request));
    finish(self, lane, call);
    return SS_OK;
}

/* The lock is given up between looks, so that the other thread gets its turn.
 */
static enum ss_status wait_pending(struct ss_host *self, int op)
{
    struct ss_host_lane *lane = &self->lane[self->work.plan->op[op].lane];
    while (self->call[op].pending) {
        SS_TRY(ss_host_pump(self));
        if (!self->call[op].pending)
            break;
        if (may_block(self, lane)) {
            SS_TRY(block_on(self, lane));
            continue;
        }
        if (self->spec.deadline_ns && ss_clock_ns() > self->spec.deadline_ns)
            return too_late(self, op);
        ss_host_unlock(self);
        sched_yield();
        ss_host_lock(self);
    }
    return SS_OK;
}

enum ss_status ss_host_wait(struct ss_host *self, int op)
{
    struct ss_progress *progress = self->base.progress;
    if (!self->call[op].pending)
        return SS_OK;
    atomic_store_explicit(&progress->nth, self->call[op].nth,
                          memory_order_relaxed);
    atomic_store_explicit(&progress->collective, op, memory_order_relaxed);
    enum ss_status status = wait_pending(self, op);
    atomic_store_explicit(&progress->collective, -1, memory_order_relaxed);
    return status;
}

enum ss_status ss_host_wait_all(struct ss_host *self)
{
    for (int i = 0; i < SS_LANES; i++)
        while (self->lane[i].first != NO_OP)
            SS_TRY(ss_host_wait(self, self->lane[i].first));
    return SS_OK;
}

enum ss_status ss_host_between(struct ss_host *self)
{
    if (self->progress.on || self->in_flight == 0)
        return SS_OK;
    return ss_host_pump(self);
}
