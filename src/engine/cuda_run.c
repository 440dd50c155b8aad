/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A block on the cuda engine. The host only enqueues: ops go to the stream of
 * their lane, behind the events of what they wait for, and the host runs ahead
 * until the block is drained. State is brought back to its start whenever the
 * variant changes or AdamW has moved it far; all ranks do so alike. Must not
 * know what sampled times are used for.
 */
#include <math.h>
#include <time.h>

#include "base/clock.h"
#include "engine/cuda.h"

#define EVENT_NS 500 /* resolution of an event's time, as documented */
#define CLOCK_EVERY_NS (20 * SS_NS_PER_MS)
#define SPIN_NS (50 * INT64_C(1000))

void ss_cuda_nap(void)
{
    const struct timespec t = {.tv_nsec = 20000};
    nanosleep(&t, NULL);
}

enum ss_status ss_cuda_look(struct ss_cuda *self)
{
    if (atomic_load_explicit(&self->aborted, memory_order_relaxed) &&
        !self->nccl)
        return ss_fail(SS_ERR_TIMEOUT, "the watchdog ended this block");
    return self->nccl ? ss_nccl_poll(self->nccl) : SS_OK;
}

enum ss_status ss_cuda_wait_lane(struct ss_cuda *self, int lane)
{
    int64_t begin = ss_clock_ns();
    for (;;) {
        cudaError_t error = cudaStreamQuery(self->lane[lane]);
        if (error != cudaErrorNotReady)
            return ss_cuda_said(self, (int)error, "finish its work");
        SS_TRY(ss_cuda_look(self));
        if (ss_clock_ns() - begin > SPIN_NS)
            ss_cuda_nap();
    }
}

enum ss_status ss_cuda_reset(struct ss_engine *engine)
{
    struct ss_cuda *self = ss_cuda_of(engine);
    SS_TRY(ss_cuda_fill(self));
    SS_TRY(ss_cuda_wait_lane(self, SS_LANE_COMPUTE));
    ss_state_age_clear(&self->age);
    return SS_OK;
}

enum ss_status ss_cuda_block_begin(struct ss_engine *engine,
                                   const struct ss_block_spec *spec,
                                   struct ss_block_record *record)
{
    struct ss_cuda *self = ss_cuda_of(engine);
    const struct ss_plan *plan = self->work.plan;
    if (ss_state_age_needs_reset(&self->age, spec->variant))
        SS_TRY(ss_cuda_reset(engine));
    self->age.last_variant = (int)spec->variant;
    self->spec = *spec;
    self->record = record;
    self->harvested = self->marked = 0;
    self->last_comm = -1;
    self->clock_sum = 0;
    self->clock_samples = 0;
    for (int i = 0; i < plan->n_ops; i++)
        self->op[i].runs = ss_op_runs(&plan->op[i], spec->variant);
    for (int lane = 0; lane < SS_LANES; lane++)
        self->lane_step[lane] = -1;
    SS_TRY(ss_cuda_graph_begin(self));
    ss_nvml_counters(self->nvml, &self->before);
    SS_TRY(ss_cuda_clock_begin(self));
    record->begin_ns = ss_clock_ns();
    self->clock_next_ns = record->begin_ns + CLOCK_EVERY_NS;
    return SS_OK;
}

static enum ss_status after(struct ss_cuda *self, cudaStream_t stream,
                            cudaEvent_t event)
{
    return ss_cuda_said(self, (int)cudaStreamWaitEvent(stream, event, 0),
                        "wait for an event");
}

static enum ss_status record_event(struct ss_cuda *self, cudaStream_t stream,
                                   cudaEvent_t event)
{
    return ss_cuda_said(self, (int)cudaEventRecord(event, stream),
                        "record an event");
}

/* The first op of a lane in a step starts after the step before: its end is
 * the compute lane's. */
static enum ss_status enter_step(struct ss_cuda *self, int lane, int step)
{
    if (self->lane_step[lane] == step)
        return SS_OK;
    self->lane_step[lane] = step;
    if (step == 0 || lane == SS_LANE_COMPUTE)
        return SS_OK;
    return after(self, self->lane[lane],
                 self->mark[(step - 1) % SS_CUDA_MARKS]);
}

static enum ss_status wait_inputs(struct ss_cuda *self, const struct ss_op *op,
                                  int step)
{
    for (int i = 0; i < op->n_waits; i++)
        if (self->op[op->wait[i]].runs && !ss_cuda_in_graph(self, op->wait[i]))
            SS_TRY(after(self, self->lane[op->lane],
                         ss_cuda_end_event(self, op->wait[i], step)));
    return SS_OK;
}

/* An NCCL that keeps no order of its own among communicators could start two
 * ops in another order on a peer, and wait for ever. */
static enum ss_status chain(struct ss_cuda *self, int index, int step)
{
    const struct ss_op *op = &self->work.plan->op[index];
    int last = self->last_comm;
    if (!self->chains || !ss_op_is_comm(op))
        return SS_OK;
    self->last_comm = index;
    if (last >= 0)
        SS_TRY(after(self, self->lane[op->lane],
                     ss_cuda_end_event(self, last, self->last_comm_step)));
    self->last_comm_step = step;
    return SS_OK;
}

