/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conformance cases of the runtime table. Values depend on rank and position,
 * so that a swapped buffer or a lost element shows. No cmocka in here: ranks
 * may be threads, where its jumps are undefined.
 */
#include "support/rt_cases.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"

enum { MANY = 8, LEN = 37, RANKS_MAX = 512 };

static enum ss_status barriers(struct ss_rt *rt, void *arg)
{
    (void)arg;
    RT_CHECK(rt->rank >= 0 && rt->rank < rt->size);
    RT_CHECK(rt->world_rank == rt->rank && rt->host[0]);
    for (int i = 0; i < 20; i++)
        SS_TRY(ss_barrier_all(rt));
    return SS_OK;
}

static enum ss_status allreduces(struct ss_rt *rt, void *arg)
{
    (void)arg;
    int64_t n = rt->size, sum = n * (n - 1) / 2;
    int64_t wide[3] = {rt->rank, -rt->rank, 7};
    SS_TRY(ss_allreduce_all(rt, wide, 3, SS_DT_I64, SS_RED_SUM));
    RT_CHECK(wide[0] == sum && wide[1] == -sum && wide[2] == 7 * n);
    int32_t narrow[2] = {rt->rank, -rt->rank};
    SS_TRY(ss_allreduce_all(rt, narrow, 2, SS_DT_I32, SS_RED_MAX));
    RT_CHECK(narrow[0] == n - 1 && narrow[1] == 0);
    double real = 1.5 + rt->rank;
    SS_TRY(ss_allreduce_all(rt, &real, 1, SS_DT_F64, SS_RED_MIN));
    RT_CHECK(real == 1.5);
    float single = 0.5f;
    SS_TRY(ss_allreduce_all(rt, &single, 1, SS_DT_F32, SS_RED_SUM));
    RT_CHECK(single == 0.5f * (float)n);
    uint64_t word = UINT64_MAX - (uint64_t)rt->rank;
    SS_TRY(ss_allreduce_all(rt, &word, 1, SS_DT_U64, SS_RED_MAX));
    RT_CHECK(word == UINT64_MAX);
    return ss_allreduce_all(rt, NULL, 0, SS_DT_I64, SS_RED_SUM);
}

static enum ss_status broadcasts(struct ss_rt *rt, void *arg)
{
    (void)arg;
    for (int root = 0; root < rt->size && root < 8; root++) {
        int data[LEN];
        for (int i = 0; i < LEN; i++)
            data[i] = rt->rank == root ? root * 100 + i : -1;
        SS_TRY(ss_bcast_all(rt, data, sizeof(data), root));
        for (int i = 0; i < LEN; i++)
            RT_CHECK(data[i] == root * 100 + i);
    }
    return SS_OK;
}

static enum ss_status gathers(struct ss_rt *rt, void *arg)
{
    (void)arg;
    int root = rt->size - 1, mine[2] = {rt->rank, rt->rank * rt->rank};
    int all[2 * RANKS_MAX];
    memset(all, -1, sizeof(all));
    RT_CHECK(rt->size <= RANKS_MAX);
    SS_TRY(ss_gather_all(rt, mine, sizeof(mine), rt->rank == root ? all : NULL,
                         root));
    for (int i = 0; i < rt->size && rt->rank == root; i++)
        RT_CHECK(all[2 * i] == i && all[2 * i + 1] == i * i);
    memset(all, -1, sizeof(all));
    SS_TRY(ss_allgather_all(rt, mine, sizeof(mine), all));
    for (int i = 0; i < rt->size; i++)
        RT_CHECK(all[2 * i] == i && all[2 * i + 1] == i * i);
    return SS_OK;
}

static enum ss_status splits(struct ss_rt *rt, void *arg)
{
    (void)arg;
    struct ss_rt *reversed, *half, *none = rt;
    int n = rt->size;
    SS_TRY(ss_split_all(rt, 5, n - rt->rank, &reversed));
    RT_CHECK(reversed->size == n && reversed->rank == n - 1 - rt->rank);
    RT_CHECK(reversed->world_rank == rt->world_rank);
    int from = rt->rank;
    SS_TRY(ss_bcast_all(reversed, &from, sizeof(from), 0));
    RT_CHECK(from == n - 1);
    SS_TRY(ss_split_all(reversed, reversed->rank % 2, 0, &half));
    RT_CHECK(half->size == (n + 1 - reversed->rank % 2) / 2);
    RT_CHECK(half->rank == reversed->rank / 2);
    int64_t count = 1;
    SS_TRY(ss_allreduce_all(half, &count, 1, SS_DT_I64, SS_RED_SUM));
    RT_CHECK(count == half->size);
    ss_rt_close(half);
    ss_rt_close(reversed);
    SS_TRY(ss_split_all(rt, rt->rank == 0 ? 0 : -1, 0, &none));
    RT_CHECK((none != NULL) == (rt->rank == 0));
    RT_CHECK(!none || none->size == 1);
    ss_rt_close(none);
    return SS_OK;
}

