/* SPDX-License-Identifier: Apache-2.0 */
/* Log lines as they reach stderr: levels, form, one line each, no stdout. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/log.h"
#include "base/str.h"

/* Runs `speak` with stderr in a file; what was written comes in `out`. */
static void capture(void (*speak)(void), char *out, size_t size)
{
    FILE *file = tmpfile();
    int saved = dup(STDERR_FILENO);
    ssize_t got;
    assert_non_null(file);
    assert_true(dup2(fileno(file), STDERR_FILENO) >= 0);
    speak();
    assert_true(dup2(saved, STDERR_FILENO) >= 0);
    close(saved);
    got = pread(fileno(file), out, size - 1, 0);
    assert_true(got >= 0);
    out[got] = '\0';
    fclose(file);
}

static void speak_at_warn(void)
{
    ss_log_setup(SS_LOG_WARN, "node07", 3);
    ss_log(SS_LOG_WARN, "cluster", "device %s is shared", "cpu");
    ss_log(SS_LOG_INFO, "cluster", "not shown");
}

static void a_line_names_host_rank_room_and_level(void **state)
{
    char out[4096];
    (void)state;
    capture(speak_at_warn, out, sizeof out);
    assert_non_null(
        strstr(out, " node07:3 cluster warn device cpu is shared\n"));
    assert_null(strstr(out, "not shown"));
    assert_true(ss_log_enabled(SS_LOG_ERROR));
    assert_false(ss_log_enabled(SS_LOG_INFO));
}

static void speak_long(void)
{
    char text[5000];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    ss_log(SS_LOG_ERROR, "base", "%s", text);
    ss_progress("%s", text); /* no terminal, and the first: nothing */
    ss_progress_end();
}

static void long_lines_are_cut_and_end(void **state)
{
    char out[8192];
    (void)state;
    capture(speak_long, out, sizeof out);
    assert_true(strlen(out) <= 1024);
    assert_ptr_equal(strchr(out, '\n'), out + strlen(out) - 1);
    assert_null(strchr(out, '\r'));
}

static void levels_are_parsed(void **state)
{
    enum ss_log_level level = SS_LOG_ERROR;
    (void)state;
    assert_true(ss_log_parse_level("debug", &level));
    assert_int_equal(level, SS_LOG_DEBUG);
    assert_false(ss_log_parse_level("DEBUG", &level));
    assert_false(ss_log_parse_level("", &level));
    assert_int_equal(level, SS_LOG_DEBUG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_names_host_rank_room_and_level),
        cmocka_unit_test(long_lines_are_cut_and_end),
        cmocka_unit_test(levels_are_parsed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
