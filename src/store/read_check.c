/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every index and count in a point is checked here, once, so that no later
 * code has to. Used on what a file holds and, before writing, on what the
 * sweep hands over. Pure: it must not know files or HDF5 handles. It judges
 * only what could mislead a reader's arithmetic, never what was measured.
 */
#include "store/read_check.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct verdict {
    char *wrong;
    size_t size;
};

static bool say(const struct verdict *v, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static bool say(const struct verdict *v, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    /* The analyzer loses va_start where it inlines a call.
     * NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized) */
    vsnprintf(v->wrong, v->size, format, args);
    va_end(args);
    return false;
}

static bool within(const struct verdict *v, const char *what, int64_t value,
                   int64_t low, int64_t high)
{
    if (value >= low && value <= high)
        return true;
    return say(v, "%s is %lld, outside %lld to %lld", what, (long long)value,
               (long long)low, (long long)high);
}

static bool in_row(const struct verdict *v, const char *table, int64_t row,
                   const char *column, const int64_t value[3])
{
    if (value[0] >= value[1] && value[0] <= value[2])
        return true;
    return say(v, "%s[%lld].%s is %lld, outside %lld to %lld", table,
               (long long)row, column, (long long)value[0], (long long)value[1],
               (long long)value[2]);
}

#define IN_ROW(v, table, row, column, value, low, high)                        \
    in_row(v, table, row, column, (const int64_t[3]){value, low, high})

static bool check_groups(const struct ss_point_row *m, int64_t ranks,
                         const struct verdict *v)
{
    int64_t end = m->group_first + (int64_t)m->size * m->group_count;
    int64_t filler = (int64_t)m->filler_first + m->filler_size;
    int64_t filler_low = m->filler_size > 0 ? m->filler_size : -1;
    if (ranks == 0) /* a skipped point says what was planned, and holds none */
        return true;
    return within(v, "point.group_first + size x group_count", end, 0, ranks) &&
           within(v, "point.filler_first + filler_size", filler, filler_low,
                  ranks);
}

struct span {
    const char *what;
    int64_t value, low, high;
};

static bool check_meta(const struct ss_point_row *m, int64_t ranks,
                       const struct verdict *v)
{
    const struct span spans[] = {
        {"point.index", m->index, 1, 99999999},
        {"point.size", m->size, 0, INT32_MAX},
        {"point.base_size", m->base_size, 0, INT32_MAX},
        {"point.nodes", m->nodes, 0, INT32_MAX},
        {"point.pass", m->pass, 0, INT32_MAX},
        {"point.group_first", m->group_first, 0, INT32_MAX},
        {"point.group_count", m->group_count, 0, INT32_MAX},
        {"point.filler_first", m->filler_first, -1, INT32_MAX},
        {"point.filler_size", m->filler_size, 0, INT32_MAX},
        {"point.dp", m->dp, 0, INT32_MAX},
        {"point.tp", m->tp, 0, INT32_MAX},
        {"point.pp", m->pp, 0, INT32_MAX},
        {"point.ep", m->ep, 0, INT32_MAX},
        {"point.cp", m->cp, 0, INT32_MAX},
        {"point.micro_batches", m->micro_batches, 0, INT32_MAX},
        {"point.tokens", m->tokens, 0, INT64_MAX},
        {"point.global_tokens", m->global_tokens, 0, INT64_MAX},
        {"point.verified", m->verified, -1, 1},
        {"point.duration_ns", m->duration_ns, 0, INT64_MAX},
    };
    for (size_t i = 0; i < SS_COUNT_OF(spans); i++) {
        const struct span *s = &spans[i];
        if (!within(v, s->what, s->value, s->low, s->high))
            return false;
    }
    return check_groups(m, ranks, v);
}

static bool check_ranks(const struct ss_point_data *p, const struct verdict *v)
{
    const char *table = ss_table_point_rank.name;
    for (int64_t i = 0; i < p->n_ranks; i++) {
        const struct ss_point_rank_row *r = &p->rank[i];
        if (!IN_ROW(v, table, i, "rank", r->rank, 0, p->n_ranks - 1) ||
            !IN_ROW(v, table, i, "group", r->group, -2,
                    (int64_t)p->meta.group_count - 1) ||
            !IN_ROW(v, table, i, "member", r->member, -1, p->n_ranks - 1) ||
            !IN_ROW(v, table, i, "collectives", r->collectives, 0, INT64_MAX) ||
            !IN_ROW(v, table, i, "last_arrivals", r->last_arrivals, 0,
                    INT64_MAX) ||
            !IN_ROW(v, table, i, "sampled_steps", r->sampled_steps, 0,
                    INT64_MAX) ||
            !IN_ROW(v, table, i, "late_steps", r->late_steps, 0, INT64_MAX))
            return false;
    }
    return true;
}

static bool check_blocks(const struct ss_point_data *p, const struct verdict *v)
{
    const char *table = ss_table_block.name;
    for (int64_t i = 0; i < p->n_blocks; i++) {
        const struct ss_block_row *b = &p->block[i];
        if (!IN_ROW(v, table, i, "variant", b->variant, 0, 2) ||
            !IN_ROW(v, table, i, "sampled", b->sampled, 0, 1) ||
            !IN_ROW(v, table, i, "steps", b->steps, 0, INT32_MAX) ||
            !IN_ROW(v, table, i, "round", b->round, 0, INT32_MAX) ||
            !IN_ROW(v, table, i, "first", b->first, 0, p->n_steps) ||
            !IN_ROW(v, table, i, "first + steps", b->first + b->steps, 0,
                    p->n_steps))
            return false;
    }
    return true;
}

static bool check_terms(const struct ss_point_data *p, const struct verdict *v)
{
    const char *table = ss_table_terms.name;
    for (int64_t i = 0; i < p->n_terms; i++) {
        const struct ss_terms_row *t = &p->terms[i];
        if (!IN_ROW(v, table, i, "rank", t->rank, 0, p->n_ranks - 1) ||
            !IN_ROW(v, table, i, "block", t->block, 0, p->n_blocks - 1) ||
            !IN_ROW(v, table, i, "step", t->step, 0,
                    p->block[t->block].steps - 1))
            return false;
    }
    return true;
}

static bool check_others(const struct ss_point_data *p, const struct verdict *v)
{
    for (int64_t i = 0; i < p->n_nets; i++) {
        if (!IN_ROW(v, ss_table_net.name, i, "node", p->net[i].node, 0,
                    INT32_MAX))
            return false;
    }
    for (int64_t i = 0; i < p->n_checks; i++) {
        if (!IN_ROW(v, ss_table_check.name, i, "rank", p->check[i].rank, 0,
                    p->n_ranks ? p->n_ranks - 1 : INT32_MAX))
            return false;
    }
    return true;
}

static bool check_pairs(const struct ss_point_data *p, const struct verdict *v)
{
    const char *table = ss_table_pair.name;
    for (int64_t i = 0; i < p->n_pairs; i++) {
        const struct ss_pair_row *r = &p->pair[i];
        if (!IN_ROW(v, table, i, "a", r->a, 0, INT32_MAX) ||
            !IN_ROW(v, table, i, "b", r->b, 0, INT32_MAX) ||
            !IN_ROW(v, table, i, "pass", r->pass, 0, 2) ||
            !IN_ROW(v, table, i, "round", r->round, 0, INT32_MAX) ||
            !IN_ROW(v, table, i, "bytes", r->bytes, 1, INT64_MAX) ||
            !IN_ROW(v, table, i, "messages", r->messages, 1, INT64_MAX))
            return false;
    }
    return true;
}

static bool check_colls(const struct ss_point_data *p, const struct verdict *v)
{
    const char *table = ss_table_coll.name;
    for (int64_t i = 0; i < p->n_colls; i++) {
        const struct ss_coll_row *r = &p->coll[i];
        if (!IN_ROW(v, table, i, "ranks", r->ranks, 1, INT32_MAX) ||
            !IN_ROW(v, table, i, "bytes", r->bytes, 1, INT64_MAX) ||
            !IN_ROW(v, table, i, "sample", r->sample, 0, INT32_MAX) ||
            !IN_ROW(v, table, i, "calls", r->calls, 1, INT64_MAX))
            return false;
    }
    return true;
}

bool ss_check_point(const struct ss_point_data *point, char *wrong, size_t size)
{
    const struct verdict verdict = {.wrong = wrong, .size = size};
    const struct verdict *v = &verdict;
    return within(v, "the number of ranks", point->n_ranks, 0, INT32_MAX) &&
           within(v, "the number of blocks", point->n_blocks, 0, INT32_MAX) &&
           within(v, "the number of steps", point->n_steps, 0, INT64_MAX) &&
           check_meta(&point->meta, point->n_ranks, v) &&
           check_ranks(point, v) && check_blocks(point, v) &&
           check_terms(point, v) && check_others(point, v) &&
           check_pairs(point, v) && check_colls(point, v);
}

bool ss_check_run(const struct ss_run_data *run, char *wrong, size_t size)
{
    const struct verdict verdict = {.wrong = wrong, .size = size};
    const struct verdict *v = &verdict;
    for (int64_t i = 0; i < run->n_ranks; i++) {
        const struct ss_rank_row *r = &run->rank[i];
        if (!IN_ROW(v, ss_table_rank.name, i, "rank", r->rank, 0,
                    run->n_ranks - 1) ||
            !IN_ROW(v, ss_table_rank.name, i, "node", r->node, 0,
                    run->n_nodes - 1))
            return false;
    }
    return within(v, "planned_points", run->planned_points, 0, INT64_MAX);
}

bool ss_check_point_in_run(const struct ss_run_data *run,
                           const struct ss_point_data *point, char *wrong,
                           size_t size)
{
    const struct verdict verdict = {.wrong = wrong, .size = size};
    const struct verdict *v = &verdict;
    if (point->n_ranks != 0 && point->n_ranks != run->n_ranks)
        return say(v, "it holds %d ranks, the run has %d", point->n_ranks,
                   run->n_ranks);
    for (int64_t i = 0; i < point->n_nets; i++) {
        if (!IN_ROW(v, ss_table_net.name, i, "node", point->net[i].node, 0,
                    run->n_nodes - 1))
            return false;
    }
    for (int64_t i = 0; i < point->n_checks; i++) {
        if (!IN_ROW(v, ss_table_check.name, i, "rank", point->check[i].rank, 0,
                    run->n_ranks - 1))
            return false;
    }
    for (int64_t i = 0; i < point->n_ports; i++) {
        if (!IN_ROW(v, ss_table_port.name, i, "node", point->port[i].node, 0,
                    run->n_nodes - 1))
            return false;
    }
    for (int64_t i = 0; i < point->n_pairs; i++) {
        const struct ss_pair_row *r = &point->pair[i];
        bool nodes = strcmp(r->level, "node") == 0;
        int64_t last = (nodes ? run->n_nodes : run->n_ranks) - 1;
        if (!IN_ROW(v, ss_table_pair.name, i, "a", r->a, 0, last) ||
            !IN_ROW(v, ss_table_pair.name, i, "b", r->b, 0, last))
            return false;
    }
    return true;
}

/* A column says in schema.def what NaN means in it, or has none. */
static bool may_be_nan(const struct ss_column *column)
{
    return strstr(column->text, "NaN") != NULL;
}

bool ss_check_sizes(const struct ss_table *table, const bool *have,
                    const void *rows, int64_t n, char *wrong, size_t size)
{
    const struct verdict verdict = {.wrong = wrong, .size = size};
    const struct verdict *v = &verdict;
    for (int i = 0; table->strict && i < table->n_columns; i++) {
        const struct ss_column *column = &table->columns[i];
        if (column->kind != SS_KIND_F64 || (have && !have[i]))
            continue;
        for (int64_t k = 0; k < n; k++) {
            double value;
            memcpy(&value,
                   (const char *)rows + (size_t)k * table->row_bytes +
                       column->offset,
                   sizeof value);
            if (isnan(value) && may_be_nan(column))
                continue;
            if (!isfinite(value) || value < 0)
                return say(v, "%s.%s is %g, not a size", table->name,
                           column->name, value);
        }
    }
    return true;
}
