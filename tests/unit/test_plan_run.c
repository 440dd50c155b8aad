/* SPDX-License-Identifier: Apache-2.0 */
/* Plans executed in double precision on virtual ranks give the gradients and
 * weights of an unsplit computation: operands, splits, accumulation, buckets
 * and collectives are right. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/near.h"
#include "support/plan_reference.h"

#define GPT2 "tests/fixtures/model/gpt2-tiny.json"
#define LLAMA "tests/fixtures/model/llama-tiny.json"

/* Compares one rank's part of a Linear, in `got`, with the unsplit `want`. */
static void compare_linear(const struct interp *in, int rank, int i,
                           const double *got, const double *want)
{
    const struct ss_linear *l = &in->built.model.linear[i];
    int tp = in->plan[rank].layout.dim[SS_DIM_TP];
    int at = in->plan[rank].coords.at[SS_DIM_TP];
    int64_t rows = l->column ? l->out / tp : l->out;
    int64_t cols = l->column ? l->in : l->in / tp;
    int64_t row0 = l->column ? at * rows : 0, col0 = l->column ? 0 : at * cols;
    for (int64_t k = 0; k < rows * cols; k++) {
        double w = want[(row0 + k / cols) * l->in + col0 + k % cols];
        double error = 1e-9 * (1 + fabs(w));
        if (!(fabs(got[k] - w) <= error))
            fail_msg("%s on rank %d: element %lld is %.12g, not %.12g", l->name,
                     rank, (long long)k, got[k], w);
    }
}

static void compare(const struct interp *in, const struct reference *r,
                    enum ss_role role, const double *want)
{
    const struct ss_model *m = &in->built.model;
    int tp = in->built.args.layout.dim[SS_DIM_TP];
    for (int rank = 0; rank < in->n; rank++) {
        const double *got = in->data[rank][role];
        for (int layer = 0; layer < m->layers; layer++) {
            for (int i = 0; i < m->n_linears; i++) {
                compare_linear(in, rank, i, got,
                               want + reference_at(r, layer, i));
                got += m->linear[i].in * m->linear[i].out / tp;
            }
        }
    }
}

/* Two steps: the second sees updated weights, moments and t = 2. */
static void check(const struct plan_case *c)
{
    struct interp in;
    struct reference r;
    interp_open(c, &in);
    reference_open(&in, &r);
    for (int step = 0; step < 2; step++) {
        interp_step(&in);
        reference_step(&r);
        compare(&in, &r, SS_BUF_GRAD, r.g);
        compare(&in, &r, SS_BUF_WEIGHT, r.w);
    }
    reference_close(&r);
    interp_close(&in);
}

static void check_layouts(struct plan_case c)
{
    static const struct {
        int dp, tp, sp, micro;
    } layouts[] = {{1, 1, 0, 1}, {1, 1, 0, 3}, {2, 1, 0, 1}, {3, 1, 0, 2},
                   {1, 2, 0, 1}, {1, 2, 0, 2}, {2, 2, 0, 1}, {2, 2, 0, 3},
                   {1, 2, 1, 1}, {2, 2, 1, 3}, {2, 1, 1, 1}};
    for (size_t i = 0; i < SS_COUNT_OF(layouts); i++) {
        c.dp = layouts[i].dp;
        c.tp = layouts[i].tp;
        c.sp = layouts[i].sp;
        c.micro = layouts[i].micro;
        c.tokens = INT64_C(6) * c.micro;
        check(&c);
    }
}

static void mlp(void **state)
{
    (void)state;
    check_layouts((struct plan_case){.model = "mlp", .layers = 2, .hidden = 8});
    check_layouts((struct plan_case){
        .model = "mlp", .layers = 3, .hidden = 8, .bucket = 1});
}

static void mlp_four_way(void **state)
{
    (void)state;
    check(&(struct plan_case){.model = "mlp",
                              .layers = 2,
                              .hidden = 8,
                              .dp = 2,
                              .tp = 4,
                              .sp = 1,
                              .tokens = 8});
}

static void gpt2(void **state)
{
    (void)state;
    check_layouts((struct plan_case){.model = GPT2});
    check_layouts((struct plan_case){.model = GPT2, .bucket = 1024});
}

static void llama(void **state)
{
    (void)state;
    check_layouts((struct plan_case){.model = LLAMA});
    check_layouts((struct plan_case){.model = LLAMA, .bucket = 512});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mlp),
        cmocka_unit_test(mlp_four_way),
        cmocka_unit_test(gpt2),
        cmocka_unit_test(llama),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
