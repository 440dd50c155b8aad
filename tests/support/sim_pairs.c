/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Simulated matrices of pairs, put through the same tournament, second pass
 * and localisation as measured ones.
 */
#include "support/sim_pairs.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/random.h"
#include "probe/second_pass.h"
#include "probe/tournament.h"

void sim_open(struct sim_cluster *c, int nodes, double noise, uint64_t seed)
{
    *c = (struct sim_cluster){.nodes = nodes,
                              .slow_from = -1,
                              .slow_to = -1,
                              .both_ways = 1,
                              .all = 1,
                              .noise = noise,
                              .wild_cost = 1,
                              .seed = seed};
    c->send = ss_alloc((size_t)nodes, sizeof(double), "sim");
    c->receive = ss_alloc((size_t)nodes, sizeof(double), "sim");
    for (int i = 0; i < nodes; i++)
        c->send[i] = c->receive[i] = 1;
}

void sim_close(struct sim_cluster *c)
{
    ss_free(c->send);
    ss_free(c->receive);
}

struct sim {
    const struct sim_cluster *c;
    struct ss_random random;
    struct ss_link_sample *sample;
    int n, cap;
};

static double cost(struct sim *sim, int from, int to)
{
    const struct sim_cluster *c = sim->c;
    double x = c->send[from] > c->receive[to] ? c->send[from] : c->receive[to];

    if (((from == c->slow_from && to == c->slow_to) ||
         (c->both_ways && from == c->slow_to && to == c->slow_from)) &&
        c->slow_path > x)
        x = c->slow_path;
    x *= c->all * (1 + c->noise * ss_random_normal(&sim->random));
    if (c->wild > 0 && ss_random_uniform(&sim->random) < c->wild)
        x *= c->wild_cost;
    return x > 0.01 ? x : 0.01;
}

static void play(struct sim *sim, int pass, int round, const int *partner)
{
    for (int i = 0; i < sim->c->nodes; i++) {
        if (partner[i] < 0)
            continue;
        if (sim->n == sim->cap) {
            sim->cap = sim->cap ? 2 * sim->cap : 1024;
            sim->sample = ss_realloc(sim->sample, (size_t)sim->cap,
                                     sizeof(*sim->sample), "sim");
        }
        sim->sample[sim->n++] =
            (struct ss_link_sample){.from = i,
                                    .to = partner[i],
                                    .pass = pass,
                                    .round = round,
                                    .cost = cost(sim, i, partner[i]),
                                    .when = sim->n};
    }
}

void sim_probe(const struct sim_cluster *c, int resamples,
               struct ss_localised *out)
{
    struct sim sim = {.c = c};
    struct ss_localise_rule rule = {.nodes = c->nodes,
                                    .min_effect = 0.05,
                                    .family = 0.01,
                                    .resamples = resamples,
                                    .seed = 1};
    struct ss_suspects_list list;
    int *partner = ss_alloc((size_t)c->nodes, sizeof(int), "sim");
    int rounds = ss_tournament_rounds(c->nodes, 0);
    int total = rounds * ss_tournament_repeats(rounds);

    ss_random_seed(&sim.random, c->seed);
    for (int r = 0; r < total; r++) {
        ss_tournament_match(c->nodes, r, partner);
        play(&sim, 0, r, partner);
    }
    if (ss_second_pass_open(sim.sample, sim.n, &rule, &list) != SS_OK)
        abort();
    for (int cycle = 0; cycle < SS_SECOND_CYCLES; cycle++)
        for (int part = 0; part <= SS_SECOND_PARTS; part++)
            if (ss_second_match(&list, cycle, part, partner))
                play(&sim, 1, cycle, partner);
    ss_second_pass_close(&list);
    if (ss_localise(sim.sample, sim.n, &rule, out) != SS_OK)
        abort();
    ss_free(sim.sample);
    ss_free(partner);
}
