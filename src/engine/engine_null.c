/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The null engine: no device and no data, only planted times and faults, so
 * that everything above an engine can be tested against known answers. It is
 * also the template of an engine: each hook says whether it is required, what
 * it pairs with and what it must not do. It must not know what a report makes
 * of its times.
 */
#include <math.h>
#include <stdatomic.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "engine/check.h"
#include "engine/null.h"

/* open: required, paired with close. Local: it must not meet other ranks. It
 * looks at the configuration and the machine and refuses with a reason; on
 * failure nothing is left behind and *out is untouched. */
static enum ss_status null_open(const struct ss_engine_args *args,
                                struct ss_engine **out)
{
    struct ss_null *self = ss_alloc(1, sizeof(*self), "the null engine");
    if (!self)
        return SS_ERR_NO_MEMORY;
    self->base.ops = &ss_engine_null;
    self->config = args->config;
    self->real = args->config->null_clock == SS_NULL_REAL;
    enum ss_status status = ss_null_faults_parse(args->config, self);
    if (status == SS_OK)
        *out = &self->base;
    else
        ss_free(self);
    return status;
}

/* describe: required. Local. Fills the device fields of the place it is given
 * (an engine of CPU shares leaves bus_id and uuid empty) and the memory that
 * this rank may fill. */
static enum ss_status null_describe(struct ss_engine *engine,
                                    struct ss_place *place,
                                    double *memory_bytes)
{
    (void)ss_copy(place->device_name, sizeof(place->device_name),
                  "planted times");
    if (!ss_null_of(engine)->real)
        place->sharers = 1;   /* a virtual clock takes no turns on a core */
    *memory_bytes = INFINITY; /* it holds no data */
    return SS_OK;
}

/* peak_flops: required. NaN where no datasheet speaks; `source` always says
 * something. */
static double null_peak_flops(struct ss_engine *engine, int precision,
                              char *source, size_t size)
{
    (void)engine, (void)precision;
    (void)ss_copy(source, size, "no device");
    return NAN;
}

/* connect_all: required, paired with disconnect; once a point, by all ranks of
 * the group. The communicators are borrowed until disconnect. An engine with a
 * library of its own (NCCL) makes its communicators here and says how long. */
static enum ss_status null_connect_all(struct ss_engine *engine,
                                       const struct ss_comms *comms,
                                       int64_t *create_ns)
{
    ss_null_of(engine)->comms = *comms;
    *create_ns = 0; /* nothing beyond the runtime's own is made */
    return SS_OK;
}

/* disconnect: required, after unload. Must not meet other ranks. */
static void null_disconnect(struct ss_engine *engine)
{
    ss_null_of(engine)->comms = (struct ss_comms){0};
}

static enum ss_status check_kinds(const struct ss_plan *plan, int *n_comms)
{
    *n_comms = 0;
    for (int i = 0; i < plan->n_ops; i++) {
        enum ss_coll coll;
        const struct ss_op *op = &plan->op[i];
        if (!ss_op_is_comm(op))
            continue;
        if (!ss_coll_of(op->kind, &coll))
            return ss_fail(SS_ERR_CONFIG,
                           "the null engine plants no %s (%s): use a layout of "
                           "dp and tp",
                           ss_op_kind_name(op->kind), op->name);
        ++*n_comms;
    }
    return SS_OK;
}

static enum ss_status allocate(struct ss_null *self, int n_comms)
{
    size_t n = (size_t)self->work.plan->n_ops;
    /* two steps' worth: a rank may run ahead of the ends it does not need */
    self->slots = 2 * (int64_t)n_comms + 1;
    self->scratch_elems = ss_null_check_elems(self->work.plan);
    self->cost = ss_alloc(n, sizeof(*self->cost), "op costs");
    self->end = ss_alloc(n, sizeof(*self->end), "op ends");
    self->seq = ss_alloc(n, sizeof(*self->seq), "op numbers");
    self->runs = ss_alloc(n, sizeof(*self->runs), "op flags");
    self->ring = ss_alloc((size_t)self->slots, sizeof(*self->ring),
                          "pending collectives");
    self->scratch = ss_alloc(self->scratch_elems, sizeof(*self->scratch),
                             "data of exact checks");
    bool ok = self->cost && self->end && self->seq && self->runs &&
              self->ring && self->scratch;
    return ok ? SS_OK : SS_ERR_NO_MEMORY;
}

/* unload: required, paired with load; frees what load took. */
static void null_unload(struct ss_engine *engine)
{
    struct ss_null *self = ss_null_of(engine);
    ss_free(self->cost);
    ss_free(self->end);
    ss_free(self->seq);
    ss_free(self->runs);
    ss_free(self->ring);
    ss_free(self->scratch);
    self->cost = self->end = self->seq = self->scratch = NULL;
    self->runs = NULL;
    self->ring = NULL;
    self->work = (struct ss_engine_work){0};
}

/* load: required, paired with unload. Local. Takes all memory that the blocks
 * of this point need: nothing is allocated between block_begin and block_end.
 * On failure it leaves nothing loaded. */
static enum ss_status null_load(struct ss_engine *engine,
                                const struct ss_engine_work *work)
{
    struct ss_null *self = ss_null_of(engine);
    int n_comms;
    enum ss_status status;
    self->work = *work;
    self->head = self->posted = self->tail = 0;
    SS_TRY_GOTO(check_kinds(work->plan, &n_comms), status, failed);
    SS_TRY_GOTO(ss_null_faults_check(self), status, failed);
    SS_TRY_GOTO(allocate(self, n_comms), status, failed);
    SS_TRY_GOTO(ss_null_costs_fill(self), status, failed);
    atomic_store(&self->base.progress->n_calls, 0);
    atomic_store(&self->base.progress->collective, -1);
    return SS_OK;
failed:
    null_unload(engine);
    return status;
}

/* reset: required. Local. State back to the seeded start, before each
 * variant. */
static enum ss_status null_reset(struct ss_engine *engine)
{
    (void)engine; /* there is no state */
    return SS_OK;
}

/* overlap_measurable: required. 0 where communication makes no progress beside
 * computation, so that a hidden share would say nothing of the machine. */
static int null_overlap_measurable(struct ss_engine *engine)
{
    (void)engine;
    return 1;
}

/* close: required, paired with open; after disconnect. */
static void null_close(struct ss_engine *engine)
{
    ss_free(ss_null_of(engine));
}

/*
 * Required as well, and in null_run.c: meet_all; block_begin, enqueue, mark,
 * drain, block_end, which exec.c calls in this order and which must not
 * allocate; now. In null_check.c: check_all. abort may be NULL for an engine
 * whose communication ends with the runtime's, as here.
 */
const struct ss_engine_ops ss_engine_null = {
    .name = "null",
    .version = SS_ENGINE_VERSION,
    .caps = SS_CAP_VIRTUAL | SS_CAP_ASYNC,
    .open = null_open,
    .describe = null_describe,
    .peak_flops = null_peak_flops,
    .connect_all = null_connect_all,
    .load = null_load,
    .reset = null_reset,
    .meet_all = ss_null_meet_all,
    .block_begin = ss_null_block_begin,
    .enqueue = ss_null_enqueue,
    .mark = ss_null_mark,
    .drain = ss_null_drain,
    .block_end = ss_null_block_end,
    .now = ss_null_now,
    .check_all = ss_null_check_all,
    .overlap_measurable = null_overlap_measurable,
    .unload = null_unload,
    .disconnect = null_disconnect,
    .abort = NULL,
    .close = null_close,
};
