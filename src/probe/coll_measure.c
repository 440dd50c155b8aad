/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times of one collective of one size in one group: batches of back-to-back
 * calls, long enough for the clock, and single calls for the spread, which a
 * batch hides. A time is the slowest rank's. Must not know rows, budgets or
 * what is a good time.
 */
#include "base/clock.h"
#include "probe/coll.h"

#define BATCH_NS (SS_NS_PER_MS + SS_NS_PER_MS / 5)
#define PILOT_NS (SS_NS_PER_MS / 5)
#define CALLS_MOST 8192
#define BATCHES_LEAST 6 /* an interval of the median needs them */
#define CALLS_LEAST 5

static enum ss_status slowest_all(struct ss_coll_lib *lib, int64_t *v, int n)
{
    return ss_allreduce_all(lib->group, v, (size_t)n, SS_DT_I64, SS_RED_MAX);
}

/** From a barrier to the end of the last call here. */
static enum ss_status time_all(struct ss_coll_lib *lib,
                               const struct ss_coll_task *task, long calls,
                               int64_t *out)
{
    SS_TRY(ss_barrier_all(lib->group));
    int64_t start = ss_clock_ns();
    SS_TRY(lib->ops->run_all(lib, task, calls));
    *out = ss_clock_ns() - start;
    return SS_OK;
}

enum ss_status ss_coll_pilot_all(struct ss_coll_lib *lib,
                                 const struct ss_coll_task *task,
                                 int64_t *typical_ns)
{
    int64_t took[2] = {0};
    long calls = 1;

    SS_TRY(lib->ops->run_all(lib, task, 1)); /* connections, first touch */
    for (;; calls *= 4) {
        /* the better of two: one may have been put off the core */
        SS_TRY(time_all(lib, task, calls, &took[0]));
        SS_TRY(time_all(lib, task, calls, &took[1]));
        SS_TRY(slowest_all(lib, took, 2));
        if (took[1] < took[0])
            took[0] = took[1];
        if (took[0] >= PILOT_NS || calls >= CALLS_MOST)
            break;
    }
    *typical_ns = took[0] / calls > 0 ? took[0] / calls : 1;
    return SS_OK;
}

static int fit(int64_t left_ns, int64_t each_ns, int least, int most)
{
    int64_t n = left_ns / each_ns;

    return n < least ? least : n > most ? most : (int)n;
}

enum ss_status ss_coll_time_all(struct ss_coll_lib *lib,
                                const struct ss_coll_task *task,
                                int64_t left_ns, struct ss_coll_times *io)
{
    int64_t calls = (BATCH_NS + io->typical_ns - 1) / io->typical_ns;

    io->calls = (long)(calls < 1 ? 1 : calls > CALLS_MOST ? CALLS_MOST : calls);
    io->n_batches = fit(left_ns * 3 / 4, io->calls * io->typical_ns,
                        BATCHES_LEAST, SS_COLL_BATCHES);
    io->n_calls = fit(left_ns / 4, io->typical_ns, CALLS_LEAST, SS_COLL_CALLS);
    for (int i = 0; i < io->n_batches; i++)
        SS_TRY(time_all(lib, task, io->calls, &io->batch_ns[i]));
    SS_TRY(slowest_all(lib, io->batch_ns, io->n_batches));
    for (int i = 0; i < io->n_calls; i++)
        SS_TRY(time_all(lib, task, 1, &io->call_ns[i]));
    return slowest_all(lib, io->call_ns, io->n_calls);
}
