/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See plan_interp.h. What a rank does not own is NaN until some op writes it,
 * so a read before the first write shows in the results.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/plan_interp.h"

#include <math.h>

#include "base/mem.h"
#include "base/random.h"

double interp_value(char kind, int a, int b, int64_t row, int64_t col)
{
    const uint64_t words[] = {(uint64_t)kind, (uint64_t)a, (uint64_t)b,
                              (uint64_t)row, (uint64_t)col};
    return 0.5 * ss_normal_from_word(ss_mix_words(words, 5));
}

static void fill_weights(struct interp *in, int rank)
{
    const struct ss_model *m = &in->built.model;
    int tp = in->built.args.layout.dim[SS_DIM_TP];
    int at = in->plan[rank].coords.at[SS_DIM_TP];
    double *w = in->data[rank][SS_BUF_WEIGHT];
    for (int layer = 0; layer < m->layers; layer++) {
        for (int i = 0; i < m->n_linears; i++) {
            const struct ss_linear *l = &m->linear[i];
            int64_t rows = l->column ? l->out / tp : l->out;
            int64_t cols = l->column ? l->in : l->in / tp;
            int64_t row0 = l->column ? at * rows : 0;
            int64_t col0 = l->column ? 0 : at * cols;
            for (int64_t k = 0; k < rows * cols; k++)
                *w++ = interp_value('w', layer, i, row0 + k / cols,
                                    col0 + k % cols);
        }
    }
    assert_int_equal(w - in->data[rank][SS_BUF_WEIGHT], in->plan[rank].params);
}

/* INPUT as plan.h says: batch, output gradient (both shards with sp), core. The
 * offsets come from the ops that read them. */
static void fill_matrix(struct interp *in, int rank, char kind, uint64_t at)
{
    const struct ss_plan *p = &in->plan[rank];
    int tp = p->layout.dim[SS_DIM_TP], hidden = (int)p->model.hidden;
    int64_t rows = p->layout.sp ? p->micro_tokens / tp : p->micro_tokens;
    int64_t row0 = p->layout.sp ? rows * p->coords.at[SS_DIM_TP] : 0;
    for (int64_t k = 0; k < rows * hidden; k++)
        in->data[rank][SS_BUF_INPUT][at + (uint64_t)k] = interp_value(
            kind, p->coords.at[SS_DIM_DP], 0, row0 + k / hidden, k % hidden);
}

static void fill_input(struct interp *in, int rank)
{
    const struct ss_plan *p = &in->plan[rank];
    uint64_t n = p->buffer[SS_BUF_INPUT].elems;
    bool has_dy = false;
    for (uint64_t k = 0; k < n; k++) /* the core's part keeps this */
        in->data[rank][SS_BUF_INPUT][k] =
            interp_value('c', p->coords.at[SS_DIM_DP], p->coords.at[SS_DIM_TP],
                         (int64_t)k, 0);
    fill_matrix(in, rank, 'x', p->op[0].a.at);
    for (int i = 0; i < p->n_ops && !has_dy; i++) {
        if (!p->op[i].backward || p->op[i].a.buf != SS_BUF_INPUT)
            continue;
        fill_matrix(in, rank, 'y', p->op[i].a.at);
        has_dy = true;
    }
    assert_true(has_dy);
}

static void open_rank(struct interp *in, int rank)
{
    struct ss_plan_args args = in->built.args;
    ss_layout_coords(&args.layout, rank, &args.coords);
    assert_int_equal(ss_plan_build(&args, &in->plan[rank]), SS_OK);
    assert_int_equal(ss_plan_validate(&in->plan[rank]), SS_OK);
    for (int r = 0; r < SS_BUF_ROLES; r++) {
        uint64_t n = in->plan[rank].buffer[r].elems;
        bool zero = r == SS_BUF_MOMENT1 || r == SS_BUF_MOMENT2;
        in->data[rank][r] = ss_alloc(n, sizeof(double), "interpreter");
        assert_non_null(in->data[rank][r]);
        for (uint64_t k = 0; k < n && !zero; k++)
            in->data[rank][r][k] = NAN;
    }
    fill_weights(in, rank);
    fill_input(in, rank);
}

void interp_open(const struct plan_case *c, struct interp *out)
{
    memset(out, 0, sizeof *out);
    plan_case_make(c, &out->built);
    out->n = ss_layout_size(&out->built.args.layout);
    assert_in_range(out->n, 1, INTERP_RANKS_MAX);
    for (int rank = 0; rank < out->n; rank++)
        open_rank(out, rank);
}

void interp_close(struct interp *in)
{
    for (int rank = 0; rank < in->n; rank++) {
        ss_plan_free(&in->plan[rank]);
        for (int r = 0; r < SS_BUF_ROLES; r++)
            ss_free(in->data[rank][r]);
    }
}

static double *at(struct interp *in, int rank, struct ss_ref ref)
{
    return ref.buf < 0 ? NULL : in->data[rank][ref.buf] + ref.at;
}