enum ss_status ss_cuda_enqueue(struct ss_engine *engine, int index, int step)
{
    struct ss_cuda *self = ss_cuda_of(engine);
    const struct ss_op *op = &self->work.plan->op[index];
    const struct ss_cuda_op *mine = &self->op[index];
    cudaStream_t stream = self->lane[op->lane];
    bool sampled = self->spec.sampled;
    SS_TRY(ss_cuda_harvest(self, sampled ? self->slots : SS_CUDA_MARKS));
    if (sampled)
        self->record->event[(int64_t)step * self->record->ops + index]
            .enqueued = ss_clock_ns();
    if (ss_cuda_in_graph(self, index))
        return ss_cuda_graph_launch(self, step);
    SS_TRY(enter_step(self, (int)op->lane, step));
    SS_TRY(wait_inputs(self, op, step));
    SS_TRY(chain(self, index, step));
    if (sampled && mine->has_start)
        SS_TRY(
            record_event(self, stream, ss_cuda_start_event(self, index, step)));
    SS_TRY(ss_cuda_issue(self, index));
    if (!sampled && !mine->awaited)
        return SS_OK;
    return record_event(self, stream, ss_cuda_end_event(self, index, step));
}

/* The compute lane waits for all that the others have been given. */
static enum ss_status join_lanes(struct ss_cuda *self)
{
    for (int lane = SS_LANE_COMPUTE + 1; lane < SS_LANES; lane++) {
        if (self->lane_step[lane] < 0)
            continue;
        SS_TRY(record_event(self, self->lane[lane], self->tail[lane]));
        SS_TRY(after(self, self->lane[SS_LANE_COMPUTE], self->tail[lane]));
    }
    return SS_OK;
}

enum ss_status ss_cuda_mark(struct ss_engine *engine, int step, bool join)
{
    struct ss_cuda *self = ss_cuda_of(engine);
    if (join)
        SS_TRY(join_lanes(self));
    SS_TRY(record_event(self, self->lane[SS_LANE_COMPUTE],
                        self->mark[step % SS_CUDA_MARKS]));
    self->marked = step + 1;
    return ss_cuda_clock_tick(self);
}

/* The SM clock is read while the device still works and the host is idle. */
static void sample_clock(struct ss_cuda *self, int64_t now)
{
    double mhz = ss_nvml_clock_mhz(self->nvml);
    self->clock_next_ns = now + CLOCK_EVERY_NS;
    if (isnan(mhz))
        return;
    self->clock_sum += mhz;
    self->clock_samples++;
}

static enum ss_status look_at_lanes(struct ss_cuda *self, bool *busy)
{
    *busy = false;
    for (int lane = 0; lane < SS_LANES; lane++) {
        cudaError_t error = cudaStreamQuery(self->lane[lane]);
        if (error == cudaErrorNotReady)
            *busy = true;
        else
            SS_TRY(ss_cuda_said(self, (int)error, "finish a block"));
    }
    return SS_OK;
}

/* For last words: the first communication op of the plan that is not over. */
static void tell_where(struct ss_cuda *self)
{
    struct ss_progress *progress = self->base.progress;
    const struct ss_plan *plan = self->work.plan;
    int64_t calls =
        atomic_load_explicit(&progress->n_calls, memory_order_relaxed);
    for (int i = 0; i < plan->n_ops; i++) {
        if (!self->op[i].runs || !ss_op_is_comm(&plan->op[i]))
            continue;
        atomic_store_explicit(&progress->nth, calls, memory_order_relaxed);
        atomic_store_explicit(&progress->collective, i, memory_order_relaxed);
        return;
    }
}

static enum ss_status too_late(void)
{
    return ss_fail(SS_ERR_TIMEOUT,
                   "the device did not end the block before its deadline");
}

static enum ss_status drain(struct ss_cuda *self, int64_t deadline_ns)
{
    bool busy = true;
    sample_clock(self, ss_clock_ns());
    for (;;) {
        SS_TRY(look_at_lanes(self, &busy));
        if (!busy)
            return SS_OK;
        SS_TRY(ss_cuda_look(self));
        SS_TRY(ss_cuda_clock_tick(self));
        int64_t now = ss_clock_ns();
        if (now >= self->clock_next_ns)
            sample_clock(self, now);
        if (deadline_ns && now > deadline_ns)
            return too_late();
        ss_cuda_nap();
    }
}

enum ss_status ss_cuda_drain(struct ss_engine *engine, int64_t deadline_ns)
{
    struct ss_cuda *self = ss_cuda_of(engine);
    tell_where(self);
    enum ss_status status = drain(self, deadline_ns);
    /* who was aborted must not tell that it computes */
    if (status == SS_OK)
        atomic_store_explicit(&self->base.progress->collective, -1,
                              memory_order_relaxed);
    return status;
}

/* The counter moves in steps of its own, and may pass the block's length. */
static double within(double seconds, const struct ss_block_record *record)
{
    double most = (double)(record->end_ns - record->begin_ns) / 1e9;
    return seconds > most ? most : seconds;
}

static void note_counters(struct ss_cuda *self)
{
    struct ss_block_record *record = self->record;
    struct ss_nvml_counters now;
    ss_nvml_counters(self->nvml, &now);
    record->energy_j = now.energy_j - self->before.energy_j;
    record->power_capped_s =
        within(now.power_capped_s - self->before.power_capped_s, record);
    record->thermal_capped_s =
        within(now.thermal_capped_s - self->before.thermal_capped_s, record);
    record->temperature_c = ss_nvml_temperature_c(self->nvml);
    record->clock_mhz = self->clock_samples > 0
                            ? self->clock_sum / self->clock_samples
                            : (double)NAN;
}

enum ss_status ss_cuda_block_end(struct ss_engine *engine)
{
    struct ss_cuda *self = ss_cuda_of(engine);
    struct ss_block_record *record = self->record;
    record->end_ns = ss_clock_ns();
    SS_TRY(ss_cuda_clock_end(self));
    note_counters(self);
    SS_TRY(ss_cuda_harvest(self, 1));
    ss_cuda_events_align(self);
    record->accuracy_ns = EVENT_NS;
    record->anchor_width_ns = ss_cuda_clock_width(&self->clock);
    return SS_OK;
}
