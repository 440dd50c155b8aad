/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_TESTS_GOLDEN_H
#define SS_TESTS_GOLDEN_H

/*
 * Compares a text with a committed file; with SS_UPDATE_GOLDEN set, writes the
 * file instead. Tests run in the source folder. Include after cmocka.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"

static inline void golden_write(const char *path, const char *text)
{
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
    assert_int_equal(fclose(file), 0);
}

static inline void golden_check(const char *path, const char *text)
{
    struct ss_buf want;
    size_t at = 0;
    if (getenv("SS_UPDATE_GOLDEN"))
        golden_write(path, text);
    if (ss_read_file(path, 1 << 20, &want) != SS_OK)
        fail_msg("%s", ss_error_text());
    while (text[at] && text[at] == ss_buf_text(&want)[at])
        at++;
    if (text[at] != ss_buf_text(&want)[at])
        fail_msg("differs from %s at byte %zu: got \"%.60s\", want \"%.60s\"",
                 path, at, text + at, ss_buf_text(&want) + at);
    ss_buf_free(&want);
}

#endif
