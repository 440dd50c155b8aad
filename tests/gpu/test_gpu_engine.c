/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cuda engine at 1 to 8 ranks, all on the first device (each poses as a
 * host of its own, since NCCL refuses to share): any layout trains as the host
 * engine does on one rank in fp64, checks pass and find planted faults, events
 * are in order. Times mean nothing here.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cluster/agree.h"
#include "engine/cuda.h"
#include "gpu/gpu_skip.h"
#include "gpu/gpu_training.h"
#include "support/host_cases.h"
#include "support/rank_main.h"

#define STEPS 3
#define LAYOUTS 4

/* Communicators of many ranks on one device take seconds: of 8 ranks only
 * hybrid layouts, of 16 only one of these. */
static bool passed_over(int layout)
{
    int size = rank_world()->size;
    return size > 8 ? layout != 1 : size > 4 && layout != 1 && layout != 2;
}

static void skip_above(int ranks)
{
    if (rank_world()->size > ranks)
        skip();
}

static void must(enum ss_status status)
{
    if (status != SS_OK)
        fail_msg("%s", ss_error_text());
}

/* Layouts of this many ranks: dp, dp x tp, dp x tp with sp, tp. */
static struct rig_spec layout(int index, int precision)
{
    int n = rank_world()->size;
    struct rig_spec spec = {
        .engine = "cuda",
        .dp = n,
        .tp = 1,
        .tokens = 64,
        .hidden = 64,
        .layers = 2,
        .bucket = 16384,
        .precision = precision,
        .settings = {"device.share", "true", "device.gemm_cache", "off",
                     "device.fuse", "auto", "device.graph", "false"}};
    if (index > 0 && n % 2 == 0) {
        spec.dp = index == 3 ? 1 : n / 2;
        spec.tp = n / spec.dp;
        spec.sp = index == 2;
    }
    return spec;
}

/* What one host rank makes of the whole batch, in fp64. */
static void train_alone(struct host_training *t)
{
    struct ss_rt *solo;
    int precision = t->spec.precision;
    t->spec.engine = "host";
    t->spec.precision = SS_PRECISION_FP64;
    must(ss_rt_solo_open(&solo));
    must(host_train_alone(solo, t));
    ss_rt_close(solo);
    t->spec.engine = "cuda";
    t->spec.precision = precision;
}

static void trains_as_one_host_rank_does(void **state)
{
    (void)state;
    static const struct {
        int precision;
        /* fp16 forgets second moments under 6e-8: the few parameters whose
         * gradient passes through 0 are moved too far */
        double tolerance;
        bool less; /* not at larger sizes */
    } cases[] = {{SS_PRECISION_FP64, 1e-12, false},
                 {SS_PRECISION_FP32, 1e-5, true},
                 {SS_PRECISION_TF32, 3e-3, true},
                 {SS_PRECISION_FP16, 3e-2, true},
                 {SS_PRECISION_BF16, 2e-2, false}};
    for (size_t c = 0; c < SS_COUNT_OF(cases); c++) {
        /* communicators of many ranks on one device take half a second */
        int size = rank_world()->size;
        bool brief = size > 2 && (cases[c].less || (size > 8 && c == 0));
        for (int i = 0; i < LAYOUTS && !brief; i++) {
            if (passed_over(i))
                continue;
            struct host_training t = {.spec = layout(i, cases[c].precision),
                                      .tolerance = cases[c].tolerance};
            /* each layout and each type both ways, in turn */
            t.spec.settings[5] = (c + (size_t)i) % 2 ? "off" : "on";
            struct rig rig;
            train_alone(&t);
            enum ss_status status = rig_open_all(&rig, rank_world(), &t.spec);
            if (status == SS_OK)
                status = ss_agree_all(rank_world(), gpu_train(&rig, &t));
            rig_close(&rig);
            ss_free(t.state);
            must(status);
        }
    }
}

#define ROWS 24
struct checked {
    struct ss_check_row row[ROWS];
    int n;
};

static enum ss_status check_all(struct rig *rig, const char *when,
                                struct checked *out)
{
    return rig->engine->ops->check_all(rig->engine, when, out->row, ROWS,
                                       &out->n);
}

static const struct ss_check_row *find(const struct checked *c,
                                       const char *check)
{
    for (int i = 0; i < c->n; i++)
        if (strcmp(c->row[i].check, check) == 0)
            return &c->row[i];
    return NULL;
}

static enum ss_status all_ok(const struct checked *c)
{
    for (int i = 0; i < c->n; i++)
        if (!c->row[i].ok)
            return ss_fail(SS_ERR_VERIFY, "%s: %s", c->row[i].check,
                           c->row[i].detail);
    return SS_OK;
}

