/* SPDX-License-Identifier: Apache-2.0 */
/* See plan_reference.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/plan_reference.h"

#include <math.h>

#include "base/mem.h"

/* The tensors of one pass over one layer: input, outputs, activations, their
 * gradients. */
struct layer {
    double *x, *dx;
    double *y[SS_LINEARS_MAX], *act[SS_LINEARS_MAX];
    double *dy[SS_LINEARS_MAX], *dact[SS_LINEARS_MAX];
    double *core[SS_LINEARS_MAX]; /* input of a row fed by the core */
};

static double *matrix(int64_t n)
{
    double *p = ss_alloc((size_t)n, sizeof(double), "reference");
    assert_non_null(p);
    return p;
}

int64_t reference_at(const struct reference *r, int layer, int i)
{
    const struct ss_model *m = &r->in->built.model;
    int64_t at = layer * (r->params / m->layers);
    for (int j = 0; j < i; j++)
        at += m->linear[j].in * m->linear[j].out;
    return at;
}

void reference_open(const struct interp *in, struct reference *out)
{
    const struct ss_model *m = &in->built.model;
    double *w;
    *out = (struct reference){.in = in, .params = ss_model_params(m)};
    out->rows = in->plan[0].micro_tokens;
    w = out->w = matrix(out->params);
    out->g = matrix(out->params);
    out->m = matrix(out->params);
    out->v = matrix(out->params);
    for (int l = 0; l < m->layers; l++) {
        for (int i = 0; i < m->n_linears; i++) {
            for (int64_t k = 0; k < m->linear[i].in * m->linear[i].out; k++)
                *w++ = interp_value('w', l, i, k / m->linear[i].in,
                                    k % m->linear[i].in);
        }
    }
}

void reference_close(struct reference *r)
{
    ss_free(r->w);
    ss_free(r->g);
    ss_free(r->m);
    ss_free(r->v);
}

/* The core's stand-in as an unsplit [rows, width]: tp ranks hold columns. */
static double *core_matrix(const struct reference *r, int dp, int64_t width)
{
    int tp = r->in->built.args.layout.dim[SS_DIM_TP];
    const struct ss_plan *p = &r->in->plan[0];
    int64_t part = width / tp;
    int64_t start = -1;
    double *out = matrix(r->rows * width);
    for (int i = 0; i < p->n_ops && start < 0; i++) {
        bool row_fwd = p->op[i].kind == SS_OP_GEMM && !p->op[i].backward &&
                       p->op[i].a.buf == SS_BUF_INPUT && p->op[i].a.at > 0;
        if (row_fwd)
            start = (int64_t)p->op[i].a.at;
    }
    assert_true(start > 0);
    for (int64_t k = 0; k < r->rows * width; k++) {
        int64_t row = k / width, col = k % width;
        out[k] = interp_value('c', dp, (int)(col / part),
                              start + row * part + col % part, 0);
    }
    return out;
}

static bool is_read(const struct ss_model *m, int i)
{
    for (int j = 0; j < m->n_linears; j++) {
        if (m->linear[j].source == i || m->linear[j].join == i)
            return true;
    }
    return i == m->n_linears - 1;
}

static void open_layer(const struct reference *r, int dp, struct layer *l)
{
    const struct ss_model *m = &r->in->built.model;
    memset(l, 0, sizeof *l);
    l->x = matrix(r->rows * m->hidden);
    l->dx = matrix(r->rows * m->hidden);
    for (int i = 0; i < m->n_linears; i++) {
        int64_t n = r->rows * m->linear[i].out;
        l->y[i] = matrix(n);
        l->act[i] = matrix(n);
        l->dy[i] = matrix(n);
        l->dact[i] =
            is_read(m, i) ? matrix(n) : core_matrix(r, dp, m->linear[i].out);
        if (m->linear[i].source == SS_SOURCE_CORE)
            l->core[i] = core_matrix(r, dp, m->linear[i].in);
    }
}

static void close_layer(struct layer *l)
{
    ss_free(l->x);
    ss_free(l->dx);
    for (int i = 0; i < SS_LINEARS_MAX; i++) {
        ss_free(l->y[i]);
        ss_free(l->act[i]);
        ss_free(l->dy[i]);
        ss_free(l->dact[i]);
        ss_free(l->core[i]);
    }
}

static double gelu(double x)
{
    return x / 2 *
           (1 + tanh(0.79788456080286535588 * (x + 0.044715 * pow(x, 3))));
}

static double silu(double x)
{
    return x / (1 + exp(-x));
}

static double slope(double (*f)(double), double x)
{
    const double h = 1e-3; /* 4th order: error about 1e-13 */
    return (8 * (f(x + h) - f(x - h)) - (f(x + 2 * h) - f(x - 2 * h))) /
           (12 * h);
}

static const double *input_of(const struct layer *l,
                              const struct ss_linear *linear, int i)
{
    if (linear->source == SS_SOURCE_CORE)
        return l->core[i];
    return linear->source < 0 ? l->x : l->act[linear->source];
}

