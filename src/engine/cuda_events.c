/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The events of a block: the mark of each step, and in sampled blocks the
 * start and end of each op, from a pool that is made at load and used as a
 * ring. The start of an op that waits for nobody is derived from the end
 * before it, which halves what recording costs. Turns them into times of the
 * host clock. Must not know what an op does.
 */
#include "base/clock.h"
#include "base/mem.h"
#include "engine/cuda.h"

static void find_roles(struct ss_cuda *self)
{
    const struct ss_plan *plan = self->work.plan;
    bool first = true;
    self->per_slot = 0;
    for (int i = 0; i < plan->n_ops; i++)
        self->op[i].awaited = self->chains && ss_op_is_comm(&plan->op[i]);
    for (int i = 0; i < plan->n_ops; i++)
        for (int w = 0; w < plan->op[i].n_waits; w++)
            self->op[plan->op[i].wait[w]].awaited = true;
    for (int i = 0; i < plan->n_ops; i++) {
        const struct ss_op *op = &plan->op[i];
        bool compute = op->lane == SS_LANE_COMPUTE;
        self->op[i].has_start = !compute || op->n_waits > 0 || first;
        first = first && !compute;
        self->op[i].event = self->per_slot;
        self->per_slot += self->op[i].has_start ? 2 : 1;
    }
}

static enum ss_status make(struct ss_cuda *self, cudaEvent_t *event,
                           unsigned flags)
{
    return ss_cuda_said(self, (int)cudaEventCreateWithFlags(event, flags),
                        "make an event");
}

static enum ss_status make_all(struct ss_cuda *self)
{
    const struct ss_plan *plan = self->work.plan;
    for (int i = 0; i < SS_CUDA_MARKS; i++)
        SS_TRY(make(self, &self->mark[i], cudaEventDefault));
    for (int i = 0; i < self->slots * self->per_slot; i++)
        SS_TRY(make(self, &self->event[i], cudaEventDefault));
    for (int i = 0; i < plan->n_ops; i++)
        if (self->op[i].awaited)
            SS_TRY(make(self, &self->op[i].done, cudaEventDisableTiming));
    return SS_OK;
}

enum ss_status ss_cuda_events_open(struct ss_cuda *self)
{
    find_roles(self);
    int per_slot = self->per_slot > 0 ? self->per_slot : 1;
    self->slots = SS_CUDA_EVENTS / per_slot;
    self->slots = self->slots > SS_CUDA_MARKS ? SS_CUDA_MARKS : self->slots;
    self->slots = self->slots < 4 ? 4 : self->slots;
    size_t n = (size_t)self->slots * (size_t)self->per_slot;
    self->mark = ss_alloc(SS_CUDA_MARKS, sizeof(*self->mark), "step marks");
    self->event = ss_alloc(n, sizeof(*self->event), "op events");
    if (!self->mark || !self->event)
        return SS_ERR_NO_MEMORY;
    return make_all(self);
}

static void destroy(cudaEvent_t event)
{
    if (event)
        (void)cudaEventDestroy(event);
}

void ss_cuda_events_close(struct ss_cuda *self)
{
    int n_ops = self->work.plan ? self->work.plan->n_ops : 0;
    for (int i = 0; self->mark && i < SS_CUDA_MARKS; i++)
        destroy(self->mark[i]);
    for (int i = 0; self->event && i < self->slots * self->per_slot; i++)
        destroy(self->event[i]);
    for (int i = 0; self->op && i < n_ops; i++)
        destroy(self->op[i].done);
    ss_free(self->mark);
    ss_free(self->event);
    self->mark = self->event = NULL;
}

cudaEvent_t ss_cuda_start_event(const struct ss_cuda *self, int index, int step)
{
    int64_t slot = step % self->slots;
    return self->event[slot * self->per_slot + self->op[index].event];
}

cudaEvent_t ss_cuda_end_event(const struct ss_cuda *self, int index, int step)
{
    const struct ss_cuda_op *op = &self->op[index];
    int64_t slot = step % self->slots;
    int at = op->event + (op->has_start ? 1 : 0);
    return self->spec.sampled ? self->event[slot * self->per_slot + at]
                              : op->done;
}

