/* SPDX-License-Identifier: Apache-2.0 */
/* The host engine over threads: any layout trains as one rank would. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "support/engine_plan.h"
#include "support/host_cases.h"

static void run(int ranks, ss_rank_fn fn, void *arg)
{
    long live = ss_mem_live();
    if (ss_rt_threads_run(ranks, 1, fn, arg) != SS_OK)
        fail_msg("%d ranks: %s", ranks, ss_error_text());
    assert_int_equal(ss_mem_live(), live);
}

/* fp64 is exact enough to see a misplaced operand; in fp32 an element whose
 * gradient is all rounding may go either way by LR a step. */
static void train(struct rig_spec spec, double tolerance)
{
    struct host_training t = {.tolerance = tolerance};
    struct ss_rt *solo;
    spec.engine = "host";
    t.spec = spec;
    assert_int_equal(ss_rt_solo_open(&solo), SS_OK);
    if (host_train_alone(solo, &t) != SS_OK)
        fail_msg("alone: %s", ss_error_text());
    ss_rt_close(solo);
    run(spec.dp * spec.tp, host_train_split, &t);
    ss_free(t.state);
}

static void layouts_train_as_one_rank_does(void **state)
{
    (void)state;
    static const int layouts[][4] = {/* dp, tp, sp, micro-batches */
                                     {1, 1, 0, 1}, {2, 1, 0, 1}, {4, 1, 0, 2},
                                     {1, 2, 0, 1}, {1, 4, 0, 1}, {1, 2, 1, 1},
                                     {1, 4, 1, 1}, {2, 2, 0, 2}, {2, 2, 1, 1}};
    for (size_t i = 0; i < SS_COUNT_OF(layouts); i++) {
        const int *l = layouts[i];
        struct rig_spec spec = {.dp = l[0],
                                .tp = l[1],
                                .sp = l[2],
                                .micro = l[3],
                                .tokens = 32,
                                .hidden = 16,
                                .layers = 2,
                                .bucket = 4096,
                                .precision = SS_PRECISION_FP64};
        if (l[3] >
            1) /* micro-batches are alike: the sums are not the batch's */
            continue;
        train(spec, 1e-9);
        spec.precision = SS_PRECISION_FP32;
        train(spec, 6.1e-4);
    }
}

static void a_progress_thread_changes_nothing(void **state)
{
    (void)state;
    struct rig_spec spec = {.dp = 2,
                            .tp = 2,
                            .tokens = 32,
                            .hidden = 16,
                            .layers = 2,
                            .bucket = 4096,
                            .precision = SS_PRECISION_FP64,
                            .settings = {"device.progress", "on"}};
    train(spec, 1e-9);
}

static const struct rig_spec specs[] = {
    {.engine = "host", .dp = 1, .tokens = 32, .hidden = 16, .layers = 2},
    {.engine = "host", .dp = 2, .tokens = 32, .hidden = 16, .bucket = 4096},
    {.engine = "host", .dp = 4, .tokens = 48, .hidden = 16, .micro = 3},
    {.engine = "host", .dp = 1, .tp = 2, .tokens = 32, .hidden = 16},
    {.engine = "host", .dp = 2, .tp = 2, .sp = 1, .tokens = 32, .hidden = 16},
    {.engine = "host",
     .dp = 2,
     .tp = 2,
     .tokens = 32,
     .hidden = 16,
     .precision = SS_PRECISION_FP64,
     .settings = {"device.progress", "on"}},
    {.engine = "host",
     .dp = 2,
     .model = "llama-7b",
     .tokens = 8,
     .hidden = 256,
     .layers = 1},
};

static void each(ss_rank_fn fn)
{
    for (size_t i = 0; i < SS_COUNT_OF(specs); i++) {
        struct rig_spec spec = specs[i];
        run(spec.dp * (spec.tp ? spec.tp : 1), fn, &spec);
    }
}

static void checks_pass_and_state_comes_back(void **state)
{
    (void)state;
    each(host_checks_pass);
}

static void events_are_in_order(void **state)
{
    (void)state;
    each(host_events_in_order);
}

static void a_collective_may_wait_for_another(void **state)
{
    (void)state;
    struct chain_plan chain;
    struct rig_spec spec = {
        .engine = "host", .dp = 2, .tp = 2, .plan = &chain.plan};
    chain_plan_make(2, 2, &chain);
    run(4, host_events_in_order, &spec);
}

static void blocks_allocate_nothing(void **state)
{
    (void)state;
    each(host_blocks_allocate_nothing);
}

static void corruption_is_found_and_named(void **state)
{
    (void)state;
    for (int dp = 2; dp <= 4; dp++) {
        struct rig_spec spec = {.engine = "host",
                                .dp = dp,
                                .tokens = 32,
                                .hidden = 16,
                                .layers = 2};
        run(dp, host_checks_fail, &spec);
    }
}

static enum ss_status open_only(struct ss_rt *rt, void *spec)
{
    struct rig rig;
    enum ss_status status = rig_open_all(&rig, rt, spec);
    rig_close(&rig);
    return status;
}

static void refuse(struct rig_spec spec, enum ss_status status,
                   const char *words)
{
    long live = ss_mem_live();
    spec.engine = "host";
    assert_int_equal(ss_rt_threads_run(spec.dp, 1, open_only, &spec), status);
    if (!strstr(ss_error_text(), words))
        fail_msg("%s", ss_error_text());
    assert_int_equal(ss_mem_live(), live);
}

static void what_cannot_be_run_is_refused_in_words(void **state)
{
    (void)state;
    refuse((struct rig_spec){.dp = 1,
                             .tokens = 32,
                             .hidden = 16,
                             .precision = SS_PRECISION_BF16},
           SS_ERR_CONFIG, "fp32 and fp64");
    refuse((struct rig_spec){.dp = 1, .tokens = 64, .model = "llama-405b"},
           SS_ERR_NO_MEMORY, "per rank x 1 rank on this host");
    refuse((struct rig_spec){.dp = 2, .tokens = 64, .model = "llama-405b"},
           SS_ERR_NO_MEMORY, "per rank x 2 ranks on this host");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layouts_train_as_one_rank_does),
        cmocka_unit_test(a_progress_thread_changes_nothing),
        cmocka_unit_test(checks_pass_and_state_comes_back),
        cmocka_unit_test(events_are_in_order),
        cmocka_unit_test(a_collective_may_wait_for_another),
        cmocka_unit_test(blocks_allocate_nothing),
        cmocka_unit_test(corruption_is_found_and_named),
        cmocka_unit_test(what_cannot_be_run_is_refused_in_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
