/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a collective of rt_threads does to its buffers, once all ranks have
 * come. Counts and in-place rules are MPI's. Everything is assembled in one
 * scratch buffer first: in-place input may be somebody's output.
 */
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "cluster/rt_threads_int.h"

static void refuse(struct ss_meeting *meeting, enum ss_status status,
                   const char *text)
{
    meeting->status = status;
    (void)ss_copy(meeting->text, sizeof(meeting->text), text);
}

/* A type cannot stand in parentheses. NOLINTBEGIN(bugprone-macro-parentheses)
 */
#define FOLD(type)                                                             \
    do {                                                                       \
        type *sum = into;                                                      \
        const type *x = from;                                                  \
        for (size_t i = 0; i < count; i++)                                     \
            sum[i] = red == SS_RED_SUM ? (type)(sum[i] + x[i])                 \
                     : (red == SS_RED_MIN) == (x[i] < sum[i]) ? x[i]           \
                                                              : sum[i];        \
    } while (0)
/* NOLINTEND(bugprone-macro-parentheses) */

static bool fold(void *into, const void *from, size_t count,
                 enum ss_dtype dtype, enum ss_red red)
{
    switch (dtype) {
    case SS_DT_I32:
        FOLD(int32_t);
        return true;
    case SS_DT_I64:
        FOLD(int64_t);
        return true;
    case SS_DT_U64:
        FOLD(uint64_t);
        return true;
    case SS_DT_F32:
        FOLD(float);
        return true;
    case SS_DT_F64:
        FOLD(double);
        return true;
    case SS_DT_BYTE:
    case SS_DT_BF16:
    case SS_DT_FP16:
    case SS_DT_FP8:
        break;
    }
    return false;
}

/* A rank's input: send, or recv where the data is in place. */
static const char *input(const struct ss_call *call)
{
    return call->send ? call->send : call->recv;
}

static void copy(void *to, const void *from, size_t len)
{
    if (to && to != from && len > 0)
        memcpy(to, from, len);
}

/* scratch = the sum (or min, max) over ranks of `count` elements. */
static void reduce(const struct ss_team *team, struct ss_meeting *meeting,
                   char *scratch, size_t count)
{
    const struct ss_call *call = meeting->call;
    copy(scratch, input(&call[0]), count * ss_dtype_size(call->dtype));
    bool able = fold(scratch, scratch, 0, call->dtype, call->red);
    for (int i = 1; i < team->size; i++)
        able = fold(scratch, input(&call[i]), count, call->dtype, call->red) &&
               able;
    if (!able)
        refuse(meeting, SS_ERR_INTERNAL,
               "a runtime cannot reduce elements of this type");
}

static void scatter(const struct ss_team *team, struct ss_meeting *meeting,
                    const char *scratch, size_t bytes)
{
    for (int i = 0; i < team->size; i++)
        copy(meeting->call[i].recv, scratch + (size_t)i * bytes, bytes);
}

static void gather(const struct ss_team *team, struct ss_meeting *meeting,
                   char *scratch, size_t bytes)
{
    for (int i = 0; i < team->size; i++) {
        const struct ss_call *call = &meeting->call[i];
        size_t at = (size_t)i * bytes;
        copy(scratch + at, call->send ? input(call) : input(call) + at, bytes);
    }
}

static void give_all(const struct ss_team *team, struct ss_meeting *meeting,
                     const char *data, size_t bytes)
{
    for (int i = 0; i < team->size; i++)
        copy(meeting->call[i].recv, data, bytes);
}

/* scratch [from][to][bytes], then each rank takes its column. */
static void all_to_all(const struct ss_team *team, struct ss_meeting *meeting,
                       char *scratch, size_t bytes)
{
    size_t n = (size_t)team->size;
    for (size_t i = 0; i < n; i++)
        copy(scratch + i * n * bytes, input(&meeting->call[i]), n * bytes);
    for (size_t to = 0; to < n; to++)
        for (size_t from = 0; from < n; from++)
            copy((char *)meeting->call[to].recv + from * bytes,
                 scratch + (from * n + to) * bytes, bytes);
}

