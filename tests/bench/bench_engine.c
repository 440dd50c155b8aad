/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the harness and the host engine cost over doing the same by hand. Each
 * line is a median of 7 rounds in which the two sides alternate, and beside it
 * the ratio of the direct side to itself (A/A) in the same rounds: a ratio
 * that differs from 1 by less than A/A does says nothing. Not a test: it
 * prints a table and passes.
 *
 *   bench_engine                 harness and GEMM, on one rank
 *   mpirun -np N bench_engine    and all-reduce
 */
#include <cblas.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "engine/exec.h"
#include "engine/host.h"

#define ROUNDS 7

struct bed { /* an engine with a plan of its own */
    struct ss_config config;
    struct ss_place place;
    struct ss_plan plan;
    struct ss_op op[2];
    struct ss_buffer buffer[SS_BUF_ROLES];
    struct ss_engine *engine;
    struct ss_progress progress;
    struct ss_comms comms;
    struct ss_block_record record;
    int steps;
    struct ss_rt *rt;
};

static void must(enum ss_status status)
{
    if (status == SS_OK)
        return;
    fprintf(stderr, "bench_engine: %s\n", ss_error_text());
    exit(1);
}

static void bed_open(struct bed *bed, const char *name, int steps)
{
    const struct ss_engine_ops *ops;
    const struct ss_engine_args args = {
        .config = &bed->config, .world = bed->rt, .place = &bed->place};
    const struct ss_engine_work work = {.plan = &bed->plan, .seed = 1};
    int64_t ns;
    ss_config_default(&bed->config);
    bed->config.device_threads = 1;
    bed->place = (struct ss_place){.cores = 1, .sharers = 1};
    bed->steps = steps;
    must(ss_engine_find(name, &ops));
    must(ops->open(&args, &bed->engine));
    bed->engine->progress = &bed->progress;
    must(ops->connect_all(bed->engine, &bed->comms, &ns));
    must(ops->load(bed->engine, &work));
    must(ss_block_record_open(steps, bed->plan.n_ops, &bed->record));
}

static void bed_close(struct bed *bed)
{
    bed->engine->ops->unload(bed->engine);
    bed->engine->ops->disconnect(bed->engine);
    bed->engine->ops->close(bed->engine);
    ss_block_record_close(&bed->record);
}

/* One side of a comparison: ns of one unit of work. */
typedef double (*side_fn)(struct bed *bed);

static double block_ns(struct bed *bed, enum ss_variant variant, bool sampled)
{
    const struct ss_block_spec spec = {
        .variant = variant, .steps = bed->steps, .sampled = sampled};
    must(bed->engine->ops->meet_all(bed->engine));
    int64_t begin = ss_clock_ns();
    must(ss_exec_block(bed->engine, &bed->plan, &spec, &bed->record));
    return (double)(ss_clock_ns() - begin);
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values)
{
    qsort(values, ROUNDS, sizeof(*values), compare);
    return values[ROUNDS / 2];
}

struct result {
    double engine, direct, again; /* medians, ns */
};

static struct result measure(struct bed *bed, side_fn engine, side_fn direct)
{
    double e[ROUNDS], d[ROUNDS], a[ROUNDS];
    (void)engine(bed), (void)direct(bed); /* warm */
    for (int i = 0; i < ROUNDS; i++) {
        e[i] = engine(bed);
        d[i] = direct(bed);
        a[i] = direct(bed);
    }
    return (struct result){median(e), median(d), median(a)};
}

static void heading(const struct ss_rt *rt)
{
    if (rt->rank == 0)
        printf("%-34s %12s %12s %8s %7s  %s\n", "medians of 7 rounds", "engine",
               "direct", "ratio", "A/A", "aim");
}

