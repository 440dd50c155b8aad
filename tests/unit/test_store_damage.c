/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every kind of bad file is refused with one sentence that names file and
 * object, and never takes the reader down; a damaged part costs its point
 * only. Files of an older or newer minor are read.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include <hdf5.h>

#include "base/mem.h"
#include "store/store.h"
#include "support/h5_damage.h"
#include "support/store_folder.h"
#include "support/store_sample.h"

#define RUN "run-1"
#define POINT "points/0001/"

static const struct sample_shape shape = {
    .ranks = 3, .blocks_per_variant = 2, .steps = 4};

/* Parts 0000 and 0001..points in a.h5.part. */
static const char *write_parts(const char *folder, int points)
{
    const char *out = folder_path(folder, "a.h5");
    struct ss_run_data run;
    struct ss_point_data point;
    sample_run(RUN, shape.ranks, points, &run);
    assert_int_equal(ss_part_create(out), SS_OK);
    assert_int_equal(ss_part_write_run(out, &run), SS_OK);
    ss_run_data_free(&run);
    for (int i = 1; i <= points; i++) {
        sample_point(i, shape, &point);
        assert_int_equal(ss_part_write_point(out, RUN, &point), SS_OK);
        ss_point_data_free(&point);
    }
    return out;
}

static const char *write_result(const char *folder)
{
    struct ss_run_end end = {.verdict_code = 0};
    const char *out = write_parts(folder, 2);
    assert_int_equal(ss_merge(out, NULL, 0, &end), SS_OK);
    return out;
}

static void expect_refused(const char *path, const char *words)
{
    struct ss_run_data got;
    assert_int_equal(ss_run_read(path, SS_READ_ALL, &got, NULL), SS_ERR_FORMAT);
    if (!strstr(ss_error_text(), words))
        fail_msg("\"%s\" is not in \"%s\"", words, ss_error_text());
    assert_non_null(strstr(ss_error_text(), strrchr(path, '/') + 1));
    assert_int_equal(ss_mem_live(), 0);
}

