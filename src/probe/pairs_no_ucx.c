/* SPDX-License-Identifier: Apache-2.0 */
/* Without UCX: there is no such lane, and --version says so. */
#include "probe/lane.h"

bool ss_lane_has_ucx(void)
{
    return false;
}

enum ss_status ss_lane_ucx_open_all(struct ss_rt *world, size_t slot_bytes,
                                    struct ss_lane *tag, struct ss_lane *put)
{
    (void)world;
    (void)slot_bytes;
    (void)tag;
    (void)put;
    return ss_fail(SS_ERR_ENV, "this build is without UCX");
}
