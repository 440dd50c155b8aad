/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a fresh world to planned rounds: same program everywhere, places, who
 * is paired, which lanes there are, how long each batch may take. Each step
 * that can fail on one rank is agreed on.
 */
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/units.h"
#include "cluster/agree.h"
#include "health/record.h"
#include "probe/context.h"

static enum ss_status order_ranks_all(struct ss_probe *probe)
{
    struct ss_rt *rt = probe->launcher;

    SS_TRY(ss_place_detect_all(rt, &probe->place));
    probe->place.device = -1;
    SS_TRY(ss_topology_build_all(rt, &probe->place, probe->config->groups_order,
                                 (uint64_t)probe->config->measure_seed,
                                 &probe->topology));
    SS_TRY(ss_topology_world_all(rt, &probe->topology, &probe->world));
    probe->place = probe->topology.place[probe->world->rank];
    ss_log_setup(probe->args->log_level, probe->world->host,
                 probe->world->rank);
    return ss_split_all(probe->world, probe->place.node, probe->world->rank,
                        &probe->node);
}

/** Nodes by their lowest logical rank, or all ranks. */
static enum ss_status choose_ends(struct ss_probe *probe)
{
    const struct ss_topology *t = &probe->topology;
    int asked = probe->config->probe_pairs;

    probe->by_node =
        asked == SS_PROBE_NODE || (asked == SS_PROBE_AUTO && t->nodes > 1);
    probe->n = probe->by_node ? t->nodes : t->ranks;
    probe->me = -1;
    probe->rank_of =
        ss_alloc((size_t)probe->n, sizeof(*probe->rank_of), "ends of pairs");
    probe->partner =
        ss_alloc((size_t)probe->n, sizeof(*probe->partner), "ends of pairs");
    if (!probe->rank_of || !probe->partner)
        return SS_ERR_NO_MEMORY;
    for (int r = t->ranks - 1; r >= 0; r--)
        probe->rank_of[probe->by_node ? t->place[r].node : r] = r;
    for (int i = 0; i < probe->n; i++)
        if (probe->rank_of[i] == probe->world->rank)
            probe->me = i;
    if (probe->n < 2)
        return ss_fail(SS_ERR_ENV,
                       "pairs need two %s, and there is one; start more "
                       "ranks: mpirun -np 2 stepscale probe, or on more hosts",
                       probe->by_node ? "nodes" : "ranks");
    probe->rounds =
        ss_tournament_rounds(probe->n, (long)probe->config->probe_rounds);
    return ss_config_messages(probe->config->probe_sizes, probe->sizes,
                              SS_MESSAGES_MAX, &probe->n_sizes);
}

/** The soak last: it takes as long as it was told. */
static enum ss_status choose_passes(struct ss_probe *probe)
{
    SS_TRY(ss_config_coll_ops(probe->config->probe_ops, &probe->coll_ops));
    probe->order[probe->n_passes++] = SS_PASS_ALL;
    probe->order[probe->n_passes++] = SS_PASS_SECOND;
    if (probe->coll_ops)
        probe->order[probe->n_passes++] = SS_PASS_COLLS;
    if (probe->config->probe_soak > 0)
        probe->order[probe->n_passes++] = SS_PASS_SOAK;
    return SS_OK;
}

static enum ss_status open_lanes_all(struct ss_probe *probe)
{
    size_t most = probe->sizes[probe->n_sizes - 1];
    struct ss_lane *lane = probe->lane;
    enum ss_status status;

    status =
        probe->me < 0 ? SS_OK : ss_lane_mpi_open(probe->world, most, &lane[0]);
    SS_TRY(ss_agree_all(probe->world, status));
    probe->n_lanes = 1;
    if (!probe->config->probe_ucx || !ss_lane_has_ucx())
        return SS_OK;
    status = ss_lane_ucx_open_all(probe->world, most, &lane[1], &lane[2]);
    if (status == SS_OK) {
        probe->n_lanes = 3;
        return SS_OK;
    }
    if (status != SS_ERR_ENV)
        return status;
    ss_format(probe->lane_note, sizeof(probe->lane_note),
              "UCX could not be used: %.120s", ss_error_text());
    ss_error_set(NULL);
    return SS_OK;
}

/** Asked for, or by size; never past the end of the allocation less a minute.
 */
