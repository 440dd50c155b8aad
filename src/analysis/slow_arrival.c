/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the order of arrivals says of ranks: support for those whose compute
 * alone is slow, and ranks that come late for another reason (input, a busy
 * host, interference). Must not accuse a rank that only passes waiting on:
 * excess has that taken out already.
 */
#include <math.h>

#include "analysis/findings.h"
#include "base/mem.h"
#include "base/random.h"

#define FAMILY 0.005 /* half of the family-wise 1 % */
#define RESAMPLES 1000

/** Sums over the points in which a rank's steps were sampled. */
struct lateness {
    int64_t late, sampled;
    double effect; /* excess above the others' median, over T, x steps */
    double excess; /* ms a step, at the largest size */
    int size;      /* that size */
};

static double excess_ms(const struct ss_point_data *data, int rank)
{
    return data->rank[rank].excess_ns * SS_MS;
}

/** Median excess of a rank's group without the rank itself. */
static double others_excess(const struct ss_point_data *data, int rank,
                            double *scratch)
{
    size_t n = 0;

    for (int r = 0; r < data->n_ranks; r++)
        if (r != rank && data->rank[r].group == data->rank[rank].group)
            scratch[n++] = excess_ms(data, r);
    return n ? ss_median(scratch, n) : NAN;
}

/* The median of the others costs a sort: only ranks late in over half of the
 * steps are worth it. */
static void add_point(const struct ss_point_result *result,
                      const struct ss_point_data *data, struct lateness *late,
                      double *scratch)
{
    for (int r = 0; r < data->n_ranks; r++) {
        const struct ss_point_rank_row *row = &data->rank[r];
        if (row->group < 0 || row->sampled_steps <= 0 ||
            row->collectives <= 0 || /* there is nobody to be later than */
            row->sampled_steps > data->n_steps || row->late_steps < 0 ||
            row->late_steps > row->sampled_steps)
            continue; /* nothing sampled, or counts that cannot be */
        late[r].late += row->late_steps;
        late[r].sampled += row->sampled_steps;
        if (data->meta.size >= late[r].size) {
            late[r].size = data->meta.size;
            late[r].excess = excess_ms(data, r);
        }
        if (2 * row->late_steps <= row->sampled_steps)
            continue;
        double above = excess_ms(data, r) - others_excess(data, r, scratch);
        if (above > 0)
            late[r].effect +=
                above / result->sampled_ms * (double)row->sampled_steps;
    }
}

/** Share of resamples over the steps in which it is late in most again. */
static double confidence(const struct lateness *late, uint64_t seed)
{
    struct ss_random random;
    double share = (double)late->late / (double)late->sampled;
    int64_t steps = late->sampled < 1000 ? late->sampled : 1000;
    int named = 0;

    ss_random_seed(&random, seed);
    for (int i = 0; i < RESAMPLES; i++) {
        int64_t again = 0;
        for (int64_t k = 0; k < steps; k++)
            again += ss_random_uniform(&random) < share;
        named += 2 * again > steps;
    }
    return (double)named / RESAMPLES;
}

static struct ss_suspect *known(struct ss_suspects *list, int rank)
{
    for (int i = 0; i < list->n; i++)
        if (list->v[i].rank == rank)
            return &list->v[i];
    return NULL;
}

static void note(const struct lateness *late, struct ss_suspect *suspect)
{
    suspect->late_steps = late->late;
    suspect->sampled_steps = late->sampled;
    suspect->excess_ms = late->excess;
    suspect->excess_size = late->size;
}

static enum ss_status add_suspect(const struct ss_run_data *run, int rank,
                                  const struct lateness *late,
                                  struct ss_suspects *io)
{
    uint64_t words[3] = {(uint64_t)run->seed, (uint64_t)rank, 2};
    double effect = late->effect / (double)late->sampled;
    void *grown =
        ss_realloc(io->v, (size_t)io->n + 1, sizeof(*io->v), "suspects");

    if (!grown)
        return SS_ERR_NO_MEMORY;
    io->v = grown;
    io->v[io->n] = (struct ss_suspect){
        .rank = rank,
        .factor = effect < 0.999 ? 1 / (1 - effect) : 1000,
        .lo = NAN,
        .hi = NAN,
        .confidence = confidence(late, ss_mix_words(words, 3)),
    };
    note(late, &io->v[io->n++]);
    return SS_OK;
}

/** Is the rank late in most steps (adjusted p) and by enough? */
static bool is_late(const struct lateness *late, double adjusted,
                    double min_effect)
{
    return late->sampled > 0 && adjusted < FAMILY &&
           late->effect / (double)late->sampled > min_effect;
}

static enum ss_status test(const struct ss_run_data *run,
                           const struct lateness *late, double min_effect,
                           struct ss_suspects *io)
{
    size_t n = (size_t)run->n_ranks;
    double *p = ss_alloc(2 * n, sizeof(*p), "tests of ranks");
    int *order = ss_alloc(n, sizeof(*order), "tests of ranks");
    enum ss_status status = p && order ? SS_OK : SS_ERR_NO_MEMORY;

    for (size_t r = 0; status == SS_OK && r < n; r++)
        p[r] = late[r].sampled > 0
                   ? ss_sign_test((size_t)late[r].late, (size_t)late[r].sampled)
                   : 1;
    if (status == SS_OK)
        ss_holm(p, n, p + n, order);
    for (int r = 0; status == SS_OK && r < run->n_ranks; r++) {
        struct ss_suspect *suspect = known(io, r);
        if (suspect && late[r].sampled > 0)
            note(&late[r], suspect);
        else if (!suspect && is_late(&late[r], p[n + (size_t)r], min_effect))
            status = add_suspect(run, r, &late[r], io);
    }
    ss_free(order);
    ss_free(p);
    return status;
}

enum ss_status ss_suspect_arrivals(const struct ss_run_data *run,
                                   const struct ss_point_result *point, int n,
                                   double min_effect, struct ss_suspects *io)
{
    size_t ranks = (size_t)run->n_ranks;
    struct lateness *late = ss_alloc(ranks, sizeof(*late), "late ranks");
    double *scratch = ss_alloc(ranks, sizeof(*scratch), "late ranks");
    enum ss_status status = SS_ERR_NO_MEMORY;

    if (late && scratch) {
        for (int i = 0; i < n; i++) {
            const struct ss_point_data *data = point[i].data;
            if (point[i].sampled_ms > 0 && data->n_ranks <= run->n_ranks)
                add_point(&point[i], data, late, scratch);
        }
        status = test(run, late, min_effect, io);
    }
    ss_free(scratch);
    ss_free(late);
    return status;
}
