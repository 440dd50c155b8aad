/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The runtime table over threads: each entry takes the lock, counts the call
 * (so that a test can make the n-th one fail), and hands over to the mailboxes
 * or to the meetings. Requests hold a pointer to one of the two.
 */
#include <sched.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "cluster/rt_threads_int.h"

enum request_kind { REQUEST_MEETING, REQUEST_POST };

/* A blocking collective; *call comes back with what the meeting filled in. */
static enum ss_status meet(struct ss_rt *rt, struct ss_call *call)
{
    struct ss_meeting *meeting;
    SS_TRY(ss_threads_enter(rt));
    enum ss_status status = ss_meet_start(rt, call, &meeting);
    if (status == SS_OK) {
        ss_threads_sleep_until(rt, &meeting->done);
        status = ss_meet_finish(rt, meeting, call);
    }
    ss_threads_leave(rt);
    return status;
}

static enum ss_status threads_barrier_all(struct ss_rt *rt)
{
    struct ss_call call = {.kind = SS_MEET_BARRIER};
    return meet(rt, &call);
}

static enum ss_status threads_allreduce_all(struct ss_rt *rt, void *data,
                                            size_t count, enum ss_dtype dtype,
                                            enum ss_red red)
{
    struct ss_call call = {.kind = SS_COLL_ALL_REDUCE,
                           .recv = data,
                           .count = count,
                           .dtype = dtype,
                           .red = red};
    return meet(rt, &call);
}

static enum ss_status threads_bcast_all(struct ss_rt *rt, void *data,
                                        size_t len, int root)
{
    struct ss_call call = {.kind = SS_COLL_BROADCAST,
                           .recv = data,
                           .count = len,
                           .dtype = SS_DT_BYTE,
                           .root = root};
    return meet(rt, &call);
}

static enum ss_status threads_gather_all(struct ss_rt *rt, const void *send,
                                         size_t len, void *recv, int root)
{
    struct ss_call call = {.kind = SS_MEET_GATHER,
                           .send = send,
                           .recv = recv,
                           .count = len,
                           .dtype = SS_DT_BYTE,
                           .root = root};
    return meet(rt, &call);
}

static enum ss_status threads_allgather_all(struct ss_rt *rt, const void *send,
                                            size_t len, void *recv)
{
    struct ss_call call = {.kind = SS_COLL_ALL_GATHER,
                           .send = send,
                           .recv = recv,
                           .count = len,
                           .dtype = SS_DT_BYTE};
    return meet(rt, &call);
}

static void drop_team(struct ss_rt *rt, struct ss_team *team)
{
    struct ss_crew *crew = ss_crew_of(rt);
    pthread_mutex_lock(&crew->lock);
    ss_team_drop(team);
    pthread_mutex_unlock(&crew->lock);
}

/* The handle is allocated first, so that a rank without memory still takes
 * part and nobody waits for it. */
static enum ss_status threads_split_all(struct ss_rt *rt, int color, int key,
                                        struct ss_rt **out)
{
    struct ss_threads_rt *child = ss_alloc(1, sizeof(*child), "a communicator");
    struct ss_call call = {.kind = SS_MEET_SPLIT, .color = color, .key = key};
    enum ss_status status = meet(rt, &call);
    if (status == SS_OK && !child) {
        if (call.team)
            drop_team(rt, call.team);
        return SS_ERR_NO_MEMORY;
    }
    if (status != SS_OK || !call.team) {
        ss_free(child);
        if (status == SS_OK)
            *out = NULL;
        return status;
    }
    child->base = *rt;
    child->base.rank = call.team_rank;
    child->base.size = call.team->size;
    child->team = call.team;
    *out = &child->base;
    return SS_OK;
}

static enum ss_status threads_split_host_all(struct ss_rt *rt,
                                             struct ss_rt **out)
{
    const struct ss_crew *crew = ss_crew_of(rt);
    int host = (int)((long)rt->world_rank * crew->hosts / crew->n);
    return threads_split_all(rt, host, rt->rank, out);
}

static enum ss_status threads_send(struct ss_rt *rt, const void *data,
                                   size_t len, int to, int tag)
{
    SS_TRY(ss_threads_enter(rt));
    enum ss_status status = ss_box_send(rt, data, len, to, tag);
    ss_threads_leave(rt);
    return status;
}

static enum ss_status threads_isend(struct ss_rt *rt, const void *data,
                                    size_t len, int to, int tag,
                                    struct ss_request *request)
{
    request->active = 0; /* buffered: complete at once */
    return threads_send(rt, data, len, to, tag);
}

static enum ss_status threads_recv(struct ss_rt *rt, void *data, size_t len,
                                   int from, int tag)
{
    struct ss_post *post;
    SS_TRY(ss_threads_enter(rt));
    enum ss_status status = ss_box_receive(rt, data, len, from, tag, &post);
    if (status == SS_OK && post) {
        ss_threads_sleep_until(rt, &post->done);
        status = ss_box_finish(rt, post);
    }
    ss_threads_leave(rt);
    return status;
}

