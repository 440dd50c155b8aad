/* SPDX-License-Identifier: Apache-2.0 */
/* Sums over classes of ranks; the words that ranks agree on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/near.h"
#include "support/plan_case.h"
#include "support/torture.h"

/* All ranks planned one by one. */
static void sums_equal_the_ranks(void **state)
{
    const struct plan_case c = {.model = "gpt2-124m", .dp = 3, .tp = 4};
    struct plan_built built;
    struct ss_plan_totals t;
    double flops = 0, model = 0, dp = 0, tp = 0;
    (void)state;
    plan_case_make(&c, &built);
    assert_int_equal(ss_plan_totals(&built.args, &t), SS_OK);
    for (int rank = 0; rank < 12; rank++) {
        struct ss_plan p;
        ss_layout_coords(&built.args.layout, rank, &built.args.coords);
        assert_int_equal(ss_plan_build(&built.args, &p), SS_OK);
        flops += p.flops;
        model += p.model_flops;
        dp += p.comm_bytes[SS_DIM_DP];
        tp += p.comm_bytes[SS_DIM_TP];
        assert_near(t.memory_max, ss_plan_memory(&p), 0);
        ss_plan_free(&p);
    }
    assert_int_equal(t.ranks, 12);
    assert_int_equal(t.classes, 1);
    assert_near(t.flops / flops, 1, 1e-12);
    assert_near(t.model_flops / model, 1, 1e-12);
    assert_near(t.comm_bytes[SS_DIM_DP] / dp, 1, 1e-12);
    assert_near(t.comm_bytes[SS_DIM_TP] / tp, 1, 1e-12);
    assert_near(t.phase_bytes[SS_PHASE_dp_comm] / dp, 1, 1e-12);
}

/* 6 P T over 100,000 ranks. */
static void many_ranks(void **state)
{
    const struct plan_case c = {.model = "llama-405b", .dp = 12500, .tp = 8};
    struct plan_built built;
    struct ss_plan_totals t;
    (void)state;
    plan_case_make(&c, &built);
    assert_int_equal(ss_plan_totals(&built.args, &t), SS_OK);
    assert_int_equal(t.ranks, 100000);
    assert_near(t.model_flops / (6 * 401646551040.0 * 12500 * 8 * 8192), 1,
                1e-12);
}

static enum ss_status totals(void *arg)
{
    struct plan_built built;
    struct ss_plan_totals t;
    plan_case_make(arg, &built);
    return ss_plan_totals(&built.args, &t);
}

static void torture(void **state)
{
    struct plan_case c = {.model = "mlp", .dp = 2};
    (void)state;
    assert_true(ss_torture(totals, &c) >= 3);
}

static uint64_t hash_of(struct plan_case c, int rank)
{
    struct plan_built built;
    struct ss_plan p;
    uint64_t hash;
    plan_case_make(&c, &built);
    ss_layout_coords(&built.args.layout, rank, &built.args.coords);
    assert_int_equal(ss_plan_build(&built.args, &p), SS_OK);
    hash = ss_plan_hash(&p);
    ss_plan_free(&p);
    return hash;
}

static void hash(void **state)
{
    const struct plan_case base = {.model = "mlp", .dp = 4, .tp = 2};
    struct plan_case others[8];
    uint64_t h = hash_of(base, 0);
    (void)state;
    for (int rank = 1; rank < 8; rank++)
        assert_true(hash_of(base, rank) == h);
    for (int i = 0; i < 8; i++)
        others[i] = base;
    others[0].bucket = 1 << 20;
    others[1].tokens = 512;
    others[2].sp = 1;
    others[3].micro = 2;
    others[4].layers = 4;
    others[5].precision = SS_PRECISION_FP8;
    others[6].grad = SS_GRAD_FP32;
    others[7].dp = 8;
    for (int i = 0; i < 8; i++) {
        if (hash_of(others[i], 0) == h)
            fail_msg("change %d is not in the hash", i);
    }
}

static uint64_t word_of(struct plan_case c, enum ss_dim dim)
{
    struct ss_plan p;
    uint64_t word;
    plan_case_build(&c, &p);
    word = ss_plan_order_word(&p, dim);
    ss_plan_free(&p);
    return word;
}

static void order_word(void **state)
{
    const struct plan_case c = {.model = "mlp", .dp = 2, .tp = 2};
    struct plan_case other = c;
    (void)state;
    assert_true(word_of(c, SS_DIM_DP) == word_of(c, SS_DIM_DP));
    assert_true(word_of(c, SS_DIM_DP) != word_of(c, SS_DIM_TP));
    assert_true(word_of(c, SS_DIM_PP) == 0); /* no communication there */
    other.bucket = 1024;
    assert_true(word_of(c, SS_DIM_DP) != word_of(other, SS_DIM_DP));
    other = c;
    other.tokens = 512;
    assert_true(word_of(c, SS_DIM_DP) == word_of(other, SS_DIM_DP));
    assert_true(word_of(c, SS_DIM_TP) != word_of(other, SS_DIM_TP));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_equal_the_ranks),
        cmocka_unit_test(many_ranks),
        cmocka_unit_test(torture),
        cmocka_unit_test(hash),
        cmocka_unit_test(order_word),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
