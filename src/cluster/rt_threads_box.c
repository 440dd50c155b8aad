/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mailboxes of rt_threads: one per (communicator, source, destination), so
 * that a search sees only what this pair has under way. Sends are buffered and
 * never block; receives match in the order of posting, as MPI's do. All with
 * the world's lock held.
 */
#include <stdlib.h>
#include <string.h>

#include "cluster/rt_threads_int.h"

static struct ss_box *box_of(struct ss_team *team, int from, int to)
{
    if (!team->box[to])
        team->box[to] = calloc((size_t)team->size, sizeof(**team->box));
    return team->box[to] ? &team->box[to][from] : NULL;
}

static enum ss_status check_peer(const struct ss_team *team, int peer)
{
    if (peer >= 0 && peer < team->size)
        return SS_OK;
    return ss_fail(SS_ERR_TRANSPORT, "rank %d is not one of the %d ranks", peer,
                   team->size);
}

static enum ss_status no_memory(struct ss_crew *crew)
{
    ss_threads_kill(crew, "the runtime of threads is out of memory");
    return ss_threads_dead(crew);
}

static enum ss_status copy_in(void *data, size_t room, const void *from,
                              size_t len)
{
    if (len > room)
        return SS_ERR_TRANSPORT;
    if (len > 0)
        memcpy(data, from, len);
    return SS_OK;
}

static enum ss_status told(enum ss_status status)
{
    if (status == SS_OK)
        return SS_OK;
    return ss_fail(status, "a message is longer than the buffer that receives "
                           "it");
}

enum ss_status ss_box_send(struct ss_rt *rt, const void *data, size_t len,
                           int to, int tag)
{
    struct ss_team *team = ss_team_of(rt);
    SS_TRY(check_peer(team, to));
    struct ss_box *box = box_of(team, rt->rank, to);
    if (!box)
        return no_memory(team->crew);
    for (struct ss_post **at = &box->posts; *at; at = &(*at)->next) {
        struct ss_post *post = *at;
        if (post->tag != tag)
            continue;
        *at = post->next;
        post->status = copy_in(post->data, post->len, data, len);
        post->done = true;
        ss_threads_wake(team->crew, team->seat[to]);
        return SS_OK;
    }
    struct ss_message *message = malloc(sizeof(*message) + len);
    if (!message)
        return no_memory(team->crew);
    *message = (struct ss_message){.tag = tag, .len = len};
    (void)copy_in(message->data, len, data, len);
    struct ss_message **end = &box->messages;
    while (*end)
        end = &(*end)->next;
    *end = message;
    return SS_OK;
}

enum ss_status ss_box_receive(struct ss_rt *rt, void *data, size_t len,
                              int from, int tag, struct ss_post **out)
{
    struct ss_team *team = ss_team_of(rt);
    SS_TRY(check_peer(team, from));
    struct ss_box *box = box_of(team, from, rt->rank);
    if (!box)
        return no_memory(team->crew);
    for (struct ss_message **at = &box->messages; *at; at = &(*at)->next) {
        struct ss_message *message = *at;
        if (message->tag != tag)
            continue;
        *at = message->next;
        enum ss_status status = copy_in(data, len, message->data, message->len);
        free(message);
        *out = NULL;
        return told(status);
    }
    struct ss_post *post = malloc(sizeof(*post));
    if (!post)
        return no_memory(team->crew);
    *post = (struct ss_post){.box = box, .tag = tag, .data = data, .len = len};
    struct ss_post **end = &box->posts;
    while (*end)
        end = &(*end)->next;
    *end = post;
    *out = post;
    return SS_OK;
}

enum ss_status ss_box_finish(struct ss_rt *rt, struct ss_post *post)
{
    enum ss_status status = post->status;
    bool done = post->done;
    struct ss_post **at = &post->box->posts;
    while (!done && *at != post)
        at = &(*at)->next;
    if (!done)
        *at = post->next;
    free(post);
    return done ? told(status) : ss_threads_dead(ss_crew_of(rt));
}

static void free_box(struct ss_box *box)
{
    while (box->messages) {
        struct ss_message *next = box->messages->next;
        free(box->messages);
        box->messages = next;
    }
    while (box->posts) {
        struct ss_post *next = box->posts->next;
        free(box->posts);
        box->posts = next;
    }
}

void ss_box_free(struct ss_team *team)
{
    for (int to = 0; team->box && to < team->size; to++) {
        for (int from = 0; team->box[to] && from < team->size; from++)
            free_box(&team->box[to][from]);
        free(team->box[to]);
    }
}
