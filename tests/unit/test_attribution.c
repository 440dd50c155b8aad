/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the time of a step went: hand-made timelines with known terms, and the
 * identity on random events.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analysis/attribution.h"
#include "base/random.h"

#define MAX_OPS 24

/** A step under construction: ops, events, last ready times. */
struct step {
    struct ss_op op[MAX_OPS];
    struct ss_op_event event[MAX_OPS];
    int64_t last_ready[MAX_OPS];
    struct ss_plan plan;
    struct ss_step_view view;
    struct ss_step_terms terms;
    struct ss_blocked blocked[MAX_OPS];
    int n_blocked;
    int64_t scratch[2 * MAX_OPS];
};

static void begin(struct step *s, int64_t from, int64_t to)
{
    *s = (struct step){0};
    s->plan.op = s->op;
    s->view = (struct ss_step_view){.plan = &s->plan,
                                    .variant = SS_WHOLE,
                                    .event = s->event,
                                    .last_ready = s->last_ready,
                                    .begin = from,
                                    .end = to};
}

static int add(struct step *s, struct ss_op op, int64_t start, int64_t end)
{
    int i = s->plan.n_ops++;
    s->op[i] = op;
    s->event[i] = (struct ss_op_event){
        .enqueued = SS_NO_TIME, .ready = start, .start = start, .end = end};
    s->last_ready[i] = start;
    return i;
}

/* A compute op; `wait` < 0: none. */
static int gemm(struct step *s, enum ss_phase phase, int wait, int64_t start,
                int64_t end)
{
    struct ss_op op = {.kind = SS_OP_GEMM,
                       .lane = SS_LANE_COMPUTE,
                       .phase = phase,
                       .n_waits = wait >= 0,
                       .wait = {wait}};
    return add(s, op, start, end);
}

static int collective(struct step *s, enum ss_dim dim, int64_t last_ready,
                      int64_t end)
{
    struct ss_op op = {.kind = SS_OP_ALL_REDUCE,
                       .lane = (enum ss_lane)(SS_LANE_COMM + (int)dim),
                       .phase = ss_dim_phase(dim),
                       .dim = dim};
    int i = add(s, op, last_ready, end);
    s->last_ready[i] = last_ready;
    return i;
}

static int64_t sum(const struct ss_step_terms *t)
{
    int64_t all = t->busy + t->waiting + t->unsplit + t->bubble + t->input +
                  t->launch + t->other;
    for (int d = 0; d < SS_DIMS; d++)
        all += t->transfer[d];
    return all;
}

static void attribute(struct step *s)
{
    ss_attribute_step(&s->view, s->scratch, &s->terms, s->blocked, MAX_OPS,
                      &s->n_blocked);
    assert_int_equal(s->terms.step, s->view.end - s->view.begin);
    assert_int_equal(sum(&s->terms), s->terms.step);
}

static void back_to_back_compute_is_busy(void **state)
{
    struct step s;
    (void)state;
    begin(&s, 100, 160);
    gemm(&s, SS_PHASE_forward, -1, 100, 130);
    gemm(&s, SS_PHASE_backward, -1, 130, 150);
    gemm(&s, SS_PHASE_optimizer, -1, 150, 160);
    attribute(&s);
    assert_int_equal(s.terms.busy, 60);
    assert_int_equal(s.terms.phase[SS_PHASE_forward], 30);
    assert_int_equal(s.terms.phase[SS_PHASE_backward], 20);
    assert_int_equal(s.terms.phase[SS_PHASE_optimizer], 10);
    assert_int_equal(s.n_blocked, 0);
}

/* compute to 40; the last rank is ready at 55; the collective ends at 75. */
static void a_blocked_span_is_waiting_then_transfer(void **state)
{
    struct step s;
    (void)state;
    begin(&s, 0, 90);
    gemm(&s, SS_PHASE_backward, -1, 0, 40);
    int c = collective(&s, SS_DIM_DP, 55, 75);
    int o = gemm(&s, SS_PHASE_optimizer, c, 75, 90);
    attribute(&s);
    assert_int_equal(s.terms.busy, 55);
    assert_int_equal(s.terms.waiting, 15);
    assert_int_equal(s.terms.transfer[SS_DIM_DP], 20);
    assert_int_equal(s.terms.comm_union, 20);
    assert_int_equal(s.n_blocked, 1);
    assert_int_equal(s.blocked[0].op, c);
    assert_int_equal(s.blocked[0].compute_op, o);
    assert_int_equal(s.blocked[0].waiting, 15);
    assert_int_equal(s.blocked[0].transfer, 20);
    assert_int_equal(s.blocked[0].begin, 40);
    assert_int_equal(s.blocked[0].end, 75);
}

/* Two buckets: the first is hidden behind compute, the second queues behind
 * it, from 50 (its own last ready) to 70 on the lane, then to 90. */
