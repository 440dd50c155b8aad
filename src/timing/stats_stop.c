/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When a point has been measured long enough. Looking often and stopping at
 * the first narrow interval selects intervals that are narrow by luck, so the
 * looks are few: each waits for half as many blocks again. Knows no clock: the
 * caller says what was spent.
 */
#include <math.h>

#include "timing/stats.h"

#define STEP_MIN 6

static bool all_precise(const struct ss_stop_rule *rule,
                        const struct ss_estimate *e, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!(ss_half_width(&e[i]) <= rule->precision))
            return false;
    return true;
}

/* Blocks to run before the next look. */
static size_t next_look(const struct ss_stop_rule *rule, size_t blocks,
                        int64_t left_ns, int64_t spent_ns)
{
    size_t next = blocks / 2 > STEP_MIN ? blocks / 2 : STEP_MIN;
    if (blocks < rule->min_blocks)
        next = rule->min_blocks - blocks;
    if (next > rule->max_blocks - blocks)
        next = rule->max_blocks - blocks;
    if (blocks > 0 && spent_ns > 0) {
        double fit = (double)left_ns * (double)blocks / (double)spent_ns;
        if (fit < (double)next)
            next = (size_t)ceil(fit);
    }
    return next ? next : 1;
}

/* Seven values make the decision; a struct of them would be filled in one
 * place and read in one. NOLINTNEXTLINE(readability-function-size) */
enum ss_stop ss_stop_decide(const struct ss_stop_rule *rule,
                            const struct ss_estimate *estimates, size_t n,
                            size_t blocks, int64_t spent_ns, int64_t budget_ns,
                            size_t *next)
{
    *next = 0;
    if (blocks >= rule->min_blocks && blocks > 0 &&
        all_precise(rule, estimates, n))
        return SS_STOP_PRECISE;
    if (blocks >= rule->max_blocks)
        return SS_STOP_BLOCKS;
    if (spent_ns >= budget_ns)
        return SS_STOP_BUDGET;
    *next = next_look(rule, blocks, budget_ns - spent_ns, spent_ns);
    return SS_STOP_NO;
}