static void run_gemm(struct interp *in, int rank, const struct ss_op *op)
{
    const double *a = at(in, rank, op->a), *b = at(in, rank, op->b);
    double *c = at(in, rank, op->c);
    for (int64_t i = 0; i < op->m; i++) {
        for (int64_t j = 0; j < op->n; j++) {
            double sum = op->accumulate ? c[i * op->n + j] : 0;
            for (int64_t k = 0; k < op->k; k++)
                sum += a[op->ta ? k * op->m + i : i * op->k + k] *
                       b[op->tb ? j * op->k + k : k * op->n + j];
            c[i * op->n + j] = sum;
        }
    }
}

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static double gelu_slope(double x)
{
    double s = sqrt(2 / acos(-1.0));
    double t = tanh(s * (x + 0.044715 * x * x * x));
    return 0.5 * (1 + t) +
           0.5 * x * (1 - t * t) * s * (1 + 3 * 0.044715 * x * x);
}

static double gelu(double x)
{
    double s = sqrt(2 / acos(-1.0));
    return 0.5 * x * (1 + tanh(s * (x + 0.044715 * x * x * x)));
}

static void run_map(struct interp *in, int rank, const struct ss_op *op)
{
    const double *a = at(in, rank, op->a), *b = at(in, rank, op->b);
    double *c = at(in, rank, op->c), *d = at(in, rank, op->d);
    for (uint64_t i = 0; i < op->count; i++) {
        double s = sigmoid(a[i]), g = c[i];
        switch (op->map) {
        case SS_MAP_GELU:
            c[i] = gelu(a[i]);
            break;
        case SS_MAP_GELU_BWD:
            c[i] = a[i] * gelu_slope(b[i]);
            break;
        case SS_MAP_MUL_SILU:
            c[i] = a[i] * s * b[i];
            break;
        case SS_MAP_MUL_SILU_BWD:
            d[i] = g * b[i] * s * (1 + a[i] * (1 - s));
            c[i] = g * a[i] * s;
            break;
        default:
            fail_msg("map %d", (int)op->map);
        }
    }
}

static void run_adamw(struct interp *in, int rank, const struct ss_op *op)
{
    double *w = at(in, rank, op->a), *g = at(in, rank, op->b);
    double *m = at(in, rank, op->c), *v = at(in, rank, op->d);
    double dp = in->plan[rank].layout.dim[SS_DIM_DP], t = in->step + 1;
    for (uint64_t i = 0; i < op->count; i++) {
        double x = g[i] / dp;
        m[i] = SS_ADAMW_BETA1 * m[i] + (1 - SS_ADAMW_BETA1) * x;
        v[i] = SS_ADAMW_BETA2 * v[i] + (1 - SS_ADAMW_BETA2) * x * x;
        w[i] -=
            SS_ADAMW_LR *
            (SS_ADAMW_DECAY * w[i] +
             m[i] / (1 - pow(SS_ADAMW_BETA1, t)) /
                 (sqrt(v[i] / (1 - pow(SS_ADAMW_BETA2, t))) + SS_ADAMW_EPS));
    }
}

/* The ranks of one communicator, in its order. */
static int members(const struct interp *in, int rank, enum ss_dim dim, int *out)
{
    const struct ss_layout *l = &in->built.args.layout;
    int n = 0;
    for (int r = 0; r < in->n; r++) {
        if (ss_layout_color(l, r, dim) == ss_layout_color(l, rank, dim))
            out[n++] = r;
    }
    return n;
}

/* All at once for the members: op->count as in rt.h. */
static void run_collective(struct interp *in, const int *rank, int n,
                           const struct ss_op *op)
{
    double *scratch = ss_alloc(op->count * (uint64_t)n, sizeof(double), "sum");
    uint64_t full =
        op->count * (op->kind == SS_OP_ALL_REDUCE ? 1 : (uint64_t)n);
    assert_non_null(scratch);
    for (int r = 0; r < n; r++) {
        struct ss_ref from = op->kind == SS_OP_ALL_REDUCE ? op->c : op->a;
        const double *part = at(in, rank[r], from);
        if (op->kind == SS_OP_ALL_GATHER)
            memcpy(scratch + (uint64_t)r * op->count, part,
                   op->count * sizeof *part);
        for (uint64_t i = 0; op->kind != SS_OP_ALL_GATHER && i < full; i++)
            scratch[i] += part[i];
    }
    for (int r = 0; r < n; r++) {
        bool scatter = op->kind == SS_OP_REDUCE_SCATTER;
        memcpy(at(in, rank[r], op->c),
               scratch + (scatter ? (uint64_t)r * op->count : 0),
               (scatter ? op->count : full) * sizeof *scratch);
    }
    ss_free(scratch);
}

static void run_comm(struct interp *in, const struct ss_op *op)
{
    for (int rank = 0; rank < in->n; rank++) {
        int member[INTERP_RANKS_MAX];
        int n = members(in, rank, op->dim, member);
        if (n > 0 && member[0] == rank) /* once per communicator */
            run_collective(in, member, n, op);
    }
}

static void run_compute(struct interp *in, int rank, const struct ss_op *op)
{
    if (op->kind == SS_OP_GEMM)
        run_gemm(in, rank, op);
    else if (op->kind == SS_OP_ELEMENTWISE)
        run_map(in, rank, op);
    else if (op->kind == SS_OP_OPTIMIZER)
        run_adamw(in, rank, op);
    else
        fail_msg("op %s", op->name);
}

void interp_step(struct interp *in)
{
    for (int i = 0; i < in->plan[0].n_ops; i++) {
        if (ss_op_is_comm(&in->plan[0].op[i])) {
            run_comm(in, &in->plan[0].op[i]);
            continue;
        }
        for (int rank = 0; rank < in->n; rank++)
            run_compute(in, rank, &in->plan[rank].op[i]);
    }
    in->step++;
}
