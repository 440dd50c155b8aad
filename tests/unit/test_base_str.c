/* SPDX-License-Identifier: Apache-2.0 */
/* Buffers, natural order, the nearest word, and whole files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/str.h"
#include "support/torture.h"

static void buffer_grows_and_stops_at_its_ceiling(void **state)
{
    struct ss_buf buf;
    (void)state;
    ss_buf_init(&buf, 10);
    assert_string_equal(ss_buf_text(&buf), "");
    ss_buf_printf(&buf, "%d", 12345);
    ss_buf_append(&buf, "6789a", 5);
    assert_string_equal(ss_buf_text(&buf), "123456789a");
    assert_int_equal(ss_buf_status(&buf), SS_OK);
    ss_buf_append(&buf, "b", 1);
    assert_int_equal(ss_buf_status(&buf), SS_ERR_NO_MEMORY);
    ss_buf_append(&buf, "", 0); /* sticky */
    assert_int_equal(ss_buf_status(&buf), SS_ERR_NO_MEMORY);
    assert_string_equal(ss_buf_text(&buf), "123456789a");
    ss_buf_free(&buf);
    assert_int_equal(ss_buf_status(&buf), SS_OK);
}

static enum ss_status fill_buffer(void *arg)
{
    struct ss_buf buf;
    enum ss_status status;
    (void)arg;
    ss_buf_init(&buf, 1 << 20);
    for (int i = 0; i < 1000; i++)
        ss_buf_printf(&buf, "line %d\n", i);
    status = ss_buf_status(&buf);
    ss_buf_free(&buf);
    return status;
}

static void buffer_survives_torture(void **state)
{
    (void)state;
    assert_true(ss_torture(fill_buffer, NULL) >= 5);
}

static void copies_say_when_they_cut(void **state)
{
    char out[4];
    (void)state;
    assert_true(ss_copy(out, sizeof out, "abc"));
    assert_false(ss_copy(out, sizeof out, "abcd"));
    assert_string_equal(out, "abc");
    assert_false(ss_format(out, sizeof out, "%d", 12345));
    assert_string_equal(out, "123");
    assert_false(ss_copy(out, 0, ""));
}

static void natural_order_is_total(void **state)
{
    static const char *const ascending[] = {"",
                                            "n",
                                            "node01",
                                            "node1",
                                            "node9",
                                            "node10",
                                            "node10a",
                                            "node10b1",
                                            "node10b02",
                                            "node011",
                                            "nodes",
                                            "z99999999999999999999999",
                                            "z100000000000000000000000"};
    (void)state;
    for (size_t i = 0; i < SS_COUNT_OF(ascending); i++) {
        for (size_t j = 0; j < SS_COUNT_OF(ascending); j++) {
            int order = ss_natural_compare(ascending[i], ascending[j]);
            assert_int_equal((order > 0) - (order < 0), (i > j) - (i < j));
        }
    }
}

static void nearest_word_is_near(void **state)
{
    static const char *const names[] = {"run", "report", "merge",
                                        "model.hidden", NULL};
    (void)state;
    assert_string_equal(ss_nearest("rpeort", names), "report");
    assert_string_equal(ss_nearest("RUN", names), "run");
    assert_string_equal(ss_nearest("model.hiden", names), "model.hidden");
    assert_null(ss_nearest("rxx", names)); /* two edits in three letters */
    assert_null(ss_nearest("compare", names));
    assert_null(ss_nearest("", names));
    assert_null(ss_nearest("x", (const char *const[]){NULL}));
}

static void long_words_have_no_neighbour(void **state)
{
    char word[300];
    const char *const names[] = {word, NULL};
    (void)state;
    memset(word, 'a', sizeof word - 1);
    word[sizeof word - 1] = '\0';
    assert_null(ss_nearest(word, names));
}

/* A file of `len` bytes in a fresh name; the caller unlinks it. */
static void make_file(char *path, const void *bytes, size_t len)
{
    int fd;
    ss_copy(path, 32, "/tmp/ss_test_XXXXXX");
    fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, len), (ssize_t)len);
    close(fd);
}

static void files_are_read_whole(void **state)
{
    struct ss_buf buf;
    char path[32];
    (void)state;
    make_file(path, "a\0b\n", 4);
    assert_int_equal(ss_read_file(path, 4, &buf), SS_OK);
    assert_int_equal(buf.len, 4);
    assert_memory_equal(buf.data, "a\0b\n", 5);
    ss_buf_free(&buf);
    assert_int_equal(ss_read_file(path, 3, &buf), SS_ERR_CONFIG);
    assert_non_null(strstr(ss_error_text(), path));
    unlink(path);
    assert_int_equal(ss_read_file(path, 4, &buf), SS_ERR_IO);
    assert_non_null(strstr(ss_error_text(), "No such file"));
    assert_int_equal(ss_read_file("/tmp", 4, &buf), SS_ERR_IO);
    assert_non_null(strstr(ss_error_text(), "directory"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(buffer_grows_and_stops_at_its_ceiling),
        cmocka_unit_test(buffer_survives_torture),
        cmocka_unit_test(copies_say_when_they_cut),
        cmocka_unit_test(natural_order_is_total),
        cmocka_unit_test(nearest_word_is_near),
        cmocka_unit_test(long_words_have_no_neighbour),
        cmocka_unit_test(files_are_read_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
