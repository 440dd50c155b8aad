/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is the result of a collective right? On integers whose sums are exact in any
 * order, other ones each iteration, so that a result left over from the last
 * call does not pass. Must not know which library ran, nor what failed where.
 */
#include "engine/check.h"
#include "probe/coll.h"

/* Looked at in stretches; above so many, a sample of them. */
enum { STRETCH = 4096, STRETCHES = 256 };

uint64_t ss_coll_input(const struct ss_coll_task *task, int ranks)
{
    bool parts = task->op == SS_OP_COLL_REDUCE_SCATTER ||
                 task->op == SS_OP_COLL_ALL_TO_ALL;
    return task->count * (uint64_t)(parts ? ranks : 1);
}

uint64_t ss_coll_result(const struct ss_coll_task *task, int ranks)
{
    bool parts =
        task->op == SS_OP_COLL_ALL_GATHER || task->op == SS_OP_COLL_ALL_TO_ALL;
    return task->count * (uint64_t)(parts ? ranks : 1);
}

/** Other data each iteration. */
static uint64_t salt(int64_t iteration)
{
    return (uint64_t)iteration * UINT64_C(1000003);
}

static double expected(const struct ss_exact *exact,
                       const struct ss_coll_task *task, const struct ss_rt *rt,
                       uint64_t at, uint64_t more)
{
    uint64_t count = task->count, rank = (uint64_t)rt->rank;
    int from = (int)(at / count);

    switch (task->op) {
    case SS_OP_COLL_ALL_GATHER:
        return (double)ss_exact_value(exact, from, at % count + more);
    case SS_OP_COLL_REDUCE_SCATTER:
        return (double)ss_exact_sum(exact, rank * count + at + more);
    case SS_OP_COLL_ALL_TO_ALL:
        return (double)ss_exact_value(exact, from,
                                      rank * count + at % count + more);
    case SS_OP_COLL_BROADCAST:
        return (double)ss_exact_value(exact, 0, at + more);
    case SS_OP_COLL_SENDRECV:
        from = (rt->rank + rt->size - 1) % rt->size;
        return (double)ss_exact_value(exact, from, at + more);
    default:
        return (double)ss_exact_sum(exact, at + more);
    }
}

/** The next stretch that is looked at: [*at, *at + *n); all where few. */
static bool next_stretch(uint64_t total, uint64_t *at, uint64_t *n)
{
    uint64_t step = STRETCH, all = (total + STRETCH - 1) / STRETCH;
    uint64_t last = (all - 1) * STRETCH;

    if (all > STRETCHES)
        step = all / STRETCHES * STRETCH;
    if (*n == 0)
        *at = 0;
    else if (*at == last)
        return false;
    else
        *at = *at + step < last ? *at + step : last;
    *n = total - *at < STRETCH ? total - *at : STRETCH;
    return true;
}

/* What is looked at of a result must have come from written input, whoever
 * sent it: all of small inputs, and all of large ones' parts. */
static enum ss_status fill(struct ss_coll_lib *lib,
                           const struct ss_coll_task *task,
                           const struct ss_exact *exact, uint64_t more)
{
    uint64_t total = ss_coll_input(task, lib->group->size);
    int rank = lib->group->rank;
    float v[STRETCH];

    for (uint64_t at = 0; at < total; at += STRETCH) {
        uint64_t n = total - at < STRETCH ? total - at : STRETCH;
        for (uint64_t i = 0; i < n; i++)
            v[i] = (float)ss_exact_value(exact, rank, at + i + more);
        SS_TRY(lib->ops->put(lib, task, at, v, n));
    }
    return SS_OK;
}

static enum ss_status compare(struct ss_coll_lib *lib,
                              const struct ss_coll_task *task,
                              const struct ss_exact *exact, uint64_t more,
                              bool flip, struct ss_coll_wrong_at *out)
{
    uint64_t total = ss_coll_result(task, lib->group->size);
    uint64_t at = 0, n = 0;
    float v[STRETCH];

    while (!out->found && next_stretch(total, &at, &n)) {
        SS_TRY(lib->ops->get(lib, task, at, v, n));
        if (flip && at == 0)
            v[n / 2] += 1;
        for (uint64_t i = 0; i < n && !out->found; i++) {
            double want = expected(exact, task, lib->group, at + i, more);
            if ((double)v[i] != want)
                *out =
                    (struct ss_coll_wrong_at){true, at + i, want, (double)v[i]};
        }
    }
    return SS_OK;
}

enum ss_status ss_coll_verify_all(struct ss_coll_lib *lib,
                                  const struct ss_coll_task *task,
                                  int64_t iteration, bool flip,
                                  struct ss_coll_wrong_at *out)
{
    struct ss_exact exact;
    uint64_t more = salt(iteration);

    *out = (struct ss_coll_wrong_at){0};
    ss_exact_open(SS_DT_F32, lib->group->size, &exact);
    SS_TRY(fill(lib, task, &exact, more));
    SS_TRY(lib->ops->run_all(lib, task, 1));
    return compare(lib, task, &exact, more, flip, out);
}
