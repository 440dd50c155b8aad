/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The deadline of starting. MPI_Init waits for every rank that the launcher
 * promised, and cannot be interrupted; so a thread ends the process, and the
 * launcher the job. Knows the environment only: there is no runtime, folder or
 * configuration yet, and nothing here may call into MPI.
 */
#include "cluster/start_guard.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/units.h"
#include "cluster/hostid.h"
#include "cluster/rt.h"

#define EXIT_HANG 13
#define SPEAKERS 64                  /* ranks, before one speaks for all */
#define ROOT_NS (2 * SS_NS_PER_S)    /* for the others' words */
#define OTHERS_NS (5 * SS_NS_PER_S)  /* should rank 0 be the one that hangs */
#define START_NS (120 * SS_NS_PER_S) /* and for each node: */
#define PER_NODE_NS (SS_NS_PER_S / 5)

struct ss_start_guard {
    pthread_t thread;
    pthread_mutex_t lock; /* guards all below */
    pthread_cond_t wake;
    bool over;
    int64_t began, limit;
    const char *what;
    int rank, ranks;
};

static void speak(const struct ss_start_guard *guard, const char *what,
                  int64_t waited)
{
    struct ss_host_id id;
    char time[32];
    if (guard->rank > 0 && guard->ranks > SPEAKERS)
        return;
    ss_host_identify(&id);
    ss_log(SS_LOG_ERROR, "cluster",
           "rank %d on %s has waited %s in %s: of %d ranks, one that does not "
           "say the same has not come or cannot be reached; look at its host, "
           "and at the network between the hosts (deadline.start)",
           guard->rank, id.name,
           ss_format_time((double)waited, time, sizeof(time)), what,
           guard->ranks);
}

/* Sleeps until `until`, the end, or another limit. Lock held. */
static void doze(struct ss_start_guard *guard, int64_t until)
{
    struct timespec at;
    int64_t left = until - ss_clock_ns();
    if (left <= 0)
        return;
    clock_gettime(CLOCK_MONOTONIC, &at);
    left += at.tv_nsec;
    at.tv_sec += left / SS_NS_PER_S;
    at.tv_nsec = left % SS_NS_PER_S;
    (void)pthread_cond_timedwait(&guard->wake, &guard->lock, &at);
}

static void *watch(void *arg)
{
    struct ss_start_guard *guard = arg;
    pthread_mutex_lock(&guard->lock);
    while (!guard->over && ss_clock_ns() < guard->began + guard->limit)
        doze(guard, guard->began + guard->limit);
    if (!guard->over)
        speak(guard, guard->what, guard->limit);
    int64_t end = ss_clock_ns() + (guard->rank == 0 ? ROOT_NS : OTHERS_NS);
    while (!guard->over && ss_clock_ns() < end)
        doze(guard, end);
    if (!guard->over)
        _exit(EXIT_HANG);
    pthread_mutex_unlock(&guard->lock);
    return NULL;
}

/* Signals go to the threads that existed before. */
static int start_thread(struct ss_start_guard *guard)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&guard->thread, NULL, watch, guard);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

static void init_sync(struct ss_start_guard *guard)
{
    pthread_condattr_t attr;
    pthread_mutex_init(&guard->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&guard->wake, &attr);
    pthread_condattr_destroy(&attr);
}

static void destroy(struct ss_start_guard *guard)
{
    pthread_cond_destroy(&guard->wake);
    pthread_mutex_destroy(&guard->lock);
    ss_free(guard);
}

enum ss_status ss_start_guard_start(char *const *environment, int64_t limit_ns,
                                    struct ss_start_guard **out)
{
    struct ss_launched launched;
    struct ss_start_guard *guard = ss_alloc(1, sizeof(*guard), "a guard");
    if (!guard)
        return SS_ERR_NO_MEMORY;
    ss_rt_launched(environment, &launched);
    guard->rank = launched.rank;
    guard->ranks = launched.ranks;
    guard->what = "its start";
    guard->began = ss_clock_ns();
    guard->limit =
        limit_ns > 0 ? limit_ns : START_NS + launched.nodes * PER_NODE_NS;
    init_sync(guard);
    int error = start_thread(guard);
    if (error != 0) {
        destroy(guard);
        return ss_fail(SS_ERR_ENV, "cannot start a thread: %s",
                       strerror(error));
    }
    *out = guard;
    return SS_OK;
}

void ss_start_guard_limit(struct ss_start_guard *guard, int64_t limit_ns)
{
    if (!guard || limit_ns <= 0)
        return;
    pthread_mutex_lock(&guard->lock);
    guard->limit = limit_ns;
    pthread_cond_broadcast(&guard->wake);
    pthread_mutex_unlock(&guard->lock);
}

void ss_start_guard_enter(struct ss_start_guard *guard, const char *what)
{
    if (!guard)
        return;
    pthread_mutex_lock(&guard->lock);
    guard->what = what;
    pthread_mutex_unlock(&guard->lock);
}

void ss_start_guard_end(struct ss_start_guard *guard)
{
    if (!guard)
        return;
    pthread_mutex_lock(&guard->lock);
    guard->over = true;
    pthread_cond_broadcast(&guard->wake);
    pthread_mutex_unlock(&guard->lock);
}

void ss_start_guard_free(struct ss_start_guard *guard)
{
    if (!guard)
        return;
    ss_start_guard_end(guard);
    pthread_join(guard->thread, NULL);
    destroy(guard);
}
