/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules files: good ones, and every problem of a bad one with its place.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/result.h"
#include "base/mem.h"
#include "base/str.h"
#include "support/near.h"

static struct ss_rules rules;
static struct ss_buf problems;

static enum ss_status parse(const char *text)
{
    ss_buf_free(&problems);
    ss_buf_init(&problems, 1 << 16);
    rules = (struct ss_rules){.min_effect = 0.02, .min_effect_link = 0.05};
    return ss_rules_parse(text, strlen(text), "r.yaml", &rules, &problems);
}

static int close_buf(void **state)
{
    (void)state;
    ss_buf_free(&problems);
    return 0;
}

static void reads_rules(void **state)
{
    (void)state;
    assert_int_equal(parse("rules:\n"
                           "  - {metric: efficiency, mode: weak, min: 0.9}\n"
                           "  - metric: step_ms\n"
                           "    size: largest\n"
                           "    max: 120\n"
                           "  - {metric: mfu, size: 8, min: 0.4, max: 1}\n"
                           "  - {metric: e_comm, size: all, min: 0}\n"),
                     SS_OK);
    assert_int_equal(rules.n, 4);
    assert_string_equal(rules.rule[0].metric, "efficiency");
    assert_string_equal(rules.rule[0].mode, "weak");
    assert_int_equal(rules.rule[0].size, 0);
    assert_near(rules.rule[0].min, 0.9, 0);
    assert_true(isnan(rules.rule[0].max));
    assert_int_equal(rules.rule[0].line, 2);
    assert_int_equal(rules.rule[1].size, -1);
    assert_near(rules.rule[1].max, 120, 0);
    assert_int_equal(rules.rule[1].line, 3);
    assert_int_equal(rules.rule[2].size, 8);
    assert_int_equal(rules.rule[3].size, 0);
    assert_near(rules.min_effect, 0.02, 0);
    assert_string_equal(ss_buf_text(&problems), "");
}

static void reads_effects(void **state)
{
    (void)state;
    assert_int_equal(parse("min_effect: 0.03\nmin_effect_link: 0.1\n"
                           "rules: []\n"),
                     SS_OK);
    assert_int_equal(rules.n, 0);
    assert_near(rules.min_effect, 0.03, 0);
    assert_near(rules.min_effect_link, 0.1, 0);
}

static void names_all_problems_with_places(void **state)
{
    (void)state;
    assert_int_equal(parse("rules:\n"
                           "  - {metric: eficiency, min: 0.9}\n"
                           "  - {metric: mfu, mni: 1}\n"
                           "  - {mode: sideways, min: 2, max: 1}\n"
                           "  - {metric: mfu, size: 3.5, min: x}\n"
                           "  - 7\n"
                           "  - {metric: mfu, min: 1, min: 2}\n"
                           "speed: 3\n"
                           "min_effect: 2\n"),
                     SS_ERR_CONFIG);
    const char *text = ss_buf_text(&problems);
    assert_non_null(strstr(text, "r.yaml:2:14: unknown metric 'eficiency'; did "
                                 "you mean efficiency?"));
    assert_non_null(strstr(text, "r.yaml:3:19: unknown key 'mni'; did you mean "
                                 "min?"));
    assert_non_null(strstr(text, "r.yaml:3:5: the rule has neither min nor "
                                 "max"));
    assert_non_null(strstr(text, "r.yaml:4:12: mode 'sideways' is not weak or "
                                 "strong"));
    assert_non_null(strstr(text, "r.yaml:4:5: the rule names no metric"));
    assert_non_null(strstr(text, "min 2 is above max 1"));
    assert_non_null(strstr(text, "size '3.5' is not a number of ranks"));
    assert_non_null(strstr(text, "r.yaml:5:35: min: "));
    assert_non_null(strstr(text, "r.yaml:6:5: a rule is {metric"));
    assert_non_null(strstr(text, "key 'min' stands here twice"));
    assert_non_null(strstr(text, "r.yaml:8:1: unknown key 'speed'"));
    assert_non_null(strstr(text, "min_effect 2 is not a share"));
    assert_non_null(strstr(ss_error_text(), "more)"));
    assert_int_equal(rules.n, 0); /* untouched */
}

static void refuses_what_is_no_rules_file(void **state)
{
    (void)state;
    assert_int_equal(parse(""), SS_ERR_CONFIG);
    assert_non_null(strstr(ss_error_text(), "a rules file holds 'rules:'"));
    assert_int_equal(parse("[1, 2]"), SS_ERR_CONFIG);
    assert_int_equal(parse("rules: 3"), SS_ERR_CONFIG);
    assert_int_equal(parse("min_effect: 0.1"), SS_ERR_CONFIG);
    assert_non_null(strstr(ss_error_text(), "no list 'rules'"));
    assert_int_equal(parse("rules: [\n"), SS_ERR_CONFIG);
    assert_non_null(strstr(ss_error_text(), "r.yaml:2:1: "));
    assert_int_equal(parse("rules: &a [*a]"), SS_ERR_CONFIG);
    assert_int_equal(parse("\x01\x02\xff"), SS_ERR_CONFIG);
    assert_int_equal(parse("rules: [{metric: \"mf\\0u\", min: 1}]"),
                     SS_ERR_CONFIG);
}

static void refuses_too_many(void **state)
{
    struct ss_buf text;
    (void)state;
    ss_buf_init(&text, 1 << 16);
    ss_buf_printf(&text, "rules:\n");
    for (int i = 0; i < 65; i++)
        ss_buf_printf(&text, "  - {metric: mfu, min: 0.1}\n");
    assert_int_equal(parse(ss_buf_text(&text)), SS_ERR_CONFIG);
    assert_non_null(strstr(ss_error_text(), "r.yaml:66:5: more than 64 rules"));
    ss_buf_free(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(reads_rules, close_buf),
        cmocka_unit_test_teardown(reads_effects, close_buf),
        cmocka_unit_test_teardown(names_all_problems_with_places, close_buf),
        cmocka_unit_test_teardown(refuses_what_is_no_rules_file, close_buf),
        cmocka_unit_test_teardown(refuses_too_many, close_buf),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
