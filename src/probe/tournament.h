/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_PROBE_TOURNAMENT_H
#define SS_PROBE_TOURNAMENT_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Who meets whom. Pure: every rank computes the same from the same numbers. A
 * matching is an array of partners, -1 for those that sit out.
 */

/** Different rounds: min(n-1, 4 + 3 log2 n), all, or as many as asked for
 * (asked 0: automatic, -1: all). Odd n have n rounds. */
int ss_tournament_rounds(int n, long asked);
/** Worlds of under 6 rounds play them again, so that there are at least 9: how
 * many times. */
int ss_tournament_repeats(int rounds);
/**
 * How often to play all rounds, and the time of a batch, when a pair may take
 * `pair_ns` in all and `first` batches the first time, `later` each other time.
 * What disturbs a host lasts, so pairs that are seen at several times are worth
 * more than long batches.
 */
int ss_tournament_laps(int rounds, int64_t pair_ns, int first, int later,
                       int64_t *batch_ns);
/** Round-robin by the circle method; any round >= 0. */
void ss_tournament_match(int n, int round, int *partner);

/** What the second pass looks at. */
struct ss_suspects_list {
    int nodes;
    bool *suspect;  /**< [nodes] suspects and ends of suspect paths */
    int (*path)[2]; /**< [n_paths] */
    int n_paths;
};
/**
 * One matching of a cycle of the second pass: `part` 0 gives every suspect a
 * partner that is above suspicion, another one each cycle; parts from 1 on let
 * the suspect paths meet again. Who is left pairs up, for comparison. False
 * where the part would hold no suspect.
 */
bool ss_second_match(const struct ss_suspects_list *list, int cycle, int part,
                     int *partner);

#endif
