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
    int64_t bytes, count;
    uint64_t counted; /**< bytes that left the busiest interface */
    char interface[40];
};

/** `count` messages, a slot each in turn; ends when all have left and come. */
enum ss_status ss_pair_move(struct ss_lane *lane, int sends, int recvs,
                            size_t bytes, int64_t count);
enum ss_status ss_pair_ping(struct ss_lane *lane, int first, size_t bytes,
                            int64_t count);
/** Byte counters now; and what left the busiest interface since. */
void ss_pair_mark(const char *root, struct ss_net_snapshot *before);
void ss_pair_see(const char *root, const struct ss_net_snapshot *before,
                 struct word *word);

#endif
