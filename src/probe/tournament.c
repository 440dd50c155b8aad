/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Disjoint pairs, round by round: first everybody, then suspects with partners
 * above suspicion. Pure; must not know ranks, messages or times.
 */
#include "probe/tournament.h"

#include "base/clock.h"

enum { LAPS_MOST = 5 };
/** Shorter batches say little on a busy host. */
#define BATCH_GOOD_NS (15 * SS_NS_PER_MS)

int ss_tournament_rounds(int n, long asked)
{
    int all = n % 2 ? n : n - 1;
    int most = all;

    if (n < 2)
        return 0;
    if (asked == 0) {
        most = 4;
        for (int size = 1; size < n; size *= 2)
            most += 3;
    } else if (asked > 0 && asked < all) {
        most = (int)asked;
    }
    return most < all ? most : all;
}

int ss_tournament_repeats(int rounds)
{
    return rounds > 0 && rounds < 6 ? (9 + rounds - 1) / rounds : 1;
}

int ss_tournament_laps(int rounds, int64_t pair_ns, int first, int later,
                       int64_t *batch_ns)
{
    int least = ss_tournament_repeats(rounds);
    int laps = least > LAPS_MOST ? least : LAPS_MOST;

    for (;; laps--) {
        *batch_ns = pair_ns / (first + (laps - 1) * later);
        if (*batch_ns >= BATCH_GOOD_NS || laps <= least)
            return laps;
    }
}

void ss_tournament_match(int n, int round, int *partner)
{
    int seats = n + n % 2, ring = seats - 1; /* the last seat stays put */

    for (int i = 0; i < n; i++)
        partner[i] = -1;
    if (n < 2)
        return;
    int twice = 2 * (round % ring) % ring;
    for (int i = 0; i < ring && i < n; i++) {
        int other = (twice - i + ring) % ring;
        if (other == i)
            other = seats - 1;
        if (other < n) {
            partner[i] = other;
            partner[other] = i;
        }
    }
}

/** The `skip`-th free node from `from` on, of this kind; -1: none. */
static int next_free(const struct ss_suspects_list *list, const int *partner,
                     bool suspect, int from)
{
    for (int k = 0; k < list->nodes; k++) {
        int i = (from + k) % list->nodes;
        if (partner[i] < 0 && list->suspect[i] == suspect)
            return i;
    }
    return -1;
}

static void join(int *partner, int a, int b)
{
    partner[a] = b;
    partner[b] = a;
}

/** Good nodes that are left meet each other. */
static void join_rest(const struct ss_suspects_list *list, int cycle,
                      int *partner)
{
    int a, b;

    while ((a = next_free(list, partner, false, cycle)) >= 0) {
        partner[a] = a; /* taken, for the search */
        b = next_free(list, partner, false, a + 1 + cycle);
        partner[a] = -1;
        if (b < 0)
            return;
        join(partner, a, b);
    }
}

static bool join_suspects(const struct ss_suspects_list *list, int cycle,
                          int *partner)
{
    bool any = false;
    int at = 0;

    for (int k = 0; k < list->nodes; k++) {
        int i = (k + cycle) % list->nodes;
        if (!list->suspect[i] || partner[i] >= 0)
            continue;
        int good = next_free(list, partner, false, i + 1 + cycle + at);
        if (good < 0)
            break;
        join(partner, i, good);
        any = true;
        at++;
    }
    return any;
}

/** Paths are dealt out to parts in order, each to the first part in which both
 * of its ends are free. */
static bool join_paths(const struct ss_suspects_list *list, int part,
                       int *partner)
{
    bool any = false;
    int before = 0;

    /* deal: path i goes to part 1 + (its turn among paths of its busier end) */
    for (int i = 0; i < list->n_paths; i++) {
        int a = list->path[i][0], b = list->path[i][1], turn_a = 0, turn_b = 0;
        for (before = 0; before < i; before++) {
            const int *p = list->path[before];
            turn_a += p[0] == a || p[1] == a;
            turn_b += p[0] == b || p[1] == b;
        }
        if (1 + (turn_a > turn_b ? turn_a : turn_b) != part ||
            partner[a] >= 0 || partner[b] >= 0)
            continue;
        join(partner, a, b);
        any = true;
    }
    return any;
}

bool ss_second_match(const struct ss_suspects_list *list, int cycle, int part,
                     int *partner)
{
    bool any;

    for (int i = 0; i < list->nodes; i++)
        partner[i] = -1;
    any = part == 0 ? join_suspects(list, cycle, partner)
                    : join_paths(list, part, partner);
    if (any)
        join_rest(list, cycle + part, partner);
    return any;
}
