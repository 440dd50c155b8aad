/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What can be planned, checked before anything is allocated: every refusal
 * names the number that does not fit and what would. It must not know how the
 * step is put together.
 */
#include <inttypes.h>

#include "plan/builder.h"

static enum ss_status check_layout(const struct ss_plan_args *a)
{
    const struct ss_layout *l = &a->layout;
    for (int d = SS_DIM_PP; d < SS_DIMS; d++) {
        if (l->dim[d] > 1)
            return ss_fail(SS_ERR_CONFIG,
                           "layout.%s %d: this version plans dp and tp only; "
                           "set it to 1",
                           ss_dim_name((enum ss_dim)d), l->dim[d]);
    }
    if (l->zero > 0)
        return ss_fail(SS_ERR_CONFIG,
                       "layout.zero %d: this version plans dp and tp only; "
                       "set it to 0",
                       l->zero);
    for (int d = 0; d < SS_DIMS; d++) {
        if (l->dim[d] < 1 || a->coords.at[d] < 0 ||
            a->coords.at[d] >= l->dim[d])
            return ss_fail(SS_ERR_INTERNAL, "a plan was asked for %s %d of %d",
                           ss_dim_name((enum ss_dim)d), a->coords.at[d],
                           l->dim[d]);
    }
    return SS_OK;
}

static enum ss_status check_tokens(const struct ss_plan_args *a)
{
    int micro = a->layout.micro_batches, tp = a->layout.dim[SS_DIM_TP];
    if (a->tokens < 1 || micro < 1 || a->tokens % micro != 0)
        return ss_fail(SS_ERR_CONFIG,
                       "%" PRId64
                       " tokens do not divide into %d micro-batches; "
                       "change model.tokens or layout.micro_batches",
                       a->tokens, micro);
    if (a->layout.sp && a->tokens / micro % tp != 0)
        return ss_fail(SS_ERR_CONFIG,
                       "sequence parallel needs the %" PRId64
                       " tokens of a micro-batch to divide by tp %d; change "
                       "model.tokens or layout.tp",
                       a->tokens / micro, tp);
    return SS_OK;
}

static enum ss_status check_splits(int64_t size, const char *what, int tp,
                                   const struct ss_model *m)
{
    if (size % tp == 0)
        return SS_OK;
    return ss_fail(SS_ERR_CONFIG,
                   "%s %" PRId64 " of %s does not divide by tp %d; choose a "
                   "layout.tp that divides it",
                   what, size, m->name, tp);
}

static enum ss_status check_tp(const struct ss_plan_args *a)
{
    const struct ss_model *m = a->model;
    int tp = a->layout.dim[SS_DIM_TP];
    SS_TRY(check_splits(m->hidden, "hidden size", tp, m));
    SS_TRY(check_splits(m->ffn, "feed-forward size", tp, m));
    SS_TRY(check_splits(m->heads, "number of attention heads", tp, m));
    SS_TRY(check_splits(m->kv_heads, "number of key-value heads", tp, m));
    for (int i = 0; i < m->n_linears; i++) {
        const struct ss_linear *l = &m->linear[i];
        SS_TRY(check_splits(l->column ? l->out : l->in, l->name, tp, m));
    }
    return SS_OK;
}

static enum ss_status check_types(const struct ss_plan_args *a)
{
    enum ss_dtype storage;
    if (a->precision <= SS_PRECISION_AUTO || a->precision > SS_PRECISION_FP8 ||
        a->grad_dtype <= SS_GRAD_AUTO || a->grad_dtype > SS_GRAD_FP16)
        return ss_fail(SS_ERR_INTERNAL, "a plan needs resolved precisions");
    storage = ss_plan_storage(a->precision);
    if (ss_plan_grad_type(a->grad_dtype) == storage ||
        (ss_dtype_size(storage) == 2 && a->grad_dtype == SS_GRAD_FP32))
        return SS_OK;
    return ss_fail(SS_ERR_CONFIG,
                   "model.grad_dtype %s does not go with weights in %s; use "
                   "auto%s",
                   ss_dtype_name(ss_plan_grad_type(a->grad_dtype)),
                   ss_dtype_name(storage),
                   ss_dtype_size(storage) == 2 ? " or fp32" : "");
}

enum ss_status ss_plan_check(const struct ss_plan_args *args)
{
    SS_TRY(check_layout(args));
    SS_TRY(check_tokens(args));
    SS_TRY(check_tp(args));
    return check_types(args);
}

static bool fits_block(const struct ss_model *m, int first, int row)
{
    const struct ss_linear *end = &m->linear[row];
    int source = first == 0 ? -1 : first - 1;
    for (int i = first; i < row; i++) {
        const struct ss_linear *l = &m->linear[i];
        if (l->source != source || l->in != m->hidden || l->join >= i ||
            (l->join >= 0 && l->join < first))
            return false;
    }
    return row > first && end->out == m->hidden &&
           (end->source == SS_SOURCE_CORE ||
            (end->source >= first && end->source < row &&
             m->linear[end->source].out == end->in));
}

enum ss_status ss_plan_blocks(const struct ss_model *model,
                              struct ss_block *block, int *n)
{
    int first = 0;
    *n = 0;
    for (int i = 0; i < model->n_linears; i++) {
        if (model->linear[i].column)
            continue;
        if (!fits_block(model, first, i))
            break;
        block[*n] = (struct ss_block){.first = first, .row = i};
        (*n)++;
        first = i + 1;
    }
    if (*n == 0 || first != model->n_linears || model->layers < 1)
        return ss_fail(SS_ERR_CONFIG,
                       "model %s is not a stack of blocks of column-split "
                       "Linears with a row-split one at the end",
                       model->name);
    return SS_OK;
}