static void keep(struct ss_request *request, enum request_kind kind,
                 const void *what)
{
    request->word[0] = (uint64_t)kind;
    memcpy(&request->word[1], &what, sizeof(what));
    request->active = 1;
}

static enum ss_status threads_irecv(struct ss_rt *rt, void *data, size_t len,
                                    int from, int tag,
                                    struct ss_request *request)
{
    struct ss_post *post;
    request->active = 0;
    SS_TRY(ss_threads_enter(rt));
    enum ss_status status = ss_box_receive(rt, data, len, from, tag, &post);
    if (status == SS_OK && post)
        keep(request, REQUEST_POST, post);
    ss_threads_leave(rt);
    return status;
}

/* The table's signature. NOLINTNEXTLINE(readability-function-size) */
static enum ss_status threads_icollective(struct ss_rt *rt, enum ss_coll kind,
                                          const void *send, void *recv,
                                          size_t count, enum ss_dtype dtype,
                                          enum ss_red red, int root,
                                          struct ss_request *request)
{
    struct ss_call call = {.kind = kind,
                           .send = send,
                           .recv = recv,
                           .count = count,
                           .dtype = dtype,
                           .red = red,
                           .root = root};
    struct ss_meeting *meeting;
    request->active = 0;
    SS_TRY(ss_threads_enter(rt));
    enum ss_status status = ss_meet_start(rt, &call, &meeting);
    if (status == SS_OK)
        keep(request, REQUEST_MEETING, meeting);
    ss_threads_leave(rt);
    return status;
}

static void *kept(const struct ss_request *request)
{
    void *what;
    memcpy(&what, &request->word[1], sizeof(what));
    return what;
}

static const bool *done_flag(const struct ss_request *request)
{
    const struct ss_post *post = kept(request);
    const struct ss_meeting *meeting = kept(request);
    return request->word[0] == REQUEST_POST ? &post->done : &meeting->done;
}

static enum ss_status finish(struct ss_rt *rt, struct ss_request *request)
{
    struct ss_call unused;
    request->active = 0;
    if (request->word[0] == REQUEST_POST)
        return ss_box_finish(rt, kept(request));
    return ss_meet_finish(rt, kept(request), &unused);
}

static enum ss_status threads_test(struct ss_rt *rt, struct ss_request *request,
                                   int *done)
{
    enum ss_status status = SS_OK;
    *done = 1;
    if (!request->active)
        return SS_OK;
    SS_TRY(ss_threads_enter(rt));
    if (*done_flag(request))
        status = finish(rt, request);
    else
        *done = 0;
    ss_threads_leave(rt);
    if (!*done)
        sched_yield(); /* whoever polls lets the others run */
    return status;
}

static enum ss_status threads_wait(struct ss_rt *rt, struct ss_request *request)
{
    if (!request->active)
        return SS_OK;
    SS_TRY(ss_threads_enter(rt));
    ss_threads_sleep_until(rt, done_flag(request));
    enum ss_status status = finish(rt, request);
    ss_threads_leave(rt);
    return status;
}

static void threads_progress(struct ss_rt *rt)
{
    (void)rt;
    sched_yield();
}

static void threads_abort(struct ss_rt *rt, int code)
{
    struct ss_crew *crew = ss_crew_of(rt);
    pthread_mutex_lock(&crew->lock);
    ss_threads_kill(crew, "rank %d ended the job with code %d", rt->world_rank,
                    code);
    (void)ss_threads_dead(crew);
    pthread_mutex_unlock(&crew->lock);
    pthread_exit(NULL);
}

static void threads_close(struct ss_rt *rt)
{
    struct ss_threads_rt *self = (struct ss_threads_rt *)rt;
    if (self->top)
        return;
    drop_team(rt, self->team);
    ss_free(self);
}

static void threads_carriers(struct ss_rt *rt, char *out, size_t size)
{
    (void)rt;
    (void)ss_copy(out, size, "memory of one process");
}

static const char *threads_version(struct ss_rt *rt)
{
    (void)rt;
    return "threads of one process";
}

const struct ss_rt_ops ss_threads_ops = {
    .name = "threads",
    .barrier_all = threads_barrier_all,
    .allreduce_all = threads_allreduce_all,
    .bcast_all = threads_bcast_all,
    .gather_all = threads_gather_all,
    .allgather_all = threads_allgather_all,
    .split_all = threads_split_all,
    .split_host_all = threads_split_host_all,
    .send = threads_send,
    .recv = threads_recv,
    .isend = threads_isend,
    .irecv = threads_irecv,
    .icollective = threads_icollective,
    .test = threads_test,
    .wait = threads_wait,
    .progress = threads_progress,
    .abort = threads_abort,
    .close = threads_close,
    .version = threads_version,
    .carriers = threads_carriers,
};