static enum ss_status host_split(struct ss_rt *rt, void *arg)
{
    (void)arg;
    struct ss_rt *host;
    SS_TRY(rt->ops->split_host_all(rt, &host));
    char name[64];
    memcpy(name, rt->host, sizeof(name));
    SS_TRY(ss_bcast_all(host, name, sizeof(name), 0));
    RT_CHECK(strcmp(name, rt->host) == 0);
    int32_t leaders = host->rank == 0;
    SS_TRY(ss_allreduce_all(rt, &leaders, 1, SS_DT_I32, SS_RED_SUM));
    RT_CHECK(leaders >= 1 && leaders <= rt->size);
    ss_rt_close(host);
    return SS_OK;
}

/* Around a ring, out of order by tag, and with a self-sized odd length. */
static enum ss_status ring(struct ss_rt *rt, void *arg)
{
    (void)arg;
    int n = rt->size, next = (rt->rank + 1) % n, last = (rt->rank + n - 1) % n;
    struct ss_request request[4] = {{0}};
    char out[2][LEN], in[2][LEN];
    if (n == 1)
        return SS_OK;
    for (int tag = 0; tag < 2; tag++) {
        memset(out[tag], rt->rank % 100 + tag, LEN);
        SS_TRY(
            rt->ops->irecv(rt, in[1 - tag], LEN, last, 1 - tag, &request[tag]));
    }
    for (int tag = 0; tag < 2; tag++)
        SS_TRY(rt->ops->isend(rt, out[tag], LEN, next, tag, &request[2 + tag]));
    for (int i = 3; i >= 0; i--)
        SS_TRY(rt->ops->wait(rt, &request[i]));
    for (int tag = 0; tag < 2; tag++)
        RT_CHECK(in[tag][0] == last % 100 + tag &&
                 in[tag][LEN - 1] == in[tag][0]);
    int token = 0;
    if (rt->rank == 0)
        SS_TRY(rt->ops->send(rt, &token, sizeof(token), next, 9));
    SS_TRY(rt->ops->recv(rt, &token, sizeof(token), last, 9));
    RT_CHECK(token == (rt->rank == 0 ? n - 1 : rt->rank - 1));
    token++;
    return rt->rank == 0 ? SS_OK
                         : rt->ops->send(rt, &token, sizeof(token), next, 9);
}

static enum ss_status post_many(struct ss_rt *rt, int *value,
                                struct ss_request *request)
{
    for (int i = 0; i < MANY; i++) {
        if (rt->rank == 0)
            SS_TRY(
                rt->ops->isend(rt, &value[i], sizeof(int), 1, 4, &request[i]));
        else
            SS_TRY(
                rt->ops->irecv(rt, &value[i], sizeof(int), 0, 4, &request[i]));
    }
    return SS_OK;
}

/* Messages with one tag arrive in the order they were sent, whether they or
 * their receives came first. */
static enum ss_status ordered(struct ss_rt *rt, void *arg)
{
    (void)arg;
    struct ss_request request[MANY] = {{0}};
    int value[MANY] = {0};
    char go = 0;
    if (rt->size == 1 || rt->rank > 1)
        return SS_OK;
    for (int first = 0; first < 2; first++) {
        for (int i = 0; i < MANY && rt->rank == 0; i++)
            value[i] = i * 3 + first;
        if (rt->rank != first)
            SS_TRY(rt->ops->recv(rt, &go, 1, first, 5));
        SS_TRY(post_many(rt, value, request));
        if (rt->rank == first)
            SS_TRY(rt->ops->send(rt, &go, 1, 1 - first, 5));
        for (int i = MANY - 1; i >= 0; i--)
            SS_TRY(rt->ops->wait(rt, &request[i]));
        for (int i = 0; i < MANY; i++)
            RT_CHECK(value[i] == i * 3 + first);
    }
    return SS_OK;
}

static enum ss_status start(struct ss_rt *rt, enum ss_coll kind,
                            const void *send, void *recv,
                            struct ss_request *request)
{
    return rt->ops->icollective(rt, kind, send, recv, 1, SS_DT_I64, SS_RED_SUM,
                                rt->size - 1, request);
}

