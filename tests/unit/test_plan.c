/* SPDX-License-Identifier: Apache-2.0 */
/* FLOPs, bytes and memory of plans against closed forms; buckets; refusals;
 * torture. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/near.h"
#include "support/plan_case.h"
#include "support/torture.h"

static struct ss_plan build(struct plan_case c)
{
    struct ss_plan plan;
    plan_case_build(&c, &plan);
    return plan;
}

/* 6 P T: 2 FLOPs per multiply-add, backward twice the forward. Without tp the
 * first block's columns need no input gradient: 2 T out in less. */
static void flops(void **state)
{
    static const struct {
        const char *model;
        double first; /* weights of the first block's columns */
    } known[] = {{"mlp", 4 * 128 * 128},
                 {"gpt2-1.5b", 3 * 1600 * 1600},
                 {"llama-405b", 16384.0 * (16384 + 2 * 1024)}};
    (void)state;
    for (size_t i = 0; i < SS_COUNT_OF(known); i++) {
        struct ss_plan p = build(
            (struct plan_case){.model = known[i].model, .dp = 4, .micro = 2});
        double tokens = (double)p.tokens;
        double all = 6 * (double)ss_model_params(&p.model) * tokens;
        assert_near(p.model_flops / all, 1, 1e-14);
        assert_near(p.flops / (all - 2 * tokens * known[i].first), 1, 1e-12);
        assert_near(p.phase_flops[SS_PHASE_forward] / (all / 3), 1, 1e-12);
        assert_near(p.phase_flops[SS_PHASE_forward] +
                        p.phase_flops[SS_PHASE_backward],
                    p.flops, 1e-12 * p.flops);
        ss_plan_free(&p);
    }
}

/* With tp all input gradients run, and each rank does 1/tp of the work. */
static void flops_with_tp(void **state)
{
    struct ss_plan p = build(
        (struct plan_case){.model = "llama-8b", .dp = 2, .tp = 8, .sp = 1});
    double all = 6 * (double)ss_model_params(&p.model) * (double)p.tokens;
    (void)state;
    assert_near(p.model_flops / (all / 8), 1, 1e-14);
    assert_near(p.flops / (all / 8), 1, 1e-12);
    assert_int_equal(p.params, ss_model_params(&p.model) / 8);
    ss_plan_free(&p);
}

/* FACTS 3.3: q bytes per local parameter, once per step. */
static void dp_bytes(void **state)
{
    struct ss_plan p = build(
        (struct plan_case){.model = "gpt2-355m", .dp = 8, .tp = 2, .micro = 4});
    (void)state;
    assert_near(p.comm_bytes[SS_DIM_DP], 2.0 * 301989888 / 2, 0);
    assert_near(p.phase_bytes[SS_PHASE_dp_comm], p.comm_bytes[SS_DIM_DP], 0);
    ss_plan_free(&p);
    p = build((struct plan_case){
        .model = "gpt2-355m", .dp = 8, .grad = SS_GRAD_FP32});
    assert_near(p.comm_bytes[SS_DIM_DP], 4.0 * 301989888, 0);
    ss_plan_free(&p);
    p = build((struct plan_case){.model = "gpt2-355m"});
    assert_near(p.comm_bytes[SS_DIM_DP], 0, 0);
    ss_plan_free(&p);
}

/* FACTS 3.3: 4 all-reduces of 2 b s h bytes per layer and micro-batch; an MLP
 * layer is one block and has 2. */
static void tp_bytes(void **state)
{
    struct ss_plan p = build((struct plan_case){
        .model = "llama-70b", .tp = 8, .micro = 2, .tokens = 16384});
    (void)state;
    assert_near(p.comm_bytes[SS_DIM_TP], 4 * 2.0 * 16384 * 8192 * 80, 0);
    ss_plan_free(&p);
    p = build((struct plan_case){.model = "mlp", .tp = 4, .tokens = 512});
    assert_near(p.comm_bytes[SS_DIM_TP], 2 * 2.0 * 512 * 128 * 3, 0);
    ss_plan_free(&p);
}

/* An all-reduce moves as much as a reduce-scatter and an all-gather (twice
 * (t-1)/t S); gathering the input again costs one more a block: 5 S (t-1)/t
 * against 4. */
static void sp_bytes(void **state)
{
    struct ss_plan p = build((struct plan_case){
        .model = "llama-70b", .tp = 8, .sp = 1, .tokens = 16384});
    int gathers = 0, scatters = 0;
    (void)state;
    assert_near(p.comm_bytes[SS_DIM_TP], 2 * 5 * 2.0 * 16384 * 8192 * 80, 0);
    for (int i = 0; i < p.n_ops; i++) {
        const struct ss_op *op = &p.op[i];
        gathers += op->kind == SS_OP_ALL_GATHER;
        scatters += op->kind == SS_OP_REDUCE_SCATTER;
        if (ss_op_is_comm(op)) /* S is the full buffer, count one shard */
            assert_near(op->bytes, 8.0 * (double)op->count * 2, 0);
    }
    assert_int_equal(gathers, 3 * 2 * 80);
    assert_int_equal(scatters, 2 * 2 * 80);
    ss_plan_free(&p);
}

