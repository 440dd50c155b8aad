/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two ranks meet: one leads and times, the other follows. Everything is on the
 * leader's clock: a batch lasts from its command to the follower's answer, less
 * one round trip. A batch before the timed ones warms up and empties what
 * shapers let through at once. Must not know who else is measuring.
 */
#include "probe/pair.h"

#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "cluster/agree.h"
#include "config/config.h"
#include "health/net_counters.h"
#include "timing/stats.h"

enum op { OP_END, OP_PING, OP_SEND, OP_RECV, OP_BOTH, OP_MARK, OP_SEEN };
enum { PINGS_LEAST = 10, PING_BATCHES = 5, SAMPLES_MAX = 16 };
#define BATCH_LEAST_NS (1 * SS_NS_PER_MS)
#define BATCH_MOST_NS (SS_NS_PER_S / 2)
#define FIRST_BYTES ((size_t)64 << 10)

/** All that is said besides data. */
struct word {
    int32_t op, pad;
    int64_t bytes, count;
    uint64_t counted; /**< bytes that left the busiest interface */
    char interface[40];
};

struct meeting {
    struct ss_lane *lane;
    const struct ss_pair_plan *plan;
    const char *net_root;
    struct ss_pair_rows *rows;
    struct ss_net_snapshot before;
    double latency_ns; /**< half a round trip */
    uint64_t moved;    /**< payload since the mark, one way */
};

static enum ss_status move(struct ss_lane *lane, int sends, int recvs,
                           size_t bytes, int64_t count)
{
    const struct ss_lane_ops *ops = lane->ops;

    for (int64_t i = 0; i < count + SS_LANE_SLOTS; i++) {
        int slot = (int)(i % SS_LANE_SLOTS);
        if (i >= SS_LANE_SLOTS && recvs)
            SS_TRY(ops->wait_recv(lane, slot));
        if (i >= SS_LANE_SLOTS && sends)
            SS_TRY(ops->wait_send(lane, slot));
        if (i < count && recvs)
            SS_TRY(ops->recv(lane, bytes, slot));
        if (i < count && sends)
            SS_TRY(ops->send(lane, bytes, slot));
    }
    return sends ? ops->flush(lane) : SS_OK;
}

