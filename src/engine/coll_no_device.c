/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A build without CUDA and NCCL has no collectives on device memory, and says
 * so.
 */
#include "engine/coll_lib.h"

enum ss_status ss_coll_device_open(const struct ss_config *config,
                                   const struct ss_place *place,
                                   struct ss_coll_lib *out)
{
    (void)config, (void)place;
    *out = (struct ss_coll_lib){0};
    return ss_fail(SS_ERR_ENV, "this build has no CUDA and NCCL; leave out "
                               "probe.library=nccl");
}
