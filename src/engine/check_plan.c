/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which checks a plan needs, in which order, and whether the state at hand can
 * bear one: the part of check_all that no engine may answer differently. Must
 * not know where data lie, nor how an engine compares them.
 */
#include <math.h>

#include "engine/check.h"
#include "engine/exec.h"

/* With a constant gradient AdamW moves a weight by about LR a step: so many
 * keep the numbers of a timed run in their range. */
#define STEPS_BETWEEN_FILLS 64
/* The check of the state allows 10 %: half of it is left for AdamW. */
#define VARIANCE_SHARE 0.05

void ss_state_age_clear(struct ss_state_age *age)
{
    *age = (struct ss_state_age){.last_variant = -1};
}

bool ss_state_age_needs_reset(const struct ss_state_age *age,
                              enum ss_variant next)
{
    bool changed = age->last_variant >= 0 && age->last_variant != (int)next;
    return age->stale || changed || age->steps >= STEPS_BETWEEN_FILLS;
}

/* AdamW moves a weight by at most about LR a step, always the same way when
 * the batch is the same: for so many steps the variance of the weights stays
 * near its start. From shapes alone, so that all ranks agree. */
static int64_t steps_within(const struct ss_model *model)
{
    double elems = 0, sum = 0;
    for (int i = 0; i < model->n_linears; i++) {
        const struct ss_linear *l = &model->linear[i];
        elems += (double)l->in * (double)l->out;
        sum += (double)l->out; /* each of in x out has the variance 1 / in */
    }
    return (int64_t)(sqrt(VARIANCE_SHARE * sum / elems) / SS_ADAMW_LR);
}

/* The state after timed whole steps is worth most; where another variant came
 * last, or so many steps that the variance may have grown, a few whole steps
 * from the start are looked at instead. */
static enum ss_status whole_state_all(const struct ss_plan_check *check)
{
    const struct ss_block_spec spec = {
        .variant = SS_WHOLE, .steps = SS_TRIAL_STEPS, .number = -1};
    const struct ss_state_age *age = check->age;
    bool tells = !age->stale && age->last_variant == SS_WHOLE &&
                 age->steps > 0 &&
                 age->steps <= steps_within(&check->plan->model);
    if (tells)
        return SS_OK;
    SS_TRY(check->engine->ops->reset(check->engine));
    return ss_exec_block(check->engine, check->plan, &spec, check->trial);
}

static enum ss_status colls_all(const struct ss_plan_check *check,
                                struct ss_check_sink *sink)
{
    for (int kind = 0; kind < SS_OP_KINDS; kind++) {
        enum ss_coll known;
        if (!ss_coll_of((enum ss_op_kind)kind, &known))
            continue;
        for (int dim = 0; dim < SS_DIMS; dim++) {
            int op = ss_coll_largest(check->plan, (enum ss_op_kind)kind,
                                     (enum ss_dim)dim);
            if (op >= 0)
                SS_TRY(check->coll_all(check->engine, op, sink));
        }
    }
    return SS_OK;
}

enum ss_status ss_check_plan_all(const struct ss_plan_check *check,
                                 struct ss_check_sink *sink)
{
    if (check->age && sink->when[0] == 'a') {
        SS_TRY(whole_state_all(check));
        SS_TRY(check->state_all(check->engine, sink));
    }
    if (check->age)
        check->age->stale = true;
    SS_TRY(colls_all(check, sink));
    return check->age ? check->gemms(check->engine, sink) : SS_OK;
}
