/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CPU twins of the kernels that no other file has one for, and the short
 * floating-point types in plain C. They exist to disagree with a wrong kernel,
 * so nothing here shares code with one. Knows no CUDA.
 */
#include <math.h>
#include <string.h>

#include "kernels/kernels.h"

/* bf16 is the upper half of an fp32. */
static double bf16_to_double(uint16_t bits)
{
    uint32_t wide = (uint32_t)bits << 16;
    float x;
    memcpy(&x, &wide, sizeof(x));
    return (double)x;
}

static uint16_t bf16_from_double(double value)
{
    float x = (float)value;
    uint32_t bits;
    memcpy(&bits, &x, sizeof(bits));
    if (isnan(x))
        return 0x7fff;
    uint32_t odd = (bits >> 16) & 1;
    return (uint16_t)((bits + 0x7fff + odd) >> 16);
}

static double fp16_to_double(uint16_t bits)
{
    int exponent = (bits >> 10) & 0x1f, mantissa = bits & 0x3ff;
    double sign = bits & 0x8000 ? -1 : 1;
    if (exponent == 0x1f)
        return mantissa ? (double)NAN : sign * (double)INFINITY;
    if (exponent == 0)
        return sign * ldexp(mantissa, -24);
    return sign * ldexp(1024 + mantissa, exponent - 25);
}

static uint16_t fp16_from_double(double value)
{
    double x = (double)(float)value, size = fabs(x);
    uint16_t sign = signbit(x) ? 0x8000 : 0;
    int exponent;
    if (isnan(x))
        return 0x7fff;
    if (size >= 65520) /* half a unit above the largest */
        return (uint16_t)(sign | 0x7c00);
    (void)frexp(size, &exponent);
    if (size < 0x1p-14) /* denormal, or 0: units of 2^-24 */
        exponent = -13;
    int units = (int)nearbyint(ldexp(size, 11 - exponent));
    /* 1024 units of the smallest normal exponent are its first code */
    int code = units + ((exponent + 13) << 10);
    return (uint16_t)(sign | code);
}

double ss_twin_load(const void *data, enum ss_dtype dtype, uint64_t i)
{
    switch (dtype) {
    case SS_DT_F64:
        return ((const double *)data)[i];
    case SS_DT_BF16:
        return bf16_to_double(((const uint16_t *)data)[i]);
    case SS_DT_FP16:
        return fp16_to_double(((const uint16_t *)data)[i]);
    default:
        return (double)((const float *)data)[i];
    }
}

void ss_twin_store(void *data, enum ss_dtype dtype, uint64_t i, double x)
{
    switch (dtype) {
    case SS_DT_F64:
        ((double *)data)[i] = x;
        return;
    case SS_DT_BF16:
        ((uint16_t *)data)[i] = bf16_from_double(x);
        return;
    case SS_DT_FP16:
        ((uint16_t *)data)[i] = fp16_from_double(x);
        return;
    default:
        ((float *)data)[i] = (float)x;
    }
}

double ss_twin_round(enum ss_dtype dtype, double x)
{
    uint64_t room = 0;
    ss_twin_store(&room, dtype, 0, x);
    return ss_twin_load(&room, dtype, 0);
}

static uint64_t mix(uint64_t x)
{
    for (int round = 0; round < 2; round++) {
        x ^= x >> 32;
        x *= UINT64_C(0xD6E8FEB86659FD93);
    }
    return x ^ (x >> 32);
}

double ss_twin_normal(const struct ss_fill *fill, const double *table,
                      uint64_t row, uint64_t col)
{
    uint64_t at = fill->stream + fill->first + row * fill->pitch + col;
    return fill->sd * table[mix(at) % SS_KERNEL_NORMALS];
}

int ss_twin_small(uint64_t seed, uint64_t i)
{
    return (int)(mix(seed + i) % 9) - 4;
}

/* 2^p: integers up to here are exact in the type. */
static int64_t exact_limit(enum ss_dtype dtype)
{
    switch (dtype) {
    case SS_DT_F64:
        return INT64_C(1) << 53;
    case SS_DT_BF16:
        return INT64_C(1) << 8;
    case SS_DT_FP16:
        return INT64_C(1) << 11;
    default:
        return INT64_C(1) << 24;
    }
}

struct ss_exact_spec ss_exact_spec_make(enum ss_dtype dtype, int ranks)
{
    int64_t most = exact_limit(dtype) / SS_EXACT_MAX; /* ranks that may speak */
    int64_t stride = (ranks + most - 1) / most;
    return (struct ss_exact_spec){.ranks = ranks,
                                  .stride = stride > 1 ? (int)stride : 1};
}

int ss_twin_exact(const struct ss_exact_spec *spec, int rank, uint64_t place)
{
    uint64_t turn = ((uint64_t)rank + place) % (uint64_t)spec->stride;
    uint64_t a = (place + 1) * UINT64_C(0x9E3779B97F4A7C15);
    uint64_t b = ((uint64_t)rank + 1) * UINT64_C(0xC2B2AE3D27D4EB4F);
    uint64_t x = a + b;
    x = (x ^ (x >> 29)) * UINT64_C(0xBF58476D1CE4E5B9);
    x = x ^ (x >> 32);
    int64_t value = (int64_t)(x % (2 * SS_EXACT_MAX + 1)) - SS_EXACT_MAX;
    return turn == 0 ? (int)value : 0;
}

int64_t ss_twin_exact_expected(const struct ss_exact_expect *expect, uint64_t i)
{
    int64_t sum = 0;
    if (!expect->sum)
        return ss_twin_exact(&expect->spec, (int)(i / expect->count),
                             expect->first + i % expect->count);
    for (int r = 0; r < expect->spec.ranks; r++)
        sum += ss_twin_exact(&expect->spec, r, expect->first + i);
    return sum;
}

static uint64_t scramble(uint64_t x)
{
    x ^= x >> 30;
    x *= UINT64_C(0xBF58476D1CE4E5B9);
    x ^= x >> 27;
    x *= UINT64_C(0x94D049BB133111EB);
    return x ^ (x >> 31);
}

uint64_t ss_twin_hash(const void *data, uint64_t bytes, uint64_t salt)
{
    uint64_t hash = 0;
    for (uint64_t at = 0, i = 1; at < bytes; at += 8, i++) {
        uint64_t word = 0, left = bytes - at;
        memcpy(&word, (const char *)data + at, left < 8 ? left : 8);
        hash += scramble(word ^ scramble(salt + i * 0x9E3779B97F4A7C15u));
    }
    return hash;
}