static void hidden_and_queueing_collectives(void **state)
{
    struct step s;
    (void)state;
    begin(&s, 0, 100);
    gemm(&s, SS_PHASE_backward, -1, 0, 20);
    collective(&s, SS_DIM_DP, 20, 70);
    gemm(&s, SS_PHASE_backward, -1, 20, 50);
    int second = collective(&s, SS_DIM_DP, 50, 90);
    gemm(&s, SS_PHASE_optimizer, second, 90, 100);
    attribute(&s);
    assert_int_equal(s.terms.waiting, 0);
    assert_int_equal(s.terms.transfer[SS_DIM_DP], 40);
    assert_int_equal(s.terms.comm_union, 70); /* [20, 90]: hidden 30 */
    assert_int_equal(s.terms.phase[SS_PHASE_dp_comm], 70);
}

/* Blocked on a tp and a dp collective at once: waiting up to the later last
 * ready, transfer to the dimension that ended last. */
static void two_collectives_hold_one_op(void **state)
{
    struct step s;
    (void)state;
    begin(&s, 0, 60);
    gemm(&s, SS_PHASE_backward, -1, 0, 10);
    int tp = collective(&s, SS_DIM_TP, 25, 30);
    int dp = collective(&s, SS_DIM_DP, 12, 50);
    int o = gemm(&s, SS_PHASE_optimizer, tp, 50, 60);
    s.op[o].n_waits = 2;
    s.op[o].wait[1] = dp;
    attribute(&s);
    assert_int_equal(s.terms.waiting, 15);
    assert_int_equal(s.terms.transfer[SS_DIM_DP], 25);
    assert_int_equal(s.terms.transfer[SS_DIM_TP], 0);
    assert_int_equal(s.blocked[0].op, tp);
    assert_int_equal(s.terms.comm_union, 38);
}

static void short_spans_are_not_split(void **state)
{
    struct step s;
    (void)state;
    begin(&s, 0, 90);
    gemm(&s, SS_PHASE_backward, -1, 0, 40);
    int c = collective(&s, SS_DIM_DP, 55, 75);
    gemm(&s, SS_PHASE_optimizer, c, 75, 90);
    s.view.clock_bound = 4; /* 35 < 40 */
    attribute(&s);
    assert_int_equal(s.terms.unsplit, 35);
    assert_int_equal(s.terms.waiting + s.terms.transfer[SS_DIM_DP], 0);
    assert_true(s.blocked[0].unsplit);
    s.view.clock_bound = 3; /* 35 >= 30 */
    attribute(&s);
    assert_int_equal(s.terms.unsplit, 0);
    assert_int_equal(s.terms.waiting, 15);
}

static void a_pipeline_receive_is_bubble(void **state)
{
    struct step s;
    (void)state;
    begin(&s, 0, 50);
    int r = collective(&s, SS_DIM_PP, 20, 26);
    s.op[r].kind = SS_OP_RECV;
    gemm(&s, SS_PHASE_forward, r, 26, 50);
    attribute(&s);
    assert_int_equal(s.terms.bubble, 20);
    assert_int_equal(s.terms.waiting, 0);
    assert_int_equal(s.terms.transfer[SS_DIM_PP], 6);
    assert_int_equal(s.blocked[0].waiting, 0);
}

/* Input until 15; the host issues the second op at 48, 8 after the first
 * ended; the device starts it at 50; nothing explains the last 5. */
static void input_launch_and_other(void **state)
{
    struct step s;
    struct ss_op copy = {
        .kind = SS_OP_COPY, .lane = SS_LANE_INPUT, .phase = SS_PHASE_input};
    (void)state;
    begin(&s, 0, 75);
    int c = add(&s, copy, 0, 15);
    gemm(&s, SS_PHASE_forward, c, 15, 40);
    int late = gemm(&s, SS_PHASE_backward, -1, 50, 70);
    s.event[late].enqueued = 48;
    attribute(&s);
    assert_int_equal(s.terms.input, 15);
    assert_int_equal(s.terms.launch, 8);
    assert_int_equal(s.terms.other, 7);
    assert_int_equal(s.terms.busy, 45);
    assert_int_equal(s.terms.phase[SS_PHASE_input], 15);
}

/* Compute-only: waits on what did not run vanish. */
static void skipped_collectives_hold_nothing(void **state)
{
    struct step s;
    (void)state;
    begin(&s, 0, 60);
    gemm(&s, SS_PHASE_backward, -1, 0, 40);
    int c = collective(&s, SS_DIM_DP, 0, 0);
    s.event[c] =
        (struct ss_op_event){SS_NO_TIME, SS_NO_TIME, SS_NO_TIME, SS_NO_TIME};
    gemm(&s, SS_PHASE_optimizer, c, 40, 60);
    s.view.variant = SS_COMPUTE_ONLY;
    attribute(&s);
    assert_int_equal(s.terms.busy, 60);
    assert_int_equal(s.terms.comm_union, 0);
}

