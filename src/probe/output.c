/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a probe leaves on disk: provenance first, then a part a pass, so that a
 * finished pass is never lost. Must not know how pairs are measured.
 */
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/units.h"
#include "cluster/agree.h"
#include "health/record.h"
#include "probe/context.h"
#include "store/provenance.h"

#define MEETING (INT64_C(1) << 40) /* in last words: waits for the others */

static void put(_Atomic int64_t *word, int64_t value)
{
    atomic_store_explicit(word, value, memory_order_relaxed);
}

enum ss_status ss_probe_meet_all(struct ss_probe *probe, bool may_stop,
                                 enum ss_status mine)
{
    struct ss_progress *progress = probe->progress;
    int64_t calls =
        1 + atomic_load_explicit(&progress->n_calls, memory_order_relaxed);
    enum ss_status status;

    put(&progress->n_calls, calls);
    put(&progress->nth, calls);
    put(&progress->collective, MEETING);
    status = may_stop ? ss_agree_or_stop_all(probe->world, mine)
                      : ss_agree_all(probe->world, mine);
    put(&progress->collective, -1);
    return status;
}

static enum ss_status fill_texts(struct ss_probe *probe)
{
    struct ss_run_data *run = &probe->run;
    struct ss_buf yaml;

    ss_buf_init(&yaml, 1 << 16);
    enum ss_status status = ss_config_dump(probe->config, &yaml);
    if (status == SS_OK) {
        run->config_yaml = ss_strdup(ss_buf_text(&yaml));
        run->command_line = ss_strdup(probe->args->command_line);
        if (!run->config_yaml || !run->command_line)
            status = SS_ERR_NO_MEMORY;
    }
    ss_buf_free(&yaml);
    return status;
}

/** Rank 0. */
static enum ss_status fill_run(struct ss_probe *probe)
{
    struct ss_run_data *run = &probe->run;
    const char *mpi = probe->launcher->ops->version(probe->launcher);

    run->schema = SS_SCHEMA;
    run->start_ns = ss_clock_wall_ns();
    ss_copy(run->version, sizeof(run->version), probe->args->version);
    ss_copy(run->engine, sizeof(run->engine), "probe");
    run->peak_flops = NAN;
    run->skeleton_share = NAN;
    run->planned_points = probe->n_passes;
    run->budget_ns = probe->budget_ns;
    run->seed = probe->config->measure_seed;
    run->config_hash = ss_config_hash(probe->config);
    run->verdict_code = -1;
    ss_format(run->transports, sizeof(run->transports), "%s%s%s%s", mpi,
              probe->n_lanes > 1 ? "; UCX beside it" : "",
              probe->lane_note[0] ? "; " : "", probe->lane_note);
    ss_record_run_id(probe->args->run_id, run->run_id);
    SS_TRY(fill_texts(probe));
    SS_TRY(ss_record_places(&probe->topology, NULL, run));
    return ss_versions_collect(mpi, &run->versions, &run->n_versions);
}

static enum ss_status create_folder(struct ss_probe *probe)
{
    ss_out_choose(probe->config->out_file, probe->run.run_id, probe->out,
                  sizeof(probe->out));
    ss_part_folder(probe->out, probe->folder, sizeof(probe->folder));
    SS_TRY(ss_part_create(probe->out));
    enum ss_status status = ss_part_claim(probe->folder, &probe->claim);
    if (status == SS_OK)
        status = ss_part_write_run(probe->out, &probe->run);
    if (status != SS_OK)
        (void)rmdir(probe->folder);
    return status;
}

static const char *op_name(void *arg, int64_t op, char *out, size_t size)
{
    (void)arg;
    ss_copy(out, size,
            op == MEETING ? "a meeting between rounds"
                          : "a pair's batch or a collective");
    return out;
}

enum ss_status ss_probe_begin_all(struct ss_probe *probe)
{
    struct ss_rt *world = probe->world;
    enum ss_status status = world->rank == 0 ? fill_run(probe) : SS_OK;

