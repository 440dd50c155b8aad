/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resolution as a whole: who wins, that all problems come together, that no
 * failed allocation leaks.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/units.h"
#include "support/config_case.h"
#include "support/torture.h"

static void defaults_are_those_of_the_list(void **state)
{
    struct ss_config config;
    (void)state;
    ss_config_default(&config);
    assert_string_equal(config.model_preset, "mlp");
    assert_int_equal(config.layout_tp, 1);
    assert_int_equal(config.model_precision, SS_PRECISION_AUTO);
    assert_int_equal(config.plan_bucket, 25 << 20);
    assert_int_equal(config.measure_min_block, 200000000);
    assert_true(config.measure_precision == 0.01);
    assert_int_equal(config.null_slow_rank, -1);
    assert_int_equal(config.device_progress, SS_PROGRESS_AUTO);
    assert_int_equal(config.null_clock, SS_NULL_VIRTUAL);
    assert_int_equal(config.out_format, SS_OUT_TEXT);
}

static void the_indices_in_code_are_those_of_the_list(void **state)
{
    static const struct {
        const char *key;
        const char *value;
        int index;
    } choices[] = {{"model.precision", "fp64", SS_PRECISION_FP64},
                   {"model.precision", "fp8", SS_PRECISION_FP8},
                   {"model.precision", "bf16", SS_PRECISION_BF16},
                   {"model.grad_dtype", "bf16", SS_GRAD_BF16},
                   {"groups.mode", "both", SS_GROUPS_BOTH},
                   {"groups.order", "random", SS_ORDER_RANDOM},
                   {"null.clock", "real", SS_NULL_REAL},
                   {"device.progress", "off", SS_PROGRESS_OFF},
                   {"out.format", "none", SS_OUT_NONE}};
    struct ss_config config;
    struct ss_buf text;
    (void)state;
    ss_config_default(&config);
    ss_buf_init(&text, 100);
    for (size_t i = 0; i < SS_COUNT_OF(choices); i++)
        assert_int_equal(
            ss_config_set(&config, choices[i].key, choices[i].value), SS_OK);
    assert_int_equal(config.model_precision, SS_PRECISION_BF16);
    assert_int_equal(config.model_grad_dtype, SS_GRAD_BF16);
    assert_int_equal(config.groups_mode, SS_GROUPS_BOTH);
    assert_int_equal(config.groups_order, SS_ORDER_RANDOM);
    assert_int_equal(config.null_clock, SS_NULL_REAL);
    assert_int_equal(config.device_progress, SS_PROGRESS_OFF);
    assert_int_equal(config.out_format, SS_OUT_NONE);
    assert_true(ss_config_get(&config, "groups.order", &text));
    assert_string_equal(ss_buf_text(&text), "random");
    ss_buf_free(&text);
}

static void the_stronger_source_wins(void **state)
{
    struct config_case c = {
        .yaml = "layout:\n  tp: 2\nmodel:\n  layers: 2\n  hidden: 2\n"
                "  tokens: 2\n",
        .environment = {"SS_MODEL_LAYERS=3", "SS_MODEL_HIDDEN=3", "HOME=/",
                        "SS_LAYOUT_MICRO_BATCHES=3"},
        .settings = {"model.hidden=4", "layout.tp=4", "layout.tp=5"}};
    (void)state;
    assert_int_equal(case_resolve(&c), SS_OK);
    assert_int_equal(c.config.model_tokens, 2);
    assert_int_equal(c.config.model_layers, 3);
    assert_int_equal(c.config.model_hidden, 4);
    assert_int_equal(c.config.layout_tp, 5); /* the last one */
    assert_int_equal(c.config.layout_micro_batches, 3);
    assert_string_equal(c.problems, "");
}

