/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is planted must come back exactly: the expected times below are worked
 * out by hand from the step in engine_plan.h, in ms.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "support/null_job.h"

/* Collectives of 4 ms: the first hides behind gemm1, the second does not.
 * gemm0 0-10, reduce0 10-14, gemm1 10-20, reduce1 20-24, adamw 24-25 */
static enum ss_status look_hidden(struct rig *rig, struct ss_rt *rt)
{
    (void)rt;
    SS_TRY(rig_block_all(rig, SS_WHOLE, 4));
    SS_TRY(check_event(rig, GEMM0, 0, 0, 10));
    SS_TRY(check_event(rig, REDUCE0, 10, 10, 14));
    SS_TRY(check_event(rig, GEMM1, 10, 10, 20));
    SS_TRY(check_event(rig, REDUCE1, 20, 20, 24));
    SS_TRY(check_event(rig, ADAMW, 24, 24, 25));
    for (int step = 0; step < 4; step++)
        CHECK(rig->record.mark[step] ==
              rig->record.begin_ns + MS(25) * (step + 1));
    CHECK(rig->engine->ops->now(rig->engine) == rig->record.begin_ns + MS(100));
    CHECK(rig->record.end_ns == rig->record.begin_ns + MS(100));
    return SS_OK;
}

/* Collectives of 12 ms queue on their lane: reduce0 10-22, reduce1 (ready at
 * 20) 22-34, adamw 34-35 */
static enum ss_status look_queued(struct rig *rig, struct ss_rt *rt)
{
    (void)rt;
    SS_TRY(rig_block_all(rig, SS_WHOLE, 3));
    SS_TRY(check_event(rig, REDUCE0, 10, 10, 22));
    SS_TRY(check_event(rig, REDUCE1, 20, 22, 34));
    SS_TRY(check_event(rig, ADAMW, 34, 34, 35));
    CHECK(rig->record.mark[2] - rig->record.mark[1] == MS(35));
    return SS_OK;
}

static enum ss_status look_controls(struct rig *rig, struct ss_rt *rt)
{
    (void)rt;
    SS_TRY(rig_block_all(rig, SS_COMPUTE_ONLY, 3));
    CHECK(rig->record.mark[1] - rig->record.mark[0] == MS(21));
    CHECK(rig->record.event[REDUCE0].end == SS_NO_TIME);
    SS_TRY(rig_block_all(rig, SS_COMM_ONLY, 3));
    CHECK(rig->record.mark[0] - rig->record.begin_ns == MS(8));
    CHECK(rig->record.mark[2] - rig->record.mark[1] == MS(8));
    CHECK(rig->record.event[GEMM1].start == SS_NO_TIME);
    CHECK(rig->record.event[REDUCE1].end != SS_NO_TIME);
    return SS_OK;
}

static void planted_times_come_back(void **state)
{
    (void)state;
    const int ranks[] = {1, 2, 4, 8};
    for (size_t i = 0; i < SS_COUNT_OF(ranks); i++) {
        struct job hidden = {.spec = {.settings = PLANTED("4")},
                             .look = look_hidden};
        struct job queued = {.spec = {.settings = PLANTED("12")},
                             .look = look_queued};
        struct job controls = {.spec = {.settings = PLANTED("4")},
                               .look = look_controls};
        run(&hidden, ranks[i]);
        run(&queued, ranks[i]);
        run(&controls, ranks[i]);
    }
}

static void four_hundred_ranks_too(void **state)
{
    (void)state;
    struct job hidden = {.spec = {.settings = PLANTED("4")},
                         .look = look_hidden};
    run(&hidden, 400);
}

/* Rank 1 takes 1.5 x: its gemm0 ends at 15, gemm1 at 30; reduce0 is 15-19 for
 * all (others are ready at 10), reduce1 30-34; adamw 34-35, there 34-35.5. */
static enum ss_status look_slow(struct rig *rig, struct ss_rt *rt)
{
    bool slow = rt->rank == 1;
    SS_TRY(rig_block_all(rig, SS_WHOLE, 3));
    SS_TRY(check_event(rig, GEMM0, 0, 0, slow ? 15 : 10));
    SS_TRY(check_event(rig, REDUCE0, slow ? 15 : 10, slow ? 15 : 10, 19));
    SS_TRY(check_event(rig, REDUCE1, slow ? 30 : 20, slow ? 30 : 20, 34));
    SS_TRY(check_event(rig, ADAMW, 34, 34, slow ? 35.5 : 35));
    /* from then on the slow rank sets the pace: 15 + 15 + 4 + 1.5 */
    CHECK(rig->record.mark[2] - rig->record.mark[1] == MS(35.5));
    return SS_OK;
}

static void a_slow_rank_holds_up_the_others(void **state)
{
    (void)state;
    for (int ranks = 2; ranks <= 4; ranks++) {
        struct job job = {
            .spec = {.settings = PLANTED("4", "null.slow_rank", "1")},
            .look = look_slow};
        run(&job, ranks);
    }
}

/* The second collective's ready is the first one's end, which this rank does
 * not know when it enqueues: gemm 0-10, dp 10-14, tp 14-18, add 18-18. */