static void forward(const struct reference *r, int layer, struct layer *l)
{
    const struct ss_model *m = &r->in->built.model;
    for (int i = 0; i < m->n_linears; i++) {
        const struct ss_linear *n = &m->linear[i];
        const double *x = input_of(l, n, i);
        const double *w = r->w + reference_at(r, layer, i);
        for (int64_t k = 0; k < r->rows * n->out; k++) {
            const double *xr = x + k / n->out * n->in;
            const double *wr = w + k % n->out * n->in;
            for (int64_t j = 0; j < n->in; j++)
                l->y[i][k] += xr[j] * wr[j];
            l->act[i][k] = l->y[i][k];
            if (n->gelu_after)
                l->act[i][k] = gelu(l->y[i][k]);
            if (n->join >= 0)
                l->act[i][k] = silu(l->y[n->join][k]) * l->y[i][k];
        }
    }
}

/* From the gradient of an activation to that of its output(s). */
static void backward_activation(const struct reference *r, struct layer *l,
                                int i)
{
    const struct ss_linear *n = &r->in->built.model.linear[i];
    for (int64_t k = 0; k < r->rows * n->out; k++) {
        double d = l->dact[i][k];
        l->dy[i][k] = d;
        if (n->gelu_after)
            l->dy[i][k] = d * slope(gelu, l->y[i][k]);
        if (n->join >= 0) {
            double a = l->y[n->join][k];
            l->dy[i][k] = d * silu(a);
            l->dact[n->join][k] += d * l->y[i][k] * slope(silu, a);
        }
    }
}

static void backward(struct reference *r, int layer, struct layer *l)
{
    const struct ss_model *m = &r->in->built.model;
    for (int i = m->n_linears - 1; i >= 0; i--) {
        const struct ss_linear *n = &m->linear[i];
        const double *x = input_of(l, n, i);
        const double *w = r->w + reference_at(r, layer, i);
        double *g = r->g + reference_at(r, layer, i);
        double *dx = n->source == -1 ? l->dx
                     : n->source < 0 ? NULL
                                     : l->dact[n->source];
        backward_activation(r, l, i);
        for (int64_t k = 0; k < r->rows * n->out; k++) {
            int64_t row = k / n->out, out = k % n->out;
            for (int64_t j = 0; j < n->in; j++) {
                g[out * n->in + j] += l->dy[i][k] * x[row * n->in + j];
                if (dx)
                    dx[row * n->in + j] += l->dy[i][k] * w[out * n->in + j];
            }
        }
    }
}

/* Forward and backward of one micro-batch of one dp share. */
static void one_pass(struct reference *r, int dp)
{
    const struct ss_model *m = &r->in->built.model;
    int64_t n = r->rows * m->hidden;
    struct layer *l = ss_alloc((size_t)m->layers, sizeof *l, "layers");
    int last = m->n_linears - 1;
    assert_non_null(l);
    for (int i = 0; i < m->layers; i++) {
        open_layer(r, dp, &l[i]);
        for (int64_t k = 0; k < n; k++)
            l[i].x[k] =
                i > 0 ? l[i - 1].act[last][k]
                      : interp_value('x', dp, 0, k / m->hidden, k % m->hidden);
        forward(r, i, &l[i]);
    }
    for (int i = (int)m->layers - 1; i >= 0; i--) {
        for (int64_t k = 0; k < n; k++)
            l[i].dact[last][k] =
                i < m->layers - 1
                    ? l[i + 1].dx[k]
                    : interp_value('y', dp, 0, k / m->hidden, k % m->hidden);
        backward(r, i, &l[i]);
    }
    for (int i = 0; i < m->layers; i++)
        close_layer(&l[i]);
    ss_free(l);
}

/* torch.optim.AdamW, line by line. */
static void adamw(struct reference *r, double dp)
{
    const double lr = 1e-8, b1 = 0.9, b2 = 0.999, eps = 1e-8, decay = 0.01;
    double c1 = 1 - pow(b1, r->step), c2 = 1 - pow(b2, r->step);
    for (int64_t i = 0; i < r->params; i++) {
        double g = r->g[i] / dp;
        r->w[i] *= 1 - lr * decay;
        r->m[i] += (g - r->m[i]) * (1 - b1);
        r->v[i] = r->v[i] * b2 + (1 - b2) * g * g;
        r->w[i] -= lr / c1 * r->m[i] / (sqrt(r->v[i]) / sqrt(c2) + eps);
    }
}

void reference_step(struct reference *r)
{
    const struct ss_layout *l = &r->in->built.args.layout;
    memset(r->g, 0, (size_t)r->params * sizeof *r->g);
    r->step++;
    for (int dp = 0; dp < l->dim[SS_DIM_DP]; dp++) {
        for (int micro = 0; micro < l->micro_batches; micro++)
            one_pass(r, dp);
    }
    adamw(r, l->dim[SS_DIM_DP]);
}
