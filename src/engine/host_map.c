/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Element-wise functions and the AdamW pass as plan.h defines them, in pieces
 * small enough that communication in flight is driven between them. The
 * kernels are written once for both types (host_kernels.h) and compared with
 * host_twin.c. Knows operands, not the schedule.
 */
#include <math.h>
#include <string.h>

#include "engine/host.h"

#define PIECE ((uint64_t)1 << 15) /* elements between two looks */
#define ROOT_2_OVER_PI 0.79788456080286535588

struct operands {
    void *a, *b, *c, *d;
    double gradient_share;   /* 1 / dp */
    double unbias1, unbias2; /* 1 / (1 - beta^t) */
};

/* exp in single precision without a call or a branch, so that the compiler
 * makes vectors of it: 2^n times a polynomial on |r| <= ln 2 / 2 (the
 * coefficients of Cephes' expf), within 2 units in the last place. Arguments
 * are held where the result is finite and not denormal. */
static inline float fast_exp(float x)
{
    const float magic = 12582912.0F; /* 1.5 x 2^23: rounds to an integer */
    x = x > 87.0F ? 87.0F : x;
    x = x < -87.0F ? -87.0F : x;
    float n = x * 1.44269504088896341F + magic;
    n -= magic;
    float r = x - n * 0.693359375F;
    r -= n * -2.12194440e-4F;
    float p = 1.9875691500e-4F;
    p = p * r + 1.3981999507e-3F;
    p = p * r + 8.3334519073e-3F;
    p = p * r + 4.1665795894e-2F;
    p = p * r + 1.6666665459e-1F;
    p = p * r + 5.0000001201e-1F;
    p = p * r * r + r + 1.0F;
    uint32_t bits = (uint32_t)((int32_t)n + 127) << 23;
    float power;
    memcpy(&power, &bits, sizeof(power));
    return p * power;
}

#define REAL float
#define KERNEL(name) name##_f32
#define EXP fast_exp
#define ROOT sqrtf
#include "engine/host_kernels.h"
#undef REAL
#undef KERNEL
#undef EXP
#undef ROOT

#define REAL double
#define KERNEL(name) name##_f64
#define EXP exp
#define ROOT sqrt
#include "engine/host_kernels.h"
#undef REAL
#undef KERNEL
#undef EXP
#undef ROOT

typedef void (*kernel_fn)(const struct operands *, size_t first, size_t n);

static const kernel_fn maps[][2] = {
    [SS_MAP_NONE] = {copy_f32, copy_f64},
    [SS_MAP_GELU] = {gelu_f32, gelu_f64},
    [SS_MAP_GELU_BWD] = {gelu_bwd_f32, gelu_bwd_f64},
    [SS_MAP_MUL_SILU] = {mul_silu_f32, mul_silu_f64},
    [SS_MAP_MUL_SILU_BWD] = {mul_silu_bwd_f32, mul_silu_bwd_f64},
    [SS_MAP_ADD] = {add_f32, add_f64},
};

static enum ss_status in_pieces(struct ss_host *self, kernel_fn kernel,
                                const struct operands *operands, uint64_t count)
{
    for (uint64_t at = 0; at < count; at += PIECE) {
        uint64_t left = count - at;
        kernel(operands, (size_t)at, (size_t)(left < PIECE ? left : PIECE));
        SS_TRY(ss_host_between(self));
    }
    return SS_OK;
}

static struct operands operands_of(const struct ss_host *self,
                                   const struct ss_op *op)
{
    return (struct operands){
        .a = ss_host_at(self, op->a),
        .b = ss_host_at(self, op->b),
        .c = ss_host_at(self, op->c),
        .d = ss_host_at(self, op->d),
    };
}

enum ss_status ss_host_map(struct ss_host *self, const struct ss_op *op)
{
    struct operands operands = operands_of(self, op);
    kernel_fn kernel = maps[op->map][self->dtype == SS_DT_F64];
    return in_pieces(self, kernel, &operands, op->count);
}

enum ss_status ss_host_optimizer(struct ss_host *self, const struct ss_op *op)
{
    struct operands operands = operands_of(self, op);
    double step = (double)++self->age.steps;
    operands.gradient_share = 1.0 / self->work.plan->layout.dim[SS_DIM_DP];
    operands.unbias1 = 1 / (1 - pow(SS_ADAMW_BETA1, step));
    operands.unbias2 = 1 / (1 - pow(SS_ADAMW_BETA2, step));
    kernel_fn kernel = self->dtype == SS_DT_F64 ? adamw_f64 : adamw_f32;
    return in_pieces(self, kernel, &operands, op->count);
}