static size_t scratch_bytes(const struct ss_team *team,
                            const struct ss_call *call)
{
    size_t n = (size_t)team->size;
    size_t bytes = call->count * ss_dtype_size(call->dtype);
    switch (call->kind) {
    case SS_COLL_ALL_REDUCE:
    case SS_COLL_REDUCE:
        return bytes;
    case SS_COLL_ALL_GATHER:
    case SS_COLL_REDUCE_SCATTER:
    case SS_MEET_GATHER:
        return n * bytes;
    case SS_COLL_ALL_TO_ALL:
        return n * n * bytes;
    default:
        return 0;
    }
}

static void move_data(const struct ss_team *team, struct ss_meeting *meeting,
                      char *scratch)
{
    struct ss_call *call = meeting->call, *root = &call[call->root];
    size_t n = (size_t)team->size;
    size_t bytes = call->count * ss_dtype_size(call->dtype);
    switch (call->kind) {
    case SS_COLL_ALL_REDUCE:
        reduce(team, meeting, scratch, call->count);
        give_all(team, meeting, scratch, bytes);
        break;
    case SS_COLL_REDUCE:
        reduce(team, meeting, scratch, call->count);
        copy(root->recv, scratch, bytes);
        break;
    case SS_COLL_REDUCE_SCATTER:
        reduce(team, meeting, scratch, n * call->count);
        scatter(team, meeting, scratch, bytes);
        break;
    case SS_COLL_ALL_GATHER:
        gather(team, meeting, scratch, bytes);
        give_all(team, meeting, scratch, n * bytes);
        break;
    case SS_MEET_GATHER:
        gather(team, meeting, scratch, bytes);
        copy(root->recv, scratch, n * bytes);
        break;
    case SS_COLL_ALL_TO_ALL:
        all_to_all(team, meeting, scratch, bytes);
        break;
    case SS_COLL_BROADCAST:
        give_all(team, meeting, input(root), bytes);
        break;
    default:
        break;
    }
}

static int by_color(const void *a, const void *b, void *arg)
{
    const struct ss_call *call = arg;
    int i = *(const int *)a, j = *(const int *)b;
    const struct ss_call *x = &call[i], *y = &call[j];
    if (x->color != y->color)
        return x->color < y->color ? -1 : 1;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return i - j;
}

/* Members [first, end) of `order` become one team. */
static bool make_team(struct ss_team *team, struct ss_meeting *meeting,
                      const int *order, int first, int end)
{
    struct ss_team *child = ss_team_open(team->crew, end - first);
    for (int i = first; child && i < end; i++) {
        struct ss_call *call = &meeting->call[order[i]];
        call->team = child;
        call->team_rank = i - first;
        child->seat[i - first] = team->seat[order[i]];
    }
    return child != NULL;
}

static void split(struct ss_team *team, struct ss_meeting *meeting, int *order)
{
    int n = team->size;
    for (int i = 0; i < n; i++)
        order[i] = i;
    qsort_r(order, (size_t)n, sizeof(*order), by_color, meeting->call);
    bool made = true;
    for (int first = 0, end; first < n; first = end) {
        int color = meeting->call[order[first]].color;
        for (end = first + 1; end < n; end++)
            if (meeting->call[order[end]].color != color)
                break;
        if (color >= 0)
            made = make_team(team, meeting, order, first, end) && made;
    }
    if (!made)
        refuse(meeting, SS_ERR_TRANSPORT, "out of memory in a split");
}

void ss_meet_compute(struct ss_team *team, struct ss_meeting *meeting)
{
    bool splits = meeting->call->kind == SS_MEET_SPLIT;
    size_t bytes = splits ? (size_t)team->size * sizeof(int)
                          : scratch_bytes(team, meeting->call);
    void *scratch = calloc(1, bytes ? bytes : 1);
    if (!scratch)
        refuse(meeting, SS_ERR_TRANSPORT, "out of memory in a collective");
    else if (splits)
        split(team, meeting, scratch);
    else
        move_data(team, meeting, scratch);
    free(scratch);
}