/* bf16: 2 bytes each of weight, gradient and two moments. One micro-batch of
 * the default MLP keeps 3 layers of pre-activation, activation, output; works
 * in one dx and one gradient of an activation; reads x and dy. */
static void memory(void **state)
{
    struct ss_plan p = build((struct plan_case){.model = "mlp", .dp = 2});
    double state_bytes = 8.0 * 3 * 8 * 128 * 128;
    double t = 1024, h = 128;
    double kept = 2 * t * 3 * (4 * h + 4 * h + h);
    double work = 2 * t * (h + 4 * h), input = 2 * t * 2 * h;
    (void)state;
    assert_near(ss_plan_memory(&p), state_bytes + kept + work + input, 0);
    ss_plan_free(&p);
}

static void memory_is_split(void **state)
{
    struct ss_plan one =
        build((struct plan_case){.model = "llama-8b", .tp = 1, .tokens = 8192});
    struct ss_plan eight = build((struct plan_case){
        .model = "llama-8b", .tp = 8, .sp = 1, .tokens = 8192});
    (void)state;
    assert_int_equal(one.buffer[SS_BUF_WEIGHT].elems,
                     8 * eight.buffer[SS_BUF_WEIGHT].elems);
    assert_int_equal(one.buffer[SS_BUF_ACT].elems,
                     8 * eight.buffer[SS_BUF_ACT].elems);
    ss_plan_free(&one);
    ss_plan_free(&eight);
}

/* The shards of all tp ranks tile the unsplit matrix: each element lies in
 * exactly one. */
static void shards_tile(void **state)
{
    enum { TP = 4, ELEMS = 4 * 128 * 128 };
    static unsigned char seen[2][ELEMS];
    struct ss_plan p = build((struct plan_case){.model = "mlp", .tp = TP});
    (void)state;
    assert_int_equal(p.model.n_linears, 2);
    for (int at = 0; at < 2 * TP; at++) {
        p.coords.at[SS_DIM_TP] = at / 2;
        struct ss_shard s = ss_plan_shard(&p, at % 2);
        assert_int_equal(s.rows * s.cols, ELEMS / TP);
        for (uint64_t e = 0; e < s.rows * s.cols; e++)
            seen[at % 2][s.first + e / s.cols * s.pitch + e % s.cols]++;
    }
    for (int i = 0; i < 2; i++)
        for (int e = 0; e < ELEMS; e++)
            assert_int_equal(seen[i][e], 1);
    ss_plan_free(&p);
}

/* Buckets are whole, contiguous, from the end of the gradients to their start,
 * at least plan.bucket each but the last, and each waits for its last wgrad. */
static void buckets(void **state)
{
    struct ss_plan p =
        build((struct plan_case){.model = "gpt2-124m", .dp = 2, .micro = 2});
    uint64_t end = (uint64_t)p.params;
    int n = 0;
    (void)state;
    for (int i = 0; i < p.n_ops; i++) {
        const struct ss_op *op = &p.op[i];
        if (op->dim != SS_DIM_DP || !ss_op_is_comm(op))
            continue;
        assert_int_equal(op->micro, 1);
        assert_int_equal(op->c.buf, SS_BUF_GRAD);
        assert_int_equal(op->c.at + op->count, end);
        end = op->c.at;
        if (end > 0)
            assert_true(op->bytes >= (double)SS_PLAN_BUCKET_DEFAULT);
        assert_int_equal(op->n_waits, 1);
        assert_int_equal(op->wait[0], i - 1);
        assert_int_equal(p.op[i - 1].c.at, op->c.at);
        n++;
    }
    assert_int_equal(end, 0);
    assert_int_equal(n, 6); /* 14.2 MB a layer: two layers fill a bucket */
    ss_plan_free(&p);
}

static void default_bucket_is_the_option(void **state)
{
    struct ss_config c;
    (void)state;
    ss_config_default(&c);
    assert_int_equal(c.plan_bucket, SS_PLAN_BUCKET_DEFAULT);
}

