/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One pass of AdamW over all parameters, bound by memory: weight and moments
 * are read and written once, the gradient read once, in accesses of up to 16
 * bytes, and computed in fp32 (fp64 for fp64). Must not know the layout.
 */
#include "common.cuh"

/* The numbers of one pass in the type that is computed in. */
template <typename M> struct factors {
    M rate, decay, eps, beta1, rest1, beta2, rest2, share, unbias1, unbias2;
};

template <typename M>
static __device__ __forceinline__ void step(const factors<M> &f, M g, M &w,
                                            M &m, M &v)
{
    g *= f.share;
    m = f.beta1 * m + f.rest1 * g;
    v = f.beta2 * v + f.rest2 * g * g;
    M root = sqrt(v * f.unbias2);
    w -= f.rate * (f.decay * w + m * f.unbias1 / (root + f.eps));
}

template <typename T, typename G, int N>
static __global__ void
adamw(struct ss_adamw a, factors<typename ss_math<T>::type> f, uint64_t packs)
{
    typedef typename ss_math<T>::type M;
    uint64_t i = ss_thread();
    if (i >= packs)
        return;
    ss_pack<G, N> g = ((const ss_pack<G, N> *)a.grad)[i];
    ss_pack<T, N> w = ((const ss_pack<T, N> *)a.weight)[i];
    ss_pack<T, N> m = ((const ss_pack<T, N> *)a.moment1)[i];
    ss_pack<T, N> v = ((const ss_pack<T, N> *)a.moment2)[i];
#pragma unroll
    for (int e = 0; e < N; e++) {
        M we = ss_up(w.at[e]), me = ss_up(m.at[e]), ve = ss_up(v.at[e]);
        step<M>(f, (M)ss_up(g.at[e]), we, me, ve);
        w.at[e] = ss_down<T>(we);
        m.at[e] = ss_down<T>(me);
        v.at[e] = ss_down<T>(ve);
    }
    ((ss_pack<T, N> *)a.weight)[i] = w;
    ((ss_pack<T, N> *)a.moment1)[i] = m;
    ((ss_pack<T, N> *)a.moment2)[i] = v;
}

template <typename T, typename G, int N>
static void launch(const struct ss_adamw &a, uint64_t packs,
                   cudaStream_t stream)
{
    typedef typename ss_math<T>::type M;
    factors<M> f = {(M)a.rate,        (M)a.decay,          (M)a.eps,
                    (M)a.beta1,       (M)(1 - a.beta1),    (M)a.beta2,
                    (M)(1 - a.beta2), (M)a.gradient_share, (M)a.unbias1,
                    (M)a.unbias2};
    if (packs > 0)
        adamw<T, G, N>
            <<<ss_blocks(packs, UINT32_MAX / 2), SS_THREADS, 0, stream>>>(
                a, f, packs);
}

template <typename T, typename G>
static void run(struct ss_adamw a, cudaStream_t stream)
{
    const size_t widest = sizeof(T) > sizeof(G) ? sizeof(T) : sizeof(G);
    const int pack = (int)(16 / widest);
    bool packed = ss_aligned(a.weight, 16) && ss_aligned(a.moment1, 16) &&
                  ss_aligned(a.moment2, 16) && ss_aligned(a.grad, 16);
    uint64_t packs = packed ? a.n / pack : 0, done = packs * pack;
    launch<T, G, pack>(a, packs, stream);
    a.weight = (T *)a.weight + done;
    a.moment1 = (T *)a.moment1 + done;
    a.moment2 = (T *)a.moment2 + done;
    a.grad = (const G *)a.grad + done;
    launch<T, G, 1>(a, a.n - done, stream);
}

/* Gradients are of the weights' type or fp32. */
template <typename T>
static void run_any(const struct ss_adamw *a, cudaStream_t stream)
{
    if (a->grad_dtype == a->dtype)
        run<T, T>(*a, stream);
    else
        run<T, float>(*a, stream);
}

int ss_kernel_adamw(const struct ss_adamw *args, ss_stream stream)
{
    if (args->grad_dtype != args->dtype && args->grad_dtype != SS_DT_F32)
        return (int)cudaErrorInvalidValue;
    SS_DISPATCH(args->dtype, run_any, args, (cudaStream_t)stream);
}
