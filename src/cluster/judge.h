/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_CLUSTER_JUDGE_H
#define SS_CLUSTER_JUDGE_H

#include "cluster/watchdog.h"

/* Within this room: one judgement under way. Pure. */

/** What is known, and what comes of it. */
struct ss_trial {
    const struct ss_last_words *all; /**< [n_all] of ranks, by rank */
    int n_all, world;
    const int32_t *node;                  /**< [world], or NULL */
    const struct ss_last_words *launcher; /**< its record, or NULL */
    const struct ss_last_words *words;    /**< [n]: those that count */
    int n, waiting;
    const struct ss_last_words *common; /**< in the call most ranks wait in */
    int in_common;
    int blamed;                        /**< out->n where they fit */
    const struct ss_last_words *first; /**< words of the first culprit */
    struct ss_judgement *out;
};

/** One more culprit; words: its own, NULL: it left none. */
void ss_trial_accuse(struct ss_trial *trial, int rank,
                     const struct ss_last_words *words);
/** "rank 2 on node07 is", "ranks 2, 3, 5, 7 and 12 more are". */
void ss_trial_name(const struct ss_trial *trial, char *out, size_t size);
/** "allreduce_3, call 7 of point 4" */
void ss_trial_name_call(const struct ss_last_words *words, char *out,
                        size_t size);
/** Fills waiting, common and in_common. */
void ss_trial_find_common(struct ss_trial *trial);

/** ended.c: ranks that ended before the job did, and a job that was only told
 * to stop. False: neither; judge by who waits for whom. */
bool ss_trial_find_ended(struct ss_trial *trial);

#endif
