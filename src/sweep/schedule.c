/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which block runs when. The three variants are interleaved in random order so
 * that a slow drift of the machine falls on all of them alike. Pure: the order
 * follows from the seed, so that all ranks run the same block at the same
 * time without talking about it.
 */
#include "sweep/schedule.h"

#include "base/mem.h"
#include "base/random.h"

static int sampled_blocks(const struct ss_round_args *args)
{
    if (args->sample_every == 0)
        return 0;
    int every = args->sample_every > 1 ? args->sample_every - 1 : 1;
    return (args->blocks + every - 1) / every;
}

int ss_round_slots(const struct ss_round_args *args)
{
    int variants = args->comm ? 3 : 2;

    return variants * args->blocks + 2 * sampled_blocks(args);
}

static int put(struct ss_slot *slot, int at, int n, enum ss_variant variant,
               bool sampled)
{
    for (int i = 0; i < n; i++)
        slot[at++] = (struct ss_slot){variant, sampled};
    return at;
}

enum ss_status ss_round_fill(const struct ss_round_args *args,
                             struct ss_slot *slot)
{
    struct ss_random random;
    int n = 0, samples = sampled_blocks(args);

    n = put(slot, n, args->blocks, SS_WHOLE, false);
    n = put(slot, n, args->blocks, SS_COMPUTE_ONLY, false);
    if (args->comm)
        n = put(slot, n, args->blocks, SS_COMM_ONLY, false);
    n = put(slot, n, samples, SS_WHOLE, true);
    n = put(slot, n, samples, SS_COMPUTE_ONLY, true);
    ss_random_seed(&random,
                   ss_mix64(args->seed) ^ ss_mix64((uint64_t)args->number));
    for (int i = n - 1; i > 0; i--) {
        int j = (int)ss_random_below(&random, (uint64_t)i + 1);
        struct ss_slot swap = slot[i];
        slot[i] = slot[j];
        slot[j] = swap;
    }
    /* the last block is a whole one: the checks after the point look at the
     * state that it leaves */
    for (int i = n - 1; i >= 0; i--)
        if (slot[i].variant == SS_WHOLE && !slot[i].sampled) {
            struct ss_slot swap = slot[i];
            slot[i] = slot[n - 1];
            slot[n - 1] = swap;
            break;
        }
    return SS_OK;
}

int ss_block_steps(int64_t step_ns, int64_t min_block_ns, int min_steps)
{
    const int most = 1000;
    int64_t steps = step_ns > 0 ? (min_block_ns + step_ns - 1) / step_ns : most;

    if (min_block_ns == 0 || steps < min_steps)
        steps = min_steps;
    return steps > most ? most : (int)steps;
}

int ss_round_first(int64_t budget_ns, int64_t cycle_ns, int want)
{
    int64_t fit = cycle_ns > 0 ? budget_ns / cycle_ns : want;

    if (fit > want)
        fit = want;
    return fit < 1 ? 1 : (int)fit;
}
