/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_ANALYSIS_LOCALISE_FIT_H
#define SS_ANALYSIS_LOCALISE_FIT_H

#include "analysis/localise.h"

/* Within localise: the fit of one (re)sample of rounds. */

/** Index of cap, effect, partners, bad. */
enum { SENDS, RECEIVES };

/** All batches of one direction of a pair in one round: the fastest. */
struct ss_cell {
    int from, to;
    int pass, round; /**< round: dense number over all passes */
    double x;        /**< log cost */
};

struct ss_fit {
    int nodes, n_cells, n_pairs, n_rounds;
    struct ss_cell *cell; /**< sorted by from, to */
    int *first;           /**< [n_pairs + 1] first cell of a directed pair */
    int *by_to;           /**< [n_pairs] pairs in order of their receiver */
    int *round_pass;      /**< [n_rounds] */
    int *weight;          /**< [n_rounds] how often a round counts */
    double *m;            /**< [n_pairs] log cost of a pair, NaN: none */
    double *cap[2];    /**< [nodes] best that a node shows: sends, receives */
    double *effect[2]; /**< [nodes] log slow-down, 0: none seen */
    int *partners[2];  /**< [nodes] good partners that effect rests on */
    bool *bad[2];      /**< [nodes] above the threshold */
    double *q;         /**< [n_pairs] what neither end explains */
    int *used;         /**< [n_pairs] cells that m rests on */
    double healthy, noise, threshold;
    int good_cells;
    double *scratch; /**< room for all cells, weighted */
};

enum ss_status ss_fit_open(const struct ss_link_sample *sample, int n,
                           int nodes, struct ss_fit *out);
/** Fits with the weights as they stand. False: nothing to compare with. */
bool ss_fit_run(struct ss_fit *fit, double min_effect);
void ss_fit_close(struct ss_fit *fit);
/** The directed pair from-to, -1: not measured. */
int ss_fit_pair(const struct ss_fit *fit, int from, int to);

#endif
