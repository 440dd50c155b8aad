/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which element types follow from model.precision and model.grad_dtype. It
 * knows engines by name only, for what "auto" means on each.
 */
#include "plan/builder.h"

#include <string.h>

enum ss_dtype ss_plan_storage(int precision)
{
    switch (precision) {
    case SS_PRECISION_FP64:
        return SS_DT_F64;
    case SS_PRECISION_FP32:
    case SS_PRECISION_TF32:
        return SS_DT_F32;
    case SS_PRECISION_FP16:
        return SS_DT_FP16;
    default: /* fp8 is a format of GEMM operands, not of stored tensors */
        return SS_DT_BF16;
    }
}

enum ss_dtype ss_plan_grad_type(int grad_dtype)
{
    switch (grad_dtype) {
    case SS_GRAD_FP64:
        return SS_DT_F64;
    case SS_GRAD_FP32:
        return SS_DT_F32;
    case SS_GRAD_FP16:
        return SS_DT_FP16;
    default:
        return SS_DT_BF16;
    }
}

static int auto_grad(int precision)
{
    switch (ss_plan_storage(precision)) {
    case SS_DT_F64:
        return SS_GRAD_FP64;
    case SS_DT_F32:
        return SS_GRAD_FP32;
    case SS_DT_FP16:
        return SS_GRAD_FP16;
    default:
        return SS_GRAD_BF16;
    }
}

void ss_plan_precision(const struct ss_config *config, const char *engine,
                       int *precision, int *grad_dtype)
{
    *precision = config->model_precision;
    if (*precision == SS_PRECISION_AUTO)
        *precision =
            strcmp(engine, "host") == 0 ? SS_PRECISION_FP32 : SS_PRECISION_BF16;
    *grad_dtype = config->model_grad_dtype;
    if (*grad_dtype == SS_GRAD_AUTO)
        *grad_dtype = auto_grad(*precision);
}
