/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is written comes back bit for bit, from parts and from a merged file;
 * names, creation and merging keep their promises.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "store/store.h"
#include "support/store_folder.h"
#include "support/store_sample.h"

#define RUN "run-1"

static const struct sample_shape narrow = {
    .ranks = 4, .blocks_per_variant = 3, .steps = 5};
static const struct sample_shape wide = {
    .ranks = 4, .blocks_per_variant = 2, .steps = 3, .wide = true};

static void write_run(const char *out, const char *run_id, int points)
{
    struct ss_run_data run;
    sample_run(run_id, 4, points, &run);
    assert_int_equal(ss_part_create(out), SS_OK);
    assert_int_equal(ss_part_write_run(out, &run), SS_OK);
    ss_run_data_free(&run);
}

static void write_point(const char *out, const char *run_id, int index)
{
    struct ss_point_data point;
    sample_point(index, index % 2 ? narrow : wide, &point);
    assert_int_equal(ss_part_write_point(out, run_id, &point), SS_OK);
    ss_point_data_free(&point);
}

static void expect_points(const struct ss_run_data *got, int first, int n)
{
    assert_int_equal(got->n_points, n);
    for (int i = 0; i < n; i++) {
        struct ss_point_data point;
        sample_point(first + i, (first + i) % 2 ? narrow : wide, &point);
        assert_true(sample_points_equal(&point, &got->point[i]));
        ss_point_data_free(&point);
    }
}

static void expect_run(const struct ss_run_data *got, int points)
{
    struct ss_run_data run;
    sample_run(RUN, 4, points, &run);
    assert_true(sample_runs_equal(&run, got));
    ss_run_data_free(&run);
}

static void parts_come_back_bit_for_bit(void **state)
{
    const char *out = folder_path(*state, "a.h5");
    struct ss_run_data got;
    write_run(out, RUN, 3);
    for (int i = 1; i <= 3; i++)
        write_point(out, RUN, i);
    assert_int_equal(ss_run_read(out, SS_READ_ALL, &got, NULL), SS_OK);
    expect_run(&got, 3);
    expect_points(&got, 1, 3);
    assert_true(got.point[1].wide);
    assert_false(got.point[0].wide);
    assert_string_equal(got.end_reason, "");
    assert_int_equal(got.verdict_code, -1);
    ss_run_data_free(&got);
    assert_int_equal(ss_mem_live(), 0);
}

static void empty_tables_are_allowed(void **state)
{
    const char *out = folder_path(*state, "a.h5");
    struct ss_point_data point = {.meta = {.index = 1, .size = 8}};
    struct ss_run_data got;
    snprintf(point.meta.status, sizeof point.meta.status, "skipped");
    write_run(out, RUN, 1);
    assert_int_equal(ss_part_write_point(out, RUN, &point), SS_OK);
    assert_int_equal(ss_run_read(out, SS_READ_ALL, &got, NULL), SS_OK);
    assert_int_equal(got.n_points, 1);
    assert_int_equal(got.point[0].n_ranks, 0);
    assert_int_equal(got.point[0].n_terms, 0);
    assert_string_equal(got.point[0].meta.status, "skipped");
    ss_run_data_free(&got);
}

static void meta_reads_no_samples(void **state)
{
    const char *out = folder_path(*state, "a.h5");
    struct ss_run_data got;
    struct ss_point_data point;
    write_run(out, RUN, 2);
    write_point(out, RUN, 1);
    assert_int_equal(ss_run_read(out, SS_READ_META, &got, NULL), SS_OK);
    sample_point(1, narrow, &point);
    assert_int_equal(got.n_points, 1);
    assert_null(got.point[0].step_ns);
    assert_int_equal(got.point[0].meta.plan_hash, point.meta.plan_hash);
    assert_string_equal(got.end_reason, "1 of 2 points were measured");
    ss_point_data_free(&point);
    ss_run_data_free(&got);
}

