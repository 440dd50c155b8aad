/* SPDX-License-Identifier: Apache-2.0 */
/* The table check refuses what would jump to NULL, and names are found. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "engine/exec.h"
#include "support/torture.h"

static void every_engine_of_the_build_passes(void **state)
{
    (void)state;
    const struct ss_engine_ops *const *list = ss_engine_list();
    int n = 0;
    for (; list[n]; n++)
        assert_null(ss_engine_check_ops(list[n]));
    assert_true(n >= 2); /* host and null; cuda where it is built */
}

static void a_table_that_lacks_a_member_is_refused(void **state)
{
    (void)state;
    struct ss_engine_ops ops = ss_engine_null;
    ops.drain = NULL;
    assert_string_equal(ss_engine_check_ops(&ops), "has no drain");
    ops = ss_engine_null;
    ops.open = NULL;
    assert_string_equal(ss_engine_check_ops(&ops), "has no open");
    ops = ss_engine_null;
    ops.name = "";
    assert_non_null(ss_engine_check_ops(&ops));
    ops = ss_engine_null;
    ops.version++;
    assert_non_null(ss_engine_check_ops(&ops));
}

static void caps_that_contradict_are_refused(void **state)
{
    (void)state;
    struct ss_engine_ops ops = ss_engine_null;
    ops.caps |= SS_CAP_DEVICE;
    assert_non_null(ss_engine_check_ops(&ops));
    ops.caps = SS_CAP_DEVICE; /* and its abort is NULL */
    assert_non_null(ss_engine_check_ops(&ops));
}

static void names_are_found_or_explained(void **state)
{
    (void)state;
    const struct ss_engine_ops *ops = NULL;
    assert_int_equal(ss_engine_find("host", &ops), SS_OK);
    assert_ptr_equal(ops, &ss_engine_host);
    if (ss_engine_find("cuda", &ops) != SS_OK)
        assert_non_null(strstr(ss_error_text(), "not built in"));
    assert_int_equal(ss_engine_find("nul", &ops), SS_ERR_CONFIG);
    assert_non_null(strstr(ss_error_text(), "did you mean null?"));
    assert_int_equal(ss_engine_find("quantum", &ops), SS_ERR_CONFIG);
}

static enum ss_status open_and_close(void *arg)
{
    struct ss_block_record record;
    (void)arg;
    SS_TRY(ss_block_record_open(5, 7, &record));
    enum ss_status status =
        record.event && record.mark && record.steps == 5 && record.ops == 7
            ? SS_OK
            : SS_ERR_INTERNAL;
    ss_block_record_close(&record);
    return status;
}

static void a_record_survives_want_of_memory(void **state)
{
    (void)state;
    assert_int_equal(ss_torture(open_and_close, NULL), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_engine_of_the_build_passes),
        cmocka_unit_test(a_table_that_lacks_a_member_is_refused),
        cmocka_unit_test(caps_that_contradict_are_refused),
        cmocka_unit_test(names_are_found_or_explained),
        cmocka_unit_test(a_record_survives_want_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
