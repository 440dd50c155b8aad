/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pass of collectives: every kind of group, every collective, growing
 * sizes until time or memory is short. Groups of a kind run at once and decide
 * for themselves; the world meets between collectives. Must not know what the
 * times mean.
 */
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "cluster/agree.h"
#include "engine/host_memory.h"
#include "probe/coll_pass.h"

/** One batch takes at most so long. */
#define BATCH_MOST_NS (SS_NS_PER_S / 2)
/** What is left of the budget, or this part of it where little is. */
#define BUDGET_PART 8

/** What is left of this collective's share; equal on the group. */
static enum ss_status left_all(struct ss_coll_pass *p, int64_t end,
                               int64_t *out)
{
    *out = end - ss_clock_ns();
    return ss_allreduce_all(p->group, out, 1, SS_DT_I64, SS_RED_MIN);
}

static void note_cut(struct ss_coll_pass *p, uint64_t size)
{
    uint64_t *cut = &p->probe->colls.cut_bytes;

    if (*cut == 0 || size < *cut)
        *cut = size;
}

/** What the size before took. */
struct before {
    uint64_t bytes;
    int64_t spent_ns, typical_ns;
};

/** Is the next size too much for time or memory? Equal on the group. */
static enum ss_status too_much_all(struct ss_coll_pass *p, uint64_t bytes,
                                   const struct before *before, int64_t left_ns,
                                   int64_t *out)
{
    /* what small sizes cost is latency, which does not grow with them */
    double larger = before->bytes <= SS_MESSAGE_SMALL
                        ? 1
                        : (double)bytes / (double)before->bytes;
    double call = larger * (double)before->typical_ns;
    double all = larger * (double)before->spent_ns;

    *out = 2 * (double)bytes > p->memory || call > (double)BATCH_MOST_NS ||
           all > (double)left_ns || left_ns <= 0;
    return ss_allreduce_all(p->group, out, 1, SS_DT_I64, SS_RED_MAX);
}

static enum ss_status grow_all(struct ss_coll_pass *p,
                               struct ss_coll_task *task, int64_t end)
{
    struct before before = {0};
    int64_t left = 0, over = 0;

    for (int i = 0; i < p->n_sizes; i++) {
        task->count =
            ss_coll_count(task->op, p->size[i], p->group->size, sizeof(float));
        uint64_t bytes = ss_coll_pass_bytes(p, task);
        if (bytes <= before.bytes)
            continue; /* no smaller one can be split over so many ranks */
        SS_TRY(left_all(p, end, &left));
        if (before.bytes > 0)
            SS_TRY(too_much_all(p, bytes, &before, left, &over));
        if (over) {
            note_cut(p, p->size[i]);
            return SS_OK;
        }
        SS_TRY(ss_agree_all(
            p->group, p->lib.ops->reserve(&p->lib, bytes / sizeof(float))));
        SS_TRY(ss_coll_pass_size_all(p, task, left, &before.spent_ns,
                                     &before.typical_ns));
        before.bytes = bytes;
    }
    return SS_OK;
}

/** Ranks in no group sleep until the others are done: a spinning neighbour
 * would be measured. */
static enum ss_status rest_all(struct ss_coll_pass *p)
{
    struct ss_rt *world = p->probe->world;
    struct ss_request request = {0};
    int64_t word = 0;
    int done = 0;

    if (!p->idlers)
        return SS_OK;
    SS_TRY(world->ops->icollective(world, SS_COLL_ALL_REDUCE, NULL, &word, 1,
                                   SS_DT_I64, SS_RED_MAX, 0, &request));
    if (p->group)
        return world->ops->wait(world, &request);
    for (;;) {
        SS_TRY(world->ops->test(world, &request, &done));
        if (done)
            return SS_OK;
        ss_clock_sleep_until(ss_clock_ns() + SS_NS_PER_MS);
    }
}

/** One collective, in or out of place, in all groups of a kind. */
static enum ss_status run_op_all(struct ss_coll_pass *p, enum ss_coll_op op,
                                 bool in_place)
{
    struct ss_probe *probe = p->probe;
    struct ss_coll_task task = {.op = op, .in_place = in_place};
    int64_t now = ss_clock_ns(), deadline = probe->config->deadline_block;
    int64_t share = (p->end_ns - now) / (p->left > 0 ? p->left : 1);
    enum ss_status status = SS_OK;

    p->left--;
    if (probe->world->rank == 0)
        ss_progress("%s, %s", ss_coll_names()[op], ss_coll_group_name(p->kind));
    ss_watchdog_arm(probe->dog,
                    deadline ? deadline
                             : 10 * (share > 0 ? share : 0) + 60 * SS_NS_PER_S,
                    "collectives");
    if (p->group)
        status = grow_all(p, &task, now + share);
    if (status == SS_OK)
        status = rest_all(p);
    status = ss_probe_meet_all(probe, true, status);
    ss_watchdog_disarm(probe->dog);
    return status;
}

