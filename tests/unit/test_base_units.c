/* SPDX-License-Identifier: Apache-2.0 */
/* What each parser takes and refuses, and how numbers are shown. */
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/units.h"

static void refused(enum ss_status status, const char *text)
{
    if (status != SS_ERR_CONFIG)
        fail_msg("\"%s\" was accepted", text);
    assert_non_null(strchr(ss_error_text(), '"')); /* quotes the input */
}

static void integers(void **state)
{
    static const char *const bad[] = {"",
                                      "3.5",
                                      "010",
                                      "1e3",
                                      "+3",
                                      "-",
                                      "--1",
                                      "-0",
                                      " 1",
                                      "1 ",
                                      "0x10",
                                      "-010",
                                      "1,000",
                                      "9223372036854775808",
                                      "-9223372036854775809",
                                      "99999999999999999999999",
                                      "1k",
                                      "inf"};
    int64_t value = 5;
    (void)state;
    assert_int_equal(ss_parse_int("42", &value), SS_OK);
    assert_int_equal(value, 42);
    assert_int_equal(ss_parse_int("-3", &value), SS_OK);
    assert_int_equal(value, -3);
    assert_int_equal(ss_parse_int("0", &value), SS_OK);
    assert_int_equal(value, 0);
    assert_int_equal(ss_parse_int("9223372036854775807", &value), SS_OK);
    assert_true(value == INT64_MAX);
    assert_int_equal(ss_parse_int("-9223372036854775808", &value), SS_OK);
    assert_true(value == INT64_MIN);
    for (size_t i = 0; i < SS_COUNT_OF(bad); i++)
        refused(ss_parse_int(bad[i], &value), bad[i]);
    assert_true(value == INT64_MIN); /* set only on success */
}

static void doubles(void **state)
{
    static const char *const bad[] = {
        "",      ".5",  "5.",   "01.5",  "1e",     "nan", "inf",
        "0x1p3", "1,5", "1.5 ", "1e999", "1e-400", "+1",  "--1"};
    static const struct {
        const char *text;
        double value;
    } fine[] = {{"0", 0},         {"2", 2},       {"0.5", 0.5},
                {"-1.25", -1.25}, {"1e-3", 1e-3}, {"1.5E+06", 1.5e6},
                {"1e-05", 1e-5}};
    double value = 7;
    (void)state;
    for (size_t i = 0; i < SS_COUNT_OF(bad); i++)
        refused(ss_parse_double(bad[i], &value), bad[i]);
    assert_true(value == 7);
    for (size_t i = 0; i < SS_COUNT_OF(fine); i++) {
        assert_int_equal(ss_parse_double(fine[i].text, &value), SS_OK);
        assert_true(value == fine[i].value);
    }
}

static void booleans(void **state)
{
    static const char *const yes[] = {"true", "yes", "on", "1"};
    static const char *const no[] = {"false", "no", "off", "0"};
    static const char *const bad[] = {"", "True", "2", "y", "true "};
    int value;
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(ss_parse_bool(yes[i], &value), SS_OK);
        assert_int_equal(value, 1);
        assert_int_equal(ss_parse_bool(no[i], &value), SS_OK);
        assert_int_equal(value, 0);
    }
    for (size_t i = 0; i < SS_COUNT_OF(bad); i++)
        refused(ss_parse_bool(bad[i], &value), bad[i]);
}

static void bytes(void **state)
{
    static const struct {
        const char *text;
        uint64_t value;
    } fine[] = {{"0", 0},
                {"4096", 4096},
                {"100B", 100},
                {"256k", 262144},
                {"256KiB", 262144},
                {"64M", UINT64_C(67108864)},
                {"2GiB", UINT64_C(2147483648)},
                {"1.5k", 1536},
                {"16777215T", UINT64_C(16777215) << 40}};
    static const char *const bad[] = {
        "",    "-1",  "k",   "010k", "1.k",       "0.3k",
        "3.5", "1 k", "1kb", "2X",   "16777216T", "99999999999999999999"};
    uint64_t value = 7;
    (void)state;
    for (size_t i = 0; i < SS_COUNT_OF(bad); i++)
        refused(ss_parse_bytes(bad[i], &value), bad[i]);
    assert_int_equal(value, 7);
    for (size_t i = 0; i < SS_COUNT_OF(fine); i++) {
        assert_int_equal(ss_parse_bytes(fine[i].text, &value), SS_OK);
        assert_true(value == fine[i].value);
    }
}

