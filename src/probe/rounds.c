/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rounds: who meets whom is pure and equal everywhere, so that nobody has
 * to be told; all pairs of a round run at once; ranks that move nothing wait
 * asleep, because a spinning neighbour would be measured instead of the link.
 * Must not know what is a fault.
 */
#include <math.h>
#include <string.h>

#include "analysis/pairs.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "cluster/agree.h"
#include "probe/context.h"
#include "probe/second_pass.h"

enum { TAG_DONE = 900 };
/** Batches of a soak: short, so that a spell of a second holds several
 * meetings even where it makes them ten times longer. */
#define SOAK_BATCH_NS (8 * SS_NS_PER_MS)
#define SOAK_LEAST_BYTES (64 << 10)
/** Different rounds of a soak: each pair has to be seen often enough for its
 * usual cost to be known. */
#define SOAK_ROUNDS 9
/** What connecting may add to a budget on a busy host: half of the minute that
 * is kept before the end of an allocation. */
#define CONNECT_NS (30 * SS_NS_PER_S)

/** Ranks beside the one that measures look once a millisecond. */
static enum ss_status wait_asleep(struct ss_probe *probe)
{
    struct ss_rt *node = probe->node;
    struct ss_request request = {0};
    char done;
    int arrived = 0;

    SS_TRY(node->ops->irecv(node, &done, 1, 0, TAG_DONE, &request));
    for (;;) {
        SS_TRY(node->ops->test(node, &request, &arrived));
        if (arrived)
            return SS_OK;
        ss_clock_sleep_until(ss_clock_ns() + SS_NS_PER_MS);
    }
}

static enum ss_status wake_node(struct ss_probe *probe)
{
    char done = 1;

    for (int i = 1; i < probe->node->size; i++)
        SS_TRY(probe->node->ops->send(probe->node, &done, 1, i, TAG_DONE));
    return SS_OK;
}

static void set_common(struct ss_probe *probe, int pass, int round, int other)
{
    struct ss_pair_row *row = &probe->rows.common;

    *row = (struct ss_pair_row){
        .a = probe->me,
        .b = other,
        .rank_a = probe->rank_of[probe->me],
        .rank_b = probe->rank_of[other],
        .pass = pass,
        .round = round,
        .wire_bits = probe->config->probe_wire,
    };
    ss_copy(row->level, sizeof(row->level), probe->by_node ? "node" : "device");
}

/** All that there is to know the first time; then what faults show in. */
static struct ss_pair_plan plan_of(const struct ss_probe *probe, int pass,
                                   int round)
{
    bool quick = pass != SS_PASS_ALL || round >= probe->rounds;
    int samples = quick ? SS_PROBE_QUICK_SAMPLES : SS_PROBE_SAMPLES;
    struct ss_pair_plan plan = {
        .sizes = probe->sizes,
        .n_sizes = probe->n_sizes,
        .slice_ns = probe->slice_ns / (1 + SS_PROBE_SAMPLES) * (1 + samples),
        .samples = samples,
        .quick = quick,
    };

    if (pass == SS_PASS_SOAK) {
        plan.samples = 2; /* the better one: TCP that was idle starts slowly */
        plan.message = probe->soak_message;
        plan.count = probe->soak_count;
    }
    return plan;
}

static enum ss_status meet_partner(struct ss_probe *probe, int pass, int round,
                                   int other)
{
    struct ss_pair_plan plan = plan_of(probe, pass, round);
    int lanes = plan.quick ? 1 : probe->n_lanes;

    set_common(probe, pass, round, other);
    for (int i = 0; i < lanes; i++) {
        struct ss_lane *lane = &probe->lane[i];
        SS_TRY(lane->ops->connect(lane, probe->rank_of[other]));
        enum ss_status status =
            probe->me < other
                ? ss_pair_lead(lane, &plan, probe->args->net_root, &probe->rows)
                : ss_pair_follow(lane, probe->args->net_root);
        lane->ops->disconnect(lane);
        SS_TRY(status);
    }
    return SS_OK;
}

