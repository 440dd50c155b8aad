/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_TESTS_PARTS_SAMPLE_H
#define SS_TESTS_PARTS_SAMPLE_H

#include "support/store_sample.h"

/* What write_parts writes and read_parts expects. */
#define PARTS_RUN_ID "00000000-0000-4000-8000-000000000001"

/** Every second point has 64-bit step times. */
static inline void parts_point(int index, int ranks, struct ss_point_data *out)
{
    const struct sample_shape shape = {.ranks = ranks,
                                       .blocks_per_variant = 3,
                                       .steps = 5,
                                       .wide = index % 2 == 0};
    sample_point(index, shape, out);
}

#endif
