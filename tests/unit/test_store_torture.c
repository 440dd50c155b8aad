/* SPDX-License-Identifier: Apache-2.0 */
/*
 * No memory, no space: each allocation of every public function fails once,
 * and the disk ends at every size. The answer is a status with a text, no
 * leak, no half file, and earlier parts are as they were.
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cmocka.h>

#include "store/provenance.h"
#include "store/read_file.h"
#include "store/store.h"
#include "support/store_folder.h"
#include "support/store_sample.h"
#include "support/torture.h"

#define RUN "run-1"

static const struct sample_shape shape = {
    .ranks = 3, .blocks_per_variant = 2, .steps = 4};

static struct ss_run_data run;
static struct ss_point_data point;

static int open_all(void **state)
{
    sample_run(RUN, shape.ranks, 2, &run);
    sample_point(1, shape, &point);
    return folder_open(state);
}

static int close_all(void **state)
{
    ss_run_data_free(&run);
    ss_point_data_free(&point);
    return folder_close(state);
}

static enum ss_status write_and_remove(void *folder)
{
    const char *out = folder_path(folder, "a.h5");
    enum ss_status status = ss_part_write_run(out, &run);
    if (status == SS_OK)
        status = ss_part_write_point(out, RUN, &point);
    unlink(folder_path(folder, "a.h5.part/0000.h5"));
    unlink(folder_path(folder, "a.h5.part/0001.h5"));
    if (access(folder_path(folder, "a.h5.part/0001.h5.tmp"), F_OK) == 0)
        fail_msg("a half file is left");
    return status;
}

static void writing_survives_lack_of_memory(void **state)
{
    assert_int_equal(ss_part_create(folder_path(*state, "a.h5")), SS_OK);
    assert_true(ss_torture(write_and_remove, *state) > 0);
}

static enum ss_status read_here(void *path)
{
    struct ss_file_want want = {.depth = SS_READ_ALL, .keep = true};
    struct ss_file_content content;
    SS_TRY(ss_file_read(path, want, &content));
    ss_file_content_free(&content);
    return SS_OK;
}

/* With the child process, which fails first, ss_torture cannot count. */
static void read_until_it_works(const char *path)
{
    enum ss_status status = SS_ERR_NO_MEMORY;
    long live = ss_mem_live();
    for (long n = 1; status != SS_OK; n++) {
        struct ss_run_data got;
        ss_mem_fail_at(n);
        status = ss_run_read(path, SS_READ_ALL, &got, NULL);
        ss_mem_fail_at(0);
        if (status == SS_OK)
            ss_run_data_free(&got);
        else
            assert_int_equal(status, SS_ERR_NO_MEMORY);
        assert_int_equal(ss_mem_live(), live);
    }
}

static void reading_survives_lack_of_memory(void **state)
{
    char path[512];
    struct ss_run_end end = {.verdict_code = 0};
    snprintf(path, sizeof path, "%s", folder_path(*state, "a.h5"));
    assert_int_equal(ss_part_create(path), SS_OK);
    assert_int_equal(ss_part_write_run(path, &run), SS_OK);
    assert_int_equal(ss_part_write_point(path, RUN, &point), SS_OK);
    folder_put(*state, "a.h5.part/last-1.txt", "words", 5);
    read_until_it_works(path);
    assert_int_equal(ss_merge(path, NULL, 0, &end), SS_OK);
    read_until_it_works(path);
    assert_true(ss_torture(read_here, path) > 10);
}

/* With an end, no child process reads the inputs first. */
static enum ss_status merge_and_remove(void *folder)
{
    const char *const inputs[] = {folder_path(folder, "a.h5")};
    struct ss_run_end end = {.verdict_code = 0};
    char out[512];
    enum ss_status status;
    snprintf(out, sizeof out, "%s", folder_path(folder, "b.h5"));
    status = ss_merge(out, inputs, 1, &end);
    unlink(out);
    if (access(folder_path(folder, "b.h5.tmp"), F_OK) == 0)
        fail_msg("a half file is left");
    return status;
}

static void merging_survives_lack_of_memory(void **state)
{
    const char *out = folder_path(*state, "a.h5");
    struct ss_run_end end = {.verdict_code = 0};
    assert_int_equal(ss_part_create(out), SS_OK);
    assert_int_equal(ss_part_write_run(out, &run), SS_OK);
    assert_int_equal(ss_part_write_point(out, RUN, &point), SS_OK);
    assert_int_equal(ss_merge(out, NULL, 0, &end), SS_OK);
    assert_true(ss_torture(merge_and_remove, *state) > 5);
}

