/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SUPPORT_SIM_PAIRS_H
#define TESTS_SUPPORT_SIM_PAIRS_H

#include "analysis/localise.h"

/** A cluster whose pairs cost what it says. Costs are relative: 1 = healthy. */
struct sim_cluster {
    int nodes;
    double *send, *receive; /**< [nodes] */
    int slow_from, slow_to; /**< a path; -1: none */
    double slow_path;       /**< its cost */
    int both_ways;          /**< the path is slow both ways */
    double all;             /**< cost of everything: a slow cluster */
    double noise;           /**< relative deviation of a batch */
    double wild, wild_cost; /**< share of batches that cost so much more */
    uint64_t seed;
};
void sim_open(struct sim_cluster *c, int nodes, double noise, uint64_t seed);
void sim_close(struct sim_cluster *c);

/**
 * What `probe` does: the tournament, its suspects, the second pass over them,
 * and the verdict over all. The caller frees the result.
 */
void sim_probe(const struct sim_cluster *c, int resamples,
               struct ss_localised *out);

#endif
