/* SPDX-License-Identifier: Apache-2.0 */
/* The text of plans: golden files, 100 columns, folding. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "support/golden.h"
#include "support/plan_case.h"

static void print(const struct ss_plan *plan, struct ss_buf *out)
{
    ss_buf_init(out, 1 << 22);
    if (ss_plan_print(plan, out) != SS_OK)
        fail_msg("%s", ss_error_text());
}

static int count_lines(const char *text, size_t *longest)
{
    int lines = 0;
    *longest = 0;
    while (*text) {
        size_t len = strcspn(text, "\n");
        if (len > *longest)
            *longest = len;
        text += len + (text[len] == '\n');
        lines++;
    }
    return lines;
}

static int check(const struct plan_case *c, const char *golden)
{
    struct ss_plan plan;
    struct ss_buf text;
    size_t longest;
    int lines;
    plan_case_build(c, &plan);
    print(&plan, &text);
    lines = count_lines(ss_buf_text(&text), &longest);
    assert_true(longest <= 100);
    if (golden)
        golden_check(golden, ss_buf_text(&text));
    ss_buf_free(&text);
    ss_plan_free(&plan);
    return lines;
}

static void golden_files(void **state)
{
    const struct plan_case alone = {
        .model = "mlp", .precision = SS_PRECISION_FP32, .grad = SS_GRAD_FP32};
    const struct plan_case dp = {.model = "gpt2-124m", .dp = 64};
    const struct plan_case tp = {
        .model = "llama-405b", .dp = 16, .tp = 8, .bucket = 64 << 20};
    const struct plan_case sp = {
        .model = "mlp", .dp = 2, .tp = 4, .sp = 1, .micro = 8, .layers = 24};
    (void)state;
    check(&alone, "tests/fixtures/plan/mlp.txt");
    check(&dp, "tests/fixtures/plan/gpt2-dp64.txt");
    check(&tp, "tests/fixtures/plan/llama-405b-dp16-tp8.txt");
    check(&sp, "tests/fixtures/plan/mlp-dp2-tp4-sp-micro8.txt");
}

/* More layers and micro-batches do not make more lines. */
static void folds(void **state)
{
    struct plan_case c = {.model = "llama-8b", .dp = 2, .tp = 8, .micro = 4};
    int lines = check(&c, NULL);
    (void)state;
    assert_in_range(lines, 100, 250);
    c.layers = 500;
    c.micro = 8;
    assert_int_equal(check(&c, NULL), lines);
}

static void every_width(void **state)
{
    static const char *const models[] = {"mlp", "gpt2-355m", "llama-70b"};
    (void)state;
    for (int i = 0; i < 24; i++) {
        const struct plan_case c = {.model = models[i % 3],
                                    .dp = i / 3 % 2 ? 1024 : 1,
                                    .tp = i / 6 % 2 ? 8 : 1,
                                    .sp = i / 12,
                                    .micro = 2,
                                    .tokens = 1 << 22};
        check(&c, NULL);
    }
}

/* A plan made by hand, of kinds that are not built yet. */
static void later_kinds(void **state)
{
    struct ss_op op[2] = {{.kind = SS_OP_RECV,
                           .phase = SS_PHASE_pp_comm,
                           .lane = (enum ss_lane)(SS_LANE_COMM + SS_DIM_PP),
                           .dim = SS_DIM_PP,
                           .name = "x.recv",
                           .bytes = 2e6},
                          {.kind = SS_OP_COPY,
                           .lane = SS_LANE_INPUT,
                           .name = "batch",
                           .peer = -1,
                           .n_waits = 1}};
    struct ss_plan plan = {
        .op = op,
        .n_ops = 2,
        .layout = {.dim = {1, 1, 2, 1, 1}, .zero = 1, .micro_batches = 1}};
    struct ss_buf text;
    (void)state;
    print(&plan, &text);
    assert_non_null(strstr(ss_buf_text(&text), "dp 1 x tp 1 x pp 2, zero 1"));
    assert_non_null(strstr(ss_buf_text(&text),
                           "pp       pp_comm    x.recv         recv 2 MB, "
                           "peer 0"));
    assert_non_null(strstr(ss_buf_text(&text), "after x.recv"));
    ss_buf_free(&text);
}

static void a_ceiling_is_an_error(void **state)
{
    const struct plan_case c = {.model = "mlp"};
    struct ss_plan plan;
    struct ss_buf text;
    (void)state;
    plan_case_build(&c, &plan);
    ss_buf_init(&text, 200);
    assert_int_equal(ss_plan_print(&plan, &text), SS_ERR_NO_MEMORY);
    ss_buf_free(&text);
    ss_plan_free(&plan);
    assert_int_equal(ss_mem_live(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_files),          cmocka_unit_test(folds),
        cmocka_unit_test(every_width),           cmocka_unit_test(later_kinds),
        cmocka_unit_test(a_ceiling_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
