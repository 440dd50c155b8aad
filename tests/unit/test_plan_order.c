/* SPDX-License-Identifier: Apache-2.0 */
/* Waits are enough and not too many: two ops that touch the same elements, one
 * of them writing, are always ordered; and no wait follows from the others.
 * Order is recomputed here from lanes and waits alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "support/plan_case.h"

/* done[i][lane]: the latest op of the lane that is over when op i starts. */
struct order {
    const struct ss_plan *plan;
    int (*done)[SS_LANES];
};

static void merge(int *into, const int *from)
{
    for (int lane = 0; lane < SS_LANES; lane++)
        into[lane] = from[lane] > into[lane] ? from[lane] : into[lane];
}

static void after_op(const struct order *o, int op, int *into)
{
    merge(into, o->done[op]);
    if (op > into[o->plan->op[op].lane])
        into[o->plan->op[op].lane] = op;
}

static int previous_of_lane(const struct ss_plan *plan, int i)
{
    for (int j = i - 1; j >= 0; j--) {
        if (plan->op[j].lane == plan->op[i].lane)
            return j;
    }
    return -1;
}

static void make_order(const struct ss_plan *plan, struct order *o)
{
    o->plan = plan;
    o->done = ss_alloc((size_t)plan->n_ops, sizeof *o->done, "order");
    assert_non_null(o->done);
    for (int i = 0; i < plan->n_ops; i++) {
        int previous = previous_of_lane(plan, i);
        memset(o->done[i], 0xff, sizeof o->done[i]);
        if (previous >= 0)
            after_op(o, previous, o->done[i]);
        for (int w = 0; w < plan->op[i].n_waits; w++)
            after_op(o, plan->op[i].wait[w], o->done[i]);
    }
}

/* Elements of an operand: [from, to) of a buffer; by plan.h. */
struct range {
    uint64_t from, to;
    int buf;
    bool writes;
};

static void add_range(struct range *r, int *n, struct ss_ref ref,
                      uint64_t elems, bool writes)
{
    if (ref.buf >= 0)
        r[(*n)++] = (struct range){ref.at, ref.at + elems, ref.buf, writes};
}

static int ranges_of(const struct ss_plan *p, const struct ss_op *op,
                     struct range *r)
{
    uint64_t size = ss_op_is_comm(op) ? (uint64_t)p->layout.dim[op->dim] : 1;
    uint64_t a = op->count, b = op->count, c = op->count;
    int n = 0;
    if (op->kind == SS_OP_GEMM) {
        a = (uint64_t)(op->m * op->k);
        b = (uint64_t)(op->k * op->n);
    } else if (op->kind == SS_OP_ALL_GATHER) {
        c *= size;
    } else if (op->kind == SS_OP_REDUCE_SCATTER) {
        a *= size;
    }
    add_range(r, &n, op->a, a, op->kind == SS_OP_OPTIMIZER);
    add_range(r, &n, op->b, b, false);
    add_range(r, &n, op->c, c, true);
    add_range(r, &n, op->d, op->count, true);
    return n;
}

static bool conflict(const struct ss_plan *p, int i, int j)
{
    struct range a[4], b[4];
    int na = ranges_of(p, &p->op[i], a), nb = ranges_of(p, &p->op[j], b);
    for (int x = 0; x < na; x++) {
        for (int y = 0; y < nb; y++) {
            if (a[x].buf == b[y].buf && a[x].from < b[y].to &&
                b[y].from < a[x].to && (a[x].writes || b[y].writes))
                return true;
        }
    }
    return false;
}

static void check_races(const struct order *o)
{
    const struct ss_plan *p = o->plan;
    for (int j = 0; j < p->n_ops; j++) {
        for (int i = 0; i < j; i++) {
            if (o->done[j][p->op[i].lane] < i && conflict(p, i, j))
                fail_msg("op %d (%s) may run beside op %d (%s)", i,
                         p->op[i].name, j, p->op[j].name);
        }
    }
}

/* Places of activations and work do not overlap: two operands that share an
 * element start at the same one. */
static void check_places(const struct ss_plan *p, int i, int j)
{
    struct range a[4], b[4];
    int na = ranges_of(p, &p->op[i], a), nb = ranges_of(p, &p->op[j], b);
    for (int x = 0; x < na; x++) {
        for (int y = 0; y < nb; y++) {
            bool shared = a[x].buf == b[y].buf && a[x].from < b[y].to &&
                          b[y].from < a[x].to;
            if (shared && a[x].from != b[y].from &&
                (a[x].buf == SS_BUF_ACT || a[x].buf == SS_BUF_WORK ||
                 a[x].buf == SS_BUF_INPUT))
                fail_msg("places of ops %d (%s) and %d (%s) overlap", i,
                         p->op[i].name, j, p->op[j].name);
        }
    }
}

