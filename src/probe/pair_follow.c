/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What both ends of a meeting do with a lane, and the end that does as it is
 * told. Must not know sizes, samples or times: the leader does.
 */
#include "base/clock.h"
#include "base/str.h"
#include "probe/pair.h"
#include "probe/pair_words.h"

struct way {
    bool sends, recvs;
    size_t bytes;
};

/** `n` messages, a slot each in turn; *stamp: when message `mark` had come, or
 * had left where nothing comes. */
static enum ss_status stream(struct ss_lane *lane, const struct way *way,
                             int64_t n, int64_t mark, int64_t *stamp)
{
    const struct ss_lane_ops *ops = lane->ops;

    for (int64_t i = 0; i < n + SS_LANE_SLOTS; i++) {
        int slot = (int)(i % SS_LANE_SLOTS);
        if (i >= SS_LANE_SLOTS && way->recvs)
            SS_TRY(ops->wait_recv(lane, slot));
        if (i >= SS_LANE_SLOTS && way->sends)
            SS_TRY(ops->wait_send(lane, slot));
        if (i - SS_LANE_SLOTS == mark)
            *stamp = ss_clock_ns();
        if (i < n && way->recvs)
            SS_TRY(ops->recv(lane, way->bytes, slot));
        if (i < n && way->sends)
            SS_TRY(ops->send(lane, way->bytes, slot));
    }
    return way->sends ? ops->flush(lane) : SS_OK;
}

enum ss_status ss_pair_move(struct ss_lane *lane, const struct word *word,
                            bool sends, bool recvs, double *ns)
{
    const struct way way = {sends, recvs, (size_t)word->bytes};
    int64_t start = ss_clock_ns(), none;

    if (lane->ops->one_sided && word->lead > 0) {
        /* nobody sees what comes: the sender's flush has to tell */
        SS_TRY(stream(lane, &way, word->lead, -1, &none));
        start = ss_clock_ns();
        SS_TRY(stream(lane, &way, word->count, -1, &none));
    } else {
        SS_TRY(stream(lane, &way, word->lead + word->count, word->lead - 1,
                      &start));
    }
    *ns = (double)(ss_clock_ns() - start);
    return SS_OK;
}

enum ss_status ss_pair_ping(struct ss_lane *lane, int first, size_t bytes,
                            int64_t count)
{
    const struct ss_lane_ops *ops = lane->ops;

    for (int64_t i = 0; i < count; i++) {
        SS_TRY(ops->recv(lane, bytes, 0));
        if (first) {
            SS_TRY(ops->send(lane, bytes, 0));
            SS_TRY(ops->wait_send(lane, 0));
            SS_TRY(ops->wait_recv(lane, 0));
        } else {
            SS_TRY(ops->wait_recv(lane, 0));
            SS_TRY(ops->send(lane, bytes, 0));
            SS_TRY(ops->wait_send(lane, 0));
        }
    }
    return SS_OK;
}

void ss_pair_see(const char *root, const struct ss_net_snapshot *before,
                 struct word *word)
{
    struct ss_net_snapshot after = {0}, delta = {0};

    if (ss_net_read(root, &after) == SS_OK &&
        ss_net_delta(before, &after, &delta) == SS_OK)
        for (int i = 0; i < delta.n; i++)
            if (delta.row[i].tx_bytes > word->counted) {
                word->counted = delta.row[i].tx_bytes;
                ss_format(word->interface, sizeof(word->interface), "%s",
                          delta.row[i].interface);
            }
    ss_net_free(&after);
    ss_net_free(&delta);
}

void ss_pair_mark(const char *root, struct ss_net_snapshot *before)
{
    ss_net_free(before);
    if (ss_net_read(root, before) != SS_OK)
        *before = (struct ss_net_snapshot){0}; /* no evidence, no error */
}

static enum ss_status obey(struct ss_lane *lane, const struct word *word,
                           double *ns)
{
    if (word->bytes < 0 || (size_t)word->bytes > lane->slot_bytes ||
        word->count < 0 || word->lead < 0)
        return ss_fail(SS_ERR_INTERNAL, "a pair's command of %lld bytes",
                       (long long)word->bytes);
    if (word->op == OP_PING)
        return ss_pair_ping(lane, 0, (size_t)word->bytes, word->count);
    return ss_pair_move(lane, word, word->op != OP_SEND, word->op != OP_RECV,
                        ns);
}

enum ss_status ss_pair_follow(struct ss_lane *lane, const char *net_root)
{
    struct ss_net_snapshot before = {0};
    enum ss_status status = SS_OK;

    while (status == SS_OK) {
        struct word word, answer = {.op = OP_END};
        status = lane->ops->hear(lane, &word, sizeof(word));
        if (status != SS_OK || word.op == OP_END)
            break;
        if (word.op == OP_MARK)
            ss_pair_mark(net_root, &before);
        else if (word.op == OP_SEEN)
            ss_pair_see(net_root, &before, &answer);
        else
            status = obey(lane, &word, &answer.ns);
        if (status == SS_OK)
            status = lane->ops->tell(lane, &answer, sizeof(answer));
    }
    ss_net_free(&before);
    return status;
}
