/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums over the ranks of a layout. Ranks whose plans differ in nothing but
 * names are one class, planned once: 100,000 ranks cost as much as a handful.
 */
#include "plan/plan.h"

/* Does a rank's plan depend on its coordinate in this dimension? dp, tp, ep and
 * cp ranks do the same on other data; pipeline stages differ. */
static const bool matters[SS_DIMS] = {[SS_DIM_PP] = true};

static void add_class(struct ss_plan_totals *t, const struct ss_plan *plan,
                      int ranks)
{
    double memory = ss_plan_memory(plan);
    t->ranks += ranks;
    t->classes++;
    t->flops += ranks * plan->flops;
    t->model_flops += ranks * plan->model_flops;
    if (memory > t->memory_max)
        t->memory_max = memory;
    for (int p = 0; p < SS_PHASES; p++) {
        t->phase_flops[p] += ranks * plan->phase_flops[p];
        t->phase_bytes[p] += ranks * plan->phase_bytes[p];
    }
    for (int d = 0; d < SS_DIMS; d++)
        t->comm_bytes[d] += ranks * plan->comm_bytes[d];
}

/* The next combination of the coordinates that matter; false after the last. */
static bool next_class(const struct ss_layout *layout, struct ss_coords *at)
{
    for (int d = 0; d < SS_DIMS; d++) {
        if (!matters[d])
            continue;
        if (++at->at[d] < layout->dim[d])
            return true;
        at->at[d] = 0;
    }
    return false;
}

enum ss_status ss_plan_totals(const struct ss_plan_args *args,
                              struct ss_plan_totals *out)
{
    struct ss_plan_args one = *args;
    int ranks = 1;
    *out = (struct ss_plan_totals){.ranks = 0};
    one.coords = (struct ss_coords){.at = {0}};
    for (int d = 0; d < SS_DIMS; d++)
        ranks *= matters[d] ? 1 : args->layout.dim[d];
    do {
        struct ss_plan plan;
        SS_TRY(ss_plan_build(&one, &plan));
        add_class(out, &plan, ranks);
        ss_plan_free(&plan);
    } while (next_class(&args->layout, &one.coords));
    return SS_OK;
}
