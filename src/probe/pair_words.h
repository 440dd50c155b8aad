/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_PROBE_PAIR_WORDS_H
#define SS_PROBE_PAIR_WORDS_H

#include "health/net_counters.h"
#include "probe/lane.h"

/* Within pair: what leader and follower say, and what both do. */

enum op { OP_END, OP_PING, OP_SEND, OP_RECV, OP_BOTH, OP_MARK, OP_SEEN };

/** All that is said besides data. */
struct word {
    int32_t op, pad;
    int64_t bytes, lead, count;
    double ns;        /**< as the follower saw it */
    uint64_t counted; /**< bytes that left the busiest interface */
    char interface[40];
};

/**
 * `lead` messages that are not timed, then `count` that are, in one stream.
 * *ns: of those, by who can tell: the receiver, from the arrival of the last
 * one before them, so that no pause and no round trip is in it; over a
 * one-sided lane the sender, between two flushes.
 */
enum ss_status ss_pair_move(struct ss_lane *lane, const struct word *word,
                            bool sends, bool recvs, double *ns);
enum ss_status ss_pair_ping(struct ss_lane *lane, int first, size_t bytes,
                            int64_t count);
/** Byte counters now; and what left the busiest interface since. */
void ss_pair_mark(const char *root, struct ss_net_snapshot *before);
void ss_pair_see(const char *root, const struct ss_net_snapshot *before,
                 struct word *word);

#endif