static enum ss_status play(struct ss_probe *probe, int pass, int round,
                           const int *partner)
{
    enum ss_status status = SS_OK;

    if (probe->me < 0)
        return wait_asleep(probe);
    if (partner[probe->me] >= 0)
        status = meet_partner(probe, pass, round, partner[probe->me]);
    if (status == SS_OK && probe->by_node)
        status = wake_node(probe);
    return status;
}

enum ss_status ss_probe_round_all(struct ss_probe *probe, int pass, int round,
                                  const int *partner)
{
    int64_t expected =
        INT64_C(6) * probe->n_lanes * probe->n_sizes * probe->slice_ns;
    int64_t deadline = probe->config->deadline_block;

    atomic_store_explicit(&probe->progress->point, pass, memory_order_relaxed);
    atomic_store_explicit(&probe->progress->block, round, memory_order_relaxed);
    ss_watchdog_arm(probe->dog,
                    deadline ? deadline : 10 * expected + 20 * SS_NS_PER_S,
                    "pairs");
    enum ss_status status = play(probe, pass, round, partner);
    status = ss_probe_meet_all(probe, true, status);
    ss_watchdog_disarm(probe->dog);
    return status;
}

/** Is there time for more? Rank 0 decides for all. */
static enum ss_status time_left_all(struct ss_probe *probe, int64_t limit,
                                    bool *left)
{
    int64_t on = ss_clock_ns() - probe->started_ns < limit;

    SS_TRY(ss_bcast_all(probe->world, &on, sizeof(on), 0));
    *left = on != 0;
    return SS_OK;
}

static void note_cut(struct ss_probe *probe, const char *what, int done,
                     int planned)
{
    ss_format(probe->cut, sizeof(probe->cut),
              "the budget ended the %s after %d of %d rounds", what, done,
              planned);
}

enum ss_status ss_probe_first_pass_all(struct ss_probe *probe)
{
    probe->started_ns = ss_clock_ns();
    for (int r = 0; r < probe->total; r++) {
        /* once round is what was asked for, and first meetings connect; again
         * is for certainty, and leaves room for the second pass */
        int64_t limit = r < probe->rounds ? probe->budget_ns + CONNECT_NS
                                          : probe->budget_ns / 2;
        bool left;
        SS_TRY(time_left_all(probe, limit, &left));
        if (!left) {
            note_cut(probe, "tournament", r, probe->total);
            return SS_OK;
        }
        if (probe->world->rank == 0)
            ss_progress("round %d of %d: %d pairs at once", r + 1, probe->total,
                        probe->n / 2);
        ss_tournament_match(probe->n, r, probe->partner);
        SS_TRY(ss_probe_round_all(probe, SS_PASS_ALL, r, probe->partner));
    }
    return SS_OK;
}

/** Rank 0 has the rows of the first pass; all learn whom it suspects. */
static enum ss_status share_suspects_all(struct ss_probe *probe,
                                         struct ss_suspects_list *list)
{
    struct ss_rt *world = probe->world;
    struct ss_localise_rule rule = {.nodes = probe->n,
                                    .min_effect =
                                        probe->config->rules_min_effect_link,
                                    .family = 0.01,
                                    .seed = 1};
    const struct ss_point_data *first = &probe->pass[SS_PASS_ALL];
    struct ss_link_sample *sample = NULL;
    size_t nodes = (size_t)probe->n;
    enum ss_status status = SS_OK;
    int n = 0;

    if (world->rank == 0) {
        status =
            ss_pair_samples(first->pair, first->n_pairs, 0, 0, &sample, &n);
        if (status == SS_OK)
            status = ss_second_pass_open(sample, n, &rule, list);
        ss_free(sample);
    } else {
        status = ss_second_pass_blank(probe->n, list);
    }
    SS_TRY(ss_probe_meet_all(probe, false, status));
    SS_TRY(ss_bcast_all(world, &list->n_paths, sizeof(list->n_paths), 0));
    SS_TRY(
        ss_bcast_all(world, list->suspect, nodes * sizeof(*list->suspect), 0));
    return ss_bcast_all(world, list->path, 2 * nodes * sizeof(*list->path), 0);
}

