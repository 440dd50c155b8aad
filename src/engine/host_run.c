/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A block on the host engine: computation runs inside enqueue, on the calling
 * thread, and communication is submitted to the lanes. State is brought back
 * to its start whenever the variant changes, or AdamW has moved it so far that
 * the numbers would leave their range; all ranks do so alike. Must not know
 * what sampled times are used for.
 */
#include "base/clock.h"
#include "engine/host.h"

#define CLOCK_READ_NS 100 /* two reads of the host clock */

void *ss_host_at(const struct ss_host *self, struct ss_ref ref)
{
    if (ref.buf < 0 || ref.buf >= SS_BUF_ROLES || !self->buffer[ref.buf])
        return NULL;
    return (char *)self->buffer[ref.buf] + ref.at * self->elem_size;
}

enum ss_status ss_host_reset(struct ss_engine *engine)
{
    struct ss_host *self = ss_host_of(engine);
    ss_host_fill(self);
    ss_state_age_clear(&self->age);
    return SS_OK;
}

enum ss_status ss_host_block_begin(struct ss_engine *engine,
                                   const struct ss_block_spec *spec,
                                   struct ss_block_record *record)
{
    struct ss_host *self = ss_host_of(engine);
    const struct ss_plan *plan = self->work.plan;
    if (ss_state_age_needs_reset(&self->age, spec->variant))
        SS_TRY(ss_host_reset(engine));
    self->age.last_variant = (int)spec->variant;
    self->spec = *spec;
    self->record = record;
    ss_host_lock(self);
    ss_host_lanes_clear(self);
    for (int i = 0; i < plan->n_ops; i++)
        self->runs[i] = ss_op_runs(&plan->op[i], spec->variant);
    record->begin_ns = ss_clock_ns();
    for (int i = 0; i < plan->n_ops; i++)
        self->end[i] = record->begin_ns;
    ss_host_unlock(self);
    record->accuracy_ns = CLOCK_READ_NS;
    record->anchor_width_ns = 0;
    return SS_OK;
}

static enum ss_status wait_inputs(struct ss_host *self, const struct ss_op *op)
{
    for (int i = 0; i < op->n_waits; i++)
        if (self->runs[op->wait[i]])
            SS_TRY(ss_host_wait(self, op->wait[i]));
    return SS_OK;
}

static enum ss_status compute(struct ss_host *self, const struct ss_op *op)
{
    if (op->kind == SS_OP_GEMM)
        return ss_host_gemm(self, op);
    if (op->kind == SS_OP_OPTIMIZER)
        return ss_host_optimizer(self, op);
    return ss_host_map(self, op); /* a copy is the map of no function */
}

static enum ss_status run_compute(struct ss_host *self, int index, int step)
{
    const struct ss_op *op = &self->work.plan->op[index];
    struct ss_op_event event = {.enqueued = ss_clock_ns()};
    if (op->n_waits > 0) {
        ss_host_lock(self);
        enum ss_status status = wait_inputs(self, op);
        ss_host_unlock(self);
        SS_TRY(status);
    }
    event.ready = event.start = ss_clock_ns();
    SS_TRY(compute(self, op));
    event.end = ss_clock_ns();
    self->end[index] = event.end;
    if (self->spec.sampled)
        self->record->event[(int64_t)step * self->record->ops + index] = event;
    return SS_OK;
}

enum ss_status ss_host_enqueue(struct ss_engine *engine, int index, int step)
{
    struct ss_host *self = ss_host_of(engine);
    if (!ss_op_is_comm(&self->work.plan->op[index]))
        return run_compute(self, index, step);
    ss_host_lock(self);
    enum ss_status status = ss_host_submit(self, index, step);
    if (self->progress.on)
        pthread_cond_signal(&self->progress.wake);
    ss_host_unlock(self);
    return status;
}

enum ss_status ss_host_mark(struct ss_engine *engine, int step, bool join)
{
    struct ss_host *self = ss_host_of(engine);
    enum ss_status status = SS_OK;
    if (join) {
        ss_host_lock(self);
        status = ss_host_wait_all(self);
        ss_host_unlock(self);
    }
    self->record->mark[step] = ss_clock_ns();
    return status;
}

enum ss_status ss_host_drain(struct ss_engine *engine, int64_t deadline_ns)
{
    struct ss_host *self = ss_host_of(engine);
    self->spec.deadline_ns = deadline_ns;
    ss_host_lock(self);
    enum ss_status status = ss_host_wait_all(self);
    ss_host_unlock(self);
    return status;
}

enum ss_status ss_host_block_end(struct ss_engine *engine)
{
    struct ss_host *self = ss_host_of(engine);
    self->record->end_ns = ss_clock_ns();
    return SS_OK;
}
