/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two ranks meet: one leads and times, the other follows. Everything is on the
 * leader's clock: a batch lasts from its command to the follower's answer, less
 * one round trip. A batch before the timed ones warms up and empties what
 * shapers let through at once. Must not know who else is measuring.
 */
#include "probe/pair.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "cluster/agree.h"
#include "config/config.h"
#include "probe/pair_words.h"
#include "timing/stats.h"

enum { PINGS_LEAST = 10, PING_BATCHES = 5, QUICK_PINGS = 3 };
enum { SAMPLES_MAX = 16 };
#define BATCH_LEAST_NS (1 * SS_NS_PER_MS)
#define BATCH_MOST_NS (SS_NS_PER_S / 2)
#define FIRST_BYTES ((size_t)64 << 10)
/** Shapers and buffers let a quarter of a megabyte through at once. */
#define LEAD_IN_BYTES ((int64_t)384 << 10)

struct meeting {
    struct ss_lane *lane;
    const struct ss_pair_plan *plan;
    const char *net_root;
    struct ss_pair_rows *rows;
    struct ss_net_snapshot before;
    double latency_ns; /**< half a round trip */
    uint64_t moved;    /**< payload since the mark, one way */
};

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
        SS_TRY(ss_pair_ping(lane, 1, bytes, count));
    else
        SS_TRY(ss_pair_move(lane, op != OP_RECV, op != OP_SEND, bytes, count));
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

static double least_of(const double *v, int n)
{
    double least = v[0];

    for (int i = 1; i < n; i++)
        least = v[i] < least ? v[i] : least;
    return least;
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
    m->latency_ns = least_of(v, PING_BATCHES); /* to subtract: undisturbed */
    return add_row(m->rows, &row);
}

static int64_t limit_of(const struct meeting *m)
{
    int64_t share = m->plan->slice_ns / (1 + m->plan->samples);

    if (share < BATCH_LEAST_NS)
        return BATCH_LEAST_NS;
    return share < BATCH_MOST_NS ? share : BATCH_MOST_NS;
}

static int64_t count_for(double ns_each, int64_t limit)
{
    double n = (double)limit / (ns_each > 1 ? ns_each : 1);

    return n < 1 ? 1 : n > 1e6 ? 1000000 : (int64_t)n;
}

/** A batch that is not timed; it also tells how many messages fit. */
static enum ss_status lead_in(struct meeting *m, enum op op, size_t bytes,
                              int64_t count, double *ns_each)
{
    /* where the cost of one is not known, the count was given */
    int64_t most =
        *ns_each > 0 ? count_for(*ns_each, BATCH_MOST_NS) : INT64_MAX;
    int64_t least = (LEAD_IN_BYTES + (int64_t)bytes - 1) / (int64_t)bytes;
    double ns = 0;

    if (least > most)
        least = most;
    if (count < least)
        count = least;
    SS_TRY(batch(m, op, bytes, count, &ns));
    *ns_each = ns / (double)count;
    return SS_OK;
}

/** The largest message up to `want` that a batch has time for, and how many;
 * one batch of them has then been run. */
static enum ss_status warm_up(struct meeting *m, enum op op, size_t want,
                              size_t *bytes, int64_t *count)
{
    int64_t limit = limit_of(m);
    size_t size = want < FIRST_BYTES ? want : FIRST_BYTES;
    double ns = 0;

    if (m->plan->message > 0) {
        *bytes = m->plan->message < want ? m->plan->message : want;
        *count = m->plan->count;
        return lead_in(m, op, *bytes, *count, &ns);
    }
    for (;;) {
        SS_TRY(batch(m, op, size, 1, &ns));
        if (size >= want || 4 * ns > (double)limit)
            break;
        size = 4 * size < want ? 4 * size : want;
    }
    *bytes = size;
    SS_TRY(lead_in(m, op, size, count_for(ns, limit), &ns));
    *count = count_for(ns, limit);
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

static enum ss_status begin_look(struct meeting *m)
{
    struct word word = {.op = OP_MARK};

    ss_pair_mark(m->net_root, &m->before);
    SS_TRY(m->lane->ops->tell(m->lane, &word, sizeof(word)));
    return m->lane->ops->hear(m->lane, &word, sizeof(word));
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
    ss_pair_see(m->net_root, &m->before, seen);
    return SS_OK;
}

static enum ss_status measure_way(struct meeting *m, enum op op, size_t want,
                                  bool decides)
{
    struct word seen = {.op = OP_SEEN};
    struct ss_pair_row row = m->rows->common;
    double ns[SAMPLES_MAX] = {0};
    int64_t count = 0, start[SAMPLES_MAX] = {0};
    size_t bytes = 0;
    int done = 0;

    m->moved = 0;
    if (!m->plan->quick)
        SS_TRY(begin_look(m));
    SS_TRY(warm_up(m, op, want, &bytes, &count));
    if (decides && bytes < want &&
        (m->rows->cut_bytes == 0 || bytes < m->rows->cut_bytes))
        m->rows->cut_bytes = bytes;
    for (; done < m->plan->samples && !ss_stop_requested(); done++) {
        start[done] = ss_clock_wall_ns();
        SS_TRY(batch(m, op, bytes, count, &ns[done]));
    }
    if (!m->plan->quick)
        SS_TRY(look(m, op, &seen));
    orient(op, &row);
    row.bytes = (int64_t)bytes;
    row.messages = count;
    row.decides = decides && op != OP_BOTH;
    row.counted_bytes = seen.counted;
    row.moved_bytes = m->moved;
    ss_copy(row.transport, sizeof(row.transport),
            m->plan->quick ? "unknown" : transport_of(m, &seen));
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
    enum op op = m->lane->ops->one_sided ? OP_BOTH : OP_PING;
    double ns[QUICK_PINGS];

    SS_TRY(batch(m, op, 8, 2, ns)); /* the first message connects */
    if (plan->quick && op == OP_PING) {
        for (int i = 0; i < QUICK_PINGS; i++)
            SS_TRY(batch(m, op, 8, 2, &ns[i]));
        m->latency_ns = least_of(ns, QUICK_PINGS) / 4;
    }
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
