/* SPDX-License-Identifier: Apache-2.0 */
/* The largest size that started, and the next one that did not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analysis/reduce.h"
#include "base/str.h"

struct planted {
    int size;
    const char *status;
};

static void expect(const struct planted *points, int n, int hang_size,
                   int started, int failed)
{
    static struct ss_point_data data[8];
    struct ss_run_data run = {.point = data, .n_points = n};
    struct ss_analysis_args args = {.run = &run, .hang_size = hang_size};
    struct ss_result result = {0};

    for (int i = 0; i < n; i++) {
        data[i].meta.size = points[i].size;
        ss_copy(data[i].meta.status, sizeof(data[i].meta.status),
                points[i].status);
    }
    ss_startup_find(&args, &result);
    assert_int_equal(result.largest_started, started);
    assert_int_equal(result.not_started, failed);
}

static void test_all_started(void **state)
{
    static const struct planted points[] = {
        {8, "ok"}, {1, "too_few_samples"}, {4, "failed"}, {16, "skipped"}};

    (void)state;
    expect(points, 4, 0, 8, 0);
    expect(points, 4, 4, 8, 0); /* a hang at a size that had started */
}

static void test_the_next_size_fails(void **state)
{
    static const struct planted points[] = {
        {32, "failed"}, {1, "ok"}, {16, "failed"}, {8, "no_steady_state"}};

    (void)state;
    expect(points, 4, 0, 8, 16);
    expect(points, 4, 12, 8, 12);
    expect(points, 4, 64, 8, 16);
}

static void test_a_hang_leaves_no_point(void **state)
{
    static const struct planted points[] = {{1, "ok"}, {17, "ok"}};

    (void)state;
    expect(points, 2, 18, 17, 18);
    expect(points, 0, 18, 0, 18);
    expect(points, 0, 0, 0, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_started),
        cmocka_unit_test(test_the_next_size_fails),
        cmocka_unit_test(test_a_hang_leaves_no_point),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
