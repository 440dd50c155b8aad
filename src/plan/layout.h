/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_PLAN_LAYOUT_H
#define SS_PLAN_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "config/config.h"
#include "timing/phase.h"

/** Sizes of the parallel groups of one point. size = product of dim[]. */
struct ss_layout {
    int dim[SS_DIMS]; /**< dp, tp, pp, ep, cp */
    int zero;
    bool sp;
    int micro_batches;
};
/** Where a rank of the group stands: tp varies fastest, then cp, ep, pp, dp. */
struct ss_coords {
    int at[SS_DIMS];
};

/** Layout of a group of `size`: the axis grows, the other dims as configured.
 * SS_ERR_CONFIG when it does not divide. */
enum ss_status ss_layout_make(const struct ss_config *config, int size,
                              struct ss_layout *out);
int ss_layout_size(const struct ss_layout *layout);
/** Product of the dims that do not grow. */
int ss_layout_unit(const struct ss_config *config);
/** The dimension of scaling.axis. */
enum ss_dim ss_layout_axis(const struct ss_config *config);
void ss_layout_coords(const struct ss_layout *layout, int rank,
                      struct ss_coords *out);
int ss_layout_rank(const struct ss_layout *layout, const struct ss_coords *at);
/** Color that splits a group into the communicators of one dim; the key is the
 * rank's coordinate in it. */
int ss_layout_color(const struct ss_layout *layout, int rank, enum ss_dim dim);

#endif
