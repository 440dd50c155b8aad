/* SPDX-License-Identifier: Apache-2.0 */
/* Both engines over real MPI: the cases that threads run, at this size. */
#include "support/rank_main.h"

#include "base/mem.h"
#include "support/engine_plan.h"
#include "support/host_cases.h"

static void must(enum ss_status status)
{
    if (status != SS_OK)
        fail_msg("%s", ss_error_text());
}

/* Layouts of this many ranks, dp x tp (x sp). */
static struct rig_spec layout(int index)
{
    int n = rank_world()->size;
    struct rig_spec spec = {.engine = "host",
                            .dp = n,
                            .tp = 1,
                            .tokens = 32,
                            .hidden = 16,
                            .layers = 2,
                            .bucket = 4096,
                            .precision = SS_PRECISION_FP64};
    if (index > 0 && n % 2 == 0) {
        spec.dp = n / 2;
        spec.tp = 2;
        spec.sp = index - 1;
    }
    return spec;
}

#define LAYOUTS 3

static void host_trains_as_one_rank_does(void **state)
{
    (void)state;
    for (int i = 0; i < LAYOUTS; i++) {
        struct host_training t = {.spec = layout(i), .tolerance = 1e-9};
        struct ss_rt *solo;
        must(ss_rt_solo_open(&solo));
        must(host_train_alone(solo, &t));
        ss_rt_close(solo);
        enum ss_status status = host_train_split(rank_world(), &t);
        ss_free(t.state);
        must(status);
    }
}

static void host_checks_and_events(void **state)
{
    (void)state;
    for (int i = 0; i < LAYOUTS; i++) {
        struct rig_spec spec = layout(i);
        must(host_checks_pass(rank_world(), &spec));
        must(host_events_in_order(rank_world(), &spec));
    }
}

static void host_drives_mpi_from_a_thread(void **state)
{
    (void)state;
    struct rig_spec spec = layout(1);
    spec.settings[0] = "device.progress";
    spec.settings[1] = "on";
    must(host_checks_pass(rank_world(), &spec));
}

static void host_finds_corruption(void **state)
{
    (void)state;
    struct rig_spec spec = layout(0);
    if (rank_world()->size < 2)
        skip();
    spec.precision = SS_PRECISION_FP32;
    must(host_checks_fail(rank_world(), &spec));
}

/* The step of test_engine_null.c: 25 ms, with a slow rank 1 35.5 ms. */
static void null_times_are_exact(void **state)
{
    (void)state;
    struct ss_rt *rt = rank_world();
    struct hand_plan hand;
    struct rig rig;
    hand_plan_make(rt->size, &hand);
    struct rig_spec spec = {
        .engine = "null",
        .dp = rt->size,
        .plan = &hand.plan,
        .settings = {"null.gemm_ms", "10", "null.optimizer_ms", "1",
                     "null.collective_ms", "4", "null.slow_rank", "1"}};
    must(rig_open_all(&rig, rt, &spec));
    must(rig_block_all(&rig, SS_WHOLE, 20));
    int64_t last = rig.record.mark[19] - rig.record.mark[18];
    assert_int_equal(last, rt->size > 1 ? 35500000 : 25000000);
    rig_close(&rig);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(host_trains_as_one_rank_does),
        cmocka_unit_test(host_checks_and_events),
        cmocka_unit_test(host_drives_mpi_from_a_thread),
        cmocka_unit_test(host_finds_corruption),
        cmocka_unit_test(null_times_are_exact),
    };
    return rank_main(argc, argv, "engine", tests, SS_COUNT_OF(tests));
}
