/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Appends ops and derives their waits. Lanes are queues, so an op that needs
 * several earlier ops of a lane waits for the latest, and an op known to be
 * over through another wait need not be waited for. It must not know what the
 * ops compute: only what they read and write.
 */
#include "plan/builder.h"

#include <string.h>

#include "base/mem.h"

enum ss_status ss_builder_open(struct ss_builder *b, int n_ops)
{
    int n_regions = ss_places_regions(b);
    b->capacity = n_ops;
    b->plan->op = ss_alloc((size_t)n_ops, sizeof *b->plan->op, "plan ops");
    b->seen = ss_alloc((size_t)n_ops, sizeof *b->seen, "plan dependencies");
    b->region = ss_alloc((size_t)n_regions, sizeof *b->region, "plan regions");
    if (!b->plan->op || !b->seen || !b->region)
        return SS_ERR_NO_MEMORY;
    memset(b->region, 0xff, (size_t)n_regions * sizeof *b->region); /* -1 */
    memset(b->knows, 0xff, sizeof b->knows);
    b->loss.region = -1;
    return SS_OK;
}

void ss_builder_close(struct ss_builder *b)
{
    ss_free(b->seen);
    ss_free(b->region);
}

struct ss_draft ss_draft_make(const struct ss_builder *b, enum ss_op_kind kind,
                              enum ss_phase phase, const char *stem,
                              const char *verb)
{
    const struct ss_ref none = {.buf = -1};
    struct ss_draft d = {.op = {.kind = kind,
                                .phase = phase,
                                .lane = SS_LANE_COMPUTE,
                                .layer = b->layer,
                                .micro = b->micro,
                                .backward = b->backward,
                                .a = none,
                                .b = none,
                                .c = none,
                                .d = none,
                                .peer = -1,
                                .order = -1,
                                .fused = -1}};
    ss_format(d.op.name, sizeof d.op.name, "%s%s%s", stem, *verb ? "." : "",
              verb);
    return d;
}

static void touch(struct ss_draft *d, struct ss_span span, bool writes)
{
    if (span.region < 0)
        return;
    SS_ASSERT(d->n_touches < SS_TOUCHES_MAX);
    d->touch[d->n_touches] = span;
    d->writes[d->n_touches] = writes;
    d->n_touches++;
}

void ss_draft_read(struct ss_draft *d, struct ss_ref *operand,
                   struct ss_span span)
{
    *operand = span.ref;
    touch(d, span, false);
}

void ss_draft_write(struct ss_draft *d, struct ss_ref *operand,
                    struct ss_span span)
{
    *operand = span.ref;
    touch(d, span, true);
}

void ss_draft_after(struct ss_draft *d, struct ss_span span)
{
    touch(d, span, false);
}

static void need_op(const struct ss_builder *b, int *need, int op)
{
    enum ss_lane lane;
    if (op < 0)
        return;
    lane = b->plan->op[op].lane;
    if (op > need[lane])
        need[lane] = op;
}

/* The latest op of each lane that must be over before this one starts. */
static void collect_needs(const struct ss_builder *b, const struct ss_draft *d,
                          int *need)
{
    for (int lane = 0; lane < SS_LANES; lane++)
        need[lane] = -1;
    for (int i = 0; i < d->n_touches; i++) {
        const struct ss_region *r = &b->region[d->touch[i].region];
        need_op(b, need, r->write);
        for (int lane = 0; d->writes[i] && lane < SS_LANES; lane++)
            need_op(b, need, r->read[lane]);
    }
    for (int op = 0; d->joins && op < b->plan->n_ops; op++)
        need_op(b, need, op);
}

/* Is the need of `lane` met by what the lane knows or by another wait? */
static bool is_implied(const struct ss_builder *b, enum ss_lane own,
                       const int *need, int lane)
{
    if (b->knows[own][lane] >= need[lane])
        return true;
    for (int other = 0; other < SS_LANES; other++) {
        if (other != lane && other != (int)own && need[other] >= 0 &&
            b->seen[need[other]][lane] >= need[lane])
            return true;
    }
    return false;
}

static void add_waits(struct ss_builder *b, struct ss_op *op, const int *need)
{
    for (int lane = 0; lane < SS_LANES; lane++) {
        if (need[lane] < 0 || lane == (int)op->lane ||
            is_implied(b, op->lane, need, lane))
            continue;
        SS_ASSERT(op->n_waits < SS_WAITS_MAX);
        op->wait[op->n_waits++] = need[lane];
    }
}

/* What the op's lane knows to be over once the op is: seen[index]. */
static void learn(struct ss_builder *b, const struct ss_op *op, int index)
{
    int *knows = b->knows[op->lane];
    for (int w = 0; w < op->n_waits; w++) {
        const int *theirs = b->seen[op->wait[w]];
        for (int lane = 0; lane < SS_LANES; lane++) {
            if (theirs[lane] > knows[lane])
                knows[lane] = theirs[lane];
        }
    }
    knows[op->lane] = index;
    memcpy(b->seen[index], knows, sizeof b->seen[index]);
}

static void mark_touches(struct ss_builder *b, const struct ss_draft *d,
                         int index)
{
    for (int i = 0; i < d->n_touches; i++) {
        struct ss_region *r = &b->region[d->touch[i].region];
        if (d->writes[i])
            r->write = index;
        else
            r->read[d->op.lane] = index;
    }
}

void ss_builder_push(struct ss_builder *b, struct ss_draft *d)
{
    int index = b->plan->n_ops;
    int need[SS_LANES];
    SS_ASSERT(index < b->capacity);
    ss_draft_after(d, b->loss);
    b->loss.region = -1;
    collect_needs(b, d, need);
    add_waits(b, &d->op, need);
    if (ss_op_is_comm(&d->op))
        d->op.order = b->orders++;
    b->plan->op[index] = d->op;
    b->plan->n_ops++;
    learn(b, &d->op, index);
    mark_touches(b, d, index);
}
