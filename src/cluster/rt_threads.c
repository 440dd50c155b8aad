/* SPDX-License-Identifier: Apache-2.0 */
/*
 * n ranks as threads of one process: tests run the real measuring code at 400
 * ranks without a launcher, and make any call of any rank fail. This file
 * holds the world: its threads, its death, and the sleeping and waking. No
 * rank ever spins. When every rank that is left sleeps, nobody can wake them:
 * that is a deadlock for certain, and ends the world instead of the test run.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "cluster/rt_threads_int.h"

#define STACK_BYTES ((size_t)1 << 20)

static struct ss_seat *seat_of(const struct ss_rt *rt)
{
    return &ss_crew_of(rt)->seat[rt->world_rank];
}

static void unblock(struct ss_crew *crew, struct ss_seat *seat)
{
    crew->blocked -= seat->blocked;
    seat->blocked = false;
}

void ss_threads_wake(struct ss_crew *crew, int seat)
{
    unblock(crew, &crew->seat[seat]);
    pthread_cond_broadcast(&crew->seat[seat].wake);
}

void ss_threads_wake_team(struct ss_rt *rt)
{
    struct ss_team *team = ss_team_of(rt);
    for (int i = 0; i < team->size; i++)
        unblock(team->crew, &team->crew->seat[team->seat[i]]);
    seat_of(rt)->calls = team;
}

void ss_threads_kill(struct ss_crew *crew, const char *format, ...)
{
    if (crew->dead)
        return;
    va_list args;
    va_start(args, format);
    (void)vsnprintf(crew->why, sizeof(crew->why), format, args);
    va_end(args);
    crew->dead = true;
    for (int i = 0; i < crew->n; i++)
        ss_threads_wake(crew, i);
}

enum ss_status ss_threads_dead(const struct ss_crew *crew)
{
    return ss_fail(SS_ERR_TRANSPORT, "%s", crew->why);
}

void ss_threads_check_alive(struct ss_crew *crew)
{
    if (crew->blocked > 0 && crew->blocked + crew->finished == crew->n)
        ss_threads_kill(crew, "deadlock: %d ranks wait and %d have ended",
                        crew->blocked, crew->finished);
}

void ss_threads_sleep_until(struct ss_rt *rt, const bool *done)
{
    struct ss_crew *crew = ss_crew_of(rt);
    struct ss_seat *seat = seat_of(rt);
    /* A helper thread of a rank may wait while its rank computes. */
    bool own = pthread_equal(seat->thread, pthread_self());
    while (!*done && !crew->dead) {
        if (own && !seat->blocked) {
            seat->blocked = true;
            crew->blocked++;
            ss_threads_check_alive(crew);
        }
        if (!crew->dead)
            pthread_cond_wait(&seat->wake, &crew->lock);
    }
    if (own)
        unblock(crew, seat);
}

enum ss_status ss_threads_enter(struct ss_rt *rt)
{
    struct ss_crew *crew = ss_crew_of(rt);
    struct ss_seat *seat = seat_of(rt);
    pthread_mutex_lock(&crew->lock);
    if (seat->fail_in > 0 && --seat->fail_in == 0)
        ss_threads_kill(crew, "planted failure of a call on rank %d",
                        rt->world_rank);
    if (!crew->dead)
        return SS_OK;
    enum ss_status status = ss_threads_dead(crew);
    pthread_mutex_unlock(&crew->lock);
    return status;
}

void ss_threads_leave(struct ss_rt *rt)
{
    struct ss_seat *seat = seat_of(rt);
    struct ss_team *team = seat->calls;
    seat->calls = NULL;
    pthread_mutex_unlock(&seat->crew->lock);
    /* Lives on: this rank holds a handle of it. */
    for (int i = 0; team && i < team->size; i++)
        pthread_cond_broadcast(&team->crew->seat[team->seat[i]].wake);
}

void ss_rt_threads_fail_at(struct ss_rt *rt, long n)
{
    pthread_mutex_lock(&ss_crew_of(rt)->lock);
    seat_of(rt)->fail_in = n;
    ss_threads_leave(rt);
}

static void team_free(struct ss_team *team)
{
    while (team->meetings) {
        struct ss_meeting *next = team->meetings->next;
        free(team->meetings);
        team->meetings = next;
    }
    ss_box_free(team);
    free(team->box);
    free(team->started);
    free(team->seat);
    free(team);
}

struct ss_team *ss_team_open(struct ss_crew *crew, int size)
{
    size_t n = (size_t)size;
    struct ss_team *team = calloc(1, sizeof(*team));
    if (!team)
        return NULL;
    team->crew = crew;
    team->size = team->handles = size;
    team->seat = calloc(n, sizeof(*team->seat));
    team->started = calloc(n, sizeof(*team->started));
    team->box = calloc(n, sizeof(struct ss_box *));
    if (!team->seat || !team->started || !team->box) {
        team_free(team);
        return NULL;
    }
    team->next = crew->teams;
    crew->teams = team;
    return team;
}

