/* SPDX-License-Identifier: Apache-2.0 */
/* Which products may take in the function after them: all of GELU's in every
 * layout, and none whose operands another op touches in between. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "engine/cuda.h"
#include "support/plan_case.h"

static int count_fused(const struct ss_plan *plan, enum ss_map map)
{
    int n = 0;
    for (int i = 0; i < plan->n_ops; i++) {
        int tail = ss_cuda_fusable(plan, i);
        n += tail >= 0 && plan->op[tail].map == map;
    }
    return n;
}

static int count_maps(const struct ss_plan *plan, enum ss_map map)
{
    int n = 0;
    for (int i = 0; i < plan->n_ops; i++)
        n += plan->op[i].kind == SS_OP_ELEMENTWISE && plan->op[i].map == map;
    return n;
}

static void every_gelu_has_a_product(void **state)
{
    (void)state;
    static const struct plan_case cases[] = {
        {.model = "mlp", .layers = 3, .hidden = 64, .tokens = 64},
        {.model = "mlp", .dp = 4, .micro = 2, .layers = 3, .tokens = 512},
        {.model = "mlp", .tp = 2, .layers = 3, .hidden = 64, .tokens = 64},
        {.model = "mlp", .dp = 2, .tp = 4, .sp = 1, .layers = 3},
        {.model = "gpt2-124m", .tp = 2, .sp = 1, .layers = 2},
    };
    for (size_t i = 0; i < SS_COUNT_OF(cases); i++) {
        struct ss_plan plan;
        plan_case_build(&cases[i], &plan);
        for (int map = SS_MAP_GELU; map <= SS_MAP_GELU_BWD; map++) {
            int n = count_maps(&plan, (enum ss_map)map);
            assert_true(n > 0);
            assert_int_equal(count_fused(&plan, (enum ss_map)map), n);
        }
        ss_plan_free(&plan);
    }
}

static void other_functions_stay_alone(void **state)
{
    (void)state;
    const struct plan_case llama = {.model = "llama-7b", .layers = 2};
    struct ss_plan plan;
    plan_case_build(&llama, &plan);
    for (int i = 0; i < plan.n_ops; i++)
        assert_int_equal(ss_cuda_fusable(&plan, i), -1);
    ss_plan_free(&plan);
}

static int find(const struct ss_plan *plan, const char *name)
{
    for (int i = 0; i < plan->n_ops; i++)
        if (strcmp(plan->op[i].name, name) == 0)
            return i;
    fail_msg("no op %s", name);
    return -1;
}

/* With tp the row Linear's weight gradient stands between the two. */
static void what_stands_between_must_not_touch_them(void **state)
{
    (void)state;
    const struct plan_case tp = {
        .model = "mlp", .tp = 2, .layers = 1, .hidden = 64, .tokens = 64};
    struct ss_plan plan;
    plan_case_build(&tp, &plan);
    int gemm = find(&plan, "fc2.dgrad"), between = find(&plan, "fc2.wgrad");
    int map = find(&plan, "fc1.gelu.bwd");
    struct ss_op *other = &plan.op[between];
    const struct ss_op was = *other;
    assert_true(gemm < between && between < map);
    assert_int_equal(ss_cuda_fusable(&plan, gemm), map);
    other->a = plan.op[gemm].c; /* reads what is not yet through the map */
    assert_int_equal(ss_cuda_fusable(&plan, gemm), -1);
    *other = was;
    other->c = plan.op[map].b; /* changes what the map reads */
    assert_int_equal(ss_cuda_fusable(&plan, gemm), -1);
    *other = was;
    other->c.buf = plan.op[map].c.buf; /* the last element only */
    other->c.at = plan.op[map].c.at + plan.op[map].count - 1;
    assert_int_equal(ss_cuda_fusable(&plan, gemm), -1);
    other->c.at++;
    assert_int_equal(ss_cuda_fusable(&plan, gemm), map);
    other->n_waits = 1;
    assert_int_equal(ss_cuda_fusable(&plan, gemm), -1);
    *other = was;
    plan.op[map].n_waits = 1;
    assert_int_equal(ss_cuda_fusable(&plan, gemm), -1);
    plan.op[map].n_waits = 0;
    plan.op[map].count--;
    assert_int_equal(ss_cuda_fusable(&plan, gemm), -1);
    plan.op[map].count++;
    plan.op[gemm].accumulate = true;
    assert_int_equal(ss_cuda_fusable(&plan, gemm), -1);
    ss_plan_free(&plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_gelu_has_a_product),
        cmocka_unit_test(other_functions_stay_alone),
        cmocka_unit_test(what_stands_between_must_not_touch_them),
    };
    return cmocka_run_group_tests_name("functions in epilogues", tests, NULL,
                                       NULL);
}
