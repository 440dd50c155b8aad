/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list of ops with repetitions folded. Ops of one micro-batch, pass and
 * layer form a segment; runs of equal segments become a loop, and so do runs of
 * equal micro-batches. A plan of 126 layers reads like one of two.
 */
#include "plan/fold.h"

#include "base/mem.h"
#include "base/random.h"

#define PERIOD_MAX 8
#define LINE_MAX 160

struct segment {
    int first, n; /* ops */
    int micro, layer;
    bool backward;
    uint64_t hash; /* of its lines */
};

struct fold {
    const struct ss_plan *plan;
    struct ss_buf *out;
    struct segment *segment;
    int n;
};

static bool same_segment(const struct ss_op *a, const struct ss_op *b)
{
    return a->micro == b->micro && a->layer == b->layer &&
           a->backward == b->backward;
}

static uint64_t hash_line(const struct ss_plan *plan, const struct ss_op *op)
{
    char line[LINE_MAX];
    uint64_t hash = UINT64_C(14695981039346656037); /* FNV-1a */
    ss_fold_line(plan, op, line, sizeof line);
    for (const char *c = line; *c; c++)
        hash = (hash ^ (unsigned char)*c) * UINT64_C(1099511628211);
    return hash;
}

static enum ss_status find_segments(struct fold *f)
{
    const struct ss_op *op = f->plan->op;
    int n = 0;
    for (int i = 0; i < f->plan->n_ops; i++)
        n += i == 0 || !same_segment(&op[i], &op[i - 1]);
    f->segment = ss_alloc((size_t)n, sizeof *f->segment, "plan text");
    if (!f->segment)
        return SS_ERR_NO_MEMORY;
    for (int i = 0; i < f->plan->n_ops; i++) {
        struct segment *s;
        if (i == 0 || !same_segment(&op[i], &op[i - 1]))
            f->segment[f->n++] = (struct segment){.first = i,
                                                  .micro = op[i].micro,
                                                  .layer = op[i].layer,
                                                  .backward = op[i].backward};
        s = &f->segment[f->n - 1];
        s->hash = ss_mix64(s->hash ^ hash_line(f->plan, &op[i]));
        s->n++;
    }
    return SS_OK;
}

static void print_ops(const struct fold *f, const struct segment *s, int indent)
{
    for (int i = s->first; i < s->first + s->n; i++) {
        char line[LINE_MAX];
        ss_fold_line(f->plan, &f->plan->op[i], line, sizeof line);
        ss_buf_printf(f->out, "%*s%7d  %s\n", indent, "", i, line);
    }
}

/* How often the `period` segments at `at` come in a row, up to `end`. */
static int count_repeats(const struct fold *f, int at, int end, int period)
{
    int n = 1;
    for (int next = at + period; next + period <= end; next += period) {
        for (int i = 0; i < period; i++) {
            if (f->segment[at + i].hash != f->segment[next + i].hash)
                return n;
        }
        n++;
    }
    return n;
}

/* The period that folds most at `at`; 1 repeat: nothing folds. */
static int best_period(const struct fold *f, int at, int end, int *repeats)
{
    int best = 1;
    *repeats = count_repeats(f, at, end, 1);
    for (int period = 2; period <= PERIOD_MAX; period++) {
        int n = at + 2 * period <= end ? count_repeats(f, at, end, period) : 1;
        if (n > 1 && n * period > *repeats * best) {
            best = period;
            *repeats = n;
        }
    }
    return best;
}

/* "backward, layers 11..2 x5 by 2, ops 60..154 {" */
static void print_loop(const struct fold *f, const struct segment *s, int n,
                       int repeats, int indent)
{
    const struct segment *last = &s[n * repeats - 1];
    ss_buf_printf(f->out, "%*s%s, layers %d..%d x%d", indent, "",
                  s->backward ? "backward" : "forward", s->layer, last->layer,
                  repeats);
    if (n > 1)
        ss_buf_printf(f->out, " by %d", n);
    ss_buf_printf(f->out, ", ops %d..%d {\n", s->first,
                  last->first + last->n - 1);
}

static void print_segments(const struct fold *f, int at, int n, int repeats,
                           int indent)
{
    const struct segment *s = &f->segment[at];
    if (s->layer < 0)
        ss_buf_printf(f->out, "%*send of the step\n", indent, "");
    else if (repeats == 1)
        ss_buf_printf(f->out, "%*s%s, layer %d\n", indent, "",
                      s->backward ? "backward" : "forward", s->layer);
    else
        print_loop(f, s, n, repeats, indent);
    for (int i = 0; i < n; i++)
        print_ops(f, s + i, indent);
    if (repeats > 1)
        ss_buf_printf(f->out, "%*s}\n", indent, "");
}

static void print_range(const struct fold *f, int at, int end, int indent)
{
    while (at < end) {
        int repeats;
        int n = best_period(f, at, end, &repeats);
        print_segments(f, at, n, repeats, indent);
        at += n * repeats;
    }
}

static int end_of_micro(const struct fold *f, int at)
{
    int end = at;
    while (end < f->n && f->segment[end].micro == f->segment[at].micro)
        end++;
    return end;
}

static void print_micro(const struct fold *f, int at, int n, int repeats)
{
    const struct segment *s = &f->segment[at];
    const struct segment *last = &s[n * repeats - 1];
    if (s->micro < 0 || f->plan->layout.micro_batches == 1) {
        print_range(f, at, at + n, 0);
        return;
    }
    if (repeats > 1)
        ss_buf_printf(f->out, "micro-batches %d..%d x%d, ops %d..%d {\n",
                      s->micro, last->micro, repeats, s->first,
                      last->first + last->n - 1);
    else
        ss_buf_printf(f->out, "micro-batch %d, ops %d..%d\n", s->micro,
                      s->first, last->first + last->n - 1);
    print_range(f, at, at + n, 2);
    if (repeats > 1)
        ss_buf_printf(f->out, "}\n");
}

enum ss_status ss_fold_print(const struct ss_plan *plan, struct ss_buf *out)
{
    struct fold f = {.plan = plan, .out = out};
    int at = 0;
    SS_TRY(find_segments(&f));
    ss_buf_printf(out, "\n%7s  %-7s  %-9s  %-13s  %s\n", "op", "lane", "phase",
                  "name", "work");
    while (at < f.n) {
        int n = end_of_micro(&f, at) - at;
        int repeats = count_repeats(&f, at, f.n, n);
        print_micro(&f, at, n, repeats);
        at += n * repeats;
    }
    ss_free(f.segment);
    return SS_OK;
}
