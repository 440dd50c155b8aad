/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One size of one collective in one group, from exact data to rows: checked
 * first, because times of wrong results count for nothing. Must not know how
 * sizes are chosen.
 */
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cluster/agree.h"
#include "probe/coll_pass.h"

/** Above so many bytes one iteration of checks, else three. */
#define FEW_CHECKS (UINT64_C(1) << 24)

static enum ss_status add_row(struct ss_coll_rows *rows,
                              const struct ss_coll_row *row)
{
    if (rows->n == rows->cap) {
        size_t cap = rows->cap ? 2 * (size_t)rows->cap : 256;
        void *grown =
            ss_realloc(rows->row, cap, sizeof(*row), "rows of collectives");
        if (!grown)
            return SS_ERR_NO_MEMORY;
        rows->row = grown;
        rows->cap = (int64_t)cap;
    }
    rows->row[rows->n++] = *row;
    return SS_OK;
}

static enum ss_status add_check(struct ss_coll_pass *p,
                                const struct ss_coll_task *task,
                                const char *detail)
{
    struct ss_coll_rows *rows = &p->probe->colls;

    if (rows->n_checks == rows->cap_checks) {
        size_t cap = rows->cap_checks ? 2 * (size_t)rows->cap_checks : 32;
        void *grown =
            ss_realloc(rows->check, cap, sizeof(*rows->check), "checks");
        if (!grown)
            return SS_ERR_NO_MEMORY;
        rows->check = grown;
        rows->cap_checks = (int)cap;
    }
    struct ss_check_row *row = &rows->check[rows->n_checks++];
    *row = (struct ss_check_row){.rank = p->probe->world->rank,
                                 .ok = detail[0] == '\0'};
    ss_copy(row->check, sizeof(row->check), ss_coll_names()[task->op]);
    ss_copy(row->when, sizeof(row->when), "before");
    ss_copy(row->detail, sizeof(row->detail), detail);
    return SS_OK;
}

uint64_t ss_coll_pass_bytes(const struct ss_coll_pass *p,
                            const struct ss_coll_task *task)
{
    return ss_coll_bytes(task->op, task->count, p->group->size, sizeof(float));
}

/** Exact data, a few times; *good is equal on all ranks of the group. */
static enum ss_status verify_all(struct ss_coll_pass *p,
                                 const struct ss_coll_task *task, bool *good)
{
    uint64_t bytes = ss_coll_pass_bytes(p, task);
    int64_t iterations = bytes > FEW_CHECKS ? 1 : 3, all = 1;
    struct ss_coll_wrong_at wrong = {0};
    enum ss_status status = SS_OK;
    char detail[160] = "";

    for (int64_t i = 0; i < iterations; i++) {
        bool flip = p->kind == SS_GROUP_WORLD && p->plant.iteration == i &&
                    p->plant.op == (int)task->op &&
                    p->plant.rank == p->probe->world->rank;
        SS_TRY(ss_coll_verify_all(&p->lib, task, i, flip, &wrong));
        if (wrong.found && !detail[0])
            ss_format(detail, sizeof(detail),
                      "%s, %s of %llu bytes, iteration %lld: element %llu is "
                      "%.9g, must be %.9g",
                      p->lib.ops->library, ss_coll_group_name(p->kind),
                      (unsigned long long)bytes, (long long)i,
                      (unsigned long long)wrong.element, wrong.got,
                      wrong.expected);
    }
    all = detail[0] == '\0';
    if (detail[0])
        status = add_check(p, task, detail);
    SS_TRY(ss_agree_all(p->group, status));
    SS_TRY(ss_allreduce_all(p->group, &all, 1, SS_DT_I64, SS_RED_MIN));
    *good = all != 0;
    return SS_OK;
}

