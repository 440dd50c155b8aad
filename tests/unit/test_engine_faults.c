/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Planted faults, and faults that nobody planted: each must reach the right
 * rank as the right status, with words, and leave no rank waiting and no
 * memory behind.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cluster/agree.h"
#include "support/engine_plan.h"
#include "support/engine_rig.h"

typedef enum ss_status (*look_fn)(struct rig *rig, struct ss_rt *rt);
struct job {
    struct rig_spec spec;
    struct hand_plan hand;
    look_fn look;
    int victim;
    long nth; /* allocation or runtime call that fails on the victim */
    bool hit; /* that allocation came */
};

static enum ss_status run_rank(struct ss_rt *rt, void *arg)
{
    struct job *job = arg;
    struct rig rig;
    enum ss_status status = rig_open_all(&rig, rt, &job->spec);
    if (status == SS_OK)
        status = job->look(&rig, rt);
    rig_close(&rig);
    return status;
}

static enum ss_status run(struct job *job, int ranks)
{
    long live = ss_mem_live();
    if (!job->spec.dp) {
        hand_plan_make(ranks, &job->hand);
        job->spec.plan = &job->hand.plan;
    }
    enum ss_status status = ss_rt_threads_run(ranks, 1, run_rank, job);
    assert_int_equal(ss_mem_live(), live);
    return status;
}

static enum ss_status look_nothing(struct rig *rig, struct ss_rt *rt)
{
    (void)rig, (void)rt;
    return SS_OK;
}

static void a_fault_is_parsed_strictly(void **state)
{
    (void)state;
    const char *const wrong[] = {"1",      "1:2",     "1:2:",    "1:2:3:4",
                                 "-1:2:3", "1: 2:3",  "01:2:3",  "1:2:x",
                                 "a:2:3",  "1:2:3.5", "1:2:3 ",  ":::",
                                 "1::3",   "+1:2:3",  "1:2:1e3", ":1:2"};
    const char *const keys[] = {"null.corrupt_op", "null.fail_op",
                                "null.hang_op"};
    for (size_t k = 0; k < SS_COUNT_OF(keys); k++) {
        for (size_t i = 0; i < SS_COUNT_OF(wrong); i++) {
            struct job job = {
                .spec = {.engine = "null", .settings = {keys[k], wrong[i]}},
                .look = look_nothing};
            assert_int_equal(run(&job, 1), SS_ERR_CONFIG);
            assert_non_null(strstr(ss_error_text(), keys[k]));
            assert_non_null(strstr(ss_error_text(), "rank:point:op"));
        }
    }
}

static void a_fault_that_cannot_fire_is_refused(void **state)
{
    (void)state;
    struct job job = {.spec = {.engine = "null",
                               .point = 2,
                               .settings = {"null.fail_op", "1:2:5"}},
                      .look = look_nothing};
    assert_int_equal(run(&job, 2), SS_ERR_CONFIG);
    assert_non_null(strstr(ss_error_text(), "ops 0 to 4"));
    job.spec.settings[0] = "null.corrupt_op";
    job.spec.settings[1] = "1:2:2"; /* gemm1 */
    assert_int_equal(run(&job, 2), SS_ERR_CONFIG);
    assert_non_null(strstr(ss_error_text(), "not a collective"));
    job.spec.settings[1] = "1:3:2"; /* another point: not now */
    assert_int_equal(run(&job, 2), SS_OK);
}

/* The failing rank does its part of the collectives, so that all others end
 * their block well, and everybody agrees afterwards. */
static enum ss_status look_failure(struct rig *rig, struct ss_rt *rt)
{
    enum ss_status mine = rig_block_all(rig, SS_WHOLE, 3);
    CHECK(mine == (rt->rank == 1 ? SS_ERR_DEVICE : SS_OK));
    return ss_agree_all(rt, mine);
}

static void a_failed_op_is_everybodys_failure_and_nobody_hangs(void **state)
{
    (void)state;
    const char *const ops[] = {"1:0:0", "1:0:1", "1:0:3", "1:0:4"};
    for (size_t i = 0; i < SS_COUNT_OF(ops); i++) {
        struct job job = {
            .spec = {.engine = "null", .settings = {"null.fail_op", ops[i]}},
            .look = look_failure};
        assert_int_equal(run(&job, 3), SS_ERR_DEVICE);
        assert_non_null(strstr(ss_error_text(), "rank 1"));
        assert_non_null(strstr(ss_error_text(), "null.fail_op"));
    }
}

