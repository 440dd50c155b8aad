/* SPDX-License-Identifier: Apache-2.0 */
/* One field at a time: types, ranges, choices, texts, and the help about them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "support/config_case.h"

static void set_refused(const char *key, const char *value, const char *text)
{
    struct ss_config config;
    struct ss_config before;
    ss_config_default(&config);
    before = config;
    if (ss_config_set(&config, key, value) != SS_ERR_CONFIG)
        fail_msg("%s=%s was accepted", key, value);
    if (!strstr(ss_error_text(), text))
        fail_msg("%s=%s: \"%s\" lacks \"%s\"", key, value, ss_error_text(),
                 text);
    assert_memory_equal(&config, &before, sizeof config);
}

static void wrong_values_are_refused_with_what_is_accepted(void **state)
{
    static const char *const cases[][3] = {
        {"model.hidden", "3.5", "range: 0 to 131072"},
        {"model.hidden", "010", "\"010\" is not a whole number"},
        {"model.hidden", "1e3", "range: 0 to 131072"},
        {"model.hidden", "", "\"\" is not a whole number"},
        {"model.hidden", "-1", "accepted: 0 to 131072"},
        {"model.hidden", "131073", "out of range; accepted: 0 to 131072"},
        {"model.hidden", "9223372036854775808", "range: 0 to 131072"},
        {"layout.tp", "0", "accepted: 1 to 1048576"},
        {"null.slow_rank", "-2", "accepted: -1 to 1048576"},
        {"measure.budget", "3 s", "is not a time"},
        {"measure.budget", "25h", "accepted: 0s to 24h"},
        {"measure.min_block", "1GB", "is not a time"},
        {"plan.bucket", "1000", "accepted: 1k to 1T"},
        {"plan.bucket", "2s", "is not a number of bytes"},
        {"measure.precision", "0", "accepted: 0.0001 to 1"},
        {"measure.precision", "1 %", "is not a number"},
        {"measure.precision", "nan", "is not a number"},
        {"layout.sp", "maybe", "is not true or false"},
        {"model.precision", "fp9", "did you mean fp8?"},
        {"model.precision", "double", "is not one of auto|fp64|fp32|tf32|"},
        {"model.precision", "", "is not one of"},
        {"model.precision", "auto|fp64", "is not one of"},
        {"model.preset", "a\nb", "U+000A"},
        {"model.preset", "\xc3\x28", "UTF-8"},
        {"model.preset", "\xc0\xaf", "UTF-8"},
        {"model.preset", "\xed\xa0\x80", "UTF-8"},
        {"model.preset", "\xf4\x90\x80\x80", "UTF-8"},
        {"model.preset", "\xe2\x80", "UTF-8"},
        {"model.preset", "\xe2\x80\xa8", "U+2028"},
        {"model.preset", "\xc2\x85", "U+0085"},
        {"model.hiden", "1", "did you mean model.hidden?"},
        {"hidden", "1",
         "unknown key hidden; `stepscale config --help` lists the keys"},
        {"", "1", "unknown key"}};
    (void)state;
    for (size_t i = 0; i < SS_COUNT_OF(cases); i++)
        set_refused(cases[i][0], cases[i][1], cases[i][2]);
}

static void texts_have_a_length(void **state)
{
    struct ss_config config;
    char text[SS_TEXT_MAX + 1];
    (void)state;
    memset(text, 'x', sizeof text);
    text[SS_TEXT_MAX] = '\0';
    set_refused("out.file", text, "too long; accepted: at most 511 bytes");
    text[SS_TEXT_MAX - 1] = '\0';
    ss_config_default(&config);
    assert_int_equal(ss_config_set(&config, "out.file", text), SS_OK);
    assert_string_equal(config.out_file, text);
}

static void got(struct ss_config *config, const char *key, const char *value,
                const char *canonical)
{
    struct ss_buf text;
    ss_buf_init(&text, 1000);
    if (ss_config_set(config, key, value) != SS_OK)
        fail_msg("%s=%s: %s", key, value, ss_error_text());
    assert_true(ss_config_get(config, key, &text));
    assert_string_equal(ss_buf_text(&text), canonical);
    ss_buf_free(&text);
}

static void values_come_back_in_their_largest_unit(void **state)
{
    struct ss_config config;
    struct ss_buf text;
    (void)state;
    ss_config_default(&config);
    got(&config, "measure.budget", "120s", "2min");
    got(&config, "measure.budget", "0.2s", "200ms");
    got(&config, "measure.budget", "0", "0s");
    got(&config, "measure.budget", "24h", "24h");
    got(&config, "measure.min_block", "1001us", "1001us");
    got(&config, "plan.bucket", "2048", "2k");
    got(&config, "plan.bucket", "1.5G", "1536M");
    got(&config, "measure.precision", "0.0500", "0.05");
    got(&config, "null.noise", "-0", "0");
    got(&config, "layout.sp", "on", "true");
    got(&config, "null.slow_rank", "-1", "-1");
    got(&config, "out.file", "a \"b\".h5", "a \"b\".h5");
    ss_buf_init(&text, 100);
    assert_false(ss_config_get(&config, "no.such", &text));
    assert_int_equal(text.len, 0);
}

static void help_of(bool markdown, char *out, size_t size)
{
    struct ss_buf buf;
    ss_buf_init(&buf, size);
    assert_int_equal(ss_config_help(&buf, markdown), SS_OK);
    assert_true(ss_copy(out, size, ss_buf_text(&buf)));
    ss_buf_free(&buf);
}

static void help_says_default_range_and_meaning(void **state)
{
    char text[CASE_TEXT];
    (void)state;
    help_of(false, text, sizeof text);
    assert_non_null(strstr(text, "  measure.min_block=200ms  (0s to 1min)\n"
                                 "      length of a block at least\n"));
    assert_non_null(
        strstr(text, "  groups.mode=beside  (beside|alone|both)\n"));
    for (const char *line = text; *line; line = strchr(line, '\n') + 1)
        assert_true(strcspn(line, "\n") <= 80);
}

static void markdown_is_one_table(void **state)
{
    char text[CASE_TEXT];
    int rows = 0;
    (void)state;
    help_of(true, text, sizeof text);
    assert_non_null(strstr(text, "| `groups.mode` | `beside` | "
                                 "beside\\|alone\\|both | sizes below"));
    for (const char *line = text; *line; line = strchr(line, '\n') + 1) {
        int bars = 0;
        size_t len = strcspn(line, "\n");
        for (size_t i = 0; i < len; i++)
            bars += line[i] == '|' && (i == 0 || line[i - 1] != '\\');
        assert_int_equal(bars, 5);
        rows++;
    }
    assert_true(rows > 52);
}

static void help_without_room_says_so(void **state)
{
    struct ss_buf buf;
    (void)state;
    ss_buf_init(&buf, 1000);
    assert_int_equal(ss_config_help(&buf, true), SS_ERR_NO_MEMORY);
    ss_buf_free(&buf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_values_are_refused_with_what_is_accepted),
        cmocka_unit_test(texts_have_a_length),
        cmocka_unit_test(values_come_back_in_their_largest_unit),
        cmocka_unit_test(help_says_default_range_and_meaning),
        cmocka_unit_test(markdown_is_one_table),
        cmocka_unit_test(help_without_room_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