static void a_run_without_points_is_readable(void **state)
{
    const char *out = folder_path(*state, "a.h5");
    struct ss_run_data got;
    write_run(out, RUN, 2);
    assert_int_equal(
        ss_run_read(folder_path(*state, "a.h5.part"), SS_READ_ALL, &got, NULL),
        SS_OK);
    assert_int_equal(got.n_points, 0);
    ss_run_data_free(&got);
}

static void creation_refuses_what_is_there(void **state)
{
    const char *out = folder_path(*state, "a.h5");
    write_run(out, RUN, 2);
    assert_int_equal(ss_part_create(out), SS_ERR_CONFIG);
    assert_non_null(strstr(ss_error_text(), "--resume"));
    assert_non_null(strstr(ss_error_text(), "merge"));
    folder_put(*state, "b.h5", "x", 1);
    assert_int_equal(ss_part_create(folder_path(*state, "b.h5")),
                     SS_ERR_CONFIG);
    assert_int_equal(ss_part_create(folder_path(*state, "none/b.h5")),
                     SS_ERR_IO);
    assert_non_null(strstr(ss_error_text(), "no such file or directory"));
}

static void a_point_is_never_written_twice(void **state)
{
    const char *out = folder_path(*state, "a.h5");
    struct ss_point_data point;
    write_run(out, RUN, 2);
    write_point(out, RUN, 1);
    sample_point(1, narrow, &point);
    assert_int_equal(ss_part_write_point(out, RUN, &point), SS_ERR_CONFIG);
    point.meta.index = 2;
    point.block[1].first = point.n_steps;
    assert_int_equal(ss_part_write_point(out, RUN, &point), SS_ERR_INTERNAL);
    assert_non_null(strstr(ss_error_text(), "blocks[1].first + steps"));
    ss_point_data_free(&point);
}

static void leftovers_of_a_killed_writer_are_passed_over(void **state)
{
    const char *out = folder_path(*state, "a.h5");
    struct ss_run_data got;
    write_run(out, RUN, 2);
    folder_put(*state, "a.h5.part/0001.h5.tmp", "half", 4);
    write_point(out, RUN, 1);
    folder_put(*state, "a.h5.part/0002.h5.tmp", "half", 4);
    folder_put(*state, "a.h5.part/notes.txt", "mine", 4);
    assert_int_equal(ss_run_read(out, SS_READ_ALL, &got, NULL), SS_OK);
    expect_points(&got, 1, 1);
    ss_run_data_free(&got);
}

static void merge_keeps_everything_and_removes_the_folder(void **state)
{
    const char *out = folder_path(*state, "a.h5");
    const char *part = folder_path(*state, "a.h5.part");
    const char *const inputs[] = {part};
    struct ss_run_end end = {.verdict_code = 10, .verdict_json = "{}"};
    struct ss_run_data got;
    write_run(out, RUN, 2);
    write_point(out, RUN, 2);
    write_point(out, RUN, 1);
    assert_true(ss_merge_forecast_ns(out) >= INT64_C(15000000));
    assert_int_equal(ss_merge(out, inputs, 1, &end), SS_OK);
    assert_int_equal(access(part, F_OK), -1);
    assert_int_equal(access(folder_path(*state, "a.h5.tmp"), F_OK), -1);
    assert_int_equal(ss_run_read(out, SS_READ_ALL, &got, NULL), SS_OK);
    expect_run(&got, 2);
    expect_points(&got, 1, 2);
    assert_int_equal(got.verdict_code, 10);
    assert_string_equal(got.end_reason, "");
    ss_run_data_free(&got);
    assert_int_equal(ss_merge(out, inputs, 1, &end), SS_ERR_CONFIG);
    assert_int_equal(ss_mem_live(), 0);
}

