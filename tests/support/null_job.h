/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_TESTS_NULL_JOB_H
#define SS_TESTS_NULL_JOB_H

/*
 * A look at the null engine on n thread ranks, by default on the step of
 * engine_plan.h. Include after cmocka.h.
 */
#include "base/mem.h"
#include "support/engine_plan.h"
#include "support/engine_rig.h"

#define MS(x) ((int64_t)((x)*1e6))

typedef enum ss_status (*look_fn)(struct rig *rig, struct ss_rt *rt);
struct job {
    struct rig_spec spec;
    struct hand_plan hand;
    look_fn look;
};

static inline enum ss_status run_rank(struct ss_rt *rt, void *arg)
{
    struct job *job = arg;
    struct rig rig;
    enum ss_status status = rig_open_all(&rig, rt, &job->spec);
    if (status == SS_OK)
        status = job->look(&rig, rt);
    rig_close(&rig);
    return status;
}

static inline void run(struct job *job, int ranks)
{
    long live = ss_mem_live();
    job->spec.engine = "null";
    if (!job->spec.dp) {
        hand_plan_make(ranks, &job->hand);
        job->spec.plan = &job->hand.plan;
    }
    enum ss_status status = ss_rt_threads_run(ranks, 1, run_rank, job);
    if (status != SS_OK)
        fail_msg("%d ranks: %s", ranks, ss_error_text());
    assert_int_equal(ss_mem_live(), live);
}

#define PLANTED(...)                                                           \
    {                                                                          \
        "null.gemm_ms", "10", "null.optimizer_ms", "1", "null.collective_ms",  \
            __VA_ARGS__                                                        \
    }

/* step 0 of a block that begins at `base` */
static inline enum ss_status check_event(const struct rig *rig, int op,
                                         double ready, double start, double end)
{
    const struct ss_op_event *e = &rig->record.event[op];
    int64_t base = rig->record.begin_ns;
    bool comm = ss_op_is_comm(&rig->plan.op[op]);
    if (e->start == base + MS(start) && e->end == base + MS(end) &&
        (!comm || e->ready == base + MS(ready)) && e->enqueued <= e->start)
        return SS_OK;
    return ss_fail(SS_ERR_VERIFY, "op %d: ready %lld start %lld end %lld", op,
                   (long long)(e->ready - base), (long long)(e->start - base),
                   (long long)(e->end - base));
}

#endif
