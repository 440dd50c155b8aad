/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_SWEEP_POINTS_H
#define SS_SWEEP_POINTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "config/config.h"
#include "plan/plan.h"

/** What the list of points needs to know of the machine. */
struct ss_machine {
    int world, nodes, devices_per_node, domain;
};

/** One configuration to be measured (DESIGN section 1, "point"). */
struct ss_sweep_point {
    int index; /**< 1-based position in the planned order */
    bool strong;
    bool alone; /**< one group, the others idle */
    int pass;   /**< 1: the shifted groups that cover left-over ranks */
    int size, base_size;
    struct ss_layout layout;
    int64_t tokens; /**< per data-parallel rank and step; 0: skipped */
    char skip[160]; /**< why, when tokens is 0 */
    bool optional;  /**< only when the budget allows (alone beside the curve) */
    int level;      /**< coarse-first level, 0 first */
    bool done;      /**< measured by the run that this one resumes */
};

/** The planned points in the order they will run. */
struct ss_sweep {
    struct ss_sweep_point *point; /**< owned */
    int n;
    int base_size, largest;
    int64_t global_batch;
    uint64_t seed;
};

/**
 * Plans the sweep. Pure; equal on all ranks for equal input. Sizes in
 * coarse-first order: the ends of the curve, then the middle of each gap;
 * within a level the order is shuffled with the recorded seed. SS_ERR_CONFIG
 * for sizes or layouts that cannot be.
 */
enum ss_status ss_sweep_plan(const struct ss_config *config,
                             const struct ss_model *model,
                             const struct ss_machine *machine,
                             struct ss_sweep *out);
void ss_sweep_free(struct ss_sweep *sweep);

/** Pure: coarse-first level of each of n ascending items: 0 for the ends, then
 * 1 for the middle of the gap, and so on. */
void ss_coarse_levels(int n, int *level);

/** What is held constant, in the words of a report row. */
void ss_point_held_constant(const struct ss_sweep_point *point,
                            const struct ss_sweep *sweep,
                            const struct ss_model *model, char *out,
                            size_t size);

#endif