static void line(const struct ss_rt *rt, const char *what, struct result r,
                 const char *aim)
{
    if (rt->rank == 0)
        printf("%-34s %9.3f us %9.3f us %8.4f %7.4f  %s\n", what,
               r.engine / 1e3, r.direct / 1e3, r.engine / r.direct,
               r.again / r.direct, aim);
}

/* Harness: a plan of empty ops on the null engine, per op. */
#define EMPTY_OPS 1000

static double null_op(struct bed *bed)
{
    return block_ns(bed, SS_WHOLE, false) / bed->steps / bed->plan.n_ops;
}

static double null_op_sampled(struct bed *bed)
{
    return block_ns(bed, SS_WHOLE, true) / bed->steps / bed->plan.n_ops;
}

static double empty_loop(struct bed *bed)
{
    int64_t begin = ss_clock_ns();
    for (int step = 0; step < bed->steps; step++)
        for (int i = 0; i < bed->plan.n_ops; i++)
            __asm__ volatile("" ::"r"(i));
    return (double)(ss_clock_ns() - begin) / bed->steps / bed->plan.n_ops;
}

static void bench_harness(struct ss_rt *solo)
{
    struct bed bed = {.rt = solo};
    bed.plan.op = ss_alloc(EMPTY_OPS, sizeof(*bed.plan.op), "ops");
    bed.plan.n_ops = EMPTY_OPS;
    bed.plan.layout = (struct ss_layout){.dim = {1, 1, 1, 1, 1}};
    if (!bed.plan.op)
        exit(1);
    bed_open(&bed, "null", 200);
    struct result off = measure(&bed, null_op, empty_loop);
    struct result on = measure(&bed, null_op_sampled, empty_loop);
    line(solo, "compute op, null, zero time", off, "<= 3 us above");
    line(solo, "compute op, events recorded", on, "");
    printf("%-34s %9.3f us                                %s\n",
           "a step's mark and 100 ops of it", off.engine / 10,
           "<= 50 us, 0.5 % of 10 ms");
    bed_close(&bed);
    ss_free(bed.plan.op);
}

/* Host: a plan of one op, whose operands fill a buffer each. */
static void one_op(struct bed *bed, const struct ss_op *op)
{
    const uint64_t elems[] = {[SS_BUF_GRAD] = (uint64_t)(op->m * op->n),
                              [SS_BUF_ACT] = (uint64_t)(op->m * op->k),
                              [SS_BUF_WORK] = (uint64_t)(op->k * op->n)};
    bed->op[0] = *op;
    bed->plan.op = bed->op;
    bed->plan.n_ops = 1;
    bed->plan.buffer = bed->buffer;
    bed->plan.n_buffers = SS_BUF_ROLES;
    for (int i = 0; i < SS_BUF_ROLES; i++) {
        bed->buffer[i] =
            (struct ss_buffer){"operand", (enum ss_role)i, SS_DT_F32, 0};
        if ((size_t)i < SS_COUNT_OF(elems))
            bed->buffer[i].elems = elems[i];
    }
}

static double host_gemm(struct bed *bed)
{
    return block_ns(bed, SS_COMPUTE_ONLY, false) / bed->steps;
}

static double direct_gemm(struct bed *bed)
{
    const struct ss_host *host = ss_host_of(bed->engine);
    int m = (int)bed->op[0].m, n = (int)bed->op[0].n, k = (int)bed->op[0].k;
    int64_t begin = ss_clock_ns();
    for (int i = 0; i < bed->steps; i++)
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, m, n, k, 1,
                    host->buffer[SS_BUF_ACT], k, host->buffer[SS_BUF_WORK], k,
                    0, host->buffer[SS_BUF_GRAD], n);
    return (double)(ss_clock_ns() - begin) / bed->steps;
}

