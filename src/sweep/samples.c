/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Growing storage for one rank's samples of one point. Knows nothing of MPI or
 * engines: measure.c fills it, collect.c empties it.
 */
#include "sweep/samples.h"

#include <math.h>

#include "analysis/attribution.h"
#include "base/mem.h"

enum ss_status ss_samples_open(int group_size, struct ss_samples **out)
{
    struct ss_samples *samples = ss_alloc(1, sizeof(*samples), "samples");

    if (!samples)
        return SS_ERR_NO_MEMORY;
    samples->group_size = group_size;
    samples->late_steps = ss_alloc((size_t)group_size + 1,
                                   sizeof(*samples->late_steps), "arrivals");
    if (!samples->late_steps) {
        ss_samples_close(samples);
        return SS_ERR_NO_MEMORY;
    }
    *out = samples;
    return SS_OK;
}

void ss_samples_close(struct ss_samples *samples)
{
    if (!samples)
        return;
    for (int v = 0; v < SS_VARIANTS; v++) {
        ss_free(samples->median[v]);
        ss_free(samples->middle[v]);
    }
    ss_free(samples->late_steps);
    ss_free(samples->wait);
    ss_free(samples->terms);
    ss_free(samples->end_ns);
    ss_free(samples->step_ns);
    ss_free(samples->mine);
    ss_free(samples->block);
    ss_free(samples);
}

/** Doubles *array until `need` items fit. */
static enum ss_status grow(void **array, int64_t *cap, int64_t need,
                           size_t size, const char *what)
{
    int64_t to = *cap > 0 ? *cap : 64;
    void *bigger;

    if (need <= *cap)
        return SS_OK;
    while (to < need)
        to *= 2;
    bigger = ss_realloc(*array, (size_t)to, size, what);
    if (!bigger)
        return SS_ERR_NO_MEMORY;
    *array = bigger;
    *cap = to;
    return SS_OK;
}

#define GROW(array, cap, need, what)                                           \
    grow((void **)&(array), &(cap), need, sizeof(*(array)), what)

/** As grow, for arrays that share one capacity kept as int. */
static enum ss_status grow_pair(void **a, size_t size_a, void **b,
                                size_t size_b, int64_t *cap, int64_t need)
{
    int64_t first = *cap;

    SS_TRY(grow(a, &first, need, size_a, "samples"));
    return grow(b, cap, need, size_b, "samples");
}

enum ss_status ss_samples_reserve(struct ss_samples *samples, int blocks,
                                  int64_t steps)
{
    int64_t cap = samples->cap_blocks;

    SS_TRY(grow_pair((void **)&samples->block, sizeof(*samples->block),
                     (void **)&samples->mine, sizeof(*samples->mine), &cap,
                     samples->n_blocks + blocks));
    samples->cap_blocks = (int)cap;
    return grow_pair((void **)&samples->step_ns, sizeof(*samples->step_ns),
                     (void **)&samples->end_ns, sizeof(*samples->end_ns),
                     &samples->cap_steps, samples->n_steps + blocks * steps);
}

void ss_samples_add(struct ss_samples *samples, const struct ss_raw_block *raw,
                    int round)
{
    const struct ss_block_record *record = &raw->record;
    int stored = record->steps - 1;
    int at = samples->n_blocks++;

    samples->block[at] = (struct ss_block_row){
        .variant = (int32_t)raw->variant,
        .sampled = raw->sampled,
        .steps = stored,
        .round = round,
        .first = samples->n_steps,
    };
    samples->mine[at] = (struct ss_block_rank_row){
        .mark0_ns = record->mark[0],
        .clock_mhz = (float)record->clock_mhz,
        .energy_j = (float)record->energy_j,
        .power_capped_s = (float)record->power_capped_s,
        .thermal_capped_s = (float)record->thermal_capped_s,
        .temperature_c = (float)record->temperature_c,
    };
    for (int s = 1; s <= stored; s++) {
        int64_t step = record->mark[s] - record->mark[s - 1];
        samples->step_ns[samples->n_steps] = step > 0 ? (uint64_t)step : 0;
        samples->end_ns[samples->n_steps++] = record->mark[s];
    }
}

enum ss_status ss_samples_add_terms(struct ss_samples *samples,
                                    const struct ss_terms_row *row)
{
    SS_TRY(GROW(samples->terms, samples->cap_terms, samples->n_terms + 1,
                "terms of sampled steps"));
    samples->terms[samples->n_terms++] = *row;
    return SS_OK;
}

enum ss_status ss_samples_add_wait(struct ss_samples *samples,
                                   const struct ss_wait *wait)
{
    SS_TRY(GROW(samples->wait, samples->cap_waits, samples->n_waits + 1,
                "waiting spans"));
    samples->wait[samples->n_waits++] = *wait;
    return SS_OK;
}

enum ss_status ss_samples_add_median(struct ss_samples *samples,
                                     enum ss_variant variant, double median,
                                     double middle)
{
    int n = samples->n_medians[variant];

    if (n == samples->cap_medians) {
        int64_t cap = 0;
        for (int v = 0; v < SS_VARIANTS; v++) {
            cap = samples->cap_medians;
            SS_TRY(grow_pair((void **)&samples->median[v], sizeof(double),
                             (void **)&samples->middle[v], sizeof(double), &cap,
                             n + 1));
        }
        samples->cap_medians = (int)cap;
    }
    samples->median[variant][n] = median;
    samples->middle[variant][n] = middle;
    samples->n_medians[variant]++;
    return SS_OK;
}

void ss_samples_split_waiting(struct ss_samples *samples)
{
    for (int64_t i = 0; i < samples->n_waits; i++) {
        const struct ss_wait *wait = &samples->wait[i];
        if (wait->culprit >= 0 &&
            ss_is_persistent(samples->late_steps[wait->culprit],
                             samples->sampled_steps))
            samples->terms[wait->terms].wait_persistent_ns += wait->ns;
    }
}