static enum ss_status play_second(struct ss_probe *probe,
                                  const struct ss_suspects_list *list)
{
    for (int cycle = 0; cycle < SS_SECOND_CYCLES; cycle++) {
        bool left;
        SS_TRY(time_left_all(probe, probe->budget_ns, &left));
        if (!left) {
            note_cut(probe, "second pass", cycle, SS_SECOND_CYCLES);
            return SS_OK;
        }
        if (probe->world->rank == 0)
            ss_progress("looking again at suspects, %d of %d", cycle + 1,
                        SS_SECOND_CYCLES);
        for (int part = 0; part <= SS_SECOND_PARTS; part++)
            if (ss_second_match(list, cycle, part, probe->partner))
                SS_TRY(ss_probe_round_all(probe, SS_PASS_SECOND, cycle,
                                          probe->partner));
    }
    return SS_OK;
}

enum ss_status ss_probe_second_pass_all(struct ss_probe *probe)
{
    struct ss_suspects_list list = {0};
    enum ss_status status = share_suspects_all(probe, &list);

    if (status == SS_OK)
        status = play_second(probe, &list);
    ss_second_pass_close(&list);
    return status;
}

/** The cost of a healthy pair sets the size of a soak's batches, which are
 * alike everywhere; ns/byte. */
static enum ss_status healthy_cost(const struct ss_probe *probe, double *cost)
{
    const struct ss_localise_rule rule = {
        .nodes = probe->n, .min_effect = probe->config->rules_min_effect_link};
    const struct ss_point_data *first = &probe->pass[SS_PASS_ALL];
    struct ss_link_sample *sample = NULL;
    struct ss_localised found = {.healthy = NAN};
    int n = 0;
    enum ss_status status =
        ss_pair_samples(first->pair, first->n_pairs, 0, 0, &sample, &n);

    if (status == SS_OK)
        status = ss_localise(sample, n, &rule, &found);
    *cost = found.healthy;
    ss_localised_free(&found);
    ss_free(sample);
    return status;
}

static enum ss_status share_batches_all(struct ss_probe *probe)
{
    size_t most = probe->sizes[probe->n_sizes - 1];
    int64_t batch[2] = {(int64_t)most, 1};
    enum ss_status status = SS_OK;
    double cost = NAN;

    if (probe->world->rank == 0)
        status = healthy_cost(probe, &cost);
    SS_TRY(ss_probe_meet_all(probe, false, status));
    if (cost > 0) {
        double bytes = (double)SOAK_BATCH_NS / cost;
        while (batch[0] > SOAK_LEAST_BYTES && (double)batch[0] > bytes / 4)
            batch[0] /= 2;
        if (bytes > (double)batch[0])
            batch[1] = (int64_t)(bytes / (double)batch[0]);
    }
    SS_TRY(ss_bcast_all(probe->world, batch, sizeof(batch), 0));
    probe->soak_message = (size_t)batch[0];
    probe->soak_count = batch[1];
    return SS_OK;
}

enum ss_status ss_probe_soak_all(struct ss_probe *probe)
{
    int rounds = ss_tournament_rounds(probe->n, SOAK_ROUNDS);
    bool left = true;

    SS_TRY(share_batches_all(probe));
    probe->started_ns = ss_clock_ns();
    for (int r = 0;; r++) {
        SS_TRY(time_left_all(probe, probe->config->probe_soak, &left));
        if (!left)
            return SS_OK;
        if (probe->world->rank == 0)
            ss_progress("soak: round %d", r + 1);
        ss_tournament_match(probe->n, r % rounds, probe->partner);
        SS_TRY(ss_probe_round_all(probe, SS_PASS_SOAK, r, probe->partner));
    }
}
