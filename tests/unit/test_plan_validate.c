/* SPDX-License-Identifier: Apache-2.0 */
/* The gate: built plans pass, each planted fault is named, and plans of kinds
 * that are not built yet pass or fail on their own merits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/plan_case.h"

static const struct plan_case base = {.model = "mlp", .dp = 2, .tp = 2};

static int find(const struct ss_plan *p, const char *name)
{
    for (int i = 0; i < p->n_ops; i++) {
        if (strcmp(p->op[i].name, name) == 0)
            return i;
    }
    fail_msg("no op %s", name);
    return -1;
}

static void refused(const struct ss_plan *p, const char *part)
{
    if (ss_plan_validate(p) != SS_ERR_INTERNAL)
        fail_msg("accepted: %s", part);
    if (!strstr(ss_error_text(), part))
        fail_msg("\"%s\" lacks \"%s\"", ss_error_text(), part);
}

/* A copy of the plan's op `name` to damage; restored by the caller. */
struct damage {
    struct ss_plan plan;
    struct ss_op *op, saved;
};

static void pick(struct damage *d, const char *name)
{
    d->op = &d->plan.op[find(&d->plan, name)];
    d->saved = *d->op;
}

static void expect(struct damage *d, const char *part)
{
    refused(&d->plan, part);
    *d->op = d->saved;
    assert_int_equal(ss_plan_validate(&d->plan), SS_OK);
}

static void waits(void **state)
{
    struct damage d;
    (void)state;
    plan_case_build(&base, &d.plan);
    pick(&d, "fc2.y.ar");
    d.op->wait[0] = (int)(d.op - d.plan.op);
    expect(&d, "waits for an op that is not before it");
    d.op->wait[0] = -1;
    expect(&d, "waits for an op that is not before it");
    d.op->n_waits = SS_WAITS_MAX + 1;
    expect(&d, "impossible number of waits");
    d.op->n_waits = 2;
    d.op->wait[1] = 0;
    expect(&d, "waits for two ops of one lane");
    pick(&d, "fc2.fwd");
    d.op->n_waits = 1;
    d.op->wait[0] = 0;
    expect(&d, "waits for an op of its own lane");
    ss_plan_free(&d.plan);
}

static void lanes_and_phases(void **state)
{
    struct damage d;
    (void)state;
    plan_case_build(&base, &d.plan);
    pick(&d, "fc2.fwd");
    d.op->lane = SS_LANE_INPUT;
    expect(&d, "lane that is not for its kind");
    d.op->lane = SS_LANES;
    expect(&d, "unknown kind or lane");
    d.op->phase = SS_PHASE_tp_comm;
    expect(&d, "phase that is not for its kind");
    d.op->order = 0;
    expect(&d, "order but no communicator");
    d.op->fused = 1;
    expect(&d, "fused but does not communicate");
    pick(&d, "bucket0");
    d.op->lane = (enum ss_lane)(SS_LANE_COMM + SS_DIM_EP);
    expect(&d, "not on the lane of its dimension");
    d.op->phase = SS_PHASE_tp_comm;
    expect(&d, "not in the phase of its dimension");
    d.op->dim = SS_DIM_PP;
    expect(&d, "communicator of fewer than two ranks");
    d.op->peer = 0;
    expect(&d, "has a peer but needs none");
    d.op->kind = SS_OP_KINDS;
    expect(&d, "unknown kind");
    ss_plan_free(&d.plan);
}

static void order(void **state)
{
    struct damage d;
    (void)state;
    plan_case_build(&base, &d.plan);
    pick(&d, "bucket0");
    d.op->order++;
    expect(&d, "breaks the order of communication");
    d.op->order = -1;
    expect(&d, "breaks the order of communication");
    ss_plan_free(&d.plan);
}

static void operands(void **state)
{
    struct damage d;
    (void)state;
    plan_case_build(&base, &d.plan);
    pick(&d, "fc2.dgrad");
    d.op->b.at = d.plan.buffer[SS_BUF_WEIGHT].elems - 1;
    expect(&d, "beyond the end of a buffer");
    d.op->c.at = UINT64_MAX;
    expect(&d, "beyond the end of a buffer");
    d.op->a.buf = SS_BUF_ROLES;
    expect(&d, "lacks an operand");
    d.op->d = d.op->c;
    expect(&d, "an operand too many");
    d.op->m++;
    expect(&d, "shape that is not its count");
    d.op->n = 0;
    expect(&d, "shape that is not its count");
    d.op->elem_size = 4;
    expect(&d, "element size that is not its buffer's");
    pick(&d, "fc1.gelu");
    d.op->count = 0;
    expect(&d, "is empty");
    d.op->map = SS_MAP_MUL_SILU;
    expect(&d, "lacks an operand");
    d.op->map = SS_MAP_NONE;
    expect(&d, "no element-wise function");
    ss_plan_free(&d.plan);
}