static void variables_that_are_no_setting_are_pointed_out(void **state)
{
    char *environment[] = {"SS_BUDGET=30s",      "SS_MESURE_SEED=1",
                           "SS_OTHER_TOOL=1",    "SS_MODEL_HIDDEN=4",
                           "SS_UPDATE_GOLDEN=1", "HOME=/",
                           "SS_MODEL_HIDEN=1",   "SSH_TTY=x",
                           "SS_a\x1b[2J=1",      NULL};
    struct ss_buf out;
    (void)state;
    ss_buf_init(&out, 4096);
    assert_int_equal(ss_config_odd_variables(environment, &out), SS_OK);
    assert_string_equal(
        ss_buf_text(&out),
        "environment: SS_BUDGET is no setting and has no effect; did you mean "
        "SS_MEASURE_BUDGET?\n"
        "environment: SS_MESURE_SEED is no setting and has no effect; did you "
        "mean SS_MEASURE_SEED?\n"
        "environment: SS_OTHER_TOOL is no setting and has no effect; "
        "`stepscale config --help` lists the keys\n"
        "environment: SS_a?[2J is no setting and has no effect; "
        "`stepscale config --help` lists the keys\n");
    ss_buf_free(&out);
}

static void all_problems_come_together(void **state)
{
    struct config_case c = {
        .yaml = "model:\n  hiden: 64\n  layers: 3.5\n",
        .environment = {"SS_MODEL_HIDEN=1", "SS_OTHER_TOOL=1", "SS_LAYOUT_TP=x",
                        "SS_=", "SS_RULESX=1"},
        .settings = {"model.tokens=-1", "modle.tokens=1", "novalue",
                     "layout.pp=2", "out.format=jsno"}};
    (void)state;
    c.config.layout_tp = 77;
    assert_int_equal(case_resolve(&c), SS_ERR_CONFIG);
    assert_string_equal(
        c.problems,
        "job.yaml:2:3: unknown key model.hiden; did you mean model.hidden?\n"
        "job.yaml:3:11: model.layers: \"3.5\" is not a whole number; accepted: "
        "42 or -3, without point, exponent, leading zero or unit; range: 0 to "
        "1024\n"
        "environment: unknown variable SS_MODEL_HIDEN; did you mean "
        "SS_MODEL_HIDDEN?\n"
        "SS_LAYOUT_TP: layout.tp: \"x\" is not a whole number; accepted: 42 or "
        "-3, without point, exponent, leading zero or unit; range: 1 to "
        "1048576\n"
        "command line: model.tokens: -1 is out of range; accepted: 0 to "
        "16777216\n"
        "command line: unknown key modle.tokens; did you mean model.tokens?\n"
        "command line: \"novalue\" is not a setting; accepted: "
        "section.key=value\n"
        "command line: out.format: \"jsno\" is not one of "
        "text|json|csv|none; did you mean json?\n"
        "layout.pp: this version plans dp and tp only, not pipeline layouts; "
        "use layout.pp=1\n");
    assert_string_equal(ss_error_text(),
                        "job.yaml:2:3: unknown key model.hiden; did you mean "
                        "model.hidden? (and 8 more problems)");
    assert_int_equal(c.config.layout_tp, 77); /* untouched */
}

static void contradictions_are_refused(void **state)
{
    struct config_case c = {
        .yaml = "layout:\n  ep: 2\n  cp: 4\n  zero: 1\n  sp: true\n"
                "scaling:\n  axis: pp\n  sizes: 1,2x\n  modes: weak,weak\n"
                "measure:\n  min_blocks: 500\n"
                "null:\n  hang_op: 1:2\n  fail_op: \"1:2:3\"\n"};
    (void)state;
    assert_int_equal(case_resolve(&c), SS_ERR_CONFIG);
    assert_string_equal(
        c.problems,
        "layout.ep: this version plans dp and tp only, not expert layouts; "
        "use layout.ep=1\n"
        "layout.cp: this version plans dp and tp only, not context layouts; "
        "use layout.cp=1\n"
        "layout.zero: this version plans dp and tp only, not ZeRO layouts; "
        "use layout.zero=0\n"
        "scaling.axis: this version plans dp and tp only; use scaling.axis=dp "
        "or tp\n"
        "scaling.sizes: \"2x\" is not a size; accepted: auto, or ranks, nodes "
        "and world such as 1,8,2n,4n,world\n"
        "scaling.modes: \"weak,weak\" is not a list of modes; accepted: weak, "
        "strong or weak,strong\n"
        "measure.min_blocks: 500 is above measure.max_blocks (400); lower one "
        "or raise the other\n"
        "null.hang_op: \"1:2\" is not a place; accepted: rank:point:op, e.g. "
        "2:0:5\n");
}