static void check_all_places(const struct order *o)
{
    for (int j = 0; j < o->plan->n_ops; j++) {
        for (int i = 0; i <= j; i++)
            check_places(o->plan, i, j);
    }
}

/* Is wait w of op i implied by the op before it on its lane or another wait? */
static bool is_redundant(const struct order *o, int i, int w)
{
    const struct ss_op *op = &o->plan->op[i];
    int wait = op->wait[w], lane = (int)o->plan->op[wait].lane;
    int previous = previous_of_lane(o->plan, i);
    if (previous >= 0 && o->done[previous][lane] >= wait)
        return true;
    for (int other = 0; other < op->n_waits; other++) {
        if (other != w && o->done[op->wait[other]][lane] >= wait)
            return true;
    }
    return false;
}

static void check_no_redundant_wait(const struct order *o)
{
    for (int i = 0; i < o->plan->n_ops; i++) {
        for (int w = 0; w < o->plan->op[i].n_waits; w++) {
            if (is_redundant(o, i, w))
                fail_msg("op %d (%s) need not wait for %d", i,
                         o->plan->op[i].name, o->plan->op[i].wait[w]);
        }
    }
}

/* The optimizer ends the step: every other op is over before it starts. */
static void check_end(const struct order *o)
{
    int last = o->plan->n_ops - 1;
    assert_int_equal(o->plan->op[last].kind, SS_OP_OPTIMIZER);
    for (int i = 0; i < last; i++)
        assert_true(o->done[last][o->plan->op[i].lane] >= i);
}

static void check(const struct plan_case *c)
{
    struct ss_plan plan;
    struct order o;
    plan_case_build(c, &plan);
    make_order(&plan, &o);
    check_races(&o);
    check_all_places(&o);
    check_no_redundant_wait(&o);
    check_end(&o);
    ss_free(o.done);
    ss_plan_free(&plan);
}

static void all_layouts(void **state)
{
    static const char *const models[] = {
        "mlp", "gpt2-124m", "llama-8b", "tests/fixtures/model/llama-tiny.json"};
    (void)state;
    for (int i = 0; i < 4 * 2 * 3 * 2 * 2; i++) {
        struct plan_case c = {.model = models[i % 4],
                              .dp = 1 + i / 4 % 2,
                              .tp = i / 8 % 3 == 0 ? 1 : 2,
                              .sp = i / 8 % 3 == 2,
                              .micro = 1 + 2 * (i / 24 % 2),
                              .bucket = i / 48 ? 1 : 4 << 20,
                              .layers = 3,
                              .tokens = 768};
        check(&c);
    }
}

/* No backward op starts before the forward pass of its micro-batch has ended,
 * as if a loss stood between them. */
static void loss_orders_the_passes(void **state)
{
    const struct plan_case cases[] = {
        {.model = "mlp", .tp = 2, .micro = 2},
        {.model = "mlp", .tp = 2, .sp = 1, .micro = 2},
        {.model = "llama-8b", .tp = 8, .dp = 2, .micro = 2, .layers = 2}};
    (void)state;
    for (size_t k = 0; k < SS_COUNT_OF(cases); k++) {
        struct ss_plan p;
        struct order o;
        int end[2] = {-1, -1}; /* the op that completes the output */
        plan_case_build(&cases[k], &p);
        make_order(&p, &o);
        for (int i = 0; i < p.n_ops - 1; i++) {
            const struct ss_op *op = &p.op[i];
            if (!op->backward)
                end[op->micro] = i;
            else if (!ss_op_is_comm(op))
                assert_true(o.done[i][p.op[end[op->micro]].lane] >=
                            end[op->micro]);
        }
        assert_int_equal(p.op[end[0]].phase, SS_PHASE_tp_comm);
        ss_free(o.done);
        ss_plan_free(&p);
    }
}

/* The sum of dx travels while weight gradients are computed: of the block's
 * wgrads none waits for it. */
static void tp_hides_behind_wgrad(void **state)
{
    const struct plan_case c = {.model = "mlp", .tp = 2};
    struct ss_plan p;
    struct order o;
    int seen = 0;
    (void)state;
    plan_case_build(&c, &p);
    make_order(&p, &o);
    for (int i = 1; i < p.n_ops; i++) {
        if (strcmp(p.op[i].name, "fc1.wgrad") != 0)
            continue;
        assert_string_equal(p.op[i - 1].name, "fc1.dx.ar");
        assert_true(o.done[i][p.op[i - 1].lane] < i - 1);
        seen++;
    }
    assert_int_equal(seen, 3);
    ss_free(o.done);
    ss_plan_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_layouts),
        cmocka_unit_test(loss_orders_the_passes),
        cmocka_unit_test(tp_hides_behind_wgrad),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