static enum ss_status passes(struct rig *rig)
{
    struct checked c = {.n = 0};
    bool dp = rig->comms.dim[SS_DIM_DP] != NULL;
    SS_TRY(check_all(rig, "before", &c));
    SS_TRY(all_ok(&c));
    CHECK(find(&c, "gemm"));
    CHECK(!dp || find(&c, "all_reduce"));
    for (int variant = SS_VARIANTS - 1; variant >= 0; variant--)
        SS_TRY(rig_block_all(rig, (enum ss_variant)variant, STEPS));
    SS_TRY(check_all(rig, "after", &c));
    SS_TRY(all_ok(&c));
    CHECK(find(&c, "finite") && find(&c, "variance"));
    CHECK(!dp || find(&c, "replicas"));
    return SS_OK;
}

static void checks_pass(void **state)
{
    (void)state;
    for (int i = 0; i < LAYOUTS; i++) {
        if (passed_over(i))
            continue;
        struct rig_spec spec =
            layout(i, i % 2 ? SS_PRECISION_FP16 : SS_PRECISION_BF16);
        struct rig rig;
        spec.hidden = 48; /* no power of two */
        spec.settings[5] = i < 2 ? "on" : "auto";
        enum ss_status status = rig_open_all(&rig, rank_world(), &spec);
        if (status == SS_OK)
            status = ss_agree_all(rank_world(), passes(&rig));
        rig_close(&rig);
        must(status);
    }
}

static enum ss_status find_faults(struct rig *rig, struct ss_rt *rt)
{
    struct checked c = {.n = 0};
    const double wild = NAN, odd = 7;
    SS_TRY(rig->engine->ops->reset(rig->engine));
    SS_TRY(rig_block_all(rig, SS_WHOLE, STEPS));
    if (rt->rank == 1)
        SS_TRY(gpu_put(rig, SS_BUF_WEIGHT, 5, &odd, 1));
    SS_TRY(check_all(rig, "after", &c));
    const struct ss_check_row *row = find(&c, "replicas");
    CHECK(row && row->ok == (rt->size > 2 && rt->rank != 1));
    SS_TRY(rig_block_all(rig, SS_WHOLE, STEPS));
    if (rt->rank == 0)
        SS_TRY(gpu_put(rig, SS_BUF_MOMENT2, 7, &wild, 1));
    SS_TRY(check_all(rig, "after", &c));
    row = find(&c, "finite");
    CHECK(row && row->ok == (rt->rank != 0));
    CHECK(rt->rank != 0 || strstr(row->detail, "element 7 is"));
    return SS_OK;
}

static void faults_are_found(void **state)
{
    (void)state;
    struct rig_spec spec = layout(0, SS_PRECISION_FP32);
    struct rig rig;
    if (rank_world()->size < 2)
        skip();
    enum ss_status status = rig_open_all(&rig, rank_world(), &spec);
    if (status == SS_OK)
        status = ss_agree_all(rank_world(), find_faults(&rig, rank_world()));
    rig_close(&rig);
    must(status);
}

/* An op starts after its lane's previous end and all its waits; a collective
 * is ready at the end of the last of these, or at the end of the step before.
 */
static enum ss_status check_event(const struct rig *rig, int step, int index)
{
    const struct ss_block_record *record = &rig->record;
    const struct ss_op_event *row = &record->event[step * record->ops];
    const struct ss_op *op = &rig->plan.op[index];
    const struct ss_op_event *e = &row[index];
    int64_t awaited = step > 0 ? record->mark[step - 1] : record->begin_ns;
    CHECK(e->enqueued <= e->start && e->start <= e->end);
    for (int i = 0; i < op->n_waits; i++) {
        int64_t end = row[op->wait[i]].end;
        awaited = end > awaited ? end : awaited;
    }
    CHECK(e->start >= awaited);
    CHECK(e->ready == (ss_op_is_comm(op) ? awaited : e->start));
    for (int i = index - 1; i >= 0; i--) {
        if (rig->plan.op[i].lane != op->lane)
            continue;
        CHECK(e->start >= row[i].end);
        break;
    }
    return SS_OK;
}

static enum ss_status in_order(struct rig *rig)
{
    SS_TRY(rig_block_all(rig, SS_WHOLE, 4));
    for (int step = 0; step < 4; step++) {
        for (int i = 0; i < rig->plan.n_ops; i++)
            SS_TRY(check_event(rig, step, i));
        const struct ss_op_event *row =
            &rig->record.event[step * rig->record.ops];
        CHECK(rig->record.mark[step] >= row[rig->plan.n_ops - 1].end);
    }
    return SS_OK;
}

