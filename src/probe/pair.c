/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two ranks meet: one leads, the other follows. A batch is one stream: first
 * what empties the buffers of shapers and warms up, then the timed messages, on
 * the clock of the end that sees them come. Must not know who else is
 * measuring.
 */
#include "probe/pair.h"

#include <math.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "cluster/agree.h"
#include "config/config.h"
#include "probe/pair_words.h"
#include "timing/stats.h"

enum { PINGS_LEAST = 10, PING_BATCHES = 5, SAMPLES_MAX = 16 };
enum { MANY = 32, CORRECTIONS = 2 };
#define BATCH_LEAST_NS (1 * SS_NS_PER_MS)
#define BATCH_MOST_NS (SS_NS_PER_S / 2)
#define FIRST_BYTES ((size_t)64 << 10)
/** Shapers and buffers let a quarter of a megabyte through at once. */
#define LEAD_IN_BYTES ((int64_t)384 << 10)

struct timed {
    int n;
    int64_t start[SAMPLES_MAX]; /**< wall clock */
    double ns[SAMPLES_MAX];
};

struct meeting {
    struct ss_lane *lane;
    const struct ss_pair_plan *plan;
    const char *net_root;
    struct ss_pair_rows *rows;
    struct ss_net_snapshot before;
    uint64_t moved; /**< payload since the mark, one way */
};

/** The leader's part of one batch, in ns. */
static enum ss_status batch(struct meeting *m, enum op op, size_t bytes,
                            int64_t lead, int64_t count, double *ns)
{
    struct ss_lane *lane = m->lane;
    struct word word = {.op = (int32_t)op,
                        .bytes = (int64_t)bytes,
                        .lead = lead,
                        .count = count};
    /* who times a stream of one way: see ss_pair_move */
    bool theirs = (op == OP_SEND) != lane->ops->one_sided;
    int64_t start = ss_clock_ns();

    SS_TRY(lane->ops->tell(lane, &word, sizeof(word)));
    if (op == OP_PING) {
        SS_TRY(ss_pair_ping(lane, 1, bytes, count));
        *ns = (double)(ss_clock_ns() - start);
    } else {
        SS_TRY(ss_pair_move(lane, &word, op != OP_RECV, op != OP_SEND, ns));
        m->moved += bytes * (uint64_t)(lead + count);
    }
    SS_TRY(lane->ops->hear(lane, &word, sizeof(word)));
    if (op == OP_PING)
        return SS_OK;
    if (op == OP_BOTH)
        *ns = fmax(*ns, word.ns);
    else if (theirs)
        *ns = word.ns;
    /* an end that was held up finds much of a stream there already; so it
     * cannot have been faster than the whole of it from here */
    double whole = (double)(ss_clock_ns() - start);
    double share = (double)count / (double)(lead + count);
    *ns = lead > 0 ? fmax(*ns, whole * share) : whole;
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

    SS_TRY(batch(m, OP_PING, bytes, 0, count, &ns));
    if (ns < (double)BATCH_LEAST_NS)
        count =
            (int64_t)(1.2 * (double)count * (double)BATCH_LEAST_NS / ns) + 1;
    row.start_ns = ss_clock_wall_ns();
    for (int i = 0; i < PING_BATCHES; i++) {
        SS_TRY(batch(m, OP_PING, bytes, 0, count, &ns));
        v[i] = ns / (double)count / 2;
    }
    row.duration_ns = ss_median(v, PING_BATCHES);
    row.bytes = (int64_t)bytes;
    row.messages = count * PING_BATCHES;
    ss_copy(row.direction, sizeof(row.direction), "latency");
    ss_copy(row.transport, sizeof(row.transport), "unknown");
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

/** Messages before the timed ones, and no more than half a second of them;
 * ns_each 0: not known. */
static int64_t lead_for(size_t bytes, double ns_each)
{
    int64_t lead = (LEAD_IN_BYTES + (int64_t)bytes - 1) / (int64_t)bytes;
    int64_t most = ns_each > 0 ? count_for(ns_each, BATCH_MOST_NS) : lead;

    return lead < most ? lead : most;
}

/** What a batch is made of: the largest message up to `want` of which it holds
 * many, so that the few under way at its ends weigh little. */
struct shape {
    size_t bytes;
    int64_t lead, count;
};

static enum ss_status find_shape(struct meeting *m, enum op op, size_t want,
                                 struct shape *out)
{
    int64_t limit = limit_of(m);
    size_t size = want < FIRST_BYTES ? want : FIRST_BYTES;
    double ns = 0;

    if (m->plan->message > 0) {
        size = m->plan->message < want ? m->plan->message : want;
        *out = (struct shape){size, lead_for(size, 0), m->plan->count};
        return SS_OK;
    }
    SS_TRY(batch(m, op, size, 0, 1, &ns));
    int64_t drain = lead_for(size, ns);
    SS_TRY(batch(m, op, size, 0, drain, &ns));
    ns /= (double)drain;
    while (size < want && MANY * ns <= (double)limit) {
        size = 4 * size < want ? 4 * size : want;
        SS_TRY(batch(m, op, size, 0, 1, &ns));
    }
    *out = (struct shape){size, lead_for(size, ns), count_for(ns, limit)};
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

/** A single time may mislead: some at a time. */
static int64_t longer(int64_t count, double times)
{
    return (int64_t)ceil((double)count * fmin(times, 4));
}

/** The timed batches. One that was over too soon was planned by a message that
 * the host held up: it only tells how many make a batch. */
static enum ss_status run_batches(struct meeting *m, enum op op,
                                  struct shape *shape, struct timed *timed)
{
    double limit = m->plan->message ? 0 : (double)limit_of(m);
    int again = 0;

    timed->n = 0;
    while (timed->n < m->plan->samples && !ss_stop_requested()) {
        double *ns = &timed->ns[timed->n];
        timed->start[timed->n] = ss_clock_wall_ns();
        SS_TRY(batch(m, op, shape->bytes, shape->lead, shape->count, ns));
        if (*ns < limit / 2 && timed->n == 0 && again++ < CORRECTIONS)
            shape->count = longer(shape->count, limit / *ns);
        else
            timed->n++;
    }
    return SS_OK;
}

static enum ss_status measure_way(struct meeting *m, enum op op, size_t want,
                                  bool decides)
{
    struct word seen = {.op = OP_SEEN};
    struct ss_pair_row row = m->rows->common;
    struct shape shape;
    struct timed timed;

    m->moved = 0;
    if (!m->plan->quick)
        SS_TRY(begin_look(m));
    SS_TRY(find_shape(m, op, want, &shape));
    if (decides && shape.bytes < want &&
        (m->rows->cut_bytes == 0 || shape.bytes < m->rows->cut_bytes))
        m->rows->cut_bytes = shape.bytes;
    SS_TRY(run_batches(m, op, &shape, &timed));
    if (!m->plan->quick)
        SS_TRY(look(m, op, &seen));
    orient(op, &row);
    row.bytes = (int64_t)shape.bytes;
    row.messages = shape.count;
    row.decides = decides && op != OP_BOTH;
    row.counted_bytes = seen.counted;
    row.moved_bytes = m->moved;
    ss_copy(row.transport, sizeof(row.transport),
            m->plan->quick ? "unknown" : transport_of(m, &seen));
    for (int i = 0; i < timed.n; i++) {
        row.sample = i;
        row.start_ns = timed.start[i];
        row.duration_ns = timed.ns[i];
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
    SS_TRY(batch(m, m->lane->ops->one_sided ? OP_BOTH : OP_PING, 8, 0, 2,
                 &unused));
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
