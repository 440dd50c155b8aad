/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_BASE_RANDOM_H
#define SS_BASE_RANDOM_H

#include <stddef.h>
#include <stdint.h>

/** SplitMix64 finaliser: a stateless hash, for counter-based streams. */
uint64_t ss_mix64(uint64_t x);
/** Folds n words into one well-mixed word; order matters. */
uint64_t ss_mix_words(const uint64_t *words, size_t n);

/** xoshiro256** (Blackman and Vigna, 2018), seeded through SplitMix64. */
struct ss_random {
    uint64_t s[4];
};
void ss_random_seed(struct ss_random *random, uint64_t seed);
uint64_t ss_random_u64(struct ss_random *random);
/** Uniform in [0, 1), 53 bits. */
double ss_random_uniform(struct ss_random *random);
/** Uniform in [0, n), unbiased. n > 0. */
uint64_t ss_random_below(struct ss_random *random, uint64_t n);
/** Standard normal (Box-Muller; no cached second value). */
double ss_random_normal(struct ss_random *random);
/** One standard normal from a counter word. */
double ss_normal_from_word(uint64_t word);
/** Fisher-Yates. */
void ss_random_shuffle(struct ss_random *random, int *items, size_t n);

#endif
