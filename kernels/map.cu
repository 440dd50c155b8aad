/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Element-wise functions, bound by memory: each thread moves 16 bytes of every
 * operand at once where the addresses allow, computes in fp32 (fp64 for fp64)
 * and rounds once. Must not know where in a step it stands.
 */
#include "common.cuh"

#define ROOT_2_OVER_PI 0.79788456080286535588

static __device__ __forceinline__ float exp_of(float x)
{
    return __expf(x);
}
static __device__ __forceinline__ double exp_of(double x)
{
    return exp(x);
}
static __device__ __forceinline__ float quotient(float a, float b)
{
    return __fdividef(a, b);
}
static __device__ __forceinline__ double quotient(double a, double b)
{
    return a / b;
}

/* exp of more than this would leave the range in which a quick division of
 * 1 by it is defined; the result is 0 or 1 to the last bit long before. */
template <typename M> static __device__ __forceinline__ M logistic(M x)
{
    M low = x < (M)-80 ? (M)-80 : x;
    return quotient((M)1, 1 + exp_of(-low));
}

/* gelu(x) = x s(2u), since (1 + tanh u) / 2 = s(2u); twice_u is 2u. */
template <typename M> static __device__ __forceinline__ M twice_u(M x)
{
    const M scale = (M)(2 * ROOT_2_OVER_PI);
    return scale * (x + (M)0.044715 * x * x * x);
}

/* Each map: operands in `in`, results in `out`. */
struct gelu {
    static const int ins = 1, outs = 1;
    template <typename M> static __device__ void of(const M *in, M *out)
    {
        out[0] = in[0] * logistic(twice_u(in[0]));
    }
};

struct gelu_bwd {
    static const int ins = 2, outs = 1;
    template <typename M> static __device__ void of(const M *in, M *out)
    {
        const M scale = (M)(2 * ROOT_2_OVER_PI);
        M x = in[1];
        M s = logistic(twice_u(x));
        M slope = scale * (1 + (M)(3 * 0.044715) * x * x);
        out[0] = in[0] * (s + x * s * (1 - s) * slope);
    }
};

struct mul_silu {
    static const int ins = 2, outs = 1;
    template <typename M> static __device__ void of(const M *in, M *out)
    {
        out[0] = in[0] * logistic(in[0]) * in[1];
    }
};

/* in: a, b, g; out: the gradient of b (takes the place of g), that of a. */
struct mul_silu_bwd {
    static const int ins = 3, outs = 2;
    template <typename M> static __device__ void of(const M *in, M *out)
    {
        M x = in[0], g = in[2];
        M s = logistic(x);
        out[0] = g * x * s;
        out[1] = g * in[1] * s * (1 + x * (1 - s));
    }
};

struct add {
    static const int ins = 2, outs = 1;
    template <typename M> static __device__ void of(const M *in, M *out)
    {
        out[0] = in[0] + in[1];
    }
};

template <int INS, int OUTS> struct operands {
    const void *in[INS];
    void *out[OUTS];
};

/* Operands may alias where plan.h says: all of an element's are read before
 * any is written, and by the same thread. */
template <typename F, typename T, int N>
static __global__ void map(operands<F::ins, F::outs> o, uint64_t packs)
{
    typedef typename ss_math<T>::type M;
    typedef ss_pack<T, N> P;
    uint64_t i = ss_thread();
    if (i >= packs)
        return;
    P in[F::ins], out[F::outs];
#pragma unroll
    for (int k = 0; k < F::ins; k++)
        in[k] = ((const P *)o.in[k])[i];
#pragma unroll
    for (int e = 0; e < N; e++) {
        M x[F::ins], y[F::outs];
#pragma unroll
        for (int k = 0; k < F::ins; k++)
            x[k] = ss_up(in[k].at[e]);
        F::of(x, y);
#pragma unroll
        for (int k = 0; k < F::outs; k++)
            out[k].at[e] = ss_down<T>(y[k]);
    }
#pragma unroll
    for (int k = 0; k < F::outs; k++)
        ((P *)o.out[k])[i] = out[k];
}

template <typename F, typename T, int N>
static void launch_packs(const operands<F::ins, F::outs> &o, uint64_t packs,
                         cudaStream_t stream)
{
    if (packs == 0)
        return;
    map<F, T, N>
        <<<ss_blocks(packs, UINT32_MAX / 2), SS_THREADS, 0, stream>>>(o, packs);
}

template <typename F, typename T>
static bool all_aligned(const operands<F::ins, F::outs> &o)
{
    bool ok = true;
    for (int k = 0; k < F::ins; k++)
        ok = ok && ss_aligned(o.in[k], 16);
    for (int k = 0; k < F::outs; k++)
        ok = ok && ss_aligned(o.out[k], 16);
    return ok;
}

template <typename F> struct runner {
    template <typename T>
    static void run(operands<F::ins, F::outs> o, uint64_t n,
                    cudaStream_t stream)
    {
        const int pack = 16 / (int)sizeof(T);
        uint64_t packs = all_aligned<F, T>(o) ? n / pack : 0;
        launch_packs<F, T, pack>(o, packs, stream);
        uint64_t done = packs * pack;
        for (int k = 0; k < F::ins; k++)
            o.in[k] = (const T *)o.in[k] + done;
        for (int k = 0; k < F::outs; k++)
            o.out[k] = (T *)o.out[k] + done;
        launch_packs<F, T, 1>(o, n - done, stream);
    }
};

#define RUN(F, dtype, o, n, stream)                                            \
    SS_DISPATCH(dtype, runner<F>::template run, o, n, (cudaStream_t)(stream))

int ss_kernel_gelu(enum ss_dtype dtype, const void *a, void *c, uint64_t n,
                   ss_stream stream)
{
    operands<1, 1> o = {{a}, {c}};
    RUN(gelu, dtype, o, n, stream);
}

int ss_kernel_gelu_bwd(enum ss_dtype dtype, const void *a, const void *b,
                       void *c, uint64_t n, ss_stream stream)
{
    operands<2, 1> o = {{a, b}, {c}};
    RUN(gelu_bwd, dtype, o, n, stream);
}

int ss_kernel_mul_silu(enum ss_dtype dtype, const void *a, const void *b,
                       void *c, uint64_t n, ss_stream stream)
{
    operands<2, 1> o = {{a, b}, {c}};
    RUN(mul_silu, dtype, o, n, stream);
}

int ss_kernel_mul_silu_bwd(enum ss_dtype dtype, const void *const ab[2],
                           void *const cd[2], uint64_t n, ss_stream stream)
{
    operands<3, 2> o = {{ab[0], ab[1], cd[0]}, {cd[0], cd[1]}};
    RUN(mul_silu_bwd, dtype, o, n, stream);
}

int ss_kernel_add(enum ss_dtype dtype, const void *a, const void *b, void *c,
                  uint64_t n, ss_stream stream)
{
    operands<2, 1> o = {{a, b}, {c}};
    RUN(add, dtype, o, n, stream);
}
