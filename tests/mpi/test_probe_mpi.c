/* SPDX-License-Identifier: Apache-2.0 */
/* A whole probe over real MPI, and over UCX where it is built in. */
#include <stdlib.h>

#include "support/rank_main.h"

#include "base/str.h"
#include "cluster/agree.h"
#include "probe/lane.h"
#include "support/probe_cases.h"

static void ranks_of_a_host_are_paired(void **state)
{
    static const char *const settings[] = {
        "probe.pairs=device", "measure.budget=600ms",
        "probe.ops=all_reduce,sendrecv", "probe.sizes=8,64k,256k", NULL};
    static const char *const with[] = {"mpi", "ucx_tag", "ucx_put", NULL};
    static const char *const without[] = {"mpi", NULL};
    struct ss_rt *rt = rank_world();
    char folder[] = "/tmp/ss-probe-XXXXXX", out[64] = "";
    const char *wrong = "";
    (void)state;
    if (rt->rank == 0) {
        assert_non_null(mkdtemp(folder));
        ss_format(out, sizeof out, "%s/a.h5", folder);
    }
    assert_int_equal(ss_bcast_all(rt, out, sizeof out, 0), SS_OK);
    if (probe_case_all(rt, out, settings) != SS_OK)
        fail_msg("%s", ss_error_text());
    if (rt->rank == 0) {
        wrong = probe_case_check(out, "device", rt->size,
                                 ss_lane_has_ucx() ? with : without);
        char command[128];
        ss_format(command, sizeof command, "rm -rf %s", folder);
        assert_int_equal(system(command), 0);
    }
    if (wrong[0])
        fail_msg("%s", wrong);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_of_a_host_are_paired),
    };
    return rank_main(argc, argv, "test_probe_mpi", tests,
                     sizeof tests / sizeof *tests);
}