void ss_team_drop(struct ss_team *team)
{
    if (--team->handles > 0)
        return;
    struct ss_team **link = &team->crew->teams;
    while (*link != team)
        link = &(*link)->next;
    *link = team->next;
    team_free(team);
}

/* Also runs when a rank's thread leaves through abort. */
static void rank_ended(void *arg)
{
    struct ss_seat *seat = arg;
    struct ss_crew *crew = seat->crew;
    pthread_mutex_lock(&crew->lock);
    crew->finished++;
    if (seat->status != SS_OK && crew->status == SS_OK) {
        crew->status = seat->status;
        (void)ss_copy(crew->text, sizeof(crew->text), ss_error_text());
        ss_threads_kill(crew, "rank %d ended with an error: %.300s",
                        seat->world.base.rank, crew->text);
    }
    ss_threads_check_alive(crew);
    pthread_mutex_unlock(&crew->lock);
}

static void *rank_main(void *arg)
{
    struct ss_seat *seat = arg;
    pthread_mutex_lock(&seat->crew->lock);
    seat->thread = pthread_self();
    seat->status = SS_ERR_TRANSPORT; /* of a rank that aborts */
    pthread_mutex_unlock(&seat->crew->lock);
    pthread_cleanup_push(rank_ended, seat);
    seat->status = seat->crew->fn(&seat->world.base, seat->crew->arg);
    pthread_cleanup_pop(1);
    return NULL;
}

static enum ss_status crew_open(struct ss_crew *crew, int n, int hosts)
{
    pthread_mutex_init(&crew->lock, NULL);
    crew->n = n;
    crew->hosts = hosts < 1 ? 1 : hosts > n ? n : hosts;
    crew->seat = ss_alloc((size_t)n, sizeof(*crew->seat), "rank threads");
    struct ss_team *world = crew->seat ? ss_team_open(crew, n) : NULL;
    if (!world)
        return ss_fail(SS_ERR_NO_MEMORY, "cannot allocate %d rank threads", n);
    for (int i = 0; i < n; i++) {
        struct ss_seat *seat = &crew->seat[i];
        world->seat[i] = i;
        seat->crew = crew;
        pthread_cond_init(&seat->wake, NULL);
        seat->world = (struct ss_threads_rt){.base = {.ops = &ss_threads_ops,
                                                      .rank = i,
                                                      .size = n,
                                                      .world_rank = i},
                                             .team = world,
                                             .top = true};
        (void)ss_format(seat->world.base.host, sizeof(seat->world.base.host),
                        "h%d", (int)((long)i * crew->hosts / n));
    }
    return SS_OK;
}

static enum ss_status crew_start(struct ss_crew *crew)
{
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK_BYTES);
    enum ss_status status = SS_OK;
    for (int i = 0; i < crew->n && status == SS_OK; i++) {
        struct ss_seat *seat = &crew->seat[i];
        int error = pthread_create(&seat->handle, &attr, rank_main, seat);
        seat->started = error == 0;
        if (error != 0)
            status =
                ss_fail(SS_ERR_ENV, "cannot start rank thread %d of %d: %s", i,
                        crew->n, strerror(error));
    }
    pthread_attr_destroy(&attr);
    return status;
}

static void crew_join(struct ss_crew *crew)
{
    for (int i = 0; i < crew->n; i++)
        if (crew->seat[i].started)
            pthread_join(crew->seat[i].handle, NULL);
}

static void crew_close(struct ss_crew *crew)
{
    while (crew->teams) {
        struct ss_team *next = crew->teams->next;
        team_free(crew->teams);
        crew->teams = next;
    }
    for (int i = 0; crew->seat && i < crew->n; i++)
        if (crew->seat[i].crew)
            pthread_cond_destroy(&crew->seat[i].wake);
    ss_free(crew->seat);
    pthread_mutex_destroy(&crew->lock);
}

enum ss_status ss_rt_threads_run(int n, int hosts, ss_rank_fn fn, void *arg)
{
    SS_ASSERT(n > 0);
    struct ss_crew crew = {.fn = fn, .arg = arg};
    enum ss_status status = crew_open(&crew, n, hosts);
    if (status == SS_OK) {
        status = crew_start(&crew);
        if (status != SS_OK) {
            pthread_mutex_lock(&crew.lock);
            ss_threads_kill(&crew, "a rank thread could not be started");
            pthread_mutex_unlock(&crew.lock);
        }
        crew_join(&crew);
    }
    if (status == SS_OK && crew.status != SS_OK) {
        status = crew.status;
        ss_error_set(crew.text);
    }
    crew_close(&crew);
    return status;
}
