/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_CLUSTER_RT_THREADS_INT_H
#define SS_CLUSTER_RT_THREADS_INT_H

#include <pthread.h>
#include <stdbool.h>

#include "cluster/rt.h"

/**
 * The inside of rt_threads. One lock guards everything; each rank sleeps on a
 * condition of its own, so that a message wakes its receiver alone. Memory of
 * the transport itself is plain malloc, as MPI's is: a test that fails the
 * n-th allocation must hit the code under test, not its stand-in. Handles
 * (struct ss_rt) come from ss_alloc as in the other runtimes.
 */
enum ss_meet_kind { /* beyond enum ss_coll */
                    SS_MEET_BARRIER = 100,
                    SS_MEET_GATHER,
                    SS_MEET_SPLIT
};

/** What one rank brings to a collective. Bytes are counts of SS_DT_BYTE. */
struct ss_call {
    int kind; /**< enum ss_coll or enum ss_meet_kind */
    const void *send;
    void *recv;
    size_t count;
    enum ss_dtype dtype;
    enum ss_red red;
    int root;
    int color, key;
    struct ss_team *team; /**< out, of a split: NULL when color < 0 */
    int team_rank;        /**< out */
};

/** The n-th collective of a communicator; the last to arrive computes it. */
struct ss_meeting {
    struct ss_meeting *next;
    uint64_t number;
    int arrived, left;
    bool done;
    enum ss_status status;
    char text[128];
    struct ss_call call[]; /**< [size] */
};

struct ss_message {
    struct ss_message *next;
    int tag;
    size_t len;
    unsigned char data[];
};

/** A receive that waits for its message. */
struct ss_post {
    struct ss_post *next;
    struct ss_box *box;
    int tag;
    void *data;
    size_t len;
    bool done;
    enum ss_status status;
};

/** Mailbox of one (communicator, source, destination). */
struct ss_box {
    struct ss_message *messages;
    struct ss_post *posts;
};

/** A communicator. */
struct ss_team {
    struct ss_team *next; /**< of the crew's list */
    struct ss_crew *crew;
    int size, handles;
    int *seat;         /**< [size] rank in the world */
    uint64_t *started; /**< [size] collectives started */
    struct ss_meeting *meetings;
    struct ss_box **box; /**< [size][size], rows made when used */
};

struct ss_threads_rt {
    struct ss_rt base;
    struct ss_team *team;
    bool top; /**< the world's handle, owned by the crew */
};

struct ss_seat {
    struct ss_threads_rt world;
    struct ss_crew *crew;
    pthread_t handle; /**< the launcher's, to join */
    pthread_t thread; /**< the rank's own, under the lock */
    pthread_cond_t wake;
    bool started, blocked;
    struct ss_team *calls; /**< all of it is woken when this rank unlocks */
    long fail_in;
    enum ss_status status;
};

/** The whole world of one ss_rt_threads_run. */
struct ss_crew {
    pthread_mutex_t lock;
    int n, hosts, blocked, finished;
    bool dead;
    char why[SS_ERROR_TEXT_MAX];
    enum ss_status status; /**< of the first rank that failed */
    char text[SS_ERROR_TEXT_MAX];
    ss_rank_fn fn;
    void *arg;
    struct ss_seat *seat; /**< [n] */
    struct ss_team *teams;
};

extern const struct ss_rt_ops ss_threads_ops;

/* Below: lock held, except for enter. */

/** Takes the lock and counts a call: a planted failure or a dead world is
 * SS_ERR_TRANSPORT, with the lock released. */
enum ss_status ss_threads_enter(struct ss_rt *rt);
/** Unlocks; then wakes the team that ss_threads_wake_team noted, so that 400
 * sleepers do not wake only to wait for the lock. */
void ss_threads_leave(struct ss_rt *rt);
void ss_threads_wake_team(struct ss_rt *rt);
void ss_threads_kill(struct ss_crew *crew, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void ss_threads_wake(struct ss_crew *crew, int seat);
/** Sleeps until *done, or the world is dead. */
void ss_threads_sleep_until(struct ss_rt *rt, const bool *done);
/** When all who are left wait, nobody will ever come: ends the world. */
void ss_threads_check_alive(struct ss_crew *crew);
enum ss_status ss_threads_dead(const struct ss_crew *crew);

struct ss_team *ss_team_open(struct ss_crew *crew, int size);
/** Drops one handle; the last one frees. */
void ss_team_drop(struct ss_team *team);

/** Joins the next collective; *out is done once all have joined. */
enum ss_status ss_meet_start(struct ss_rt *rt, const struct ss_call *call,
                             struct ss_meeting **out);
/** Leaves a meeting that is done; its status with its text. */
enum ss_status ss_meet_finish(struct ss_rt *rt, struct ss_meeting *meeting,
                              struct ss_call *mine);
/** Computes what everybody asked for. */
void ss_meet_compute(struct ss_team *team, struct ss_meeting *meeting);

enum ss_status ss_box_send(struct ss_rt *rt, const void *data, size_t len,
                           int to, int tag);
/** *out = NULL: received at once. */
enum ss_status ss_box_receive(struct ss_rt *rt, void *data, size_t len,
                              int from, int tag, struct ss_post **out);
/** Ends a receive: its status; one not done is withdrawn. */
enum ss_status ss_box_finish(struct ss_rt *rt, struct ss_post *post);
void ss_box_free(struct ss_team *team);

static inline struct ss_team *ss_team_of(const struct ss_rt *rt)
{
    return ((const struct ss_threads_rt *)rt)->team;
}
static inline struct ss_crew *ss_crew_of(const struct ss_rt *rt)
{
    return ss_team_of(rt)->crew;
}

#endif