static enum ss_status ping(struct ss_lane *lane, int first, size_t bytes,
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

/** What left the busiest interface since the mark. */
static void see(const char *root, const struct ss_net_snapshot *before,
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

static void mark(const char *root, struct ss_net_snapshot *before)
{
    ss_net_free(before);
    if (ss_net_read(root, before) != SS_OK)
        *before = (struct ss_net_snapshot){0}; /* no evidence, no error */
}

/** The leader's part of one batch, in ns. */
static enum ss_status batch(struct meeting *m, enum op op, size_t bytes,
                            int64_t count, double *ns)
{
    struct ss_lane *lane = m->lane;
    struct word word = {
        .op = (int32_t)op, .bytes = (int64_t)bytes, .count = count};
    int64_t start = ss_clock_ns();

    SS_TRY(lane->ops->tell(lane, &word, sizeof(word)));
    if (op == OP_PING)
        SS_TRY(ping(lane, 1, bytes, count));
    else
        SS_TRY(move(lane, op != OP_RECV, op != OP_SEND, bytes, count));
    SS_TRY(lane->ops->hear(lane, &word, sizeof(word)));
    double whole = (double)(ss_clock_ns() - start);
    double trip = 2 * m->latency_ns;
    *ns = whole > 2 * trip ? whole - trip : whole / 2;
    if (op != OP_PING)
        m->moved += bytes * (uint64_t)count;
    return SS_OK;
}

static enum ss_status add_row(struct ss_pair_rows *rows,
                              const struct ss_pair_row *row)
{
    if (rows->n == rows->cap) {
        int64_t cap = rows->cap ? 2 * rows->cap : 64;
        void *grown =
            ss_realloc(rows->row, (size_t)cap, sizeof(*row), "pair rows");
        if (!grown)
            return SS_ERR_NO_MEMORY;
        rows->row = grown;
        rows->cap = cap;
    }
    rows->row[rows->n++] = *row;
    return SS_OK;
}

static enum ss_status measure_latency(struct meeting *m, size_t bytes)
{
    double v[PING_BATCHES], ns = 0;
    int64_t count = PINGS_LEAST;
    struct ss_pair_row row = m->rows->common;

    SS_TRY(batch(m, OP_PING, bytes, count, &ns));
    if (ns < (double)BATCH_LEAST_NS)
        count =
            (int64_t)(1.2 * (double)count * (double)BATCH_LEAST_NS / ns) + 1;
    row.start_ns = ss_clock_wall_ns();
    for (int i = 0; i < PING_BATCHES; i++) {
        SS_TRY(batch(m, OP_PING, bytes, count, &ns));
        v[i] = ns / (double)count / 2;
    }
    row.duration_ns = ss_median(v, PING_BATCHES);
    row.bytes = (int64_t)bytes;
    row.messages = count * PING_BATCHES;
    ss_copy(row.direction, sizeof(row.direction), "latency");
    ss_copy(row.transport, sizeof(row.transport), "unknown");
    m->latency_ns = row.duration_ns;
    return add_row(m->rows, &row);
}

static int64_t limit_of(const struct meeting *m)
{
    int64_t quarter = m->plan->slice_ns / (1 + m->plan->samples);

    if (quarter < BATCH_LEAST_NS)
        return BATCH_LEAST_NS;
    return quarter < BATCH_MOST_NS ? quarter : BATCH_MOST_NS;
}

static int64_t count_for(double ns_each, int64_t limit)
{
    double n = (double)limit / (ns_each > 1 ? ns_each : 1);

    return n < 1 ? 1 : n > 1e6 ? 1000000 : (int64_t)n;
}

/** The largest message up to `want` that a batch has time for, and how many;
 * one batch of them has then been run. */
static enum ss_status warm_up(struct meeting *m, enum op op, size_t want,
                              size_t *bytes, int64_t *count)
{
    int64_t limit = limit_of(m);
    size_t size = want < FIRST_BYTES ? want : FIRST_BYTES;
    double ns = 0;

    for (;;) {
        SS_TRY(batch(m, op, size, 1, &ns));
        if (size >= want || 4 * ns > (double)limit)
            break;
        size = 4 * size < want ? 4 * size : want;
    }
    *bytes = size;
    *count = count_for(ns, limit);
    SS_TRY(batch(m, op, size, *count, &ns));
    *count = count_for(ns / (double)*count, limit);
    return SS_OK;
}

static const char *transport_of(const struct meeting *m,
                                const struct word *seen)
{
    /* traffic of others passes too: an interface that carried less than the
     * payload did not carry it */
    return seen->counted >= m->moved - m->moved / 20 && seen->interface[0] ? seen->interface : "not seen";
}

/** Turns the row round where the follower sent. */
static void orient(enum op op, struct ss_pair_row *row)
{
    struct ss_pair_row common = *row;

    ss_copy(row->direction, sizeof(row->direction),
            op == OP_BOTH ? "both_ways" : "one_way");
    if (op != OP_RECV)
        return;
    row->a = common.b;
    row->b = common.a;
    row->rank_a = common.rank_b;
    row->rank_b = common.rank_a;
}

/** The sender's counters since the mark. */
static enum ss_status look(struct meeting *m, enum op op, struct word *seen)
{
    struct word word = {.op = OP_SEEN};

    SS_TRY(m->lane->ops->tell(m->lane, &word, sizeof(word)));
    SS_TRY(m->lane->ops->hear(m->lane, &word, sizeof(word)));
    *seen = word;
    word.interface[sizeof(word.interface) - 1] = '\0';
    if (op == OP_RECV)
        return SS_OK;
    *seen = (struct word){.op = OP_SEEN};
    see(m->net_root, &m->before, seen);
    return SS_OK;
}

static enum ss_status measure_way(struct meeting *m, enum op op, size_t want,
                                  bool decides)
{
    struct word word = {.op = OP_MARK};
    struct ss_pair_row row = m->rows->common;
    double ns[SAMPLES_MAX] = {0};
    int64_t count = 0, start[SAMPLES_MAX] = {0};
    size_t bytes = 0;
    int done = 0;

    mark(m->net_root, &m->before);
    m->moved = 0;
    SS_TRY(m->lane->ops->tell(m->lane, &word, sizeof(word)));
    SS_TRY(m->lane->ops->hear(m->lane, &word, sizeof(word)));
    SS_TRY(warm_up(m, op, want, &bytes, &count));
    if (decides && bytes < want &&
        (m->rows->cut_bytes == 0 || bytes < m->rows->cut_bytes))
        m->rows->cut_bytes = bytes;
    for (; done < m->plan->samples && !ss_stop_requested(); done++) {
        start[done] = ss_clock_wall_ns();
        SS_TRY(batch(m, op, bytes, count, &ns[done]));
    }
    SS_TRY(look(m, op, &word));
    orient(op, &row);
    row.bytes = (int64_t)bytes;
    row.messages = count;
    row.decides = decides && op != OP_BOTH;
    row.counted_bytes = word.counted;
    row.moved_bytes = m->moved;
    ss_copy(row.transport, sizeof(row.transport), transport_of(m, &word));
    for (int i = 0; i < done; i++) {
        row.sample = i;
        row.start_ns = start[i];
        row.duration_ns = ns[i];
        SS_TRY(add_row(m->rows, &row));
    }
    return SS_OK;
}

/** One way after the other; asked to stop, a meeting ends between two. */
static enum ss_status measure_ways(struct meeting *m, size_t bytes, bool last)
{
    static const enum op ways[] = {OP_SEND, OP_RECV, OP_BOTH};
    size_t n = last && !m->plan->quick ? 3 : 2;

    for (size_t i = 0; i < n && !ss_stop_requested(); i++)
        SS_TRY(measure_way(m, ways[i], bytes, last));
    return SS_OK;
}

static enum ss_status measure(struct meeting *m)
{
    const struct ss_pair_plan *plan = m->plan;
    double unused;

    /* the first message connects */
    SS_TRY(
        batch(m, m->lane->ops->one_sided ? OP_BOTH : OP_PING, 8, 2, &unused));
    for (int i = 0; i < plan->n_sizes; i++) {
        size_t bytes = plan->sizes[i];
        bool last = i + 1 == plan->n_sizes;
        if (bytes <= SS_MESSAGE_SMALL) {
            if (!plan->quick && !m->lane->ops->one_sided)
                SS_TRY(measure_latency(m, bytes));
            continue;
        }
        if (plan->quick && !last)
            continue;
        SS_TRY(measure_ways(m, bytes, last));
    }
    return SS_OK;
}

enum ss_status ss_pair_lead(struct ss_lane *lane,
                            const struct ss_pair_plan *plan,
                            const char *net_root, struct ss_pair_rows *rows)
{
    struct meeting m = {
        .lane = lane, .plan = plan, .net_root = net_root, .rows = rows};
    struct word word = {.op = OP_END};

    SS_ASSERT(plan->samples <= SAMPLES_MAX);
    ss_copy(rows->common.library, sizeof(rows->common.library),
            lane->ops->library);
    enum ss_status status = measure(&m);
    ss_net_free(&m.before);
    if (status != SS_OK)
        return status;
    return lane->ops->tell(lane, &word, sizeof(word));
}

static enum ss_status obey(struct ss_lane *lane, const struct word *word)
{
    size_t bytes = (size_t)word->bytes;

    if (word->bytes < 0 || bytes > lane->slot_bytes || word->count < 0)
        return ss_fail(SS_ERR_INTERNAL, "a pair's command of %lld bytes",
                       (long long)word->bytes);
    if (word->op == OP_PING)
        return ping(lane, 0, bytes, word->count);
    return move(lane, word->op != OP_SEND, word->op != OP_RECV, bytes,
                word->count);
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
            mark(net_root, &before);
        else if (word.op == OP_SEEN)
            see(net_root, &before, &answer);
        else
            status = obey(lane, &word);
        if (status == SS_OK)
            status = lane->ops->tell(lane, &answer, sizeof(answer));
    }
    ss_net_free(&before);
    return status;
}