static int64_t whole_budget(const struct ss_probe *probe)
{
    int64_t budget = probe->config->measure_budget, end = 0;
    const char *limit = NULL;

    if (budget == 0)
        budget = (probe->topology.nodes <= 32 ? 60 : 300) * SS_NS_PER_S;
    for (char *const *e = probe->args->environment; e && *e; e++)
        if (strncmp(*e, "SLURM_JOB_END_TIME=", 19) == 0)
            limit = *e + 19;
    if (limit && ss_parse_int(limit, &end) == SS_OK) {
        int64_t left = (end - 60) * SS_NS_PER_S - ss_clock_wall_ns();
        if (left < budget)
            budget = left > 0 ? left : 0;
    }
    return budget;
}

static void share_time(struct ss_probe *probe)
{
    const int64_t least = 1 * SS_NS_PER_MS, most = SS_NS_PER_S / 2;
    int64_t batch;
    int large = 0;

    for (int i = 0; i < probe->n_sizes; i++)
        large += probe->sizes[i] > SS_MESSAGE_SMALL;
    SS_ASSERT(large > 0);
    /* a third of the budget for the tournament; one way, the other, both; two
     * batches' time to find the size and to warm up */
    int laps = ss_tournament_laps(
        probe->rounds, probe->budget_ns / (INT64_C(3) * probe->rounds),
        3 * large * probe->n_lanes * (SS_PROBE_SAMPLES + 2),
        2 * (SS_PROBE_QUICK_SAMPLES + 2), &batch);
    probe->total = probe->rounds * laps;
    batch = batch < least ? least : batch < most ? batch : most;
    probe->slice_ns = (1 + SS_PROBE_SAMPLES) * batch;
}

enum ss_status ss_probe_open_all(struct ss_rt *rt,
                                 const struct ss_probe_args *args,
                                 struct ss_probe *probe)
{
    *probe = (struct ss_probe){
        .args = args, .config = args->config, .launcher = rt, .me = -1};
    probe->progress = &probe->idle_progress;
    SS_TRY(ss_record_program_all(rt, ss_config_hash(args->config)));
    SS_TRY(order_ranks_all(probe));
    SS_TRY(ss_agree_all(probe->world, choose_ends(probe)));
    SS_TRY(ss_agree_all(probe->world, choose_passes(probe)));
    SS_TRY(open_lanes_all(probe));
    probe->budget_ns = whole_budget(probe);
    SS_TRY(ss_bcast_all(probe->world, &probe->budget_ns,
                        sizeof(probe->budget_ns), 0));
    share_time(probe);
    return SS_OK;
}

enum ss_status ss_probe_forecast(const struct ss_probe *probe,
                                 struct ss_buf *out)
{
    char budget[32], soak[32];
    const char *who = probe->by_node ? "nodes" : "ranks";

    ss_buf_printf(out, "%d %s, %d rounds of %d pairs at once", probe->n, who,
                  probe->total, probe->n / 2);
    if (probe->total > probe->rounds)
        ss_buf_printf(out, " (%d different)", probe->rounds);
    ss_buf_printf(
        out, "; libraries: mpi%s; at most %s",
        probe->n_lanes > 1 ? ", ucx_tag, ucx_put" : "",
        ss_format_time((double)probe->budget_ns, budget, sizeof(budget)));
    if (probe->config->probe_soak > 0)
        ss_buf_printf(out, ", then a soak of %s",
                      ss_format_time((double)probe->config->probe_soak, soak,
                                     sizeof(soak)));
    ss_buf_printf(out, "\n");
    if (probe->lane_note[0])
        ss_buf_printf(out, "%s\n", probe->lane_note);
    return ss_buf_status(out);
}

void ss_probe_close(struct ss_probe *probe)
{
    ss_watchdog_stop(probe->dog);
    for (int i = 0; i < SS_PROBE_LANES; i++)
        if (probe->lane[i].ops)
            probe->lane[i].ops->close(&probe->lane[i]);
    for (int i = 0; i < SS_PASSES; i++)
        ss_point_data_free(&probe->pass[i]);
    ss_part_unclaim(&probe->claim);
    ss_net_free(&probe->net);
    ss_ports_free(&probe->ports);
    ss_free(probe->rows.row);
    ss_free(probe->colls.row);
    ss_free(probe->colls.check);
    ss_free(probe->rank_of);
    ss_free(probe->partner);
    ss_topology_free(&probe->topology);
    ss_run_data_free(&probe->run);
    ss_rt_close(probe->node);
    ss_rt_close(probe->world);
}