static enum ss_status look_corruption(struct rig *rig, struct ss_rt *rt)
{
    struct ss_check_row rows[8];
    int n = 0;
    SS_TRY(rig->engine->ops->check_all(rig->engine, "before", rows, 8, &n));
    CHECK(n == 1 && rows[0].rank == rt->rank);
    CHECK(strcmp(rows[0].check, "all_reduce") == 0);
    CHECK(strcmp(rows[0].when, "before") == 0);
    CHECK(rows[0].ok == (rt->rank != 2));
    if (rt->rank == 2) {
        CHECK(strstr(rows[0].detail, "reduce1"));
        CHECK(strstr(rows[0].detail, "expected"));
    }
    return SS_OK;
}

static void a_corrupted_reduction_is_found_on_its_rank(void **state)
{
    (void)state;
    struct job job = {
        .spec = {.engine = "null", .settings = {"null.corrupt_op", "2:0:3"}},
        .look = look_corruption};
    if (run(&job, 4) != SS_OK)
        fail_msg("%s", ss_error_text());
}

static enum ss_status look_clean(struct rig *rig, struct ss_rt *rt)
{
    struct ss_check_row rows[8];
    int n = 0, kinds = rig->spec->sp ? 3 : 1;
    (void)rt;
    SS_TRY(rig->engine->ops->check_all(rig->engine, "after", rows, 8, &n));
    /* all-reduce over dp; over tp it, or with sp the other two */
    CHECK(n == (kinds == 3 ? 3 : 2));
    for (int i = 0; i < n; i++)
        CHECK(rows[i].ok == 1);
    return SS_OK;
}

static void clean_collectives_pass_in_every_dimension(void **state)
{
    (void)state;
    for (int sp = 0; sp < 2; sp++) {
        struct job job = {.spec = {.engine = "null",
                                   .dp = 2,
                                   .tp = 4,
                                   .sp = sp,
                                   .tokens = 64,
                                   .hidden = 32},
                          .look = look_clean};
        if (run(&job, 8) != SS_OK)
            fail_msg("%s", ss_error_text());
    }
}

static void a_hanging_op_does_not_return(void **state)
{
    (void)state;
    struct job job = {
        .spec = {.engine = "null", .settings = {"null.hang_op", "1:0:2"}},
        .look = look_failure};
    int ended;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)run(&job, 2);
        _exit(0);
    }
    const struct timespec nap = {.tv_nsec = 300 * 1000 * 1000};
    nanosleep(&nap, NULL);
    assert_int_equal(waitpid(child, &ended, WNOHANG), 0);
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, &ended, 0), child);
}

/* Torture: the n-th allocation, or runtime call, of one rank. */
static enum ss_status torture_rank(struct ss_rt *rt, void *arg)
{
    struct job *job = arg;
    struct rig rig;
    if (rt->rank == job->victim && job->nth > 0)
        ss_mem_fail_at(job->nth);
    if (rt->rank == job->victim && job->nth < 0)
        ss_rt_threads_fail_at(rt, -job->nth);
    long calls = ss_mem_calls();
    enum ss_status status = rig_open_all(&rig, rt, &job->spec);
    if (rt->rank == job->victim)
        job->hit = job->nth > 0 && ss_mem_calls() - calls >= job->nth;
    ss_mem_fail_at(0);
    if (status == SS_OK)
        status = ss_agree_all(rt, job->look(&rig, rt));
    rig_close(&rig);
    return status;
}

static enum ss_status torture(struct job *job)
{
    long live = ss_mem_live();
    ss_error_set(NULL);
    enum ss_status status = ss_rt_threads_run(4, 1, torture_rank, job);
    if (status != SS_OK && !ss_error_text()[0])
        fail_msg("failure %ld has no words", job->nth);
    if (ss_mem_live() != live)
        fail_msg("failure %ld leaves %ld blocks behind", job->nth,
                 ss_mem_live() - live);
    return status;
}

static enum ss_status look_block(struct rig *rig, struct ss_rt *rt)
{
    struct ss_check_row rows[16];
    int n = 0;
    SS_TRY(rig_block_all(rig, SS_WHOLE, 2));
    SS_TRY(rig_block_all(rig, SS_COMM_ONLY, 2));
    SS_TRY(ss_agree_all(rt, SS_OK));
    return rig->engine->ops->check_all(rig->engine, "after", rows, 16, &n);
}