static void merge_of_an_incomplete_run_says_so(void **state)
{
    const char *out = folder_path(*state, "a.h5");
    struct ss_run_data got;
    write_run(out, RUN, 3);
    write_point(out, RUN, 1);
    folder_put(*state, "a.h5.part/last-2.txt", "in all_reduce", 13);
    folder_put(*state, "a.h5.part/keep.me", "x", 1);
    assert_int_equal(ss_merge(out, NULL, 0, NULL), SS_OK);
    assert_int_equal(access(folder_path(*state, "a.h5.part/0001.h5"), F_OK),
                     -1);
    assert_int_equal(access(folder_path(*state, "a.h5.part/last-2.txt"), F_OK),
                     -1);
    assert_int_equal(access(folder_path(*state, "a.h5.part/keep.me"), F_OK), 0);
    assert_int_equal(ss_run_read(out, SS_READ_ALL, &got, NULL), SS_OK);
    assert_string_equal(got.end_reason, "1 of 3 points were measured");
    assert_string_equal(got.last_words, "last-2.txt:\nin all_reduce\n");
    ss_run_data_free(&got);
}

static void merge_joins_files_and_folders_of_one_run(void **state)
{
    const char *a = folder_path(*state, "a.h5");
    const char *b = folder_path(*state, "b.h5");
    const char *c = folder_path(*state, "c.h5");
    const char *const both[] = {a, b};
    struct ss_run_data got;
    write_run(a, RUN, 2);
    write_point(a, RUN, 1);
    assert_int_equal(ss_merge(a, NULL, 0, NULL), SS_OK);
    write_run(b, RUN, 2);
    write_point(b, RUN, 2);
    assert_int_equal(ss_merge(c, both, 2, NULL), SS_OK);
    assert_int_equal(ss_run_read(c, SS_READ_ALL, &got, NULL), SS_OK);
    expect_points(&got, 1, 2);
    assert_string_equal(got.end_reason, "");
    ss_run_data_free(&got);
    assert_int_equal(access(a, F_OK), 0); /* a result is never removed */
}

static void merge_refuses_a_mix(void **state)
{
    const char *a = folder_path(*state, "a.h5");
    const char *b = folder_path(*state, "b.h5");
    const char *c = folder_path(*state, "c.h5");
    const char *const both[] = {a, b};
    write_run(a, RUN, 2);
    write_point(a, RUN, 1);
    write_run(b, "run-2", 2);
    assert_int_equal(ss_merge(c, both, 2, NULL), SS_ERR_FORMAT);
    assert_non_null(strstr(ss_error_text(), "run-1"));
    assert_non_null(strstr(ss_error_text(), "run-2"));
    write_point(b, RUN, 2);
    assert_int_equal(ss_merge(b, NULL, 0, NULL), SS_ERR_FORMAT);
    assert_int_equal(access(c, F_OK), -1);
    assert_int_equal(access(folder_path(*state, "a.h5.part/0001.h5"), F_OK), 0);
}

static void merge_refuses_a_point_twice(void **state)
{
    const char *a = folder_path(*state, "a.h5");
    const char *b = folder_path(*state, "b.h5");
    const char *const both[] = {a, b};
    write_run(a, RUN, 2);
    write_point(a, RUN, 1);
    write_run(b, RUN, 2);
    write_point(b, RUN, 1);
    assert_int_equal(ss_merge(folder_path(*state, "c.h5"), both, 2, NULL),
                     SS_ERR_CONFIG);
    assert_non_null(strstr(ss_error_text(), "point 1"));
}

#define TEST(function)                                                         \
    cmocka_unit_test_setup_teardown(function, folder_open, folder_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(parts_come_back_bit_for_bit),
        TEST(empty_tables_are_allowed),
        TEST(meta_reads_no_samples),
        TEST(a_run_without_points_is_readable),
        TEST(creation_refuses_what_is_there),
        TEST(a_point_is_never_written_twice),
        TEST(leftovers_of_a_killed_writer_are_passed_over),
        TEST(merge_keeps_everything_and_removes_the_folder),
        TEST(merge_of_an_incomplete_run_says_so),
        TEST(merge_joins_files_and_folders_of_one_run),
        TEST(merge_refuses_a_mix),
        TEST(merge_refuses_a_point_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