static void times(void **state)
{
    static const struct {
        const char *text;
        int64_t ns;
    } fine[] = {{"3s", 3000000000},      {"250ms", 250000000},
                {"10us", 10000},         {"7ns", 7},
                {"2min", 120000000000},  {"1h", 3600000000000},
                {"0.1s", 100000000},     {"90", 90000000000},
                {"1.5h", 5400000000000}, {"0", 0},
                {"0.000000001s", 1}};
    static const char *const bad[] = {
        "",         "-1s",   "s",      "1m",
        "1 s",      "0.5ns", "3sec",   "01s",
        "2562048h", "1e3s",  "1.5.5s", "0.0000000000000000000001h"};
    int64_t ns = 7;
    (void)state;
    for (size_t i = 0; i < SS_COUNT_OF(bad); i++)
        refused(ss_parse_time(bad[i], &ns), bad[i]);
    assert_int_equal(ns, 7);
    for (size_t i = 0; i < SS_COUNT_OF(fine); i++) {
        assert_int_equal(ss_parse_time(fine[i].text, &ns), SS_OK);
        assert_true(ns == fine[i].ns);
    }
}

static void rates(void **state)
{
    static const struct {
        const char *text;
        double bits;
    } fine[] = {{"400mbit", 4e8},    {"100gbit", 1e11}, {"25Gb/s", 2.5e10},
                {"1.6tbit", 1.6e12}, {"9600bit", 9600}, {"10Gbps", 1e10},
                {"1Gbit/s", 1e9},    {"0", 0}};
    static const char *const bad[] = {
        "",       "25GB/s",          "100",      "-1gbit", "gbit", "1xbit",
        "1gbits", "99999999999tbit", "10000tbit"};
    double bits = 7;
    (void)state;
    for (size_t i = 0; i < SS_COUNT_OF(bad); i++)
        refused(ss_parse_rate(bad[i], &bits), bad[i]);
    assert_true(bits == 7);
    for (size_t i = 0; i < SS_COUNT_OF(fine); i++) {
        assert_int_equal(ss_parse_rate(fine[i].text, &bits), SS_OK);
        assert_true(bits == fine[i].bits);
    }
}

static void bad_input_is_quoted_short_and_printable(void **state)
{
    char text[5000];
    int64_t value;
    (void)state;
    memset(text, '\n', sizeof text);
    text[sizeof text - 1] = '\0';
    assert_int_equal(ss_parse_int(text, &value), SS_ERR_CONFIG);
    assert_null(strchr(ss_error_text(), '\n'));
    assert_non_null(strstr(ss_error_text(), "...\" is not a whole number"));
}

static void shown(const char *expected, const char *got)
{
    assert_string_equal(got, expected);
}

static void numbers_for_people(void **state)
{
    char out[32];
    (void)state;
    shown("1 rank", ss_counted(1, "rank").text);
    shown("0 ranks", ss_counted(0, "rank").text);
    shown("2 classes", ss_counted(2, "class").text);
    shown("1 class", ss_counted(1, "class").text);
    shown("25M", ss_format_binary(25u << 20, out, sizeof out));
    shown("1536k", ss_format_binary(1536u << 10, out, sizeof out));
    shown("1000B", ss_format_binary(1000, out, sizeof out));
    shown("2048T", ss_format_binary(UINT64_C(2) << 50, out, sizeof out));
    shown("0B", ss_format_binary(0, out, sizeof out));
    shown("18.2 GB", ss_format_bytes(18.2e9, out, sizeof out));
    shown("0 B", ss_format_bytes(0, out, sizeof out));
    shown("999 B", ss_format_bytes(999, out, sizeof out));
    shown("1 MB", ss_format_bytes(999999, out, sizeof out));
    shown("18.4 EB", ss_format_bytes(1.8446744e19, out, sizeof out));
    shown("-1.5 kB", ss_format_bytes(-1500, out, sizeof out));
    shown("355 M", ss_format_count(354.8e6, out, sizeof out));
    shown("1.32 B", ss_format_count(1.3171e9, out, sizeof out));
    shown("64", ss_format_count(64, out, sizeof out));
    shown("812 ns", ss_format_time(812, out, sizeof out));
    shown("3.2 ms", ss_format_time(3.2e6, out, sizeof out));
    shown("59.9 s", ss_format_time(59.9e9, out, sizeof out));
    shown("1 min", ss_format_time(59.96e9, out, sizeof out));
    shown("2 min 5 s", ss_format_time(125e9, out, sizeof out));
    shown("1 h 5 min", ss_format_time(3900e9, out, sizeof out));
    shown("unknown", ss_format_time(NAN, out, sizeof out));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers),
        cmocka_unit_test(doubles),
        cmocka_unit_test(booleans),
        cmocka_unit_test(bytes),
        cmocka_unit_test(times),
        cmocka_unit_test(rates),
        cmocka_unit_test(bad_input_is_quoted_short_and_printable),
        cmocka_unit_test(numbers_for_people),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