static void bench_gemm(struct ss_rt *solo)
{
    static const struct {
        int64_t m, n, k;
        int steps;
    } shapes[] = {
        {1024, 512, 128, 60}, {512, 512, 512, 40}, {1024, 1024, 1024, 6}};
    for (size_t i = 0; i < SS_COUNT_OF(shapes); i++) {
        struct bed bed = {.rt = solo};
        char what[64];
        const struct ss_op op = {.kind = SS_OP_GEMM,
                                 .m = shapes[i].m,
                                 .n = shapes[i].n,
                                 .k = shapes[i].k,
                                 .tb = true,
                                 .a = {SS_BUF_ACT, 0},
                                 .b = {SS_BUF_WORK, 0},
                                 .c = {SS_BUF_GRAD, 0},
                                 .d = {-1, 0}};
        bed.plan.layout = (struct ss_layout){.dim = {1, 1, 1, 1, 1}};
        one_op(&bed, &op);
        bed_open(&bed, "host", shapes[i].steps);
        (void)ss_format(what, sizeof(what), "gemm %lld x %lld x %lld, fp32",
                        (long long)op.m, (long long)op.n, (long long)op.k);
        line(solo, what, measure(&bed, host_gemm, direct_gemm),
             "within 3 % of CBLAS");
        bed_close(&bed);
    }
}

static double host_reduce(struct bed *bed)
{
    return block_ns(bed, SS_COMM_ONLY, false) / bed->steps;
}

static double direct_reduce(struct bed *bed)
{
    const struct ss_host *host = ss_host_of(bed->engine);
    struct ss_rt *rt = bed->rt;
    must(ss_barrier_all(rt));
    int64_t begin = ss_clock_ns();
    for (int i = 0; i < bed->steps; i++) {
        struct ss_request request = {0};
        must(rt->ops->icollective(
            rt, SS_COLL_ALL_REDUCE, NULL, host->buffer[SS_BUF_GRAD],
            (size_t)bed->op[0].count, SS_DT_F32, SS_RED_SUM, 0, &request));
        must(rt->ops->wait(rt, &request));
    }
    return (double)(ss_clock_ns() - begin) / bed->steps;
}

static void bench_reduce(struct ss_rt *rt)
{
    static const struct {
        uint64_t count;
        int steps;
    } sizes[] = {{1 << 14, 100}, {1 << 18, 30}, {1 << 21, 8}};
    for (size_t i = 0; i < SS_COUNT_OF(sizes); i++) {
        struct bed bed = {.rt = rt};
        char what[64];
        const struct ss_op op = {.kind = SS_OP_ALL_REDUCE,
                                 .phase = SS_PHASE_dp_comm,
                                 .lane = SS_LANE_COMM,
                                 .m = (int64_t)sizes[i].count,
                                 .n = 1,
                                 .a = {-1, 0},
                                 .b = {-1, 0},
                                 .c = {SS_BUF_GRAD, 0},
                                 .d = {-1, 0},
                                 .count = sizes[i].count,
                                 .elem_size = 4};
        bed.plan.layout = (struct ss_layout){.dim = {rt->size, 1, 1, 1, 1}};
        bed.comms.dim[SS_DIM_DP] = rt;
        bed.comms.group = rt;
        one_op(&bed, &op);
        bed_open(&bed, "host", sizes[i].steps);
        (void)ss_format(what, sizeof(what), "all-reduce %llu KiB, %d ranks",
                        (unsigned long long)sizes[i].count / 256, rt->size);
        line(rt, what, measure(&bed, host_reduce, direct_reduce),
             "within 5 % of MPI alone");
        bed_close(&bed);
    }
}

int main(int argc, char **argv)
{
    struct ss_rt *rt, *solo;
    must(ss_rt_open_all(&argc, &argv, &rt));
    must(ss_rt_solo_open(&solo));
    heading(rt);
    if (rt->rank == 0) {
        bench_harness(solo);
        bench_gemm(solo);
    }
    must(ss_barrier_all(rt));
    if (rt->size > 1)
        bench_reduce(rt);
    ss_rt_close(solo);
    ss_rt_close(rt);
    return 0;
}
