/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exact data for collectives and the comparison with what must come out,
 * known on every rank without another message. Ones would do for neither: they
 * are inexact in short types and blind to order. Must not know which engine
 * asks, nor what a point is.
 */
#include "engine/check.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/str.h"

/* Weights of a rank in the two terms of its values: small, of both signs. */
static int64_t weight(int rank)
{
    return rank % 2 ? -(1 + rank % 3) : 1 + rank % 3;
}

static int64_t other(int rank)
{
    return rank / 2 % 2 ? -(1 + rank % 5 % 3) : 1 + rank % 5 % 3;
}

/* |weight| and |other| are at most 3. */
#define WEIGHT_MAX INT64_C(3)

static int64_t pattern(uint64_t at, int64_t amplitude)
{
    uint64_t mixed = (at + 1) * UINT64_C(0x9E3779B97F4A7C15);
    mixed ^= mixed >> 29;
    return (int64_t)(mixed % (uint64_t)(2 * amplitude + 1)) - amplitude;
}

static int64_t exact_limit(enum ss_dtype dtype)
{
    return dtype == SS_DT_F32 ? INT64_C(1) << 24 : INT64_C(1) << 53;
}

void ss_exact_open(enum ss_dtype dtype, int ranks, struct ss_exact *out)
{
    *out = (struct ss_exact){0};
    int64_t share = exact_limit(dtype) / (2 * WEIGHT_MAX * (int64_t)ranks);
    out->amplitude = share > 1000 ? 1000 : share < 1 ? 1 : share;
    for (int r = 0; r < ranks; r++) {
        out->weight_sum += weight(r);
        out->other_sum += other(r);
    }
}

int64_t ss_exact_value(const struct ss_exact *exact, int rank, uint64_t at)
{
    return weight(rank) * pattern(at, exact->amplitude) +
           other(rank) * pattern(~at, exact->amplitude);
}

int64_t ss_exact_sum(const struct ss_exact *exact, uint64_t at)
{
    return exact->weight_sum * pattern(at, exact->amplitude) +
           exact->other_sum * pattern(~at, exact->amplitude);
}

void ss_check_add(struct ss_check_sink *sink, const char *check, bool ok,
                  const char *format, ...)
{
    if (sink->n >= sink->max)
        return;
    struct ss_check_row *row = &sink->rows[sink->n++];
    *row = (struct ss_check_row){.rank = sink->rank, .ok = ok};
    (void)ss_copy(row->check, sizeof(row->check), check);
    (void)ss_copy(row->when, sizeof(row->when), sink->when);
    va_list args;
    va_start(args, format);
    (void)vsnprintf(row->detail, sizeof(row->detail), format, args);
    va_end(args);
}

void ss_check_add_coll(struct ss_check_sink *sink, const struct ss_op *op,
                       const char *name, uint64_t count,
                       const struct ss_coll_wrong *wrong)
{
    const char *kind = ss_op_kind_name(op->kind);
    const char *dim = ss_dim_name(op->dim);
    if (wrong->found)
        ss_check_add(sink, kind, false,
                     "%s over %s: element %llu is %.17g, expected %lld", name,
                     dim, (unsigned long long)wrong->at, wrong->got,
                     (long long)wrong->expected);
    else
        ss_check_add(sink, kind, true, "%llu exact integers over %s",
                     (unsigned long long)count, dim);
}

static void put(void *data, enum ss_dtype dtype, uint64_t at, int64_t value)
{
    if (dtype == SS_DT_F32)
        ((float *)data)[at] = (float)value;
    else if (dtype == SS_DT_F64)
        ((double *)data)[at] = (double)value;
    else
        ((int64_t *)data)[at] = value;
}

static double get(const void *data, enum ss_dtype dtype, uint64_t at)
{
    if (dtype == SS_DT_F32)
        return (double)((const float *)data)[at];
    if (dtype == SS_DT_F64)
        return ((const double *)data)[at];
    return (double)((const int64_t *)data)[at];
}

