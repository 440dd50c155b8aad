/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_TESTS_PLAN_CASE_H
#define SS_TESTS_PLAN_CASE_H

/* A plan in one line of a test. Include after cmocka.h. */
#include <string.h>

#include "plan/plan.h"

struct plan_case {
    const char *model; /**< a preset, or a path that ends in .json */
    int dp, tp, sp, micro;
    int64_t tokens; /**< per dp rank; 0: the model's x tp */
    int precision, grad;
    uint64_t bucket;
    int64_t layers, hidden; /**< 0: the model's */
};

struct plan_built {
    struct ss_model model;
    struct ss_plan_args args;
};

static inline void plan_case_model(const struct plan_case *c,
                                   struct ss_model *out)
{
    struct ss_config config;
    ss_config_default(&config);
    if (strstr(c->model, ".json"))
        ss_copy(config.model_file, sizeof config.model_file, c->model);
    else
        ss_copy(config.model_preset, sizeof config.model_preset, c->model);
    config.model_layers = c->layers;
    config.model_hidden = c->hidden;
    if (ss_model_resolve(&config, out) != SS_OK)
        fail_msg("%s: %s", c->model, ss_error_text());
}

/** `out` must stay where it is: args point into it. */
static inline void plan_case_make(const struct plan_case *c,
                                  struct plan_built *out)
{
    int tp = c->tp > 0 ? c->tp : 1;
    plan_case_model(c, &out->model);
    out->args = (struct ss_plan_args){
        .model = &out->model,
        .layout = {.dim = {c->dp > 0 ? c->dp : 1, tp, 1, 1, 1},
                   .sp = c->sp != 0,
                   .micro_batches = c->micro > 0 ? c->micro : 1},
        .tokens = c->tokens > 0 ? c->tokens : out->model.tokens * tp,
        .precision = c->precision ? c->precision : SS_PRECISION_BF16,
        .grad_dtype = c->grad ? c->grad : SS_GRAD_BF16,
        .bucket_bytes = c->bucket ? c->bucket : SS_PLAN_BUCKET_DEFAULT};
}

/** Builds and validates, or fails the test. */
static inline void plan_case_build(const struct plan_case *c,
                                   struct ss_plan *plan)
{
    struct plan_built built;
    plan_case_make(c, &built);
    if (ss_plan_build(&built.args, plan) != SS_OK)
        fail_msg("%s: %s", c->model, ss_error_text());
    if (ss_plan_validate(plan) != SS_OK)
        fail_msg("%s: %s", c->model, ss_error_text());
}

#endif
