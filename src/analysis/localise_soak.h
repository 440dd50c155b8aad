/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_ANALYSIS_LOCALISE_SOAK_H
#define SS_ANALYSIS_LOCALISE_SOAK_H

#include "analysis/localise.h"

/* Within localise: the batches of a soak, and which of them are slow. */

struct ss_soak {
    const struct ss_localise_rule *rule;
    struct ss_link_sample *v; /**< [n] by pair, then by time */
    double *over;             /**< [n] log cost over the pair's usual */
    bool *slow, *gone;        /**< [n] slow; explained by someone named */
    bool *back, *both; /**< [n] was the way back measured in that round; and
                          slow as well */
    double *scratch;
    int *slow_of, *all_of; /**< [nodes] */
    int n, rounds;
    struct ss_flickers *out;
};

/** Takes the samples, the fastest of a way and round, and marks them. */
enum ss_status ss_soak_open(const struct ss_link_sample *sample, int n,
                            struct ss_soak *s);
void ss_soak_close(struct ss_soak *s);

#endif
