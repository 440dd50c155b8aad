/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The element-wise kernels for one type, included by host_map.c once for each:
 * REAL is the type, KERNEL(name) the name of its function, EXP and ROOT its
 * mathematics. No include guard: it is not a header of declarations.
 */

static inline REAL KERNEL(logistic)(REAL x)
{
    return 1 / (1 + EXP(-x));
}

/* gelu(x) = x s(2u), since (1 + tanh u) / 2 = s(2u); twice_u is 2u. */
static inline REAL KERNEL(twice_u)(REAL x)
{
    const REAL scale = (REAL)(2 * ROOT_2_OVER_PI);
    return scale * (x + (REAL)0.044715 * x * x * x);
}

static void KERNEL(gelu)(const struct operands *o, size_t first, size_t n)
{
    const REAL *a = (const REAL *)o->a + first;
    REAL *c = (REAL *)o->c + first;
#pragma omp simd
    for (size_t i = 0; i < n; i++)
        c[i] = a[i] * KERNEL(logistic)(KERNEL(twice_u)(a[i]));
}

static void KERNEL(gelu_bwd)(const struct operands *o, size_t first, size_t n)
{
    const REAL scale = (REAL)(2 * ROOT_2_OVER_PI);
    const REAL *a = (const REAL *)o->a + first;
    const REAL *b = (const REAL *)o->b + first;
    REAL *c = (REAL *)o->c + first;
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        REAL x = b[i];
        REAL s = KERNEL(logistic)(KERNEL(twice_u)(x));
        REAL slope = scale * (1 + (REAL)(3 * 0.044715) * x * x);
        c[i] = a[i] * (s + x * s * (1 - s) * slope);
    }
}

static void KERNEL(mul_silu)(const struct operands *o, size_t first, size_t n)
{
    const REAL *a = (const REAL *)o->a + first;
    const REAL *b = (const REAL *)o->b + first;
    REAL *c = (REAL *)o->c + first;
#pragma omp simd
    for (size_t i = 0; i < n; i++)
        c[i] = a[i] * KERNEL(logistic)(a[i]) * b[i];
}

static void KERNEL(mul_silu_bwd)(const struct operands *o, size_t first,
                                 size_t n)
{
    const REAL *a = (const REAL *)o->a + first;
    const REAL *b = (const REAL *)o->b + first;
    REAL *c = (REAL *)o->c + first;
    REAL *d = (REAL *)o->d + first;
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        REAL g = c[i];
        REAL x = a[i];
        REAL s = KERNEL(logistic)(x);
        REAL from_b = g * x * s;
        d[i] = g * b[i] * s * (1 + x * (1 - s));
        c[i] = from_b;
    }
}

static void KERNEL(add)(const struct operands *o, size_t first, size_t n)
{
    const REAL *a = (const REAL *)o->a + first;
    const REAL *b = (const REAL *)o->b + first;
    REAL *c = (REAL *)o->c + first;
#pragma omp simd
    for (size_t i = 0; i < n; i++)
        c[i] = a[i] + b[i];
}

static void KERNEL(copy)(const struct operands *o, size_t first, size_t n)
{
    memmove((REAL *)o->c + first, (const REAL *)o->a + first, n * sizeof(REAL));
}

static void KERNEL(adamw)(const struct operands *o, size_t first, size_t n)
{
    const REAL beta1 = (REAL)SS_ADAMW_BETA1, rest1 = (REAL)(1 - SS_ADAMW_BETA1);
    const REAL beta2 = (REAL)SS_ADAMW_BETA2, rest2 = (REAL)(1 - SS_ADAMW_BETA2);
    const REAL rate = (REAL)SS_ADAMW_LR, decay = (REAL)SS_ADAMW_DECAY;
    const REAL share = (REAL)o->gradient_share, eps = (REAL)SS_ADAMW_EPS;
    const REAL unbias1 = (REAL)o->unbias1, unbias2 = (REAL)o->unbias2;
    REAL *restrict w = (REAL *)o->a + first;
    const REAL *restrict b = (const REAL *)o->b + first;
    REAL *restrict m = (REAL *)o->c + first;
    REAL *restrict v = (REAL *)o->d + first;
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        REAL g = b[i] * share;
        m[i] = beta1 * m[i] + rest1 * g;
        v[i] = beta2 * v[i] + rest2 * g * g;
        REAL root = ROOT(v[i] * unbias2);
        w[i] -= rate * (decay * w[i] + m[i] * unbias1 / (root + eps));
    }
}
