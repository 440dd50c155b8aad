/* SPDX-License-Identifier: Apache-2.0 */
/* What an op costs on the null engine: documented noise, and strong scaling. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/random.h"
#include "support/null_job.h"

static int64_t noisy(int op, int step, int rank, double ms)
{
    /* seed, point, variant, block 3 and step, rank, op: as documented */
    const uint64_t words[] = {7,
                              2,
                              SS_WHOLE,
                              (UINT64_C(3) << 32) + (uint64_t)step,
                              (uint64_t)rank,
                              (uint64_t)op};
    double z = ss_normal_from_word(ss_mix_words(words, 6));
    return llround(ms * 1e6 * fmax(0, 1 + 0.5 * z));
}

static enum ss_status look_noise(struct rig *rig, struct ss_rt *rt)
{
    int64_t first[RIG_STEPS_MAX];
    double sum = 0;
    SS_TRY(rig_block_all(rig, SS_WHOLE, RIG_STEPS_MAX));
    for (int step = 0; step < RIG_STEPS_MAX; step++) {
        const struct ss_op_event *e =
            &rig->record.event[step * HAND_OPS + GEMM1];
        CHECK(e->end - e->start == noisy(GEMM1, step, rt->rank, 10));
        first[step] = e->end - e->start;
        sum += (double)first[step];
    }
    CHECK(fabs(sum / RIG_STEPS_MAX / 1e7 - 1) < 4 * 0.5 / 8);
    SS_TRY(rig_block_all(rig, SS_WHOLE, RIG_STEPS_MAX));
    for (int step = 0; step < RIG_STEPS_MAX; step++) {
        const struct ss_op_event *e =
            &rig->record.event[step * HAND_OPS + GEMM1];
        CHECK(e->end - e->start == first[step]);
    }
    return SS_OK;
}

static void noise_is_the_documented_function_of_the_seed(void **state)
{
    (void)state;
    struct job job = {
        .spec = {.point = 2, .settings = PLANTED("4", "null.noise", "0.5")},
        .look = look_noise};
    run(&job, 3);
}

/* Strong scaling: gemm0 has half the FLOPs of its base, gemm1 all of them, and
 * adamw a quarter of the bytes. */
static enum ss_status look_scaled(struct rig *rig, struct ss_rt *rt)
{
    (void)rt;
    SS_TRY(rig_block_all(rig, SS_COMPUTE_ONLY, 2));
    SS_TRY(check_event(rig, GEMM0, 0, 0, 5));
    SS_TRY(check_event(rig, GEMM1, 0, 5, 15));
    SS_TRY(check_event(rig, ADAMW, 0, 15, 15.25));
    return SS_OK;
}

static void costs_scale_with_the_op_against_the_base(void **state)
{
    (void)state;
    struct hand_plan base;
    struct job job = {.spec = {.settings = PLANTED("4")}, .look = look_scaled};
    hand_plan_make(1, &base);
    base.op[GEMM0].flops = 2e9;
    base.op[GEMM1].flops = 1e9;
    base.op[ADAMW].bytes = 400;
    hand_plan_make(2, &job.hand);
    job.hand.op[GEMM0].flops = 1e9;
    job.hand.op[GEMM1].flops = 1e9;
    job.hand.op[ADAMW].bytes = 100;
    job.spec.plan = &job.hand.plan;
    job.spec.base = &base.plan;
    job.spec.dp = 2;
    run(&job, 2);
}

/* n0 has no fc1.dgrad: it is as dear as fc1.fwd, which has shrunk to a half. */
static void an_op_that_the_base_lacks_scales_as_its_siblings(void **state)
{
    (void)state;
    struct hand_plan base;
    struct job job = {.spec = {.settings = PLANTED("4"), .dp = 2},
                      .look = look_scaled};
    hand_plan_make(1, &base);
    hand_plan_make(2, &job.hand);
    (void)ss_copy(base.op[GEMM0].name, 16, "fc1.fwd");
    (void)ss_copy(job.hand.op[GEMM0].name, 16, "fc1.dgrad");
    base.op[GEMM0].flops = 2e9;
    job.hand.op[GEMM0].flops = 1e9;
    base.op[ADAMW].bytes = 400;
    job.hand.op[ADAMW].bytes = 100;
    job.spec.plan = &job.hand.plan;
    job.spec.base = &base.plan;
    run(&job, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(noise_is_the_documented_function_of_the_seed),
        cmocka_unit_test(costs_scale_with_the_op_against_the_base),
        cmocka_unit_test(an_op_that_the_base_lacks_scales_as_its_siblings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