static void variants(void **state)
{
    struct ss_plan p =
        build((struct plan_case){.model = "mlp", .dp = 2, .tp = 2});
    int whole = 0, compute = 0, comm = 0;
    (void)state;
    for (int i = 0; i < p.n_ops; i++) {
        whole += ss_op_runs(&p.op[i], SS_WHOLE);
        compute += ss_op_runs(&p.op[i], SS_COMPUTE_ONLY);
        comm += ss_op_runs(&p.op[i], SS_COMM_ONLY);
    }
    assert_int_equal(whole, p.n_ops);
    assert_int_equal(compute + comm, p.n_ops);
    assert_int_equal(comm, 3 * 2 + 1);
    ss_plan_free(&p);
}

/* Speed is measured elsewhere; here only that large plans work. */
static void large_models(void **state)
{
    struct ss_plan p = build((struct plan_case){
        .model = "llama-405b", .dp = 128, .tp = 8, .sp = 1, .micro = 16});
    (void)state;
    assert_int_equal(p.n_ops, 16 * 126 * (3 * 7 + 2 + 10) + 126 * 5 + 1);
    ss_plan_free(&p);
}

static void refuses(struct plan_case c, const char *part)
{
    struct plan_built built;
    struct ss_plan plan;
    long live = ss_mem_live();
    plan_case_make(&c, &built);
    assert_int_equal(ss_plan_build(&built.args, &plan), SS_ERR_CONFIG);
    if (!strstr(ss_error_text(), part))
        fail_msg("\"%s\" lacks \"%s\"", ss_error_text(), part);
    assert_int_equal(ss_mem_live(), live);
}

static void refusals(void **state)
{
    (void)state;
    refuses((struct plan_case){.model = "mlp", .tp = 3},
            "hidden size 128 of mlp does not divide by tp 3");
    refuses((struct plan_case){.model = "gpt2-1.5b", .tp = 2},
            "attention heads 25 of gpt2-1.5b does not divide by tp 2");
    refuses((struct plan_case){.model = "llama-8b", .tp = 16},
            "key-value heads 8");
    refuses((struct plan_case){.model = "mlp", .micro = 3},
            "1024 tokens do not divide into 3 micro-batches");
    refuses((struct plan_case){.model = "mlp", .tp = 4, .sp = 1, .tokens = 6},
            "sequence parallel needs the 6 tokens");
    refuses((struct plan_case){.model = "mlp", .layers = 1000, .micro = 1024},
            "more than 1000000");
    refuses((struct plan_case){.model = "mlp",
                               .precision = SS_PRECISION_FP32,
                               .grad = SS_GRAD_BF16},
            "grad_dtype bf16 does not go with weights in fp32; use auto");
    refuses((struct plan_case){.model = "mlp",
                               .precision = SS_PRECISION_FP16,
                               .grad = SS_GRAD_BF16},
            "use auto or fp32");
}

static void refuses_other_layouts(void **state)
{
    const struct plan_case c = {.model = "mlp"};
    struct plan_built built;
    struct ss_plan plan;
    (void)state;
    for (int d = SS_DIM_PP; d < SS_DIMS; d++) {
        plan_case_make(&c, &built);
        built.args.layout.dim[d] = 2;
        assert_int_equal(ss_plan_build(&built.args, &plan), SS_ERR_CONFIG);
        assert_non_null(strstr(ss_error_text(), "plans dp and tp only"));
    }
    plan_case_make(&c, &built);
    built.args.layout.zero = 1;
    assert_int_equal(ss_plan_build(&built.args, &plan), SS_ERR_CONFIG);
    assert_non_null(strstr(ss_error_text(), "layout.zero 1"));
}

static enum ss_status build_and_print(void *arg)
{
    struct plan_built built;
    struct ss_plan plan;
    struct ss_buf text;
    enum ss_status status;
    plan_case_make(arg, &built);
    SS_TRY(ss_plan_build(&built.args, &plan));
    ss_buf_init(&text, 1 << 20);
    status = ss_plan_print(&plan, &text);
    ss_buf_free(&text);
    ss_plan_free(&plan);
    return status;
}

static void torture(void **state)
{
    struct plan_case c = {.model = "gpt2-124m", .dp = 2, .tp = 2, .micro = 2};
    (void)state;
    assert_true(ss_torture(build_and_print, &c) >= 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flops),
        cmocka_unit_test(flops_with_tp),
        cmocka_unit_test(dp_bytes),
        cmocka_unit_test(tp_bytes),
        cmocka_unit_test(sp_bytes),
        cmocka_unit_test(memory),
        cmocka_unit_test(memory_is_split),
        cmocka_unit_test(shards_tile),
        cmocka_unit_test(buckets),
        cmocka_unit_test(default_bucket_is_the_option),
        cmocka_unit_test(variants),
        cmocka_unit_test(large_models),
        cmocka_unit_test(refusals),
        cmocka_unit_test(refuses_other_layouts),
        cmocka_unit_test(torture),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
