/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_ANALYSIS_LOCALISE_SOAK_H
#define SS_ANALYSIS_LOCALISE_SOAK_H

#include "analysis/localise.h"

/* Within localise: the meetings of a soak, and who is slow too often. */

/** Two nodes in one round; what each way cost over its own usual. */
struct ss_meeting {
    int low, high, round, window;
    double when;    /**< s, its start */
    double over[2]; /**< log; 0: low sends, 1: high does; NaN: not measured */
    bool first_of_pair;
    bool gone; /**< explained by someone named */
};

/** What is slow of a meeting. */
enum ss_way { SS_WAY_EITHER, SS_WAY_BOTH, SS_WAY_SENDS, SS_WAY_RECEIVES };
#define SS_WAYS 4
#define SS_LEVELS 3

struct ss_soak {
    const struct ss_localise_rule *rule;
    struct ss_meeting *m; /**< [n] in order of rounds */
    int n, n_windows;
    int *
        of_node; /**< [2 n] meetings of node 0, of node 1, ...; in time order */
    int *first;  /**< [nodes + 1] into of_node */
    /** From mild to strong; what disturbs a host is rarely strong. */
    double level[SS_LEVELS];
    int *all, *slow; /**< [n_windows] of the way and level in work */
    double *scratch; /**< [2 n + nodes + 2] */
    struct ss_flickers *out;
};

/** Takes the samples. */
enum ss_status ss_soak_open(const struct ss_link_sample *sample, int n,
                            struct ss_soak *s);
void ss_soak_close(struct ss_soak *s);

/** One accusation: a node, or a pair (peer >= 0; SENDS: node to peer). */
struct ss_suspicion {
    int node, peer;
    enum ss_way way;
    double level;
    double p;               /**< not adjusted */
    int slow, all;          /**< its meetings */
    int others, others_all; /**< those of the rest of the cluster */
};
/** Of all that are slow beyond doubt the one that chance explains least;
 * node -1: none. `tests`: how many were possible. */
struct ss_suspicion ss_soak_suspect(struct ss_soak *s, int *tests);
/** Is it slow far more often than the others? */
bool ss_soak_stands_out(int slow, int all, int others, int others_all);
/** 1: slow in the suspicion's way, 0: not, -1: not measured so, or not its. */
int ss_soak_is_slow(const struct ss_meeting *m, const struct ss_suspicion *x);
/** The same of all of the suspicion's kind: how many, and how many slow. */
void ss_soak_kind(const struct ss_meeting *m, const struct ss_suspicion *x,
                  int *all, int *slow);

#endif