    SS_TRY(ss_agree_all(world, status));
    SS_TRY(
        ss_record_variables_all(world, probe->args->environment, &probe->run));
    status = world->rank == 0 ? create_folder(probe) : SS_OK;
    SS_TRY(ss_agree_all(world, status));
    SS_TRY(
        ss_bcast_all(world, probe->run.run_id, sizeof(probe->run.run_id), 0));
    SS_TRY(ss_bcast_all(world, probe->out, sizeof(probe->out), 0));
    SS_TRY(ss_bcast_all(world, probe->folder, sizeof(probe->folder), 0));
    struct ss_watchdog_args args = {
        .rt = world,
        .folder = probe->folder,
        .run_id = probe->run.run_id,
        .topology = &probe->topology,
        .op_name = op_name,
        .op_arg = probe,
        .idle_ns = 600 * SS_NS_PER_S,
    };
    SS_TRY(ss_agree_all(world, ss_watchdog_start(&args, &probe->dog)));
    probe->progress = ss_watchdog_progress(probe->dog);
    ss_start_guard_end(probe->args->guard);
    return SS_OK;
}

enum ss_status ss_probe_pass_begin(struct ss_probe *probe)
{
    ss_free(probe->rows.row);
    probe->rows = (struct ss_pair_rows){0};
    probe->cut[0] = '\0';
    ss_free(probe->colls.row);
    ss_free(probe->colls.check);
    probe->colls = (struct ss_coll_rows){0};
    ss_net_free(&probe->net);
    probe->net = (struct ss_net_snapshot){0};
    ss_ports_free(&probe->ports);
    if (probe->place.local_rank != 0)
        return SS_OK;
    SS_TRY(ss_net_read(probe->args->net_root, &probe->net));
    return ss_ports_read(probe->args->net_root, &probe->ports);
}

/** All ranks' rows of equal size, in rank order; rank 0 gets them. */
static enum ss_status gather(struct ss_probe *probe, const void *rows,
                             size_t bytes, size_t n, void **out, int64_t *total)
{
    struct ss_rt *world = probe->world;
    size_t *lens = ss_alloc((size_t)world->size, sizeof(*lens), "lengths");
    enum ss_status status =
        ss_agree_all(world, lens ? SS_OK : SS_ERR_NO_MEMORY);

    *total = 0;
    *out = NULL;
    if (status == SS_OK)
        status =
            ss_gatherv_all(world, rows ? rows : "", n * bytes, out, lens, 0);
    for (int i = 0;
         lens && status == SS_OK && world->rank == 0 && i < world->size; i++)
        *total += (int64_t)(lens[i] / bytes);
    ss_free(lens);
    return status;
}

static enum ss_status gather_net(struct ss_probe *probe,
                                 struct ss_point_data *data)
{
    struct ss_net_snapshot after = {0}, delta = {0};
    enum ss_status status = SS_OK;
    void *rows = NULL;
    int64_t n = 0;

    if (probe->place.local_rank == 0) {
        status = ss_net_read(probe->args->net_root, &after);
        if (status == SS_OK)
            status = ss_net_delta(&probe->net, &after, &delta);
        for (int i = 0; i < delta.n; i++)
            delta.row[i].node = probe->place.node;
    }
    status = ss_agree_all(probe->world, status);
    if (status == SS_OK)
        status = gather(probe, delta.row, sizeof(*delta.row), (size_t)delta.n,
                        &rows, &n);
    data->net = rows;
    data->n_nets = (int)n;
    ss_net_free(&after);
    ss_net_free(&delta);
    return status;
}

static enum ss_status gather_ports(struct ss_probe *probe,
                                   struct ss_point_data *data)
{
    struct ss_ports after = {0};
    enum ss_status status = SS_OK;
    void *rows = NULL;
    int64_t n = 0;

    if (probe->place.local_rank == 0)
        status = ss_ports_read(probe->args->net_root, &after);
    if (status == SS_OK)
        ss_ports_compare(&probe->ports, &after);
    for (int i = 0; i < after.n; i++)
        after.row[i].node = probe->place.node;
    status = ss_agree_all(probe->world, status);
    if (status == SS_OK)
        status = gather(probe, after.row, sizeof(*after.row), (size_t)after.n,
                        &rows, &n);
    data->port = rows;
    data->n_ports = (int)n;
    ss_ports_free(&after);
    return status;
}

