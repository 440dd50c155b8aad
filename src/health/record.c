/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The witness of a run: the same program everywhere, where each rank ran, and
 * which variable differs between ranks. Variables are gathered as text and
 * diffed, so that a setting that reached only one node is seen. Must not know
 * what is measured.
 */
#include "health/record.h"

#include <fcntl.h>
#include <math.h>
#include <unistd.h>
#include <uuid/uuid.h>
#include <xxhash.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "cluster/agree.h"
#include "store/provenance.h"

/** Two builds in one job give numbers that mean nothing. */
static uint64_t program_hash(void)
{
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    XXH64_state_t *state = XXH64_createState();
    static _Thread_local char block[1 << 16]; /* ranks may be threads */
    uint64_t hash = 0;
    ssize_t n;

    if (fd >= 0 && state) {
        XXH64_reset(state, 0);
        while ((n = read(fd, block, sizeof(block))) > 0)
            XXH64_update(state, block, (size_t)n);
        hash = XXH64_digest(state);
    }
    XXH64_freeState(state);
    if (fd >= 0)
        close(fd);
    return hash;
}

static void rank_row(const struct ss_place *place, int rank, double memory,
                     struct ss_rank_row *row)
{
    *row = (struct ss_rank_row){
        .rank = rank,
        .mpi_rank = place->mpi_rank,
        .node = place->node,
        .local_rank = place->local_rank,
        .domain = place->domain,
        .device = place->device,
        .cores = place->cores,
        .sharers = place->sharers,
        .memory_bytes = memory,
    };
    ss_copy(row->host, sizeof(row->host), place->host);
    ss_copy(row->device_name, sizeof(row->device_name), place->device_name);
    ss_copy(row->uuid, sizeof(row->uuid), place->uuid);
    ss_copy(row->bus_id, sizeof(row->bus_id), place->bus_id);
    ss_copy(row->cpuset, sizeof(row->cpuset), place->cpuset);
}

enum ss_status ss_record_places(const struct ss_topology *topology,
                                const double *memory, struct ss_run_data *run)
{
    run->rank = ss_alloc((size_t)topology->ranks, sizeof(*run->rank), "ranks");
    run->node = ss_alloc((size_t)topology->nodes, sizeof(*run->node), "nodes");
    if (!run->rank || !run->node)
        return SS_ERR_NO_MEMORY;
    run->n_ranks = topology->ranks;
    run->n_nodes = topology->nodes;
    for (int i = 0; i < topology->ranks; i++) {
        const struct ss_place *place = &topology->place[i];
        rank_row(place, i, memory ? memory[i] : NAN, &run->rank[i]);
        ss_copy(run->node[place->node].boot_id, sizeof(run->node[0].boot_id),
                place->boot_id);
    }
    for (int i = 0; i < topology->nodes; i++)
        ss_copy(run->node[i].name, sizeof(run->node[0].name),
                topology->node_name[i]);
    return SS_OK;
}

static enum ss_status collect(char *const *environment, struct ss_buf *out)
{
    SS_TRY(ss_variables_collect(environment, out));
    SS_TRY(ss_files_collect("", environment, out));
    return ss_libraries_collect(out);
}

/** Splits the gathered texts and diffs them. */
static enum ss_status diff_texts(struct ss_run_data *run, char *all,
                                 const size_t *lens, int n)
{
    const char **text = ss_alloc((size_t)n, sizeof(*text), "variables");
    enum ss_status status;
    size_t at = 0;

    if (!text)
        return SS_ERR_NO_MEMORY;
    SS_ASSERT(all && lens);
    for (int i = 0; i < n; i++) {
        text[i] = all + at; /* each was sent with its NUL */
        at += lens[i];
    }
    status = ss_variables_diff(text, n, &run->variable, &run->n_variables);
    ss_free(text);
    return status;
}

enum ss_status ss_record_variables_all(struct ss_rt *world,
                                       char *const *environment,
                                       struct ss_run_data *run)
{
    size_t *lens = ss_alloc((size_t)world->size, sizeof(*lens), "lengths");
    struct ss_buf mine;
    void *all = NULL;
    enum ss_status status;

    ss_buf_init(&mine, 1 << 20);
    status = lens ? collect(environment, &mine) : SS_ERR_NO_MEMORY;
    if (status == SS_OK)
        status = ss_buf_status(&mine);
    status = ss_agree_all(world, status);
    if (status == SS_OK)
        status = ss_gatherv_all(world, ss_buf_text(&mine), mine.len + 1, &all,
                                lens, 0);
    if (status == SS_OK && world->rank == 0)
        status = diff_texts(run, all, lens, world->size);
    ss_free(all);
    ss_free(lens);
    ss_buf_free(&mine);
    return ss_agree_all(world, status);
}

enum ss_status ss_record_program_all(struct ss_rt *rt, uint64_t config_hash)
{
    SS_TRY(ss_agree_word_all(rt, program_hash(), "stepscale binary"));
    return ss_agree_word_all(rt, config_hash, "configuration");
}

void ss_record_run_id(const char *given, char out[40])
{
    uuid_t id;

    if (given && *given) {
        (void)ss_copy(out, 40, given);
        return;
    }
    uuid_generate_random(id);
    uuid_unparse_lower(id, out);
}