/** The most that left one interface of a node of the group. */
static enum ss_status count_all(struct ss_coll_pass *p,
                                const struct ss_net_snapshot *before,
                                uint64_t *out)
{
    struct ss_net_snapshot after = {0}, delta = {0};
    enum ss_status status = SS_OK;
    int64_t most = 0;

    if (p->probe->node->rank == 0) {
        status = ss_net_read(p->probe->args->net_root, &after);
        if (status == SS_OK)
            status = ss_net_delta(before, &after, &delta);
        for (int i = 0; i < delta.n; i++)
            if (strcmp(delta.row[i].interface, "lo") != 0 &&
                (int64_t)delta.row[i].tx_bytes > most)
                most = (int64_t)delta.row[i].tx_bytes;
    }
    ss_net_free(&after);
    ss_net_free(&delta);
    SS_TRY(ss_agree_all(p->group, status));
    SS_TRY(ss_allreduce_all(p->group, &most, 1, SS_DT_I64, SS_RED_MAX));
    *out = (uint64_t)most;
    return SS_OK;
}

/** Can interfaces be read as this group's? Not where others share them. */
static bool counts(const struct ss_coll_pass *p)
{
    return p->nodes > 1 &&
           (p->kind == SS_GROUP_WORLD || p->kind == SS_GROUP_ONE_PER_NODE);
}

static enum ss_status time_all(struct ss_coll_pass *p,
                               const struct ss_coll_task *task, int64_t left_ns,
                               struct ss_coll_times *times,
                               struct ss_coll_row *row)
{
    struct ss_net_snapshot before = {0};
    enum ss_status status = SS_OK;
    int64_t start;

    if (counts(p) && p->probe->node->rank == 0)
        status = ss_net_read(p->probe->args->net_root, &before);
    status = ss_agree_all(p->group, status);
    start = ss_clock_ns();
    if (status == SS_OK)
        status = ss_coll_time_all(&p->lib, task, left_ns, times);
    row->counted_ns = (double)(ss_clock_ns() - start);
    if (status == SS_OK && counts(p))
        status = count_all(p, &before, &row->counted_bytes);
    ss_net_free(&before);
    return status;
}

static enum ss_status put_rows(struct ss_coll_pass *p,
                               const struct ss_coll_times *times,
                               struct ss_coll_row *row)
{
    struct ss_coll_rows *rows = &p->probe->colls;

    if (p->group->rank != 0)
        return SS_OK;
    row->calls = times->calls;
    for (row->sample = 0; row->sample < times->n_batches; row->sample++) {
        row->duration_ns = (double)times->batch_ns[row->sample];
        SS_TRY(add_row(rows, row));
    }
    row->per_call = 1;
    row->calls = 1;
    for (row->sample = 0; row->sample < times->n_calls; row->sample++) {
        row->duration_ns = (double)times->call_ns[row->sample];
        SS_TRY(add_row(rows, row));
    }
    return SS_OK;
}

enum ss_status ss_coll_pass_size_all(struct ss_coll_pass *p,
                                     const struct ss_coll_task *task,
                                     int64_t left_ns, int64_t *spent_ns,
                                     int64_t *typical_ns)
{
    struct ss_coll_times times = {0};
    struct ss_coll_row row = {
        .first_rank = p->leader[p->probe->world->rank],
        .ranks = p->group->size,
        .nodes = p->nodes,
        .bytes = (int64_t)ss_coll_pass_bytes(p, task),
        .in_place = task->in_place,
        .create_ns = p->create_ns,
        .wire_bits = p->probe->config->probe_wire,
    };
    int64_t start = ss_clock_ns(), took[2];
    bool good = true;

    ss_copy(row.op, sizeof(row.op), ss_coll_names()[task->op]);
    ss_copy(row.library, sizeof(row.library), p->lib.ops->library);
    ss_copy(row.group, sizeof(row.group), ss_coll_group_name(p->kind));
    SS_TRY(verify_all(p, task, &good));
    row.verified = good;
    SS_TRY(ss_coll_pilot_all(&p->lib, task, &times.typical_ns));
    took[0] = ss_clock_ns() - start;
    took[1] = times.typical_ns;
    SS_TRY(ss_allreduce_all(p->group, took, 2, SS_DT_I64, SS_RED_MAX));
    SS_TRY(time_all(p, task, left_ns - took[0], &times, &row));
    *spent_ns = took[0] + (INT64_C(12)) * took[1];
    *typical_ns = took[1];
    return ss_agree_all(p->group, put_rows(p, &times, &row));
}