static void files_of_others_are_named_as_such(void **state)
{
    const char *empty = folder_path(*state, "empty.h5");
    const char *text = folder_path(*state, "text.h5");
    const char *other = folder_path(*state, "other.h5");
    struct ss_run_data got;
    folder_put(*state, "empty.h5", "", 0);
    folder_put(*state, "text.h5", "hello, world\n", 13);
    H5Fclose(H5Fcreate(other, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
    expect_refused(empty, "is empty");
    expect_refused(text, "is not an HDF5 file");
    expect_refused(other, "of another program");
    assert_int_equal(
        ss_run_read(folder_path(*state, "none.h5"), SS_READ_ALL, &got, NULL),
        SS_ERR_CONFIG);
    assert_non_null(strstr(ss_error_text(), "none.h5.part"));
    expect_refused(*state, "holds no 0000.h5");
    mkfifo(folder_path(*state, "fifo.h5"), 0600);
    expect_refused(folder_path(*state, "fifo.h5"), "is not an HDF5 file");
}

static void a_part_is_not_a_run(void **state)
{
    write_parts(*state, 1);
    expect_refused(folder_path(*state, "a.h5.part/0001.h5"), "one part");
    expect_refused(folder_path(*state, "a.h5.part/0000.h5"), "one part");
}

static void a_newer_schema_is_said_so(void **state)
{
    const char *path = write_result(*state);
    damage_attr(path, "/", "schema", 2);
    expect_refused(path, "was written by a newer stepscale: schema 2, this "
                         "one reads up to 1");
    damage_attr(path, "/", "schema", 0);
    expect_refused(path, "schema is below 1");
}

static void truncated_files_are_refused(void **state)
{
    const char *path = write_result(*state);
    damage_truncate(path, -1);
    expect_refused(path, "is damaged: HDF5 cannot open it");
    damage_truncate(path, 2048);
    expect_refused(path, "is damaged: HDF5 cannot open it");
    damage_truncate(path, 9);
    expect_refused(path, "is damaged: HDF5 cannot open it");
    damage_truncate(path, 5);
    expect_refused(path, "is not an HDF5 file");
}

struct field_case {
    const char *dataset, *column;
    uint64_t row;
    double value;
    const char *words;
};

static const struct field_case field_cases[] = {
    {POINT "point", "index", 0, 7, "index is that of another point"},
    {POINT "point", "index", 0, 0, "point.index is 0"},
    {POINT "point", "size", 0, -1, "point.size is -1"},
    {POINT "point", "group_count", 0, 5, "group_first + size x group_count"},
    {POINT "point", "group_count", 0, -2, "point.group_count is -2"},
    {POINT "point", "filler_size", 0, 4, "filler_first + filler_size"},
    {POINT "point", "nodes", 0, -3, "point.nodes is -3"},
    {POINT "point", "flops", 0, NAN, "point.flops is nan"},
    {POINT "point", "model_flops", 0, -1, "point.model_flops is -1"},
    {POINT "point", "tokens", 0, -5, "point.tokens is -5"},
    {POINT "ranks", "rank", 1, 3, "ranks[1].rank is 3"},
    {POINT "ranks", "group", 1, 1, "ranks[1].group is 1"},
    {POINT "ranks", "collectives", 2, -1, "ranks[2].collectives is -1"},
    {POINT "blocks", "variant", 0, 3, "blocks[0].variant is 3"},
    {POINT "blocks", "steps", 1, -4, "blocks[1].steps is -4"},
    {POINT "blocks", "steps", 5, 5, "blocks[5].first + steps is 25"},
    {POINT "blocks", "first", 2, -1, "blocks[2].first is -1"},
    {POINT "blocks", "first", 2, 1e15, "blocks[2].first is 1000000000000000"},
    {POINT "terms", "rank", 0, 99, "terms[0].rank is 99"},
    {POINT "terms", "block", 3, 6, "terms[3].block is 6"},
    {POINT "terms", "block", 3, -1, "terms[3].block is -1"},
    {POINT "terms", "step", 1, 4, "terms[1].step is 4"},
    {POINT "net", "node", 0, 2, "net[0].node is 2"},
    {POINT "checks", "rank", 0, 3, "checks[0].rank is 3"},
    {"run/ranks", "rank", 0, 3, "ranks[0].rank is 3"},
    {"run/ranks", "node", 1, 2, "ranks[1].node is 2"},
};

static void impossible_values_are_refused(void **state)
{
    const char *good = write_result(*state);
    char copy[512];
    struct ss_buf bytes;
    snprintf(copy, sizeof copy, "%s", folder_path(*state, "copy.h5"));
    assert_int_equal(ss_read_file(good, 1 << 24, &bytes), SS_OK);
    for (size_t i = 0; i < SS_COUNT_OF(field_cases); i++) {
        const struct field_case *c = &field_cases[i];
        struct ss_run_data got;
        folder_put(*state, "copy.h5", bytes.data, bytes.len);
        damage_field(copy, c->dataset, c->column, c->row, c->value);
        assert_int_equal(ss_run_read(copy, SS_READ_ALL, &got, NULL),
                         SS_ERR_FORMAT);
        if (!strstr(ss_error_text(), c->words) ||
            !strstr(ss_error_text(), "copy.h5"))
            fail_msg("\"%s\" is not in \"%s\"", c->words, ss_error_text());
    }
    ss_buf_free(&bytes);
    assert_int_equal(ss_mem_live(), 0);
}

struct object_case {
    const char *object;
    int kind; /* of enum damage_kind; -1: removed */
    const char *words;
};

static const struct object_case object_cases[] = {
    {"run", -1, "/run is missing"},
    {"points", -1, "/points is missing"},
    {"run/config_yaml", -1, "/run/config_yaml is missing"},
    {POINT "point", -1, "/points/0001/point is missing"},
    {POINT "terms", -1, "/points/0001/terms is missing"},
    {POINT "step_ns", DAMAGE_FLAT_DOUBLES, "step_ns is not of type u32"},
    {POINT "step_ns", DAMAGE_OTHER_TABLE, "step_ns is not of type u32"},
    {POINT "step_ns", DAMAGE_HUGE, "claims more rows"},
    {POINT "step_ns", DAMAGE_WRONG_SHAPE, "claims more rows"},
    {POINT "step_ns", DAMAGE_LINK, "step_ns is missing"},
    {POINT "ranks", DAMAGE_FLAT_DOUBLES, "ranks is not a table"},
    {POINT "ranks", DAMAGE_OTHER_TABLE, "ranks has none of our columns"},
    {POINT "ranks", DAMAGE_TEXT_COLUMN, "column rank has another type"},
    {POINT "block_ranks", DAMAGE_OTHER_TABLE, "has 1 dimensions where 2"},
    {"run/config_yaml", DAMAGE_FLAT_DOUBLES, "config_yaml is not a text"},
    {"run/nodes", DAMAGE_LINK, "/run/nodes is missing"},
};

static void strange_objects_are_refused(void **state)
{
    const char *good = write_result(*state);
    char copy[512];
    struct ss_buf bytes;
    snprintf(copy, sizeof copy, "%s", folder_path(*state, "copy.h5"));
    assert_int_equal(ss_read_file(good, 1 << 24, &bytes), SS_OK);
    for (size_t i = 0; i < SS_COUNT_OF(object_cases); i++) {
        const struct object_case *c = &object_cases[i];
        struct ss_run_data got;
        folder_put(*state, "copy.h5", bytes.data, bytes.len);
        if (c->kind < 0)
            damage_remove(copy, c->object);
        else
            damage_replace(copy, c->object, (enum damage_kind)c->kind);
        assert_int_equal(ss_run_read(copy, SS_READ_ALL, &got, NULL),
                         SS_ERR_FORMAT);
        if (!strstr(ss_error_text(), c->words))
            fail_msg("\"%s\" is not in \"%s\"", c->words, ss_error_text());
    }
    ss_buf_free(&bytes);
    assert_int_equal(ss_mem_live(), 0);
}

/* Whatever byte is wrong, the answer is a status, never a crash or a hang. */
static void flipped_bytes_never_take_us_down(void **state)
{
    const char *good = write_result(*state);
    char copy[512];
    struct ss_buf bytes;
    int refused = 0;
    snprintf(copy, sizeof copy, "%s", folder_path(*state, "copy.h5"));
    assert_int_equal(ss_read_file(good, 1 << 24, &bytes), SS_OK);
    for (int i = 0; i < 60; i++) {
        struct ss_run_data got;
        enum ss_status status;
        folder_put(*state, "copy.h5", bytes.data, bytes.len);
        damage_flip(copy, (int64_t)(bytes.len * (size_t)i / 60));
        status = ss_run_read(copy, SS_READ_ALL, &got, NULL);
        assert_true(status == SS_OK || status == SS_ERR_FORMAT ||
                    status == SS_ERR_NO_MEMORY);
        if (status == SS_OK)
            ss_run_data_free(&got);
        else
            refused++;
    }
    ss_buf_free(&bytes);
    assert_true(refused > 5);
    assert_int_equal(ss_mem_live(), 0);
}

static void a_damaged_part_costs_its_point_only(void **state)
{
    const char *out = write_parts(*state, 3);
    struct ss_run_data got;
    struct ss_point_data point;
    struct ss_buf notes;
    ss_buf_init(&notes, 4096);
    damage_truncate(folder_path(*state, "a.h5.part/0002.h5"), -100);
    assert_int_equal(ss_run_read(out, SS_READ_ALL, &got, &notes), SS_OK);
    assert_int_equal(got.n_points, 2);
    sample_point(3, shape, &point);
    assert_true(sample_points_equal(&point, &got.point[1]));
    assert_non_null(strstr(ss_buf_text(&notes), "0002.h5 is damaged"));
    assert_string_equal(got.end_reason, "2 of 3 points were measured");
    ss_point_data_free(&point);
    ss_run_data_free(&got);
    ss_buf_free(&notes);
    assert_int_equal(ss_merge(out, NULL, 0, NULL), SS_ERR_FORMAT);
    assert_int_equal(access(folder_path(*state, "a.h5.part/0001.h5"), F_OK), 0);
}

static void parts_without_their_start_are_refused(void **state)
{
    write_parts(*state, 1);
    unlink(folder_path(*state, "a.h5.part/0000.h5"));
    expect_refused(folder_path(*state, "a.h5.part"), "holds no 0000.h5");
}

static void parts_of_another_run_are_refused(void **state)
{
    const char *out = write_parts(*state, 1);
    struct ss_point_data point;
    sample_point(2, shape, &point);
    assert_int_equal(ss_part_write_point(out, "run-2", &point), SS_OK);
    ss_point_data_free(&point);
    expect_refused(folder_path(*state, "a.h5.part"), "belongs to run run-2");
    assert_non_null(strstr(ss_error_text(), "run-1"));
}

static void a_part_that_was_renamed_is_noticed(void **state)
{
    const char *out = write_parts(*state, 1);
    struct ss_run_data got;
    struct ss_buf notes;
    ss_buf_init(&notes, 4096);
    assert_int_equal(rename(folder_path(*state, "a.h5.part/0001.h5"),
                            folder_path(*state, "a.h5.part/0009.h5")),
                     0);
    assert_int_equal(ss_run_read(out, SS_READ_ALL, &got, &notes), SS_OK);
    assert_int_equal(got.n_points, 0);
    assert_non_null(strstr(ss_buf_text(&notes), "does not hold point 9"));
    ss_run_data_free(&got);
    ss_buf_free(&notes);
}

static void other_minors_are_read(void **state)
{
    const char *path = write_result(*state);
    struct ss_run_data got;
    struct ss_point_data point;
    damage_drop_column(path, POINT "point", "soak_s");
    damage_drop_column(path, POINT "point", "held_constant");
    damage_drop_column(path, POINT "block_ranks", "energy_j");
    damage_drop_column(path, POINT "terms", "launch_ns");
    damage_add_column(path, POINT "terms", "tomorrow_ns");
    assert_int_equal(ss_run_read(path, SS_READ_ALL, &got, NULL), SS_OK);
    sample_point(1, shape, &point);
    assert_true(isnan(got.point[0].meta.soak_s));
    assert_string_equal(got.point[0].meta.held_constant, "");
    assert_true(isnan(got.point[0].block_rank[2].energy_j));
    assert_int_equal(got.point[0].terms[1].launch_ns, 0);
    assert_int_equal(got.point[0].terms[1].busy_ns, point.terms[1].busy_ns);
    ss_point_data_free(&point);
    ss_run_data_free(&got);
}

#define TEST(function)                                                         \
    cmocka_unit_test_setup_teardown(function, folder_open, folder_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(files_of_others_are_named_as_such),
        TEST(a_part_is_not_a_run),
        TEST(a_newer_schema_is_said_so),
        TEST(truncated_files_are_refused),
        TEST(impossible_values_are_refused),
        TEST(strange_objects_are_refused),
        TEST(flipped_bytes_never_take_us_down),
        TEST(a_damaged_part_costs_its_point_only),
        TEST(parts_without_their_start_are_refused),
        TEST(parts_of_another_run_are_refused),
        TEST(a_part_that_was_renamed_is_noticed),
        TEST(other_minors_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
