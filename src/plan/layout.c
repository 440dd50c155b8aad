/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranks of a group as points of a grid dp x pp x ep x cp x tp, tensor parallel
 * fastest so that its ranks are neighbours. Arithmetic only: it must not know
 * nodes, and not which layouts can be planned.
 */
#include "plan/layout.h"

#include <inttypes.h>
#include <limits.h>

/* From the fastest to the slowest. */
static const enum ss_dim rank_order[SS_DIMS] = {SS_DIM_TP, SS_DIM_CP, SS_DIM_EP,
                                                SS_DIM_PP, SS_DIM_DP};

enum ss_dim ss_layout_axis(const struct ss_config *config)
{
    return (enum ss_dim)config->scaling_axis; /* listed in the same order */
}

/* A dimension that does not grow. dp = 0 means "what is left": nothing. */
static int64_t fixed_dim(const struct ss_config *config, enum ss_dim dim)
{
    switch (dim) {
    case SS_DIM_DP:
        return config->layout_dp > 0 ? config->layout_dp : 1;
    case SS_DIM_TP:
        return config->layout_tp;
    case SS_DIM_PP:
        return config->layout_pp;
    case SS_DIM_EP:
        return config->layout_ep;
    default:
        return config->layout_cp;
    }
}

int ss_layout_unit(const struct ss_config *config)
{
    enum ss_dim axis = ss_layout_axis(config);
    int64_t unit = 1;
    for (int d = 0; d < SS_DIMS; d++) {
        if ((enum ss_dim)d == axis)
            continue;
        unit *= fixed_dim(config, (enum ss_dim)d);
        if (unit > INT_MAX)
            return INT_MAX; /* no world is that large */
    }
    return (int)unit;
}

static enum ss_status refuse_size(const struct ss_layout *layout, int size,
                                  int unit, enum ss_dim axis)
{
    char text[80];
    struct ss_buf list;
    ss_buf_init(&list, sizeof text);
    for (int d = 0; d < SS_DIMS; d++) {
        if ((enum ss_dim)d != axis && layout->dim[d] > 1)
            ss_buf_printf(&list, " %s %d", ss_dim_name((enum ss_dim)d),
                          layout->dim[d]);
    }
    ss_copy(text, sizeof text, ss_buf_text(&list));
    ss_buf_free(&list);
    return ss_fail(SS_ERR_CONFIG,
                   "size %d is not a multiple of %d, the product of the fixed "
                   "dimensions (layout%s); change scaling.sizes or the layout",
                   size, unit, text);
}

enum ss_status ss_layout_make(const struct ss_config *config, int size,
                              struct ss_layout *out)
{
    enum ss_dim axis = ss_layout_axis(config);
    int unit = ss_layout_unit(config);
    struct ss_layout layout = {.zero = (int)config->layout_zero,
                               .sp = config->layout_sp != 0,
                               .micro_batches =
                                   (int)config->layout_micro_batches};
    for (int d = 0; d < SS_DIMS; d++)
        layout.dim[d] = (int)fixed_dim(config, (enum ss_dim)d);
    if (size < 1 || size % unit != 0)
        return refuse_size(&layout, size, unit, axis);
    layout.dim[axis] = size / unit;
    if (axis == SS_DIM_DP && config->layout_dp > 0 &&
        config->layout_dp != layout.dim[SS_DIM_DP])
        return ss_fail(SS_ERR_CONFIG,
                       "layout.dp %" PRId64 " x %d in the other dimensions "
                       "does not give the size %d; leave layout.dp at 0 and it "
                       "follows from the size",
                       config->layout_dp, unit, size);
    *out = layout;
    return SS_OK;
}

int ss_layout_size(const struct ss_layout *layout)
{
    int size = 1;
    for (int d = 0; d < SS_DIMS; d++)
        size *= layout->dim[d];
    return size;
}

void ss_layout_coords(const struct ss_layout *layout, int rank,
                      struct ss_coords *out)
{
    for (int i = 0; i < SS_DIMS; i++) {
        enum ss_dim d = rank_order[i];
        out->at[d] = rank % layout->dim[d];
        rank /= layout->dim[d];
    }
}

int ss_layout_rank(const struct ss_layout *layout, const struct ss_coords *at)
{
    int rank = 0;
    for (int i = SS_DIMS - 1; i >= 0; i--) {
        enum ss_dim d = rank_order[i];
        rank = rank * layout->dim[d] + at->at[d];
    }
    return rank;
}

int ss_layout_color(const struct ss_layout *layout, int rank, enum ss_dim dim)
{
    struct ss_coords at;
    ss_layout_coords(layout, rank, &at);
    at.at[dim] = 0; /* the communicator is named after its first rank */
    return ss_layout_rank(layout, &at);
}
