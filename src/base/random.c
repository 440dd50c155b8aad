/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reproducible randomness: equal on every rank and machine for a seed, since
 * order, data and planted noise are stored as a seed and recomputed by other
 * programs. Not for secrets. It must not know the time or the process.
 */
#include "base/random.h"

#include <math.h>

#define GOLDEN UINT64_C(0x9E3779B97F4A7C15)
#define TWO_PI 6.283185307179586476925286766559

uint64_t ss_mix64(uint64_t x)
{
    x += GOLDEN; /* so that 0 does not map to 0 */
    x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
    return x ^ (x >> 31);
}

uint64_t ss_mix_words(const uint64_t *words, size_t n)
{
    uint64_t hash = ss_mix64((uint64_t)n);
    for (size_t i = 0; i < n; i++)
        hash = ss_mix64(hash ^ words[i]);
    return hash;
}

void ss_random_seed(struct ss_random *random, uint64_t seed)
{
    for (uint64_t i = 0; i < 4; i++)
        random->s[i] = ss_mix64(seed + i * GOLDEN);
}

static uint64_t rotl(uint64_t x, int k)
{
    return (x << k) | (x >> (64 - k));
}

uint64_t ss_random_u64(struct ss_random *random)
{
    uint64_t *s = random->s;
    uint64_t result = rotl(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotl(s[3], 45);
    return result;
}

static double unit_interval(uint64_t word)
{
    return (double)(word >> 11) * 0x1.0p-53;
}

double ss_random_uniform(struct ss_random *random)
{
    return unit_interval(ss_random_u64(random));
}

uint64_t ss_random_below(struct ss_random *random, uint64_t n)
{
    /* Rejects the 2^64 mod n words that would favour some results. */
    uint64_t reject = (0 - n) % n;
    uint64_t word;
    do
        word = ss_random_u64(random);
    while (word < reject);
    return word % n;
}

static double box_muller(double u1, double u2)
{
    /* 1 - u1 is in (0, 1]: the logarithm is finite. */
    return sqrt(-2.0 * log(1.0 - u1)) * cos(TWO_PI * u2);
}

double ss_random_normal(struct ss_random *random)
{
    double u1 = ss_random_uniform(random);
    return box_muller(u1, ss_random_uniform(random));
}

double ss_normal_from_word(uint64_t word)
{
    uint64_t first = ss_mix64(word);
    return box_muller(unit_interval(first), unit_interval(ss_mix64(first)));
}

void ss_random_shuffle(struct ss_random *random, int *items, size_t n)
{
    for (size_t i = n; i > 1; i--) {
        size_t j = (size_t)ss_random_below(random, (uint64_t)i);
        int item = items[i - 1];
        items[i - 1] = items[j];
        items[j] = item;
    }
}
