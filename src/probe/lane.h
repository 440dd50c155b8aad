/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_PROBE_LANE_H
#define SS_PROBE_LANE_H

#include <stddef.h>
#include <stdint.h>

#include "cluster/rt.h"

/**
 * A way to move bytes between two ranks: a table, so that one protocol
 * (pair.c) measures any library. Buffers are the lane's own, one a slot, of
 * `slot_bytes`; each slot has one message under way in each direction.
 */
#define SS_LANE_SLOTS 4

struct ss_lane;
struct ss_lane_ops {
    const char *library; /**< as in the pairs table */
    /** The receiver does not notice what arrives: no latency by answers. */
    bool one_sided;
    /** Both ends call; returns when messages can flow. */
    enum ss_status (*connect)(struct ss_lane *, int peer);
    enum ss_status (*send)(struct ss_lane *, size_t bytes, int slot);
    enum ss_status (*recv)(struct ss_lane *, size_t bytes, int slot);
    /** Until the slot's message has left or arrived. */
    enum ss_status (*wait_send)(struct ss_lane *, int slot);
    enum ss_status (*wait_recv)(struct ss_lane *, int slot);
    /** All that was sent is at the peer, where that can be known. */
    enum ss_status (*flush)(struct ss_lane *);
    /** Short messages beside the data, in order. */
    enum ss_status (*tell)(struct ss_lane *, const void *, size_t);
    enum ss_status (*hear)(struct ss_lane *, void *, size_t);
    void (*disconnect)(struct ss_lane *);
    void (*close)(struct ss_lane *);
};

struct ss_lane {
    const struct ss_lane_ops *ops;
    int peer; /**< rank of the world, -1: none */
    size_t slot_bytes;
    void *state;
};

/** Over the runtime's own messages. Local. */
enum ss_status ss_lane_mpi_open(struct ss_rt *world, size_t slot_bytes,
                                struct ss_lane *out);
/** Over UCX: tagged messages, or puts. Collective over `world`: addresses are
 * exchanged. SS_ERR_ENV where UCX cannot be brought up on every rank. */
enum ss_status ss_lane_ucx_open_all(struct ss_rt *world, size_t slot_bytes,
                                    struct ss_lane *tag, struct ss_lane *put);
/** Is UCX in this build? */
bool ss_lane_has_ucx(void);

#endif
