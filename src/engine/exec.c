/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one loop over a plan: steps x ops into an engine, whatever the engine.
 * It says where the rank is (progress words, for the watchdog), leaves out
 * what a variant skips, and keeps one rank's failure from hanging the others.
 * Must not know how an op is done, nor meet peers outside the ops themselves.
 */
#include "engine/exec.h"

#include <stdatomic.h>

#include "base/str.h"

struct run {
    struct ss_engine *engine;
    const struct ss_plan *plan;
    enum ss_variant variant;
    enum ss_status first; /* of this block */
    char text[SS_ERROR_TEXT_MAX];
};

static void put(_Atomic int64_t *word, int64_t value)
{
    atomic_store_explicit(word, value, memory_order_relaxed);
}

/* This thread is the only writer: no locked add is needed. */
static void count(_Atomic int64_t *word)
{
    put(word, atomic_load_explicit(word, memory_order_relaxed) + 1);
}

static void keep_first(struct run *run, enum ss_status status)
{
    if (run->first != SS_OK)
        return;
    run->first = status;
    (void)ss_copy(run->text, sizeof(run->text), ss_error_text());
}

/* After these nobody can be waiting for us any more, or nothing we send can
 * arrive: going on is useless. */
static bool is_fatal(enum ss_status status)
{
    return status == SS_ERR_TRANSPORT || status == SS_ERR_TIMEOUT;
}

/* A rank that fails still owes its peers the collectives of this block: they
 * are issued, its computation is not, and the error is agreed on after it. */
static enum ss_status issue(struct run *run, int index, int step)
{
    const struct ss_op *op = &run->plan->op[index];
    struct ss_progress *progress = run->engine->progress;
    bool comm = ss_op_is_comm(op);
    if (!ss_op_runs(op, run->variant) || (run->first != SS_OK && !comm))
        return SS_OK;
    put(&progress->op, index);
    if (comm)
        count(&progress->n_calls);
    enum ss_status status = run->engine->ops->enqueue(run->engine, index, step);
    if (status == SS_OK) {
        put(&progress->last_op, index);
        return SS_OK;
    }
    keep_first(run, status);
    return is_fatal(status) ? status : SS_OK;
}

static enum ss_status run_step(struct run *run, int step)
{
    put(&run->engine->progress->step, step);
    for (int i = 0; i < run->plan->n_ops; i++)
        SS_TRY(issue(run, i, step));
    /* comm-only has no compute op that waits for the last collectives */
    bool join = run->variant == SS_COMM_ONLY;
    return run->engine->ops->mark(run->engine, step, join);
}

static enum ss_status run_steps(struct run *run,
                                const struct ss_block_spec *spec)
{
    for (int step = 0; step < spec->steps; step++)
        SS_TRY(run_step(run, step));
    SS_TRY(run->engine->ops->drain(run->engine, spec->deadline_ns));
    put(&run->engine->progress->op, -1);
    return run->engine->ops->block_end(run->engine);
}

static void clear(struct ss_block_record *record,
                  const struct ss_block_spec *spec)
{
    static const struct ss_op_event never = {SS_NO_TIME, SS_NO_TIME, SS_NO_TIME,
                                             SS_NO_TIME};
    int64_t n = spec->sampled ? (int64_t)spec->steps * record->ops : 0;
    for (int64_t i = 0; i < n; i++)
        record->event[i] = never;
    for (int i = 0; i < spec->steps; i++)
        record->mark[i] = SS_NO_TIME;
}

enum ss_status ss_exec_block(struct ss_engine *engine,
                             const struct ss_plan *plan,
                             const struct ss_block_spec *spec,
                             struct ss_block_record *record)
{
    struct run run = {.engine = engine, .plan = plan, .variant = spec->variant};
    SS_ASSERT(record->steps >= spec->steps);
    SS_ASSERT(!spec->sampled || (record->event && record->ops == plan->n_ops));
    clear(record, spec);
    put(&engine->progress->block, spec->number);
    put(&engine->progress->op, -1);
    put(&engine->progress->last_op, -1);
    SS_TRY(engine->ops->block_begin(engine, spec, record));
    enum ss_status status = run_steps(&run, spec);
    if (run.first == SS_OK)
        return status;
    ss_error_set(run.text);
    return run.first;
}
