/* SPDX-License-Identifier: Apache-2.0 */
/* The pure part of clock alignment: interpolation and the bound. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "cluster/clocksync.h"

static const struct ss_clock_map map = {
    .before = {1000 * SS_NS_PER_S, 500, 20},
    .after = {1010 * SS_NS_PER_S, 700, 35},
};

static void drift_is_interpolated(void **state)
{
    (void)state;
    int64_t middle = 1005 * SS_NS_PER_S, later = 1008 * SS_NS_PER_S;
    assert_int_equal(ss_clock_align(&map, middle), middle + 600);
    assert_int_equal(ss_clock_align(&map, later), later + 660);
}

static void ends_hold_outside(void **state)
{
    (void)state;
    int64_t early = 900 * SS_NS_PER_S, late = 2000 * SS_NS_PER_S;
    assert_int_equal(ss_clock_align(&map, early), early + 500);
    assert_int_equal(ss_clock_align(&map, late), late + 700);
    assert_int_equal(ss_clock_bound(&map), 35);
}

/* One sample used twice, and a day of large offsets without rounding. */
static void degenerate_and_large(void **state)
{
    (void)state;
    struct ss_clock_map same = {map.before, map.before};
    assert_int_equal(ss_clock_align(&same, 5), 505);
    int64_t day = 86400 * SS_NS_PER_S, far = INT64_C(1) << 60;
    struct ss_clock_map wide = {{0, far, 1}, {day, far + 86400, 1}};
    assert_int_equal(ss_clock_align(&wide, day / 2), day / 2 + far + 86400 / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(drift_is_interpolated),
        cmocka_unit_test(ends_hold_outside),
        cmocka_unit_test(degenerate_and_large),
    };
    return cmocka_run_group_tests_name("clocksync", tests, NULL, NULL);
}
