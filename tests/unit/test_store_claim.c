/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several processes and one result: what stands is not touched, one at a time
 * writes or merges, and a half-written file never gets a result's name. A lock
 * belongs to an open folder, so that one process can play two.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "store/disk_file.h"
#include "store/store.h"
#include "support/store_folder.h"
#include "support/store_sample.h"

static void assert_said(const char *words)
{
    if (!strstr(ss_error_text(), words))
        fail_msg("\"%s\" is not in: %s", words, ss_error_text());
}

static void refuses(const char *out, const char *words)
{
    assert_int_equal(ss_part_create(out), SS_ERR_CONFIG);
    assert_said(words);
}

static void write_parts(const char *out, int points)
{
    static const struct sample_shape shape = {
        .ranks = 4, .blocks_per_variant = 3, .steps = 5};
    struct ss_run_data run;
    assert_int_equal(ss_part_create(out), SS_OK);
    sample_run("run-1", 4, points, &run);
    assert_int_equal(ss_part_write_run(out, &run), SS_OK);
    ss_run_data_free(&run);
    for (int i = 1; i <= points; i++) {
        struct ss_point_data point;
        sample_point(i, shape, &point);
        assert_int_equal(ss_part_write_point(out, "run-1", &point), SS_OK);
        ss_point_data_free(&point);
    }
}

static void what_stands_is_refused_by_its_kind(void **state)
{
    const char *folder = *state;
    folder_put(folder, "file.h5", "x", 1);
    assert_int_equal(mkdir(folder_path(folder, "folder.h5"), 0777), 0);
    assert_int_equal(mkfifo(folder_path(folder, "pipe.h5"), 0666), 0);
    assert_int_equal(symlink("nowhere", folder_path(folder, "link.h5")), 0);
    refuses(folder_path(folder, "file.h5"), "from an earlier run");
    refuses(folder_path(folder, "folder.h5"), "is a folder");
    refuses(folder_path(folder, "pipe.h5"), "is no plain file");
    refuses(folder_path(folder, "link.h5"), "is no plain file");
}

static void what_stands_in_the_folders_place_is_refused_too(void **state)
{
    const char *folder = *state;
    folder_put(folder, "a.h5.part", "x", 1);
    assert_int_equal(symlink("nowhere", folder_path(folder, "b.h5.part")), 0);
    assert_int_equal(mkdir(folder_path(folder, "c.h5.part"), 0777), 0);
    refuses(folder_path(folder, "a.h5"), "is no folder");
    refuses(folder_path(folder, "b.h5"), "leads nowhere");
    refuses(folder_path(folder, "c.h5"), "holds no points");
    folder_put(folder, "c.h5.part/0001.h5", "x", 1);
    refuses(folder_path(folder, "c.h5"), "--resume");
    assert_said("stepscale merge");
}

static void one_at_a_time(void **state)
{
    const char *out = folder_path(*state, "a.h5");
    const char *folder = folder_path(*state, "a.h5.part");
    int mine = 0, other = 0;
    write_parts(out, 2);
    assert_int_equal(ss_part_claim(folder, &mine), SS_OK);
    if (mine == 0)
        skip(); /* this file system has no locks */
    assert_int_equal(ss_part_claim(folder, &other), SS_ERR_CONFIG);
    assert_said("in use by another stepscale");
    assert_int_equal(other, 0);
    assert_int_equal(ss_part_resume(out, &other), SS_ERR_CONFIG);
    assert_int_equal(ss_merge(out, NULL, 0, NULL), SS_ERR_CONFIG);
    assert_said("in use by another stepscale");
    assert_int_equal(access(folder_path(*state, "a.h5.part/0002.h5"), F_OK), 0);
    ss_part_unclaim(&mine);
    ss_part_unclaim(&mine); /* nothing */
    assert_int_equal(ss_merge(out, NULL, 0, NULL), SS_OK);
    assert_int_equal(access(folder, F_OK), -1);
}

/* The first of two that write the same path loses its unfinished file. */
static void a_half_written_file_gets_no_name(void **state)
{
    const char *path = folder_path(*state, "r.h5");
    const char *temp = folder_path(*state, "r.h5.tmp");
    struct ss_disk_file first, second, third;
    assert_int_equal(ss_disk_create(path, &first), SS_OK);
    assert_int_equal(ss_disk_create(path, &second), SS_OK);
    assert_int_equal(ss_disk_finish(&first, SS_OK), SS_ERR_CONFIG);
    assert_said("another process wrote");
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(access(temp, F_OK), 0);
    assert_int_equal(ss_disk_finish(&second, SS_OK), SS_OK);
    assert_int_equal(access(path, F_OK), 0);
    assert_int_equal(access(temp, F_OK), -1);
    assert_int_equal(ss_disk_create(path, &third), SS_ERR_CONFIG);
    assert_said("never overwritten");
}

static void a_finished_file_is_not_replaced(void **state)
{
    const char *path = folder_path(*state, "r.h5");
    struct ss_disk_file file;
    struct stat info;
    assert_int_equal(ss_disk_create(path, &file), SS_OK);
    folder_put(*state, "r.h5", "precious", 8);
    assert_int_equal(ss_disk_finish(&file, SS_OK), SS_ERR_CONFIG);
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_size, 8);
    assert_int_equal(access(folder_path(*state, "r.h5.tmp"), F_OK), -1);
}

#define CASE(function)                                                         \
    cmocka_unit_test_setup_teardown(function, folder_open, folder_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(what_stands_is_refused_by_its_kind),
        CASE(what_stands_in_the_folders_place_is_refused_too),
        CASE(one_at_a_time),
        CASE(a_half_written_file_gets_no_name),
        CASE(a_finished_file_is_not_replaced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