static void a_wrong_value_hides_rules_about_it(void **state)
{
    struct config_case c = {
        .settings = {"measure.min_blocks=500", "measure.max_blocks=9e9"}};
    (void)state;
    assert_int_equal(case_resolve(&c), SS_ERR_CONFIG);
    assert_non_null(strstr(c.problems, "measure.max_blocks: \"9e9\""));
    assert_null(strstr(c.problems, "is above"));
}

static void modes_are_read(void **state)
{
    bool weak = false;
    bool strong = true;
    (void)state;
    assert_int_equal(ss_config_modes("weak", &weak, &strong), SS_OK);
    assert_true(weak && !strong);
    assert_int_equal(ss_config_modes("strong, weak", &weak, &strong), SS_OK);
    assert_true(weak && strong);
    assert_int_equal(ss_config_modes("", &weak, &strong), SS_ERR_CONFIG);
    assert_int_equal(ss_config_modes("weak,", &weak, &strong), SS_ERR_CONFIG);
}

static void arguments_are_told_apart(void **state)
{
    (void)state;
    assert_true(ss_config_is_setting("model.hidden=4"));
    assert_true(ss_config_is_setting("layout.micro_batches="));
    assert_true(ss_config_is_setting("no.such=1"));
    assert_false(ss_config_is_setting("run"));
    assert_false(ss_config_is_setting("a.h5"));
    assert_false(ss_config_is_setting("--set=a.b=c"));
    assert_false(ss_config_is_setting("./a.b=c"));
    assert_false(ss_config_is_setting("=x"));
    assert_false(ss_config_is_setting("a.=x"));
    assert_false(ss_config_is_setting(".b=x"));
    assert_false(ss_config_is_setting(""));
}

static enum ss_status resolve_once(void *arg)
{
    struct config_case *c = arg;
    enum ss_status status = case_resolve(c);
    struct ss_buf dump;
    if (status == SS_ERR_CONFIG && c->problems[0])
        return SS_OK; /* the expected refusal, in full */
    SS_TRY(status);
    ss_buf_init(&dump, CASE_TEXT);
    status = ss_config_dump(&c->config, &dump);
    ss_buf_free(&dump);
    return status;
}

static void resolution_survives_torture(void **state)
{
    struct config_case fine = {
        .yaml = "scaling:\n  sizes: [1, 2n, world]\nlayout: {tp: 2}\n",
        .environment = {"SS_LAYOUT_SP=1"},
        .settings = {"measure.budget=2min"}};
    struct config_case wrong = {
        .yaml = "scaling:\n  sizes: [1, 2x]\nlayout: {tp: 2.5, tq: 4}\n",
        .environment = {"SS_LAYOUT_SQ=1"},
        .settings = {"measure.budge=2min"}};
    (void)state;
    assert_true(ss_torture(resolve_once, &fine) >= 2);
    assert_true(ss_torture(resolve_once, &wrong) >= 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_those_of_the_list),
        cmocka_unit_test(the_indices_in_code_are_those_of_the_list),
        cmocka_unit_test(the_stronger_source_wins),
        cmocka_unit_test(variables_that_are_no_setting_are_pointed_out),
        cmocka_unit_test(all_problems_come_together),
        cmocka_unit_test(contradictions_are_refused),
        cmocka_unit_test(a_wrong_value_hides_rules_about_it),
        cmocka_unit_test(modes_are_read),
        cmocka_unit_test(arguments_are_told_apart),
        cmocka_unit_test(resolution_survives_torture),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