/* Kinds that later layouts use, by hand: rank 1 of a pipeline of 3. */
struct by_hand {
    struct ss_plan plan;
    struct ss_op op[6];
    struct ss_buffer buffer[2];
};

static struct ss_op comm_op(enum ss_op_kind kind, enum ss_dim dim, int order,
                            int peer)
{
    return (struct ss_op){.kind = kind,
                          .phase = ss_dim_phase(dim),
                          .lane = (enum ss_lane)(SS_LANE_COMM + (int)dim),
                          .dim = dim,
                          .name = "hand",
                          .a = {.buf = -1},
                          .b = {.buf = -1},
                          .c = {.buf = -1},
                          .d = {.buf = -1},
                          .count = 100,
                          .elem_size = 2,
                          .peer = peer,
                          .order = order,
                          .fused = -1};
}

static void make_by_hand(struct by_hand *h)
{
    *h = (struct by_hand){
        .buffer = {{"work", SS_BUF_WORK, SS_DT_BF16, 400},
                   {"input", SS_BUF_INPUT, SS_DT_BF16, 100}},
        .plan = {.n_ops = 6,
                 .n_buffers = 2,
                 .layout = {.dim = {1, 1, 3, 4, 1}, .micro_batches = 1},
                 .coords = {.at = {0, 0, 1, 2, 0}}}};
    h->plan.op = h->op;
    h->plan.buffer = h->buffer;
    h->op[0] = comm_op(SS_OP_RECV, SS_DIM_PP, 0, 0);
    h->op[0].c.buf = 0;
    h->op[1] = comm_op(SS_OP_SEND, SS_DIM_PP, 1, 2);
    h->op[1].a.buf = 0;
    h->op[0].fused = h->op[1].fused = 7;
    h->op[2] = comm_op(SS_OP_ALL_TO_ALL, SS_DIM_EP, 2, -1);
    h->op[2].a.buf = h->op[2].c.buf = 0;
    h->op[3] = comm_op(SS_OP_BROADCAST, SS_DIM_EP, 3, 2);
    h->op[3].c.buf = 0;
    h->op[4] = comm_op(SS_OP_COPY, SS_DIM_DP, -1, -1);
    h->op[4].lane = SS_LANE_INPUT;
    h->op[4].phase = SS_PHASE_input;
    h->op[4].a.buf = 1;
    h->op[4].c.buf = 0;
    h->op[5] = comm_op(SS_OP_REDUCE_SCATTER, SS_DIM_PP, 4, -1);
    h->op[5].a.buf = 0;
    h->op[5].c.buf = 1;
}

static void later_kinds_pass(void **state)
{
    struct by_hand h;
    (void)state;
    make_by_hand(&h);
    if (ss_plan_validate(&h.plan) != SS_OK)
        fail_msg("%s", ss_error_text());
}

static void later_kinds_fail(void **state)
{
    struct by_hand h;
    (void)state;
    make_by_hand(&h);
    h.op[0].peer = 1;
    refused(&h.plan, "is its own peer");
    make_by_hand(&h);
    h.op[1].peer = 3;
    refused(&h.plan, "peer outside its communicator");
    make_by_hand(&h);
    h.op[3].peer = -1;
    refused(&h.plan, "peer outside its communicator");
    make_by_hand(&h);
    h.op[2].count = 101; /* x 4 ranks is more than the buffer */
    refused(&h.plan, "beyond the end of a buffer");
    make_by_hand(&h);
    h.op[1].c.buf = 0;
    refused(&h.plan, "an operand too many");
    make_by_hand(&h);
    h.op[4].c.buf = -1;
    refused(&h.plan, "lacks an operand");
    make_by_hand(&h);
    h.op[3].fused = 7;
    refused(&h.plan, "apart from its fused group");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waits),
        cmocka_unit_test(lanes_and_phases),
        cmocka_unit_test(order),
        cmocka_unit_test(operands),
        cmocka_unit_test(later_kinds_pass),
        cmocka_unit_test(later_kinds_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