/* Each kind, with a send buffer of its own. */
static enum ss_status kinds(struct ss_rt *rt, void *arg)
{
    (void)arg;
    int64_t n = rt->size, me = rt->rank, sum = n * (n - 1) / 2;
    int64_t from[RANKS_MAX], to[6][RANKS_MAX];
    struct ss_request request[6];
    for (int64_t i = 0; i < n; i++)
        from[i] = me + 1000 * i;
    for (int kind = SS_COLL_ALL_REDUCE; kind <= SS_COLL_REDUCE; kind++)
        SS_TRY(start(rt, (enum ss_coll)kind, from, to[kind], &request[kind]));
    for (int kind = SS_COLL_REDUCE; kind >= SS_COLL_ALL_REDUCE; kind--)
        SS_TRY(rt->ops->wait(rt, &request[kind]));
    RT_CHECK(to[SS_COLL_ALL_REDUCE][0] == sum);
    RT_CHECK(to[SS_COLL_REDUCE_SCATTER][0] == sum + 1000 * me * n);
    RT_CHECK(to[SS_COLL_BROADCAST][0] == n - 1);
    RT_CHECK(me != n - 1 || to[SS_COLL_REDUCE][0] == sum);
    for (int64_t i = 0; i < n; i++) {
        RT_CHECK(to[SS_COLL_ALL_GATHER][i] == i);
        RT_CHECK(to[SS_COLL_ALL_TO_ALL][i] == i + 1000 * me);
    }
    return SS_OK;
}

/* The same in place. */
static enum ss_status kinds_in_place(struct ss_rt *rt, void *arg)
{
    (void)arg;
    int64_t n = rt->size, me = rt->rank, sum = n * (n - 1) / 2;
    int64_t to[6][RANKS_MAX];
    struct ss_request request[6];
    for (int kind = SS_COLL_ALL_REDUCE; kind <= SS_COLL_REDUCE; kind++) {
        for (int64_t i = 0; i < n; i++)
            to[kind][i] = me + 1000 * i;
        SS_TRY(start(rt, (enum ss_coll)kind, NULL, to[kind], &request[kind]));
    }
    for (int kind = SS_COLL_ALL_REDUCE; kind <= SS_COLL_REDUCE; kind++)
        SS_TRY(rt->ops->wait(rt, &request[kind]));
    RT_CHECK(to[SS_COLL_ALL_REDUCE][0] == sum);
    RT_CHECK(to[SS_COLL_REDUCE_SCATTER][0] == sum + 1000 * me * n);
    RT_CHECK(to[SS_COLL_BROADCAST][0] == n - 1);
    RT_CHECK(me != n - 1 || to[SS_COLL_REDUCE][0] == sum);
    for (int64_t i = 0; i < n; i++) {
        RT_CHECK(to[SS_COLL_ALL_GATHER][i] == i + 1000 * i);
        RT_CHECK(to[SS_COLL_ALL_TO_ALL][i] == i + 1000 * me);
    }
    return SS_OK;
}

/* Several in flight at a time, a blocking one in between, polled to the end
 * in an order that differs from rank to rank. */
static enum ss_status overlapped(struct ss_rt *rt, void *arg)
{
    (void)arg;
    int64_t value[MANY];
    struct ss_request request[MANY];
    for (int i = 0; i < MANY; i++) {
        value[i] = rt->rank + i;
        SS_TRY(start(rt, SS_COLL_ALL_REDUCE, NULL, &value[i], &request[i]));
        if (i == MANY / 2)
            SS_TRY(ss_barrier_all(rt));
    }
    for (int left = MANY, k = rt->rank; left > 0; k++) {
        int done, i = k % MANY;
        bool active = request[i].active;
        SS_TRY(rt->ops->test(rt, &request[i], &done));
        rt->ops->progress(rt);
        left -= active && done;
    }
    int64_t n = rt->size;
    for (int i = 0; i < MANY; i++)
        RT_CHECK(value[i] == n * (n - 1) / 2 + n * i);
    return SS_OK;
}

static enum ss_status unequal(struct ss_rt *rt, void *arg)
{
    (void)arg;
    int root = rt->size / 2;
    size_t len = (size_t)(rt->rank % 3) * 1000; /* every third sends nothing */
    size_t lens[RANKS_MAX];
    unsigned char mine[2000], *all = NULL;
    memset(mine, rt->rank, sizeof(mine));
    SS_TRY(ss_gatherv_all(rt, mine, len, (void **)&all, lens, root));
    RT_CHECK((all != NULL) == (rt->rank == root));
    for (int i = 0, at = 0; all && i < rt->size; i++) {
        RT_CHECK(lens[i] == (size_t)(i % 3) * 1000);
        for (size_t k = 0; k < lens[i]; k++)
            RT_CHECK(all[at++] == (unsigned char)i);
    }
    ss_free(all);
    return SS_OK;
}

const struct rt_case rt_cases[] = {
    {"barriers", barriers},
    {"allreduces", allreduces},
    {"broadcasts", broadcasts},
    {"gathers", gathers},
    {"splits", splits},
    {"host split", host_split},
    {"ring", ring},
    {"ordered messages", ordered},
    {"non-blocking collectives", kinds},
    {"non-blocking collectives in place", kinds_in_place},
    {"overlapped collectives", overlapped},
    {"unequal lengths", unequal},
    {"agreement", rt_case_agreement},
    {"agreement on a word", rt_case_words},
    {"clocks", rt_case_clocks},
    {"logical world", rt_case_logical_world},
    {"own place", rt_case_own_place},
};
const size_t rt_cases_count = SS_COUNT_OF(rt_cases);
