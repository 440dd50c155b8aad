/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collectives of rt_threads. The n-th collective that a rank starts on a
 * communicator meets the n-th of all others, whatever completes in between;
 * the last to arrive computes the result for everyone, always in rank order,
 * so sums do not depend on timing. Ranks that disagree on what they call end
 * the world: real MPI would hang or corrupt. All with the lock held.
 */
#include <stdlib.h>
#include <string.h>

#include "cluster/rt_threads_int.h"

static struct ss_meeting *find(struct ss_team *team, uint64_t number)
{
    struct ss_meeting **end = &team->meetings;
    for (; *end; end = &(*end)->next)
        if ((*end)->number == number)
            return *end;
    size_t calls = (size_t)team->size * sizeof(struct ss_call);
    struct ss_meeting *meeting = calloc(1, sizeof(*meeting) + calls);
    if (meeting)
        meeting->number = number;
    *end = meeting;
    return meeting;
}

static bool same(const struct ss_call *a, const struct ss_call *b)
{
    return a->kind == b->kind && a->count == b->count && a->dtype == b->dtype &&
           a->red == b->red && a->root == b->root;
}

/* The call of somebody who arrived before. */
static const struct ss_call *earlier(const struct ss_meeting *meeting, int me)
{
    for (int i = 0;; i++)
        if (i != me && meeting->call[i].kind != 0)
            return &meeting->call[i];
}

enum ss_status ss_meet_start(struct ss_rt *rt, const struct ss_call *call,
                             struct ss_meeting **out)
{
    struct ss_team *team = ss_team_of(rt);
    struct ss_crew *crew = team->crew;
    SS_ASSERT(call->root >= 0 && call->root < team->size);
    struct ss_meeting *meeting = find(team, team->started[rt->rank]++);
    if (!meeting) {
        ss_threads_kill(crew, "the runtime of threads is out of memory");
        return ss_threads_dead(crew);
    }
    meeting->call[rt->rank] = *call;
    meeting->call[rt->rank].kind++; /* 0: not arrived */
    if (meeting->arrived++ > 0 &&
        !same(&meeting->call[rt->rank], earlier(meeting, rt->rank))) {
        ss_threads_kill(crew,
                        "rank %d calls another collective than its peers "
                        "(number %llu)",
                        rt->world_rank, (unsigned long long)meeting->number);
        return ss_threads_dead(crew);
    }
    if (meeting->arrived == team->size) {
        for (int i = 0; i < team->size; i++)
            meeting->call[i].kind--;
        ss_meet_compute(team, meeting);
        meeting->done = true;
        ss_threads_wake_team(rt);
    }
    *out = meeting;
    return SS_OK;
}

enum ss_status ss_meet_finish(struct ss_rt *rt, struct ss_meeting *meeting,
                              struct ss_call *mine)
{
    struct ss_team *team = ss_team_of(rt);
    if (!meeting->done)
        return ss_threads_dead(team->crew);
    *mine = meeting->call[rt->rank];
    enum ss_status status = meeting->status;
    if (status != SS_OK)
        status = ss_fail(status, "%s", meeting->text);
    if (++meeting->left == team->size) {
        struct ss_meeting **link = &team->meetings;
        while (*link != meeting)
            link = &(*link)->next;
        *link = meeting->next;
        free(meeting);
    }
    return status;
}
