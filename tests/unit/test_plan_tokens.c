/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens per rank in weak and strong scaling, skipped sizes, precisions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/plan_case.h"

struct share {
    int64_t tokens;
    int micro;
    char skip[128];
};

static const struct ss_model model = {.name = "m", .tokens = 1024};

static struct share share_of(struct ss_layout layout, bool strong,
                             int64_t batch)
{
    struct ss_config config;
    struct share s;
    ss_config_default(&config);
    assert_int_equal(ss_plan_tokens(&config, &model, strong, batch, &layout,
                                    &s.tokens, s.skip, sizeof s.skip),
                     SS_OK);
    s.micro = layout.micro_batches;
    return s;
}

static struct ss_layout grid(int dp, int tp, int micro, bool sp)
{
    return (struct ss_layout){
        .dim = {dp, tp, 1, 1, 1}, .micro_batches = micro, .sp = sp};
}

static void gives(struct share s, int64_t tokens, int micro)
{
    assert_string_equal(s.skip, "");
    assert_int_equal(s.tokens, tokens);
    assert_int_equal(s.micro, micro);
}

static void skips(struct share s, const char *part)
{
    assert_int_equal(s.tokens, 0);
    if (!strstr(s.skip, part))
        fail_msg("\"%s\" lacks \"%s\"", s.skip, part);
}

/* Weak: tokens per device constant, so a dp rank has them x tp. */
static void weak(void **state)
{
    struct ss_layout all = {.dim = {2, 2, 3, 1, 2}, .micro_batches = 1};
    (void)state;
    gives(share_of(grid(1, 1, 1, false), false, 0), 1024, 1);
    gives(share_of(grid(64, 1, 1, false), false, 0), 1024, 1);
    gives(share_of(grid(8, 4, 1, true), false, 0), 4096, 1);
    gives(share_of(grid(8, 4, 8, false), false, 0), 4096, 8);
    gives(share_of(all, false, 0), 12288, 1);
    skips(share_of(grid(2, 1, 3, false), false, 0),
          "1024 tokens per dp rank do not divide by 3");
}

/* Strong: the batch is shared, more of it means more micro-batches, too little
 * of it means no point. */
static void strong(void **state)
{
    (void)state;
    gives(share_of(grid(1, 1, 1, false), true, 8192), 8192, 8);
    gives(share_of(grid(2, 1, 1, false), true, 8192), 4096, 4);
    gives(share_of(grid(8, 1, 1, false), true, 8192), 1024, 1);
    gives(share_of(grid(16, 1, 1, false), true, 8192), 512, 1);
    skips(share_of(grid(32, 1, 1, false), true, 8192),
          "256 tokens per rank, under scaling.min_tokens 512");
    skips(share_of(grid(3, 1, 1, false), true, 8192),
          "the global batch of 8192 tokens does not divide by dp 3");
    gives(share_of(grid(2, 4, 1, true), true, 8192), 4096, 1);
    skips(share_of(grid(2, 16, 1, true), true, 8192), "256 tokens per rank");
    gives(share_of(grid(1, 1, 2, false), true, 4096), 4096, 8);
}

/* A micro-batch never holds more than in weak scaling, but may hold less. */
static void uneven_splits(void **state)
{
    (void)state;
    gives(share_of(grid(1, 1, 1, false), true, 1536), 1536, 2);
    gives(share_of(grid(1, 1, 1, false), true, 2500), 2500, 4);
    skips(share_of(grid(1, 1, 1, false), true, 2503), "no even split");
    skips(share_of(grid(1, 2, 1, true), true, 1025), "no even split");
    skips(share_of(grid(1, 1, 1024, false), true, 600),
          "600 tokens per dp rank are fewer than 1024 (micro-batches)");
}

static void global_batch(void **state)
{
    struct ss_config c;
    (void)state;
    ss_config_default(&c);
    assert_int_equal(ss_plan_global_batch(&c, &model, 1), 1024);
    /* the largest size keeps scaling.min_tokens (512) per rank */
    assert_int_equal(ss_plan_global_batch(&c, &model, 8), 8 * 512);
    assert_int_equal(ss_plan_global_batch(&c, &model, 12), 12 * 512);
    c.scaling_min_tokens = 1; /* tokens x largest / 8, at least one share */
    assert_int_equal(ss_plan_global_batch(&c, &model, 8), 1024);
    assert_int_equal(ss_plan_global_batch(&c, &model, 12), 1536);
    assert_int_equal(ss_plan_global_batch(&c, &model, 16384), 2048 * 1024);
    c.scaling_global_batch = 777;
    assert_int_equal(ss_plan_global_batch(&c, &model, 8), 777);
}

static void precision_of(const char *engine, int precision, int grad,
                         int want_precision, int want_grad)
{
    struct ss_config c;
    int p, g;
    ss_config_default(&c);
    c.model_precision = precision;
    c.model_grad_dtype = grad;
    ss_plan_precision(&c, engine, &p, &g);
    assert_int_equal(p, want_precision);
    assert_int_equal(g, want_grad);
}

static void precisions(void **state)
{
    (void)state;
    precision_of("cuda", SS_PRECISION_AUTO, SS_GRAD_AUTO, SS_PRECISION_BF16,
                 SS_GRAD_BF16);
    precision_of("null", SS_PRECISION_AUTO, SS_GRAD_FP32, SS_PRECISION_BF16,
                 SS_GRAD_FP32);
    precision_of("host", SS_PRECISION_AUTO, SS_GRAD_AUTO, SS_PRECISION_FP32,
                 SS_GRAD_FP32);
    precision_of("host", SS_PRECISION_FP64, SS_GRAD_AUTO, SS_PRECISION_FP64,
                 SS_GRAD_FP64);
    precision_of("cuda", SS_PRECISION_TF32, SS_GRAD_AUTO, SS_PRECISION_TF32,
                 SS_GRAD_FP32);
    precision_of("cuda", SS_PRECISION_FP16, SS_GRAD_AUTO, SS_PRECISION_FP16,
                 SS_GRAD_FP16);
    precision_of("cuda", SS_PRECISION_FP8, SS_GRAD_AUTO, SS_PRECISION_FP8,
                 SS_GRAD_BF16);
    assert_int_equal(ss_plan_storage(SS_PRECISION_TF32), SS_DT_F32);
    assert_int_equal(ss_plan_storage(SS_PRECISION_FP8), SS_DT_BF16);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weak),          cmocka_unit_test(strong),
        cmocka_unit_test(uneven_splits), cmocka_unit_test(global_batch),
        cmocka_unit_test(precisions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