static void events_are_in_order(void **state)
{
    (void)state;
    skip_above(8);
    for (int i = 0; i < LAYOUTS; i++) {
        if (passed_over(i))
            continue;
        struct rig_spec spec = layout(i, SS_PRECISION_FP32);
        struct rig rig;
        enum ss_status status = rig_open_all(&rig, rank_world(), &spec);
        if (status == SS_OK)
            status = ss_agree_all(rank_world(), in_order(&rig));
        rig_close(&rig);
        must(status);
    }
}

/* The first block of a variant runs op by op, the next ones as a graph. */
static enum ss_status in_graphs(struct rig *rig, const struct host_training *t)
{
    struct ss_cuda *cuda = ss_cuda_of(rig->engine);
    SS_TRY(rig_block_all(rig, SS_WHOLE, 2));
    CHECK(!cuda->graph_now);
    SS_TRY(gpu_train(rig, t));
    CHECK(cuda->graph_now && !cuda->graph_refused);
    SS_TRY(in_order(rig));
    for (int variant = SS_VARIANTS - 1; variant > 0; variant--)
        for (int block = 0; block < 2; block++)
            SS_TRY(rig_block_all(rig, (enum ss_variant)variant, STEPS));
    SS_TRY(passes(rig));
    CHECK(cuda->graph_now && !cuda->graph_refused);
    return SS_OK;
}

static void a_step_can_be_one_graph(void **state)
{
    (void)state;
    skip_above(2);
    for (int i = 0; i < LAYOUTS; i++) {
        struct host_training t = {.spec = layout(i, SS_PRECISION_FP32),
                                  .tolerance = 1e-5};
        struct rig rig;
        t.spec.settings[7] = "true";
        train_alone(&t);
        enum ss_status status = rig_open_all(&rig, rank_world(), &t.spec);
        if (status == SS_OK)
            status = ss_agree_all(rank_world(), in_graphs(&rig, &t));
        rig_close(&rig);
        ss_free(t.state);
        must(status);
    }
}

/* As with an NCCL that keeps no launch order itself. */
static void chained_communication_trains_too(void **state)
{
    (void)state;
    skip_above(4);
    struct rig_spec spec = layout(1, SS_PRECISION_FP32);
    struct rig rig;
    enum ss_status status = rig_open_all(&rig, rank_world(), &spec);
    if (status == SS_OK) {
        struct ss_cuda *cuda = ss_cuda_of(rig.engine);
        const struct ss_engine_work work = cuda->work;
        rig.engine->ops->unload(rig.engine);
        cuda->always_chains = true;
        status = rig.engine->ops->load(rig.engine, &work);
        rig.loaded = status == SS_OK;
    }
    if (status == SS_OK)
        status = ss_agree_all(rank_world(), in_order(&rig));
    if (status == SS_OK)
        status = ss_agree_all(rank_world(), passes(&rig));
    rig_close(&rig);
    must(status);
}

/* More steps than there are events for: they are read on the way. */
static void long_blocks_use_events_again(void **state)
{
    (void)state;
    skip_above(4);
    struct rig_spec spec = layout(0, SS_PRECISION_FP32);
    struct rig rig;
    spec.layers = 1;
    enum ss_status status = rig_open_all(&rig, rank_world(), &spec);
    must(status);
    ss_cuda_of(rig.engine)->slots = 4;
    must(rig_block_all(&rig, SS_WHOLE, RIG_STEPS_MAX));
    for (int s = 1; s < RIG_STEPS_MAX; s++)
        assert_true(rig.record.mark[s] > rig.record.mark[s - 1]);
    assert_true(rig.record.mark[0] > rig.record.begin_ns);
    assert_true(rig.record.mark[RIG_STEPS_MAX - 1] <=
                rig.record.end_ns + rig.record.anchor_width_ns + 1000);
    rig_close(&rig);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trains_as_one_host_rank_does),
        cmocka_unit_test(checks_pass),
        cmocka_unit_test(faults_are_found),
        cmocka_unit_test(events_are_in_order),
        cmocka_unit_test(a_step_can_be_one_graph),
        cmocka_unit_test(chained_communication_trains_too),
        cmocka_unit_test(long_blocks_use_events_again),
    };
    char host[32];
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");
    if (!gpu_is_there())
        return GPU_SKIP;
    (void)ss_format(host, sizeof(host), "gpu-test-%s", rank ? rank : "0");
    (void)setenv("NCCL_HOSTID", host, 0);
    (void)setenv("NCCL_SOCKET_IFNAME", "lo", 0);
    return rank_main(argc, argv, "cuda engine", tests, SS_COUNT_OF(tests));
}