static enum ss_status diff_three(void *unused)
{
    static const char *const texts[] = {"A=1\nB=2\n", "A=1\nC=3\n", "B=4\n"};
    struct ss_variable_row *rows;
    int n;
    (void)unused;
    SS_TRY(ss_variables_diff(texts, 3, &rows, &n));
    ss_free(rows);
    return SS_OK;
}

static void diffing_survives_lack_of_memory(void **state)
{
    (void)state;
    assert_true(ss_torture(diff_three, NULL) > 10);
}

static int64_t file_bytes(const char *path)
{
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    return (int64_t)info.st_size;
}

/* A file may not grow past `bytes`: write fails as on a full disk. */
static void limit_files(rlim_t bytes)
{
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void writing_survives_a_disk_that_ends_anywhere(void **state)
{
    char out[512];
    char path[512];
    char temp[520];
    int64_t whole;
    int refused = 0;
    snprintf(out, sizeof out, "%s", folder_path(*state, "a.h5"));
    snprintf(path, sizeof path, "%s", folder_path(*state, "a.h5.part/0001.h5"));
    snprintf(temp, sizeof temp, "%s.tmp", path);
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(ss_part_create(out), SS_OK);
    assert_int_equal(ss_part_write_run(out, &run), SS_OK);
    assert_int_equal(ss_part_write_point(out, RUN, &point), SS_OK);
    whole = file_bytes(path);
    point.meta.index = 2;
    for (int64_t at = 0; at < whole; at += whole / 97) {
        enum ss_status status;
        limit_files((rlim_t)at);
        status = ss_part_write_point(out, RUN, &point);
        limit_files(RLIM_INFINITY);
        assert_int_equal(status, SS_ERR_IO);
        if (!strstr(ss_error_text(), "0002.h5: file too large"))
            fail_msg("at %lld bytes: %s", (long long)at, ss_error_text());
        assert_int_equal(
            access(folder_path(*state, "a.h5.part/0002.h5.tmp"), F_OK), -1);
        refused++;
    }
    assert_true(refused >= 97);
    assert_int_equal(ss_part_write_point(out, RUN, &point), SS_OK);
    assert_int_equal(file_bytes(path), whole);
}

static bool mount_small_disk(const char *path)
{
    return mkdir(path, 0700) == 0 &&
           mount("stepscale", path, "tmpfs", 0, "size=200k") == 0;
}

static void a_full_disk_is_named(void **state)
{
    char disk[512];
    char out[600];
    struct ss_run_data got;
    enum ss_status status = SS_OK;
    int written = 0;
    snprintf(disk, sizeof disk, "%s", folder_path(*state, "disk"));
    snprintf(out, sizeof out, "%s/a.h5", disk);
    if (!mount_small_disk(disk))
        skip(); /* no right to mount */
    assert_int_equal(ss_part_create(out), SS_OK);
    assert_int_equal(ss_part_write_run(out, &run), SS_OK);
    for (int i = 1; i < 50 && status == SS_OK; i++) {
        point.meta.index = i;
        status = ss_part_write_point(out, RUN, &point);
        written += status == SS_OK;
    }
    assert_int_equal(status, SS_ERR_IO);
    assert_non_null(strstr(ss_error_text(), "no space left on device"));
    assert_non_null(strstr(ss_error_text(), out));
    assert_int_equal(ss_run_read(out, SS_READ_ALL, &got, NULL), SS_OK);
    assert_int_equal(got.n_points, written);
    ss_run_data_free(&got);
    assert_int_equal(ss_merge(out, NULL, 0, NULL), SS_ERR_IO);
    assert_non_null(strstr(ss_error_text(), "no space left on device"));
    assert_int_equal(ss_run_read(out, SS_READ_META, &got, NULL), SS_OK);
    assert_int_equal(got.n_points, written);
    ss_run_data_free(&got);
    assert_int_equal(umount(disk), 0);
}

#define TEST(function)                                                         \
    cmocka_unit_test_setup_teardown(function, open_all, close_all)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(writing_survives_lack_of_memory),
        TEST(reading_survives_lack_of_memory),
        TEST(merging_survives_lack_of_memory),
        TEST(diffing_survives_lack_of_memory),
        TEST(writing_survives_a_disk_that_ends_anywhere),
        TEST(a_full_disk_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