static struct ss_op_event *row_of(const struct ss_cuda *self, int step)
{
    return &self->record->event[(int64_t)step * self->record->ops];
}

/* Times since the first anchor, until ss_cuda_events_align. */
static enum ss_status read_step(struct ss_cuda *self, int step, int *near)
{
    SS_TRY(ss_cuda_clock_read(self, self->mark[step % SS_CUDA_MARKS], near,
                              &self->record->mark[step]));
    if (!self->spec.sampled)
        return SS_OK;
    struct ss_op_event *row = row_of(self, step);
    for (int i = 0; i < self->work.plan->n_ops; i++) {
        int hint = *near > 0 ? *near - 1 : 0; /* a step may straddle one */
        if (!self->op[i].runs)
            continue;
        SS_TRY(ss_cuda_clock_read(self, ss_cuda_end_event(self, i, step), &hint,
                                  &row[i].end));
        if (self->op[i].has_start)
            SS_TRY(ss_cuda_clock_read(self, ss_cuda_start_event(self, i, step),
                                      &hint, &row[i].start));
    }
    return SS_OK;
}

static enum ss_status wait_mark(struct ss_cuda *self, int step)
{
    cudaEvent_t mark = self->mark[step % SS_CUDA_MARKS];
    for (;;) {
        cudaError_t error = cudaEventQuery(mark);
        if (error != cudaErrorNotReady)
            return ss_cuda_said(self, (int)error, "run a step");
        SS_TRY(ss_cuda_look(self));
        ss_cuda_nap();
    }
}

enum ss_status ss_cuda_harvest(struct ss_cuda *self, int room)
{
    int near = 0;
    while (self->marked - self->harvested >= room) {
        SS_TRY(wait_mark(self, self->harvested));
        SS_TRY(read_step(self, self->harvested, &near));
        self->harvested++;
    }
    return SS_OK;
}

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* The latest end of what op `index` waited for in this step, or `floor`. */
static int64_t end_of_waits(const struct ss_cuda *self,
                            const struct ss_op_event *row, int index,
                            int64_t floor)
{
    const struct ss_op *op = &self->work.plan->op[index];
    for (int w = 0; w < op->n_waits; w++)
        if (self->op[op->wait[w]].runs)
            floor = later(floor, row[op->wait[w]].end);
    return floor;
}

/* Clocks are read to half a microsecond: order that is certain is kept. */
static void align_op(const struct ss_cuda *self, struct ss_op_event *row,
                     int index, int64_t begin, int64_t *lane_end)
{
    const struct ss_op *op = &self->work.plan->op[index];
    struct ss_op_event *e = &row[index];
    int64_t ready = end_of_waits(self, row, index, begin);
    int64_t floor = later(later(lane_end[op->lane], e->enqueued), ready);
    int64_t start = self->op[index].has_start
                        ? ss_cuda_clock_host(&self->clock, e->start)
                        : floor;
    e->start = later(start, floor);
    e->end = later(ss_cuda_clock_host(&self->clock, e->end), e->start);
    e->ready = ss_op_is_comm(op) ? ready : e->start;
    lane_end[op->lane] = e->end;
}

void ss_cuda_events_align(struct ss_cuda *self)
{
    struct ss_block_record *record = self->record;
    int64_t lane_end[SS_LANES], begin = record->begin_ns;
    for (int lane = 0; lane < SS_LANES; lane++)
        lane_end[lane] = begin;
    for (int step = 0; step < self->harvested; step++) {
        for (int i = 0; self->spec.sampled && i < self->work.plan->n_ops; i++)
            if (self->op[i].runs)
                align_op(self, row_of(self, step), i, begin, lane_end);
        int64_t mark = ss_cuda_clock_host(&self->clock, record->mark[step]);
        begin = record->mark[step] = later(mark, lane_end[SS_LANE_COMPUTE]);
    }
}
