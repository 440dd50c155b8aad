/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_ANALYSIS_LOCALISE_H
#define SS_ANALYSIS_LOCALISE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

/**
 * Who slows the pairs? Every measured pair is read as min(sender, receiver,
 * path): its cost (time per byte) is the largest of three. Pure; the same
 * input gives the same answer. What a node is (a host, a device) is the
 * caller's business.
 */

/** One timed batch, one way. */
struct ss_link_sample {
    int from, to; /**< nodes */
    int pass;     /**< rounds are resampled within their pass */
    int round;
    double cost; /**< time per byte, any unit, > 0 */
    double when; /**< s; for faults that come and go */
};

struct ss_localise_rule {
    int nodes;
    double min_effect; /**< smallest slow-down that is a fault, 0.05 */
    double family;     /**< family-wise error, 0.01 */
    int resamples;     /**< of the bootstrap: 1,000 */
    uint64_t seed;
    /** Name suspects for a second pass: no chance, no confidence. */
    bool suspects;
};

enum ss_fault_place {
    SS_FAULT_NODE,       /**< both ways */
    SS_FAULT_NODE_SENDS, /**< what it sends */
    SS_FAULT_NODE_RECEIVES,
    SS_FAULT_PATH,    /**< between two good nodes, both ways */
    SS_FAULT_ONE_WAY, /**< from a to b only */
};

struct ss_link_fault {
    enum ss_fault_place place;
    int a, b;              /**< b: the other end of a path, else -1 */
    double factor, lo, hi; /**< its cost over its peers', 95 % by bootstrap */
    double p;              /**< adjusted for all that was tested */
    double confidence;     /**< share of resamples that name it alike */
    int samples, partners; /**< what the accusation rests on */
};

struct ss_localised {
    double healthy; /**< median cost of pairs that nobody slows */
    double noise;   /**< relative scatter of those, robust */
    int n;
    struct ss_link_fault *fault; /**< [n], owned; worst first */
};

/** Fits and names. SS_OK with n = 0 where nothing can be said. */
enum ss_status ss_localise(const struct ss_link_sample *sample, int n,
                           const struct ss_localise_rule *rule,
                           struct ss_localised *out);
void ss_localised_free(struct ss_localised *localised);

/** A link that is slow at times. */
struct ss_spell {
    double from, to; /**< s, as in the samples */
};
#define SS_SPELLS_MAX 16
struct ss_flicker {
    int node, peer; /**< peer -1: whatever its partner */
    double share;   /**< of the time between its first meeting and its last */
    double factor;  /**< cost in slow meetings over the usual */
    double p;       /**< adjusted */
    double confidence;
    int slow, meetings;
    int n_spells; /**< in which it was slow; the first SS_SPELLS_MAX kept */
    struct ss_spell spell[SS_SPELLS_MAX];
};
struct ss_flickers {
    int n;
    struct ss_flicker *v; /**< owned; worst first */
};
/** Nodes and paths that are slow in a part of their samples. */
enum ss_status ss_localise_spells(const struct ss_link_sample *sample, int n,
                                  const struct ss_localise_rule *rule,
                                  struct ss_flickers *out);
void ss_flickers_free(struct ss_flickers *flickers);

#endif
