/* SPDX-License-Identifier: Apache-2.0 */
/* The runtime cases over real MPI, and what only MPI has. */
#include "support/rank_main.h"

#include <signal.h>
#include <string.h>

#include "cluster/agree.h"
#include "support/rt_cases.h"

static void run_case(void **state)
{
    const struct rt_case *one = *state;
    enum ss_status status = one->run(rank_world(), NULL);
    if (status != SS_OK)
        fail_msg("%s: %s", ss_status_name(status), ss_error_text());
}

static void version_is_one_line(void **state)
{
    (void)state;
    struct ss_rt *rt = rank_world();
    const char *version = rt->ops->version(rt);
    assert_true(strlen(version) > 4);
    assert_null(strpbrk(version, ",\n"));
}

/* A wrong peer comes back as words, not as an abort. */
static void errors_return(void **state)
{
    (void)state;
    struct ss_rt *rt = rank_world();
    char byte = 0;
    if (rt->size > 1) {
        assert_int_equal(rt->ops->send(rt, &byte, 1, rt->size, 0),
                         SS_ERR_TRANSPORT);
        assert_non_null(strstr(ss_error_text(), "MPI_Send failed: "));
    }
    assert_int_equal(ss_barrier_all(rt), SS_OK);
}

static void stop_reaches_all(void **state)
{
    (void)state;
    struct ss_rt *rt = rank_world();
    ss_stop_install();
    assert_int_equal(ss_agree_or_stop_all(rt, SS_OK), SS_OK);
    if (rt->rank == rt->size - 1)
        raise(SIGTERM);
    assert_int_equal(ss_agree_or_stop_all(rt, SS_OK), SS_ERR_STOPPED);
    assert_non_null(strstr(ss_error_text(), "stopped by SIGTERM"));
}

int main(int argc, char **argv)
{
    static const struct CMUnitTest own[] = {
        cmocka_unit_test(version_is_one_line),
        cmocka_unit_test(errors_return),
        cmocka_unit_test(stop_reaches_all),
    };
    struct CMUnitTest tests[64];
    size_t n = 0;
    for (; n < rt_cases_count; n++)
        tests[n] = (struct CMUnitTest){rt_cases[n].name, run_case, NULL, NULL,
                                       (void *)(uintptr_t)&rt_cases[n]};
    memcpy(&tests[n], own, sizeof(own));
    n += SS_COUNT_OF(own);
    return rank_main(argc, argv, "test_rt_mpi", tests, n);
}