/* Comm-only: the mark waits for all lanes. */
static void the_mark_of_comm_only_is_blocked(void **state)
{
    struct step s;
    (void)state;
    begin(&s, 0, 52);
    collective(&s, SS_DIM_DP, 5, 30);
    collective(&s, SS_DIM_TP, 10, 50);
    s.view.variant = SS_COMM_ONLY;
    attribute(&s);
    assert_int_equal(s.terms.waiting, 10);
    assert_int_equal(s.terms.transfer[SS_DIM_TP], 40);
    assert_int_equal(s.terms.other, 2);
    assert_int_equal(s.blocked[0].compute_op, -1);
    assert_int_equal(s.terms.comm_union, 45);
}

/* A collective on the compute lane blocks it for all of its span. */
static void collectives_on_the_compute_lane(void **state)
{
    struct step s;
    (void)state;
    begin(&s, 0, 50);
    gemm(&s, SS_PHASE_forward, -1, 0, 10);
    int c = collective(&s, SS_DIM_TP, 18, 30);
    s.op[c].lane = SS_LANE_COMPUTE;
    s.event[c].start = 10;
    gemm(&s, SS_PHASE_forward, -1, 30, 50);
    attribute(&s);
    assert_int_equal(s.terms.busy, 30);
    assert_int_equal(s.terms.waiting, 8);
    assert_int_equal(s.terms.transfer[SS_DIM_TP], 12);
}

static int64_t below(struct ss_random *random, int64_t n)
{
    return (int64_t)ss_random_below(random, (uint64_t)n);
}

static void random_op(struct step *s, struct ss_random *random)
{
    int64_t start = below(random, 1200) - 100, end = start + below(random, 90);
    int i = s->plan.n_ops;
    int n_waits = i ? (int)below(random, 4) : 0;
    if (below(random, 3) == 0) {
        i = collective(s, (enum ss_dim)below(random, SS_DIMS), start, end);
        s->last_ready[i] = start + below(random, 200) - 60;
        if (below(random, 5) == 0)
            s->op[i].lane = SS_LANE_COMPUTE;
        if (below(random, 3) == 0)
            s->op[i].kind = SS_OP_RECV;
    } else {
        i = gemm(s, (enum ss_phase)below(random, SS_PHASES), -1, start, end);
        if (below(random, 4) == 0)
            s->op[i].lane = SS_LANE_INPUT;
    }
    s->event[i].enqueued = below(random, 1200) - 100;
    s->op[i].n_waits = n_waits;
    for (int w = 0; w < n_waits; w++)
        s->op[i].wait[w] = (int)below(random, i ? i : 1);
    if (below(random, 6) == 0)
        s->event[i].start = s->event[i].end = SS_NO_TIME;
}

/* Whatever the events say, terms are not negative and add up. */
static void the_identity_holds_for_random_events(void **state)
{
    struct ss_random random;
    (void)state;
    ss_random_seed(&random, 20);
    for (int trial = 0; trial < 50000; trial++) {
        struct step s;
        begin(&s, 0, 1000);
        s.view.clock_bound = below(&random, 3);
        s.view.variant = (enum ss_variant)below(&random, SS_VARIANTS);
        int n = (int)below(&random, MAX_OPS);
        for (int i = 0; i < n; i++)
            random_op(&s, &random);
        attribute(&s);
        const struct ss_step_terms *t = &s.terms;
        assert_true(t->busy >= 0 && t->waiting >= 0 && t->unsplit >= 0);
        assert_true(t->bubble >= 0 && t->input >= 0 && t->launch >= 0);
        assert_true(t->other >= 0 && t->comm_union >= 0);
        for (int d = 0; d < SS_DIMS; d++)
            assert_true(t->transfer[d] >= 0);
        assert_int_equal(t->wait_persistent, 0);
    }
}

static void persistent_is_over_half_of_the_steps(void **state)
{
    (void)state;
    assert_true(ss_is_persistent(6, 10));
    assert_false(ss_is_persistent(5, 10));
    assert_true(ss_is_persistent(2, 3));
    assert_false(ss_is_persistent(1, 3));
    assert_false(ss_is_persistent(0, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(back_to_back_compute_is_busy),
        cmocka_unit_test(a_blocked_span_is_waiting_then_transfer),
        cmocka_unit_test(hidden_and_queueing_collectives),
        cmocka_unit_test(two_collectives_hold_one_op),
        cmocka_unit_test(short_spans_are_not_split),
        cmocka_unit_test(a_pipeline_receive_is_bubble),
        cmocka_unit_test(input_launch_and_other),
        cmocka_unit_test(skipped_collectives_hold_nothing),
        cmocka_unit_test(the_mark_of_comm_only_is_blocked),
        cmocka_unit_test(collectives_on_the_compute_lane),
        cmocka_unit_test(the_identity_holds_for_random_events),
        cmocka_unit_test(persistent_is_over_half_of_the_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