/** What was cut to fit the time, in words. */
static enum ss_status note_cuts(struct ss_probe *probe, const char *note,
                                struct ss_point_row *meta)
{
    bool colls = strcmp(meta->mode, SS_MODE_COLLS) == 0;
    uint64_t mine = colls ? probe->colls.cut_bytes : probe->rows.cut_bytes;
    int64_t cut = mine ? (int64_t)mine : INT64_MAX;
    char from[24], to[24];

    SS_TRY(ss_allreduce_all(probe->world, &cut, 1, SS_DT_I64, SS_RED_MIN));
    ss_copy(meta->reason, sizeof(meta->reason), note[0] ? note : probe->cut);
    if (cut == INT64_MAX || meta->reason[0])
        return SS_OK;
    ss_format_bytes((double)cut, to, sizeof(to));
    if (colls)
        ss_format(meta->reason, sizeof(meta->reason),
                  "collectives from %s on were left out where their batches "
                  "did not fit the time, or their buffers the memory",
                  to);
    else
        ss_format(meta->reason, sizeof(meta->reason),
                  "messages of %s were cut to as little as %s, so that a batch "
                  "fits into its time",
                  ss_format_bytes((double)probe->sizes[probe->n_sizes - 1],
                                  from, sizeof(from)),
                  to);
    return SS_OK;
}

static int place_in_order(const struct ss_probe *probe, int pass)
{
    int at = 0;

    while (at < probe->n_passes && probe->order[at] != pass)
        at++;
    return at + 1;
}

const char *ss_probe_pass_name(int pass)
{
    static const char *const name[] = {"tournament", "second pass", "soak",
                                       "collectives"};
    return name[pass];
}

static void fill_meta(const struct ss_probe *probe, int pass, int64_t started,
                      struct ss_point_row *meta)
{
    bool colls = pass == SS_PASS_COLLS;

    *meta = (struct ss_point_row){
        .index = place_in_order(probe, pass),
        .size = colls ? probe->topology.ranks : probe->n,
        .base_size = colls ? probe->topology.ranks : probe->n,
        .nodes = probe->topology.nodes,
        .filler_first = -1,
        .verified = -1,
        .isolated_ns = NAN};
    ss_copy(meta->mode, sizeof(meta->mode),
            colls ? SS_MODE_COLLS : SS_MODE_PAIRS);
    ss_copy(meta->curve, sizeof(meta->curve), ss_probe_pass_name(pass));
    ss_copy(meta->status, sizeof(meta->status), "ok");
    meta->duration_ns = ss_clock_ns() - started;
    meta->start_ns = ss_clock_wall_ns() - meta->duration_ns;
}

static enum ss_status gather_rows(struct ss_probe *probe,
                                  struct ss_point_data *data)
{
    const struct ss_coll_rows *colls = &probe->colls;
    void *rows = NULL;
    int64_t n = 0;

    SS_TRY(gather(probe, probe->rows.row, sizeof(struct ss_pair_row),
                  (size_t)probe->rows.n, &rows, &data->n_pairs));
    data->pair = rows;
    SS_TRY(gather(probe, colls->row, sizeof(*colls->row), (size_t)colls->n,
                  &rows, &data->n_colls));
    data->coll = rows;
    SS_TRY(gather(probe, colls->check, sizeof(*colls->check),
                  (size_t)colls->n_checks, &rows, &n));
    data->check = rows;
    data->n_checks = (int)n;
    for (int64_t i = 0; i < n; i++)
        data->meta.verified =
            data->meta.verified != 0 && data->check[i].ok ? 1 : 0;
    return SS_OK;
}

enum ss_status ss_probe_pass_end_all(struct ss_probe *probe, int pass,
                                     int64_t started, const char *note)
{
    struct ss_point_data *data = &probe->pass[pass];
    enum ss_status status = SS_OK;

    fill_meta(probe, pass, started, &data->meta);
    SS_TRY(note_cuts(probe, note, &data->meta));
    SS_TRY(gather_rows(probe, data));
    SS_TRY(gather_net(probe, data));
    SS_TRY(gather_ports(probe, data));
    if (probe->world->rank == 0)
        status = ss_part_write_point(probe->out, probe->run.run_id, data);
    return ss_probe_meet_all(probe, false, status);
}
