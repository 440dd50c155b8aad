/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The exact checks of the cuda engine: each kind of collective of the plan on
 * integers whose sum is exact in its type, in the plan's own buffers, compared
 * on the device. What they overwrite is restored before the next block. A
 * failed check is a row, not an error.
 */
#include "base/mem.h"
#include "engine/cuda.h"

#define CHECK_ELEMS_MAX (UINT64_C(4) << 20)

enum ss_status ss_cuda_word_set(struct ss_cuda *self, int byte)
{
    return ss_cuda_said(self,
                        (int)cudaMemsetAsync(self->words, byte,
                                             2 * sizeof(*self->words),
                                             self->lane[SS_LANE_COMPUTE]),
                        "clear a result");
}

enum ss_status ss_cuda_word_get(struct ss_cuda *self, void *out, size_t size)
{
    SS_TRY(ss_cuda_wait_lane(self, SS_LANE_COMPUTE));
    return ss_cuda_said(
        self, (int)cudaMemcpy(out, self->words, size, cudaMemcpyDeviceToHost),
        "read a result");
}

/* One exact collective: what is sent, and what must come out. */
struct trial {
    const struct ss_op *op;
    struct ss_rt *rt;
    struct ss_nccl_call call;
    struct ss_exact_spec spec;
    uint64_t sent, received; /* elements of this rank */
    struct ss_exact_expect expect;
};

static void shape(struct trial *t)
{
    uint64_t ranks = (uint64_t)t->rt->size, count = t->call.count;
    uint64_t mine = (uint64_t)t->rt->rank * count;
    bool spreads =
        t->op->kind == SS_OP_REDUCE_SCATTER || t->op->kind == SS_OP_ALL_TO_ALL;
    bool collects =
        t->op->kind == SS_OP_ALL_GATHER || t->op->kind == SS_OP_ALL_TO_ALL;
    t->sent = spreads ? count * ranks : count;
    t->received = collects ? count * ranks : count;
    t->expect = (struct ss_exact_expect){
        .spec = t->spec,
        .count = count,
        .first = spreads ? mine : 0,
        .sum = !collects,
    };
}

static void open_trial(const struct ss_cuda *self, int index, struct trial *t)
{
    const struct ss_op *op = &self->work.plan->op[index];
    struct ss_rt *rt = self->comms.dim[op->dim];
    uint64_t most = op->kind == SS_OP_ALL_REDUCE
                        ? CHECK_ELEMS_MAX
                        : CHECK_ELEMS_MAX / (uint64_t)rt->size;
    *t = (struct trial){.op = op,
                        .rt = rt,
                        .call = {.kind = op->kind,
                                 .dim = op->dim,
                                 .dtype = ss_cuda_type(self, op->c),
                                 .send = ss_cuda_at(self, op->a),
                                 .recv = ss_cuda_at(self, op->c),
                                 .count = op->count < most ? op->count : most,
                                 .peer = op->peer}};
    t->spec = ss_exact_spec_make(t->call.dtype, rt->size);
    shape(t);
}

/* In place: all-reduce. Otherwise the result is wiped first, unless the shard
 * lies within it. */
static enum ss_status prepare(struct ss_cuda *self, const struct trial *t)
{
    cudaStream_t stream = self->lane[SS_LANE_COMPUTE];
    bool in_place = t->op->kind == SS_OP_ALL_REDUCE;
    void *sent = in_place ? t->call.recv : ss_cuda_at(self, t->op->a);
    size_t bytes = (size_t)t->received * ss_dtype_size(t->call.dtype);
    if (!in_place)
        SS_TRY(ss_cuda_said(
            self, (int)cudaMemsetAsync(t->call.recv, 0xff, bytes, stream),
            "wipe a result"));
    SS_TRY(ss_cuda_said(self,
                        ss_kernel_fill_exact(sent, t->call.dtype, t->sent,
                                             &t->spec, t->rt->rank, 0, stream),
                        "fill exact data"));
    return ss_cuda_wait_lane(self, SS_LANE_COMPUTE);
}

static enum ss_status compare(struct ss_cuda *self, const struct trial *t,
                              uint64_t *wrong, double *got)
{
    cudaStream_t stream = self->lane[SS_LANE_COMPUTE];
    *got = 0;
    SS_TRY(ss_cuda_word_set(self, 0xff));
    SS_TRY(ss_cuda_said(self,
                        ss_kernel_compare_exact(t->call.recv, t->call.dtype,
                                                t->received, &t->expect,
                                                self->words, stream),
                        "compare a result"));
    SS_TRY(ss_cuda_word_get(self, wrong, sizeof(*wrong)));
    if (*wrong == UINT64_MAX)
        return SS_OK;
    SS_TRY(ss_cuda_said(self,
                        ss_kernel_gather(t->call.recv, t->call.dtype, *wrong, 1,
                                         1, (double *)self->words, stream),
                        "read a result"));
    return ss_cuda_word_get(self, got, sizeof(*got));
}

static enum ss_status check_coll_all(struct ss_engine *engine, int index,
                                     struct ss_check_sink *sink)
{
    struct ss_cuda *self = ss_cuda_of(engine);
    struct trial t;
    uint64_t at = UINT64_MAX;
    double got = 0;
    open_trial(self, index, &t);
    SS_TRY(prepare(self, &t));
    int lane = (int)t.op->lane;
    SS_TRY(ss_nccl_enqueue(self->nccl, &t.call, self->lane[lane]));
    SS_TRY(ss_cuda_wait_lane(self, lane));
    SS_TRY(compare(self, &t, &at, &got));
    struct ss_coll_wrong wrong = {.found = at != UINT64_MAX, .at = at};
    if (wrong.found) {
        wrong.expected = ss_twin_exact_expected(&t.expect, at);
        wrong.got = got;
    }
    ss_check_add_coll(sink, t.op, t.op->name, t.received, &wrong);
    return SS_OK;
}

enum ss_status ss_cuda_check_all(struct ss_engine *engine, const char *when,
                                 struct ss_check_row *rows, int max, int *n)
{
    struct ss_cuda *self = ss_cuda_of(engine);
    struct ss_check_sink sink = {.rows = rows,
                                 .max = max,
                                 .rank = self->work.logical_rank,
                                 .when = when};
    const struct ss_plan_check check = {
        .engine = engine,
        .plan = self->work.plan,
        .coll_all = check_coll_all,
        .gemms = ss_cuda_check_gemms,
        .state_all = ss_cuda_check_state_all,
        .age = &self->age,
        .trial = &self->trial,
    };
    enum ss_status status = ss_check_plan_all(&check, &sink);
    *n = sink.n;
    return status;
}
