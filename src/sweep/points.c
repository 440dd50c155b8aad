/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list of points: which sizes, modes and loads, and in which order. Pure,
 * so that every rank plans the same list from the same configuration and a
 * test can plan for machines that do not exist. Must not know engines or MPI.
 */
#include "sweep/points.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/random.h"
#include "base/str.h"

static void level_between(int low, int high, int depth, int *level)
{
    if (high - low < 2)
        return;
    int middle = low + (high - low) / 2;
    level[middle] = depth;
    level_between(low, middle, depth + 1, level);
    level_between(middle, high, depth + 1, level);
}

void ss_coarse_levels(int n, int *level)
{
    if (n > 0)
        level[0] = level[n - 1] = 0;
    level_between(0, n - 1, 1, level);
}

/** What the list is made from. */
struct planner {
    const struct ss_config *config;
    const struct ss_model *model;
    const struct ss_machine *machine;
    struct ss_sizes sizes;
    struct ss_sweep *sweep;
};

/** Adds one point; fills tokens or the reason why it is skipped. */
static enum ss_status add_point(const struct planner *planner,
                                const struct ss_sweep_point *like)
{
    struct ss_sweep *sweep = planner->sweep;
    struct ss_sweep_point *point = &sweep->point[sweep->n];

    *point = *like;
    point->base_size = sweep->base_size;
    SS_TRY(ss_layout_make(planner->config, point->size, &point->layout));
    SS_TRY(ss_plan_tokens(planner->config, planner->model, point->strong,
                          sweep->global_batch, &point->layout, &point->tokens,
                          point->skip, sizeof(point->skip)));
    sweep->n++;
    return SS_OK;
}

/** The two largest multi-node sizes below the world are worth the second way
 * of loading the fabric (DESIGN section 2). */
static bool wants_alone(const struct planner *planner, int i)
{
    const struct ss_sizes *sizes = &planner->sizes;
    int larger = 0;

    for (int j = i + 1; j < sizes->n; j++)
        larger += sizes->size[j] < planner->machine->world;
    return sizes->size[i] > planner->machine->devices_per_node && larger < 2;
}

/** All points of the i-th size in one mode. */
static enum ss_status add_size(const struct planner *planner, int i,
                               struct ss_sweep_point like)
{
    int mode = planner->config->groups_mode, world = planner->machine->world;

    like.size = planner->sizes.size[i];
    like.alone = like.size == world || mode == SS_GROUPS_ALONE;
    SS_TRY(add_point(planner, &like));
    if (like.alone)
        return SS_OK;
    if (world % like.size != 0) {
        struct ss_sweep_point shifted = like;
        shifted.pass = 1;
        SS_TRY(add_point(planner, &shifted));
    }
    if (mode == SS_GROUPS_BOTH || wants_alone(planner, i)) {
        struct ss_sweep_point alone = like;
        alone.alone = true;
        alone.optional = mode != SS_GROUPS_BOTH;
        alone.level += alone.optional ? 1000 : 0;
        SS_TRY(add_point(planner, &alone));
    }
    return SS_OK;
}

/** Stable counting by level after a shuffle: coarse first, random within. */
static enum ss_status order_points(struct ss_sweep *sweep)
{
    int n = sweep->n, *order = ss_alloc((size_t)n, sizeof(*order), "order");
    struct ss_sweep_point *copy = ss_alloc((size_t)n, sizeof(*copy), "points");
    struct ss_random random;
    enum ss_status status = SS_OK;
    int placed = 0;

    if (!order || !copy) {
        status = SS_ERR_NO_MEMORY;
        goto out;
    }
    for (int i = 0; i < n; i++)
        order[i] = i;
    ss_random_seed(&random, ss_mix64(sweep->seed ^ 0x706f696e74ull));
    ss_random_shuffle(&random, order, (size_t)n);
    memcpy(copy, sweep->point, (size_t)n * sizeof(*copy));
    for (int level = 0; placed < n; level++)
        for (int i = 0; i < n; i++)
            if (copy[order[i]].level == level) {
                sweep->point[placed] = copy[order[i]];
                sweep->point[placed].index = placed + 1;
                placed++;
            }
out:
    ss_free(copy);
    ss_free(order);
    return status;
}

static enum ss_status fill(const struct planner *planner)
{
    bool weak, strong;
    int n = planner->sizes.n;
    int *level = ss_alloc((size_t)n, sizeof(*level), "size levels");
    enum ss_status status = SS_OK;

    if (!level)
        return SS_ERR_NO_MEMORY;
    ss_coarse_levels(n, level);
    SS_TRY_GOTO(ss_config_modes(planner->config->scaling_modes, &weak, &strong),
                status, out);
    for (int i = 0; i < n; i++)
        for (int mode = 0; mode < 2; mode++) {
            struct ss_sweep_point like = {.strong = mode == 1,
                                          .level = level[i]};
            if (mode == 0 ? weak : strong)
                SS_TRY_GOTO(add_size(planner, i, like), status, out);
        }
    status = order_points(planner->sweep);
out:
    ss_free(level);
    return status;
}

enum ss_status ss_sweep_plan(const struct ss_config *config,
                             const struct ss_model *model,
                             const struct ss_machine *machine,
                             struct ss_sweep *out)
{
    struct ss_sweep sweep = {.seed = (uint64_t)config->measure_seed};
    struct planner planner = {config, model, machine, {NULL, 0}, &sweep};
    enum ss_status status;

    SS_TRY(ss_config_sizes(config->scaling_sizes, machine->world,
                           machine->nodes, machine->devices_per_node,
                           machine->domain, ss_layout_unit(config),
                           &planner.sizes));
    const struct ss_sizes sizes = planner.sizes;
    sweep.base_size = sizes.size[0];
    sweep.largest = sizes.size[sizes.n - 1];
    sweep.global_batch = ss_plan_global_batch(config, model, sweep.largest);
    /* two modes, each at most beside, shifted and alone */
    sweep.point =
        ss_alloc((size_t)sizes.n * 6, sizeof(*sweep.point), "list of points");
    if (!sweep.point)
        status = SS_ERR_NO_MEMORY;
    else
        status = fill(&planner);
    ss_free(sizes.size);
    if (status != SS_OK) {
        ss_sweep_free(&sweep);
        return status;
    }
    *out = sweep;
    return SS_OK;
}

void ss_sweep_free(struct ss_sweep *sweep)
{
    ss_free(sweep->point);
    sweep->point = NULL;
    sweep->n = 0;
}

void ss_point_held_constant(const struct ss_sweep_point *point,
                            const struct ss_sweep *sweep,
                            const struct ss_model *model, char *out,
                            size_t size)
{
    if (point->strong)
        ss_format(out, size, "%lld tokens per step",
                  (long long)sweep->global_batch);
    else
        ss_format(out, size, "%lld tokens per device",
                  (long long)model->tokens);
}
