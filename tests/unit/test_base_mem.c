/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Status texts, the heap's door and the arena: what fails must say so, what
 * lives must be counted, and the torture hook must hit exactly once.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/status.h"
#include "support/torture.h"

static void exit_codes_are_the_contract(void **state)
{
    static const struct {
        enum ss_status status;
        int code;
    } expected[] = {{SS_OK, 0},
                    {SS_ERR_CONFIG, 2},
                    {SS_ERR_FORMAT, 2},
                    {SS_ERR_VERIFY, 10},
                    {SS_ERR_STOPPED, 11},
                    {SS_ERR_IO, 12},
                    {SS_ERR_ENV, 12},
                    {SS_ERR_NO_MEMORY, 12},
                    {SS_ERR_DEVICE, 12},
                    {SS_ERR_INTERNAL, 12},
                    {SS_ERR_TRANSPORT, 13},
                    {SS_ERR_TIMEOUT, 13}};
    (void)state;
    assert_int_equal(SS_COUNT_OF(expected), SS_STATUS_COUNT);
    for (size_t i = 0; i < SS_COUNT_OF(expected); i++)
        assert_int_equal(ss_status_exit_code(expected[i].status),
                         expected[i].code);
    assert_string_equal(ss_status_name(SS_ERR_CONFIG), "SS_ERR_CONFIG");
    assert_string_equal(ss_status_text((enum ss_status)99), "internal error");
}

static void fail_may_quote_the_old_text(void **state)
{
    char longer[2 * SS_ERROR_TEXT_MAX];
    (void)state;
    assert_int_equal(ss_fail(SS_ERR_IO, "disk %d", 3), SS_ERR_IO);
    assert_int_equal(ss_fail(SS_ERR_IO, "a: %s", ss_error_text()), SS_ERR_IO);
    assert_string_equal(ss_error_text(), "a: disk 3");
    assert_int_equal(ss_fail(SS_ERR_IO, "\x1b[2J%s\n\t", "\x7f\xc3\xa4"),
                     SS_ERR_IO); /* nothing that steers a terminal */
    assert_string_equal(ss_error_text(), "?[2J?\xc3\xa4\n\t");
    memset(longer, 'x', sizeof longer);
    longer[sizeof longer - 1] = '\0';
    ss_error_set(longer);
    assert_int_equal(strlen(ss_error_text()), SS_ERROR_TEXT_MAX - 1);
    ss_error_set(ss_error_text() + 500);
    assert_string_equal(ss_error_text(), "xxxxxxxxxxx");
    ss_error_set(NULL);
    assert_string_equal(ss_error_text(), "");
}

static void memory_is_zeroed_and_counted(void **state)
{
    long live = ss_mem_live();
    unsigned char *bytes = ss_alloc(100, 3, "bytes");
    void *nothing = ss_alloc(0, 8, "nothing");
    char *text = ss_strdup("abc");
    (void)state;
    for (int i = 0; i < 300; i++)
        assert_int_equal(bytes[i], 0);
    assert_non_null(nothing);
    assert_string_equal(text, "abc");
    assert_int_equal(ss_mem_live(), live + 3);
    bytes[5] = 7;
    bytes = ss_realloc(bytes, 1000, 3, "bytes");
    assert_int_equal(bytes[5], 7);
    assert_int_equal(ss_mem_live(), live + 3);
    ss_free(bytes);
    ss_free(nothing);
    ss_free(text);
    ss_free(NULL);
    assert_int_equal(ss_mem_live(), live);
}

static void overflow_is_refused_with_the_need(void **state)
{
    (void)state;
    assert_null(ss_alloc(SIZE_MAX / 2, 4, "gradients"));
    assert_non_null(strstr(ss_error_text(), "for gradients"));
    assert_null(ss_alloc(SIZE_MAX, 1, "gradients"));
    assert_null(ss_realloc(NULL, SIZE_MAX / 8, 16, "gradients"));
}

static void the_nth_allocation_fails_once(void **state)
{
    void *first;
    void *third;
    long calls = ss_mem_calls();
    (void)state;
    ss_mem_fail_at(2);
    first = ss_alloc(1, 1, "a");
    assert_non_null(first);
    assert_null(ss_realloc(first, 18, 1000000000, "weights"));
    assert_non_null(strstr(ss_error_text(), "cannot allocate 18 GB for "
                                            "weights"));
    third = ss_alloc(1, 1, "c");
    assert_non_null(third);
    assert_int_equal(ss_mem_calls() - calls, 3);
    ss_free(first);
    ss_free(third);
}

static void arena_is_aligned_zeroed_and_stable(void **state)
{
    struct ss_arena *arena = NULL;
    long live = ss_mem_live();
    char *kept;
    (void)state;
    assert_int_equal(ss_arena_open(&arena), SS_OK);
    kept = ss_arena_strdup(arena, "kept");
    for (size_t size = 0; size < 5000; size += 7) {
        unsigned char *p = ss_arena_alloc(arena, size, 1);
        assert_int_equal((uintptr_t)p % 16, 0);
        for (size_t i = 0; i < size; i++)
            assert_int_equal(p[i], 0);
        memset(p, 0xAA, size);
    }
    assert_non_null(ss_arena_alloc(arena, 1000, 1000));
    assert_null(ss_arena_alloc(arena, SIZE_MAX / 2, 2));
    assert_null(ss_arena_alloc(arena, SIZE_MAX, 1));
    assert_string_equal(kept, "kept");
    ss_arena_close(arena);
    ss_arena_close(NULL);
    assert_int_equal(ss_mem_live(), live);
}

static enum ss_status use_arena(void *arg)
{
    struct ss_arena *arena = NULL;
    enum ss_status status = SS_OK;
    (void)arg;
    SS_TRY(ss_arena_open(&arena));
    for (int i = 0; i < 10 && status == SS_OK; i++) {
        if (!ss_arena_alloc(arena, 1, 50000))
            status = SS_ERR_NO_MEMORY;
    }
    ss_arena_close(arena);
    return status;
}

static void arena_survives_torture(void **state)
{
    (void)state;
    assert_int_equal(ss_torture(use_arena, NULL), 11);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exit_codes_are_the_contract),
        cmocka_unit_test(fail_may_quote_the_old_text),
        cmocka_unit_test(memory_is_zeroed_and_counted),
        cmocka_unit_test(overflow_is_refused_with_the_need),
        cmocka_unit_test(the_nth_allocation_fails_once),
        cmocka_unit_test(arena_is_aligned_zeroed_and_stable),
        cmocka_unit_test(arena_survives_torture),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