static struct job torture_job(const char *engine)
{
    return (struct job){.spec = {.engine = engine,
                                 .dp = 2,
                                 .tp = 2,
                                 .tokens = 32,
                                 .hidden = 16,
                                 .layers = 1,
                                 .settings = {"null.gemm_ms", "1"}},
                        .victim = 2,
                        .look = look_block};
}

/* What the host says of its memory may be missing; all else is needed. */
static void want_of_memory_on_one_rank_is_agreed_on(void **state)
{
    (void)state;
    const char *const engines[] = {"null", "host"};
    for (size_t i = 0; i < SS_COUNT_OF(engines); i++) {
        struct job job = torture_job(engines[i]);
        long failed = 0;
        job.hit = true;
        for (job.nth = 1; job.hit; job.nth++) {
            enum ss_status status = torture(&job);
            if (status != SS_OK && status != SS_ERR_NO_MEMORY)
                fail_msg("allocation %ld: %s", job.nth, ss_error_text());
            if (status != SS_OK && !strstr(ss_error_text(), "rank 2"))
                fail_msg("allocation %ld: %s", job.nth, ss_error_text());
            failed += status != SS_OK;
        }
        assert_true(failed >= 12);
        assert_true(job.nth - 2 - failed <= 12);
    }
}

static void a_failing_runtime_call_ends_all_ranks(void **state)
{
    (void)state;
    const char *const engines[] = {"null", "host"};
    for (size_t i = 0; i < SS_COUNT_OF(engines); i++) {
        struct job job = torture_job(engines[i]);
        enum ss_status status = SS_ERR_TRANSPORT;
        for (job.nth = -1; status != SS_OK && job.nth > -400; job.nth--) {
            status = torture(&job);
            if (status != SS_OK && status != SS_ERR_TRANSPORT)
                fail_msg("call %ld: %s", -job.nth, ss_error_text());
        }
        assert_int_equal(status, SS_OK);
    }
}

/* Rank 0 gives up on a peer that comes too late; what the peer then waits for
 * will never be, and the runtime ends it. */
static enum ss_status look_late(struct rig *rig, struct ss_rt *rt)
{
    const struct timespec nap = {.tv_nsec = 150 * 1000 * 1000};
    const struct ss_block_spec spec = {
        .steps = 3, .deadline_ns = ss_clock_ns() + 50 * SS_NS_PER_MS};
    if (rt->rank == 1)
        nanosleep(&nap, NULL);
    enum ss_status status =
        ss_exec_block(rig->engine, &rig->plan, &spec, &rig->record);
    if (rt->rank == 1)
        return status;
    CHECK(status == SS_ERR_TIMEOUT);
    CHECK(strstr(ss_error_text(), "deadline"));
    (void)ss_barrier_all(rt); /* buffers must outlive the peer's attempt */
    return SS_ERR_TIMEOUT;
}

static void a_deadline_ends_a_wait(void **state)
{
    (void)state;
    const char *const engines[] = {"null", "host"};
    for (size_t i = 0; i < SS_COUNT_OF(engines); i++) {
        struct job job = {.spec = {.engine = engines[i],
                                   .dp = 2,
                                   .tokens = 32,
                                   .hidden = 16,
                                   .layers = 1,
                                   .settings = {"null.clock", "real"}},
                          .look = look_late};
        assert_int_not_equal(run(&job, 2), SS_OK);
        assert_null(strstr(ss_error_text(), ".c:"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fault_is_parsed_strictly),
        cmocka_unit_test(a_fault_that_cannot_fire_is_refused),
        cmocka_unit_test(a_failed_op_is_everybodys_failure_and_nobody_hangs),
        cmocka_unit_test(a_corrupted_reduction_is_found_on_its_rank),
        cmocka_unit_test(clean_collectives_pass_in_every_dimension),
        cmocka_unit_test(a_hanging_op_does_not_return),
        cmocka_unit_test(want_of_memory_on_one_rank_is_agreed_on),
        cmocka_unit_test(a_deadline_ends_a_wait),
        cmocka_unit_test(a_failing_runtime_call_ends_all_ranks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