static uint64_t send_elems(const struct ss_coll_check *check)
{
    bool one =
        check->kind == SS_COLL_ALL_REDUCE || check->kind == SS_COLL_ALL_GATHER;
    return one ? check->count : check->count * (uint64_t)check->rt->size;
}

static uint64_t recv_elems(const struct ss_coll_check *check)
{
    bool one = check->kind == SS_COLL_ALL_REDUCE ||
               check->kind == SS_COLL_REDUCE_SCATTER;
    return one ? check->count : check->count * (uint64_t)check->rt->size;
}

/* What element `at` of this rank's result must be. */
static int64_t expected(const struct ss_coll_check *check,
                        const struct ss_exact *exact, uint64_t at)
{
    uint64_t mine = (uint64_t)check->rt->rank * check->count;
    int from = check->count > 0 ? (int)(at / check->count) : 0;
    switch (check->kind) {
    case SS_COLL_REDUCE_SCATTER:
        return ss_exact_sum(exact, mine + at);
    case SS_COLL_ALL_GATHER:
        return ss_exact_value(exact, from, at - (uint64_t)from * check->count);
    case SS_COLL_ALL_TO_ALL:
        return ss_exact_value(exact, from,
                              mine + at - (uint64_t)from * check->count);
    case SS_COLL_ALL_REDUCE:
    case SS_COLL_BROADCAST:
    case SS_COLL_REDUCE:
        break;
    }
    return ss_exact_sum(exact, at);
}

static void compare(const struct ss_coll_check *check,
                    const struct ss_exact *exact, struct ss_coll_wrong *out)
{
    uint64_t n = recv_elems(check);
    *out = (struct ss_coll_wrong){0};
    for (uint64_t i = 0; i < n; i++) {
        int64_t want = expected(check, exact, i);
        double got = get(check->recv, check->dtype, i);
        if (got == (double)want)
            continue;
        *out = (struct ss_coll_wrong){true, i, want, got};
        return;
    }
}

enum ss_status ss_coll_check_all(const struct ss_coll_check *check,
                                 struct ss_coll_wrong *out)
{
    struct ss_exact exact;
    struct ss_request request = {0};
    struct ss_rt *rt = check->rt;
    bool in_place = check->kind == SS_COLL_ALL_REDUCE;
    void *mine = in_place ? check->recv : check->send;
    ss_exact_open(check->dtype, rt->size, &exact);
    for (uint64_t i = 0; i < send_elems(check); i++)
        put(mine, check->dtype, i, ss_exact_value(&exact, rt->rank, i));
    SS_TRY(rt->ops->icollective(rt, check->kind, in_place ? NULL : check->send,
                                check->recv, check->count, check->dtype,
                                SS_RED_SUM, 0, &request));
    SS_TRY(rt->ops->wait(rt, &request));
    if (check->flip) {
        uint64_t middle = recv_elems(check) / 2;
        put(check->recv, check->dtype, middle,
            expected(check, &exact, middle) + 1);
    }
    compare(check, &exact, out);
    return SS_OK;
}

bool ss_coll_of(enum ss_op_kind kind, enum ss_coll *out)
{
    static const struct {
        enum ss_op_kind kind;
        enum ss_coll coll;
    } known[] = {
        {SS_OP_ALL_REDUCE, SS_COLL_ALL_REDUCE},
        {SS_OP_ALL_GATHER, SS_COLL_ALL_GATHER},
        {SS_OP_REDUCE_SCATTER, SS_COLL_REDUCE_SCATTER},
        {SS_OP_ALL_TO_ALL, SS_COLL_ALL_TO_ALL},
    };
    for (size_t i = 0; i < SS_COUNT_OF(known); i++) {
        if (known[i].kind == kind) {
            *out = known[i].coll;
            return true;
        }
    }
    return false;
}

int ss_coll_largest(const struct ss_plan *plan, enum ss_op_kind kind,
                    enum ss_dim dim)
{
    int best = -1;
    for (int i = 0; i < plan->n_ops; i++) {
        const struct ss_op *op = &plan->op[i];
        if (op->kind != kind || op->dim != dim)
            continue;
        if (best < 0 || op->count > plan->op[best].count)
            best = i;
    }
    return best;
}