static enum ss_status run_ops_all(struct ss_coll_pass *p)
{
    for (int op = 0; op < SS_COLL_OPS; op++)
        for (int in_place = 0; in_place < 2; in_place++)
            if (p->probe->coll_ops & 1u << op &&
                p->lib.ops->runs((enum ss_coll_op)op, in_place))
                SS_TRY(run_op_all(p, (enum ss_coll_op)op, in_place));
    return SS_OK;
}

static int nodes_of(const struct ss_coll_pass *p, int leader)
{
    const struct ss_topology *t = &p->probe->topology;
    int nodes = 0, last = -1;

    for (int r = 0; r < t->ranks; r++)
        if (p->leader[r] == leader && t->place[r].node != last) {
            nodes++; /* ranks of a node stand together */
            last = t->place[r].node;
        }
    return nodes;
}

static enum ss_status connect_all(struct ss_coll_pass *p)
{
    struct ss_probe *probe = p->probe;
    int mine = p->leader[probe->world->rank];
    int64_t start = ss_clock_ns();

    SS_TRY(ss_split_all(probe->world, mine, probe->world->rank, &p->group));
    if (!p->group)
        return SS_OK;
    p->nodes = nodes_of(p, mine);
    SS_TRY(p->lib.ops->connect_all(&p->lib, p->group));
    SS_TRY(ss_barrier_all(p->group)); /* the first use makes connections */
    p->create_ns = ss_clock_ns() - start;
    return ss_allreduce_all(p->group, &p->create_ns, 1, SS_DT_I64, SS_RED_MAX);
}

static enum ss_status run_kind_all(struct ss_coll_pass *p)
{
    enum ss_status status;

    p->idlers = false;
    for (int r = 0; r < p->probe->topology.ranks; r++)
        p->idlers |= p->leader[r] < 0;
    status = connect_all(p);
    status = ss_probe_meet_all(p->probe, false, status);
    if (status == SS_OK)
        status = run_ops_all(p);
    if (p->group)
        p->lib.ops->disconnect(&p->lib);
    ss_rt_close(p->group);
    p->group = NULL;
    return status;
}

static int count_ops(const struct ss_coll_pass *p)
{
    unsigned ops = p->probe->coll_ops;
    int n = 0;

    for (int op = 0; op < SS_COLL_OPS; op++)
        for (int in_place = 0; in_place < 2; in_place++)
            n += ops & 1u << op &&
                 p->lib.ops->runs((enum ss_coll_op)op, in_place);
    return n;
}

static bool next_kind(struct ss_coll_pass *p, int kind)
{
    p->kind = (enum ss_coll_group)kind;
    return ss_coll_group_make(&p->probe->topology, p->kind, p->leader,
                              p->scratch);
}

static enum ss_status open_pass(struct ss_coll_pass *p)
{
    struct ss_probe *probe = p->probe;
    size_t n = (size_t)probe->topology.ranks;

    p->leader = ss_alloc(n, sizeof(*p->leader), "groups of collectives");
    p->scratch = ss_alloc(2 * n, sizeof(*p->scratch), "groups of collectives");
    if (!p->leader || !p->scratch)
        return SS_ERR_NO_MEMORY;
    SS_TRY(ss_config_coll_sizes(probe->config->probe_coll_sizes, p->size,
                                SS_COLL_SIZES_MAX, &p->n_sizes));
    SS_TRY(ss_config_corrupt(probe->config->probe_corrupt, &p->plant));
    if (probe->config->probe_library == SS_PROBE_NCCL)
        SS_TRY(ss_coll_device_open(probe->config, &probe->place, &p->lib));
    else
        SS_TRY(ss_coll_mpi_open(&p->lib));
    /* libraries have buffers too, and a full host is killed: a quarter */
    p->memory = p->lib.ops->memory ? p->lib.ops->memory(&p->lib)
                                   : ss_host_available() / probe->node->size;
    p->memory /= 4;
    p->end_ns = probe->started_ns + probe->budget_ns;
    if (p->end_ns < ss_clock_ns() + probe->budget_ns / BUDGET_PART)
        p->end_ns = ss_clock_ns() + probe->budget_ns / BUDGET_PART;
    for (int kind = 0; kind < SS_COLL_GROUPS; kind++)
        p->left += next_kind(p, kind) ? count_ops(p) : 0;
    return SS_OK;
}

enum ss_status ss_probe_colls_all(struct ss_probe *probe)
{
    struct ss_coll_pass pass = {.probe = probe};
    enum ss_status status = ss_probe_meet_all(probe, false, open_pass(&pass));

    for (int kind = 0; kind < SS_COLL_GROUPS && status == SS_OK; kind++)
        if (next_kind(&pass, kind))
            status = run_kind_all(&pass);
    if (pass.lib.ops)
        pass.lib.ops->close(&pass.lib);
    ss_free(pass.leader);
    ss_free(pass.scratch);
    return status;
}
