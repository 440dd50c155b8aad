/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON and CSV: golden text, every key of DESIGN section 8, null for what is
 * missing, names of the CSV equal to the JSON's. The files written here are
 * read again by tests/scripts/report_formats.py with other parsers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <jansson.h>
#include <math.h>

#include "report/report.h"
#include "support/golden.h"
#include "support/report_case.h"
#include "support/torture.h"

enum { CEILING = 1 << 22 };

static json_t *render(const struct report_case *c, enum ss_report_ranks ranks)
{
    struct ss_buf out;
    json_t *json;
    ss_buf_init(&out, CEILING);
    assert_int_equal(ss_report_render(&c->result, SS_FORMAT_JSON, ranks, &out),
                     SS_OK);
    json = json_loads(ss_buf_text(&out), JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(json);
    ss_buf_free(&out);
    return json;
}

static void golden(enum ss_report_format format, const char *path)
{
    struct report_case c;
    struct ss_buf out;
    report_case_fill(&c);
    ss_buf_init(&out, CEILING);
    assert_int_equal(ss_report_render(&c.result, format, SS_RANKS_WORST, &out),
                     SS_OK);
    golden_check(path, ss_buf_text(&out));
    ss_buf_free(&out);
}

static void test_golden_json(void **state)
{
    (void)state;
    golden(SS_FORMAT_JSON, "tests/fixtures/report/report.json");
}

static void test_golden_csv(void **state)
{
    (void)state;
    golden(SS_FORMAT_CSV, "tests/fixtures/report/report.csv");
}

/* The keys of an object, in order, joined by blanks. */
static void check_keys(json_t *object, const char *want)
{
    char got[2048] = "";
    const char *key;
    json_t *value;
    json_object_foreach(object, key, value)
    {
        size_t used = strlen(got);
        ss_format(got + used, sizeof got - used, "%s%s", used ? " " : "", key);
    }
    assert_string_equal(got, want);
}

static void test_keys(void **state)
{
    struct report_case c;
    json_t *json;
    json_t *point;
    (void)state;
    report_case_fill(&c);
    json = render(&c, SS_RANKS_ALL);
    check_keys(json, "schema run points collectives pairs fits paths findings "
                     "verdict");
    check_keys(json_object_get(json, "run"),
               "id start engine world nodes model precision versions "
               "transports config complete largest_started not_started");
    point = json_array_get(json_object_get(json, "points"), 2);
    check_keys(point,
               "curve size nodes mode layout groups step_ms efficiency "
               "parallel_efficiency shape_efficiency compute_only_ms "
               "comm_only_ms exposed_ms hidden_share interference_ms "
               "sampled_ms busy_ms transfer_ms transfer_by wait unsplit_ms "
               "bubble_ms input_ms launch_ms other_ms phases_ms mfu hfu "
               "tokens_per_s tokens_per_s_per_device tflops_per_device "
               "clock_mhz power_w capped_share clock_bound_us comm_create_ms "
               "first_step_ms "
               "verified status flags ranks");
    check_keys(json_object_get(point, "layout"), "dp tp pp ep cp zero sp");
    check_keys(json_object_get(point, "groups"),
               "count mode slowest slowest_efficiency");
    check_keys(json_object_get(point, "step_ms"), "median lo hi n min max");
    check_keys(json_object_get(point, "efficiency"),
               "value lo hi devices comm base_size base_ms held_constant");
    check_keys(json_object_get(point, "transfer_by"), "dp tp pp ep cp");
    check_keys(json_object_get(point, "wait"), "persistent_ms jitter_ms");
    check_keys(json_array_get(json_object_get(point, "ranks"), 0),
               "rank mpi_rank node device uuid step_ms wait_ms last_arrivals "
               "collectives excess_ms");
    check_keys(json_array_get(json_object_get(json, "findings"), 0),
               "kind severity culprit factor factor_lo factor_hi evidence "
               "confidence advice");
    check_keys(
        json_object_get(json_array_get(json_object_get(json, "findings"), 0),
                        "culprit"),
        "rank node device uuid link rail setting value");
    check_keys(json_object_get(json, "verdict"), "result exit_code reasons");
    json_decref(json);
}

static void check_null(json_t *object, const char *key)
{
    if (!json_is_null(json_object_get(object, key)))
        fail_msg("%s is not null", key);
}

/* A point that was never measured: nothing but null where a number stood. */
static void test_every_missing_number_is_null(void **state)
{
    static const char *const numbers[] = {"parallel_efficiency",
                                          "shape_efficiency",
                                          "compute_only_ms",
                                          "comm_only_ms",
                                          "exposed_ms",
                                          "hidden_share",
                                          "interference_ms",
                                          "sampled_ms",
                                          "busy_ms",
                                          "transfer_ms",
                                          "unsplit_ms",
                                          "bubble_ms",
                                          "input_ms",
                                          "launch_ms",
                                          "other_ms",
                                          "mfu",
                                          "hfu",
                                          "tokens_per_s",
                                          "tokens_per_s_per_device",
                                          "tflops_per_device",
                                          "clock_mhz",
                                          "power_w",
                                          "capped_share",
                                          "clock_bound_us",
                                          "comm_create_ms",
                                          "first_step_ms",
                                          "verified"};
    static const char *const steps[] = {"median", "lo", "hi", "min", "max"};
    static const char *const ratios[] = {"value",   "lo",   "hi",
                                         "devices", "comm", "base_ms"};
    struct report_case c;
    json_t *json;
    json_t *point;
    json_t *inner;
    const char *key;
    (void)state;
    report_case_fill(&c);
    json = render(&c, SS_RANKS_ALL);
    point = json_array_get(json_object_get(json, "points"), 3);
    for (size_t i = 0; i < SS_COUNT_OF(numbers); i++)
        check_null(point, numbers[i]);
    for (size_t i = 0; i < SS_COUNT_OF(steps); i++)
        check_null(json_object_get(point, "step_ms"), steps[i]);
    for (size_t i = 0; i < SS_COUNT_OF(ratios); i++)
        check_null(json_object_get(point, "efficiency"), ratios[i]);
    json_object_foreach(json_object_get(point, "phases_ms"), key, inner)
        assert_true(json_is_null(inner));
    json_object_foreach(json_object_get(point, "transfer_by"), key, inner)
        assert_true(json_is_null(inner));
    check_null(json_object_get(point, "groups"), "slowest");
    json_decref(json);
}

static double number_at(json_t *object, const char *key)
{
    json_t *value = json_object_get(object, key);
    assert_true(json_is_real(value));
    return json_real_value(value);
}

/* What was put in comes out, to ten digits; measured zeros stay zeros. */
static void test_values(void **state)
{
    struct report_case c;
    json_t *json;
    json_t *point;
    (void)state;
    report_case_fill(&c);
    c.point[2].exposed_ms = -0.123456789012345;
    c.point[2].launch_ms = -0.0;
    json = render(&c, SS_RANKS_ALL);
    point = json_array_get(json_object_get(json, "points"), 2);
    assert_true(number_at(point, "exposed_ms") == -0.1234567890);
    assert_true(number_at(point, "unsplit_ms") == 0);
    assert_false(signbit(number_at(point, "launch_ms")));
    assert_true(number_at(json_object_get(point, "efficiency"), "value") ==
                0.8064516129);
    assert_int_equal(json_integer_value(json_object_get(
                         json_array_get(json_object_get(point, "ranks"), 3),
                         "last_arrivals")),
                     118);
    json_decref(json);
}

static void test_config_has_its_types(void **state)
{
    struct report_case c;
    char yaml[] = "model:\n  hidden: 128\nmeasure:\n  min_block: 250ms\n"
                  "device:\n  share: true\n";
    json_t *json;
    json_t *config;
    (void)state;
    report_case_fill(&c);
    c.run.config_yaml = yaml;
    json = render(&c, SS_RANKS_NONE);
    config = json_object_get(json_object_get(json, "run"), "config");
    assert_int_equal(json_integer_value(json_object_get(
                         json_object_get(config, "model"), "hidden")),
                     128);
    assert_string_equal(json_string_value(json_object_get(
                            json_object_get(config, "measure"), "min_block")),
                        "250ms");
    assert_true(json_is_true(
        json_object_get(json_object_get(config, "device"), "share")));
    json_decref(json);
}

static void test_config_of_another_version_is_null(void **state)
{
    struct report_case c;
    char yaml[] = "model:\n  no_such_key: 1\n";
    json_t *json;
    (void)state;
    report_case_fill(&c);
    c.run.config_yaml = yaml;
    json = render(&c, SS_RANKS_NONE);
    check_null(json_object_get(json, "run"), "config");
    json_decref(json);
}

static void test_bytes_that_are_not_utf8(void **state)
{
    struct report_case c;
    json_t *json;
    json_t *nodes;
    (void)state;
    report_case_fill(&c);
    ss_copy(c.node[0].name, sizeof c.node[0].name, "n\xff\"\x01");
    ss_copy(c.run.versions[0].name, sizeof c.run.versions[0].name, "\xffx");
    ss_copy(c.run.versions[0].value, sizeof c.run.versions[0].value, "1");
    json = render(&c, SS_RANKS_ALL);
    nodes = json_object_get(json_object_get(json, "run"), "nodes");
    assert_string_equal(json_string_value(json_array_get(nodes, 0)),
                        "n?\"\x01");
    nodes = json_object_get(json_object_get(json, "run"), "versions");
    assert_string_equal(json_string_value(json_object_get(nodes, "?x")), "1");
    json_decref(json);
}

static size_t ranks_shown(enum ss_report_ranks ranks)
{
    struct report_case c;
    json_t *json;
    size_t n;
    report_case_fill(&c);
    json = render(&c, ranks);
    n = json_array_size(json_object_get(
        json_array_get(json_object_get(json, "points"), 2), "ranks"));
    json_decref(json);
    return n;
}

static void test_ranks_option(void **state)
{
    (void)state;
    assert_int_equal(ranks_shown(SS_RANKS_ALL), 4);
    assert_int_equal(ranks_shown(SS_RANKS_WORST), 4);
    assert_int_equal(ranks_shown(SS_RANKS_NONE), 0);
}

static void test_verdict_alone(void **state)
{
    struct report_case c;
    struct ss_buf out;
    (void)state;
    report_case_fill(&c);
    ss_buf_init(&out, CEILING);
    assert_int_equal(ss_report_verdict_json(&c.result.verdict, &out), SS_OK);
    assert_string_equal(
        ss_buf_text(&out),
        "{\"result\":\"fail\",\"exit_code\":10,\"reasons\":[\"error finding: "
        "straggler_rank, rank 3 on node02\"]}");
    struct ss_verdict back = {0};
    assert_true(ss_report_verdict_read(ss_buf_text(&out), &back));
    assert_int_equal(back.result, c.result.verdict.result);
    assert_int_equal(back.exit_code, 10);
    assert_int_equal(back.n_reasons, 1);
    assert_string_equal(back.reason[0], c.result.verdict.reason[0]);
    assert_false(ss_report_verdict_read("{\"result\":\"fail\"}", &back));
    assert_false(ss_report_verdict_read("{\"result\":\"maybe\","
                                        "\"exit_code\":0}",
                                        &back));
    assert_false(ss_report_verdict_read("", &back));
    assert_int_equal(back.exit_code, 10); /* untouched */
    ss_buf_free(&out);
}

static void test_csv_without_points_is_its_header(void **state)
{
    struct report_case c;
    struct ss_buf out;
    (void)state;
    report_case_fill(&c);
    c.result.n_points = 0;
    ss_buf_init(&out, CEILING);
    assert_int_equal(
        ss_report_render(&c.result, SS_FORMAT_CSV, SS_RANKS_NONE, &out), SS_OK);
    assert_non_null(strstr(ss_buf_text(&out), "curve,size,nodes,mode,"));
    assert_ptr_equal(strstr(ss_buf_text(&out), "\r\n") + 2,
                     ss_buf_text(&out) + out.len);
    ss_buf_free(&out);
}

static enum ss_status render_both(void *arg)
{
    struct report_case *c = arg;
    struct ss_buf out;
    enum ss_status status;
    ss_buf_init(&out, CEILING);
    status = ss_report_render(&c->result, SS_FORMAT_JSON, SS_RANKS_ALL, &out);
    if (status == SS_OK)
        status =
            ss_report_render(&c->result, SS_FORMAT_CSV, SS_RANKS_ALL, &out);
    ss_buf_free(&out);
    return status;
}

static void test_torture(void **state)
{
    struct report_case c;
    char yaml[] = "model:\n  hidden: 128\n";
    (void)state;
    report_case_fill(&c);
    c.run.config_yaml = yaml;
    assert_true(ss_torture(render_both, &c) > 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden_json),
        cmocka_unit_test(test_golden_csv),
        cmocka_unit_test(test_keys),
        cmocka_unit_test(test_every_missing_number_is_null),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_config_has_its_types),
        cmocka_unit_test(test_config_of_another_version_is_null),
        cmocka_unit_test(test_bytes_that_are_not_utf8),
        cmocka_unit_test(test_ranks_option),
        cmocka_unit_test(test_verdict_alone),
        cmocka_unit_test(test_csv_without_points_is_its_header),
        cmocka_unit_test(test_torture),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
