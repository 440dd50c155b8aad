/* SPDX-License-Identifier: Apache-2.0 */
/* The file of measured algorithms: what is written is read again, what is
 * damaged is not believed, and two writers keep each other's lines. */
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
#include "engine/gemm_cache.h"

static struct ss_gemm_choice choice_of(uint64_t key)
{
    struct ss_gemm_choice c = {.key = key,
                               .fused = key % 2 != 0,
                               .candidates = 16,
                               .chosen = (int)(key % 16),
                               .first_ms = 0.5F,
                               .best_ms = 0.4375F};
    for (size_t i = 0; i < SS_GEMM_ALGO_WORDS; i++)
        c.algo[i] = key * 0x9e3779b97f4a7c15U + i;
    return c;
}

static void fill(struct ss_gemm_cache *cache, uint64_t from, uint64_t n)
{
    for (uint64_t key = from; key < from + n; key++) {
        const struct ss_gemm_choice c = choice_of(key);
        assert_int_equal(ss_gemm_cache_put(cache, &c), SS_OK);
    }
}

static void expect(const struct ss_gemm_cache *cache, uint64_t key)
{
    const struct ss_gemm_choice want = choice_of(key);
    const struct ss_gemm_choice *got = ss_gemm_cache_find(cache, key);
    assert_non_null(got);
    assert_int_equal(got->fused, want.fused);
    assert_int_equal(got->chosen, want.chosen);
    assert_int_equal(got->candidates, want.candidates);
    assert_true(got->first_ms == want.first_ms && got->best_ms == want.best_ms);
    assert_memory_equal(got->algo, want.algo, sizeof(want.algo));
}

static void text_comes_back(void **state)
{
    (void)state;
    struct ss_gemm_cache a = {0}, b = {0};
    struct ss_buf text;
    fill(&a, 1, 40);
    assert_true(a.changed);
    ss_buf_init(&text, 1 << 20);
    ss_gemm_cache_print(&a, &text);
    assert_int_equal(ss_gemm_cache_parse(&b, ss_buf_text(&text)), SS_OK);
    assert_int_equal(b.n, 40);
    assert_false(b.changed);
    for (uint64_t key = 1; key <= 40; key++)
        expect(&b, key);
    assert_null(ss_gemm_cache_find(&b, 41));
    ss_buf_free(&text);
    ss_gemm_cache_free(&a);
    ss_gemm_cache_free(&b);
}

/* Any one character changed: that line is gone, and only that one. */
static void damage_is_not_believed(void **state)
{
    (void)state;
    struct ss_gemm_cache a = {0};
    struct ss_buf text;
    fill(&a, 7, 2);
    ss_buf_init(&text, 1 << 20);
    ss_gemm_cache_print(&a, &text);
    ss_gemm_cache_free(&a);
    char *line = ss_strdup(ss_buf_text(&text));
    size_t first = strcspn(line, "\n");
    for (size_t i = 0; i <= first; i++) {
        struct ss_gemm_cache b = {0};
        char was = line[i];
        line[i] = was == 'x' ? 'y' : 'x';
        assert_int_equal(ss_gemm_cache_parse(&b, line), SS_OK);
        /* without its end, the first line swallows the second */
        assert_int_equal(b.n, i < first ? 1 : 0);
        line[i] = was;
        ss_gemm_cache_free(&b);
    }
    for (size_t n = 0; n < first; n++) {
        struct ss_gemm_cache b = {0};
        char was = line[n];
        line[n] = '\0';
        assert_int_equal(ss_gemm_cache_parse(&b, line), SS_OK);
        assert_int_equal(b.n, 0);
        line[n] = was;
        ss_gemm_cache_free(&b);
    }
    ss_free(line);
    ss_buf_free(&text);
}

static void the_same_key_is_replaced(void **state)
{
    (void)state;
    struct ss_gemm_cache a = {0};
    struct ss_gemm_choice c = choice_of(3);
    fill(&a, 3, 1);
    a.changed = false;
    assert_int_equal(ss_gemm_cache_put(&a, &c), SS_OK);
    assert_false(a.changed);
    c.algo[0]++;
    assert_int_equal(ss_gemm_cache_put(&a, &c), SS_OK);
    assert_true(a.changed);
    assert_int_equal(a.n, 1);
    assert_true(ss_gemm_cache_find(&a, 3)->algo[0] == c.algo[0]);
    ss_gemm_cache_free(&a);
}

static void two_writers_keep_each_others_lines(void **state)
{
    (void)state;
    char folder[] = "/tmp/gemm_cache.XXXXXX", path[128];
    struct ss_gemm_cache a = {0}, b = {0}, both = {0};
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof(path), "%s/deep/er/products", folder);
    assert_int_equal(ss_gemm_cache_read(&a, path), SS_OK);
    assert_int_equal(a.n, 0);
    fill(&a, 1, 3);
    fill(&b, 3, 3);
    assert_int_equal(ss_gemm_cache_write(&a, path), SS_OK);
    assert_false(a.changed);
    assert_int_equal(ss_gemm_cache_write(&b, path), SS_OK);
    assert_int_equal(ss_gemm_cache_read(&both, path), SS_OK);
    assert_int_equal(both.n, 5);
    for (uint64_t key = 1; key <= 5; key++)
        expect(&both, key);
    ss_gemm_cache_free(&a);
    ss_gemm_cache_free(&b);
    ss_gemm_cache_free(&both);
    assert_int_equal(unlink(path), 0);
    (void)snprintf(path, sizeof(path), "%s/deep/er", folder);
    assert_int_equal(rmdir(path), 0);
    (void)snprintf(path, sizeof(path), "%s/deep", folder);
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(rmdir(folder), 0);
}

static void a_place_that_cannot_be_written_is_told(void **state)
{
    (void)state;
    struct ss_gemm_cache a = {0};
    fill(&a, 1, 1);
    assert_int_equal(ss_gemm_cache_write(&a, "/dev/null/products"), SS_ERR_IO);
    assert_non_null(strstr(ss_error_text(), "device.gemm_cache"));
    assert_true(a.changed);
    ss_gemm_cache_free(&a);
}

static void the_path_follows_option_and_environment(void **state)
{
    (void)state;
    char path[64];
    assert_false(ss_gemm_cache_path("off", path, sizeof(path)));
    assert_true(ss_gemm_cache_path("/x/y", path, sizeof(path)));
    assert_string_equal(path, "/x/y");
    assert_int_equal(setenv("XDG_CACHE_HOME", "/cache", 1), 0);
    assert_true(ss_gemm_cache_path("auto", path, sizeof(path)));
    assert_string_equal(path, "/cache/stepscale/products");
    assert_int_equal(unsetenv("XDG_CACHE_HOME"), 0);
    assert_int_equal(setenv("HOME", "/home/u", 1), 0);
    assert_true(ss_gemm_cache_path("auto", path, sizeof(path)));
    assert_string_equal(path, "/home/u/.cache/stepscale/products");
    assert_int_equal(unsetenv("HOME"), 0);
    assert_false(ss_gemm_cache_path("auto", path, sizeof(path)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_comes_back),
        cmocka_unit_test(damage_is_not_believed),
        cmocka_unit_test(the_same_key_is_replaced),
        cmocka_unit_test(two_writers_keep_each_others_lines),
        cmocka_unit_test(a_place_that_cannot_be_written_is_told),
        cmocka_unit_test(the_path_follows_option_and_environment),
    };
    return cmocka_run_group_tests_name("cache of products", tests, NULL, NULL);
}
