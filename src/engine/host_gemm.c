/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GEMMs through CBLAS. While a collective flies and no thread drives it, a
 * GEMM is cut into panels of rows of about 0.7 ms, so that MPI gets its turn;
 * otherwise it is one call, as a user would make it. Knows nothing of the
 * schedule.
 */
#include "base/clock.h"
#include "engine/host.h"

#define PANEL_SECONDS 0.7e-3
#define PANEL_ROWS_MIN 16
#define TRIAL_FLOPS 2e7
#define TRIALS 3

void ss_host_gemm_rows(const struct ss_host *self, const struct ss_op *op,
                       int64_t row, int64_t rows)
{
    enum CBLAS_TRANSPOSE ta = op->ta ? CblasTrans : CblasNoTrans;
    enum CBLAS_TRANSPOSE tb = op->tb ? CblasTrans : CblasNoTrans;
    int m = (int)rows, n = (int)op->n, k = (int)op->k;
    int lda = op->ta ? (int)op->m : k;
    int ldb = op->tb ? k : n;
    int64_t skip_a = op->ta ? row : row * op->k;
    int64_t skip_c = row * op->n;
    double beta = op->accumulate ? 1 : 0;
    const void *a = ss_host_at(self, op->a), *b = ss_host_at(self, op->b);
    void *c = ss_host_at(self, op->c);
    if (self->dtype == SS_DT_F64)
        self->blas.cblas_dgemm(CblasRowMajor, ta, tb, m, n, k, 1,
                               (const double *)a + skip_a, lda, b, ldb, beta,
                               (double *)c + skip_c, n);
    else
        self->blas.cblas_sgemm(CblasRowMajor, ta, tb, m, n, k, 1,
                               (const float *)a + skip_a, lda, b, ldb,
                               (float)beta, (float *)c + skip_c, n);
}

int64_t ss_host_panel_rows(const struct ss_host *self, const struct ss_op *op)
{
    double row_flops = 2 * (double)op->n * (double)op->k;
    double rows = self->flop_rate * PANEL_SECONDS / row_flops;
    if (rows >= (double)op->m)
        return op->m;
    int64_t whole = (int64_t)rows / PANEL_ROWS_MIN * PANEL_ROWS_MIN;
    return whole > PANEL_ROWS_MIN ? whole : PANEL_ROWS_MIN;
}

enum ss_status ss_host_gemm(struct ss_host *self, const struct ss_op *op)
{
    int64_t panel = ss_host_panel_rows(self, op);
    for (int64_t row = 0; row < op->m;) {
        bool driven = self->progress.on || self->in_flight == 0;
        int64_t left = op->m - row;
        int64_t rows = driven || left < panel + panel / 2 ? left : panel;
        ss_host_gemm_rows(self, op, row, rows);
        row += rows;
        SS_TRY(ss_host_between(self));
    }
    return SS_OK;
}

/* The largest GEMM of the plan stands for all: panels need no better. */
static const struct ss_op *largest(const struct ss_plan *plan)
{
    const struct ss_op *best = NULL;
    for (int i = 0; i < plan->n_ops; i++) {
        const struct ss_op *op = &plan->op[i];
        if (op->kind == SS_OP_GEMM && (!best || op->flops > best->flops))
            best = op;
    }
    return best;
}

void ss_host_measure_rate(struct ss_host *self)
{
    const struct ss_op *op = largest(self->work.plan);
    self->flop_rate = 1e9;
    if (!op)
        return;
    double row_flops = 2 * (double)op->n * (double)op->k;
    int64_t rows = (int64_t)(TRIAL_FLOPS / row_flops) + 1;
    if (rows > op->m)
        rows = op->m;
    for (int i = 0; i < TRIALS; i++) {
        int64_t begin = ss_clock_ns();
        ss_host_gemm_rows(self, op, 0, rows);
        double seconds = (double)(ss_clock_ns() - begin + 1) / 1e9;
        double rate = row_flops * (double)rows / seconds;
        if (rate > self->flop_rate)
            self->flop_rate = rate;
    }
}