static enum ss_status look_chain(struct rig *rig, struct ss_rt *rt)
{
    (void)rt;
    SS_TRY(rig_block_all(rig, SS_WHOLE, 20));
    SS_TRY(check_event(rig, CHAIN_GEMM, 0, 0, 10));
    SS_TRY(check_event(rig, CHAIN_DP, 10, 10, 14));
    SS_TRY(check_event(rig, CHAIN_TP, 14, 14, 18));
    SS_TRY(check_event(rig, CHAIN_ADD, 18, 18, 18));
    CHECK(rig->record.mark[19] == rig->record.begin_ns + 20 * MS(18));
    SS_TRY(rig_block_all(rig, SS_COMM_ONLY, 20));
    CHECK(rig->record.mark[19] == rig->record.begin_ns + 20 * MS(4) + MS(4));
    return SS_OK;
}

static void a_collective_may_wait_for_another(void **state)
{
    (void)state;
    struct chain_plan chain;
    struct job job = {.spec = {.dp = 2,
                               .tp = 4,
                               .plan = &chain.plan,
                               .settings = PLANTED("4")},
                      .look = look_chain};
    chain_plan_make(2, 4, &chain);
    run(&job, 8);
}

static enum ss_status look_tp(struct rig *rig, struct ss_rt *rt)
{
    (void)rt;
    for (int variant = 0; variant < SS_VARIANTS; variant++) {
        SS_TRY(rig_block_all(rig, (enum ss_variant)variant, 3));
        /* all ranks agree on when a step ends: costs are equal */
        int64_t mark = rig->record.mark[2];
        SS_TRY(ss_allreduce_all(rt, &mark, 1, SS_DT_I64, SS_RED_MAX));
        CHECK(mark == rig->record.mark[2]);
    }
    for (int i = 0; i < rig->plan.n_ops; i++)
        if (rig->plan.op[i].kind == SS_OP_GEMM)
            CHECK(rig->record.event[i].start == SS_NO_TIME);
    return SS_OK;
}

static void built_plans_of_several_dimensions_run(void **state)
{
    (void)state;
    for (int sp = 0; sp < 2; sp++) {
        struct job job = {.spec = {.dp = 4,
                                   .tp = 2,
                                   .sp = sp,
                                   .micro = 3,
                                   .tokens = 96,
                                   .hidden = 32,
                                   .bucket = 2048,
                                   .settings = PLANTED("0.5")},
                          .look = look_tp};
        run(&job, 8);
    }
}

static enum ss_status look_allocations(struct rig *rig, struct ss_rt *rt)
{
    (void)rt;
    rig_mute_transport(rig);
    for (int variant = 0; variant < SS_VARIANTS; variant++) {
        SS_TRY(rig_block_all(rig, (enum ss_variant)variant, 20));
        CHECK(rig->own_allocations == 0);
        CHECK(rig->allocations <= 0);
    }
    return SS_OK;
}

static void a_block_does_not_allocate(void **state)
{
    (void)state;
    for (int ranks = 1; ranks <= 4; ranks += 3) {
        struct job job = {.spec = {.settings = PLANTED("4")},
                          .look = look_allocations};
        run(&job, ranks);
    }
}

/* Planted times are lower bounds of real ones, on any machine. */
static enum ss_status look_real(struct rig *rig, struct ss_rt *rt)
{
    (void)rt;
    int64_t begin = ss_clock_ns();
    SS_TRY(rig_block_all(rig, SS_WHOLE, 2));
    CHECK(ss_clock_ns() - begin >= MS(2 * 8.5));
    CHECK(rig->record.mark[1] - rig->record.mark[0] >= MS(8.5));
    const struct ss_op_event *e = rig->record.event;
    CHECK(e[GEMM0].end - e[GEMM0].start >= MS(3));
    CHECK(e[REDUCE1].end - e[REDUCE1].ready >= MS(2));
    CHECK(e[ADAMW].start >= e[REDUCE1].end);
    SS_TRY(rig_block_all(rig, SS_COMM_ONLY, 2));
    CHECK(rig->record.mark[1] - rig->record.begin_ns >= MS(2 * 4));
    return SS_OK;
}

static void the_real_clock_sleeps_what_is_planted(void **state)
{
    (void)state;
    struct job job = {
        .spec = {.settings = {"null.clock", "real", "null.gemm_ms", "3",
                              "null.optimizer_ms", "0.5", "null.collective_ms",
                              "2"}},
        .look = look_real};
    run(&job, 3);
}

static enum ss_status look_pace(struct rig *rig, struct ss_rt *rt)
{
    (void)rt;
    int64_t begin = ss_clock_ns();
    SS_TRY(rig_block_all(rig, SS_WHOLE, 2));
    CHECK(ss_clock_ns() - begin >= MS(50));
    CHECK(rig->record.mark[1] - rig->record.mark[0] == MS(25));
    return SS_OK;
}

static void pace_keeps_wall_time(void **state)
{
    (void)state;
    struct job job = {.spec = {.settings = PLANTED("4", "null.pace", "1")},
                      .look = look_pace};
    run(&job, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(planted_times_come_back),
        cmocka_unit_test(four_hundred_ranks_too),
        cmocka_unit_test(a_slow_rank_holds_up_the_others),
        cmocka_unit_test(a_collective_may_wait_for_another),
        cmocka_unit_test(built_plans_of_several_dimensions_run),
        cmocka_unit_test(a_block_does_not_allocate),
        cmocka_unit_test(the_real_clock_sleeps_what_is_planted),
        cmocka_unit_test(pace_keeps_wall_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
