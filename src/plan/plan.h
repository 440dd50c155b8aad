/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_PLAN_PLAN_H
#define SS_PLAN_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/dtype.h"
#include "base/status.h"
#include "base/str.h"
#include "plan/layout.h"
#include "plan/model.h"
#include "timing/phase.h"

/**
 * The step program of one rank: printed (plan), executed (cuda, host), faulted
 * (null), simulated (predict). Pure: no MPI, no device. Ops stand in issue
 * order; an op starts after the previous op of its lane and after all ops in
 * its waits. The order of communication ops is the same on all ranks that
 * share a communicator (ss_plan_validate).
 */
enum ss_op_kind {
    SS_OP_GEMM,
    SS_OP_ELEMENTWISE,
    SS_OP_OPTIMIZER,
    SS_OP_COPY,
    SS_OP_ALL_REDUCE,
    SS_OP_ALL_GATHER,
    SS_OP_REDUCE_SCATTER,
    SS_OP_ALL_TO_ALL,
    SS_OP_BROADCAST,
    SS_OP_SEND,
    SS_OP_RECV,
    SS_OP_KINDS
};
/** Lanes (streams): one for compute, one per dimension's communication, one
 * for input copies. Communication lane of dim d is SS_LANE_COMM + d. */
enum ss_lane {
    SS_LANE_COMPUTE,
    SS_LANE_INPUT,
    SS_LANE_COMM,
    SS_LANES = SS_LANE_COMM + SS_DIMS
};
/**
 * Element-wise functions over `count` elements. Operands may alias where said.
 * gelu(x) = x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))), silu(x) = x s(x)
 * with s(x) = 1 / (1 + exp(-x)), silu'(x) = s(x) (1 + x (1 - s(x))).
 */
enum ss_map {
    SS_MAP_NONE,
    SS_MAP_GELU,         /**< c = gelu(a) */
    SS_MAP_GELU_BWD,     /**< c = a gelu'(b): a the gradient of gelu's output,
                            b its input; c may be a */
    SS_MAP_MUL_SILU,     /**< c = silu(a) b */
    SS_MAP_MUL_SILU_BWD, /**< a, b as in MUL_SILU; c holds the gradient g of its
                            output: d = g b silu'(a), then c = g silu(a), which
                            are the gradients of a and of b */
    SS_MAP_ADD           /**< c = a + b */
};
/**
 * What a buffer is. A plan has one of each, and a ref's buf is the role. An
 * engine fills WEIGHT and INPUT once (weights equal over dp and seeded by the
 * tp coordinate), moments with 0, and nothing else: every other element is
 * written before it is read.
 */
enum ss_role {
    SS_BUF_WEIGHT,  /**< this rank's parameters, flat, layer by layer, Linear by
                       Linear, each [out, in] (of out and in one is split) */
    SS_BUF_GRAD,    /**< gradients, same order, of grad_dtype */
    SS_BUF_MOMENT1, /**< of the weights' dtype, as torch's AdamW keeps them */
    SS_BUF_MOMENT2,
    SS_BUF_ACT,   /**< kept between forward and backward of a micro-batch */
    SS_BUF_WORK,  /**< reused within a step */
    SS_BUF_INPUT, /**< constant: the micro-batch, the gradient of the output,
                     the attention core's stand-in (model.h) */
    SS_BUF_ROLES
};
/** AdamW as SS_OP_OPTIMIZER does it over `count` parameters: a weight w,
 * b gradient, c moment m, d moment v; t counts steps from 1 since the state was
 * filled. g = b / dp; m = B1 m + (1 - B1) g; v = B2 v + (1 - B2) g^2;
 * w -= LR (WD w + m / (1 - B1^t) / (sqrt(v / (1 - B2^t)) + EPS)).
 * LR is far below a trainer's: the batch is always the same and the loss has no
 * minimum, so that at 1e-4 the weights of a deep model line up within some ten
 * steps, and products overflow (or hold zeros and infinities, which draw less
 * power than numbers). */
#define SS_ADAMW_LR 1e-8
#define SS_ADAMW_BETA1 0.9
#define SS_ADAMW_BETA2 0.999
#define SS_ADAMW_EPS 1e-8
#define SS_ADAMW_DECAY 0.01
struct ss_buffer {
    char name[16];
    enum ss_role role;
    enum ss_dtype dtype;
    uint64_t elems;
};
/** A place in a buffer; buf < 0: none. Offsets in elements. */
struct ss_ref {
    int buf;
    uint64_t at;
};

#define SS_WAITS_MAX 3
struct ss_op {
    enum ss_op_kind kind;
    enum ss_phase phase;
    enum ss_lane lane;
    enum ss_dim dim;  /**< communication: whose communicator */
    int layer, micro; /**< -1: belongs to none */
    bool backward;    /**< communication too: of which pass it is part */
    char name[16];    /**< "fc1.fwd", "bucket3" */
    /** GEMM: C[m,n] = op(A)[m,k] op(B)[k,n] (+ C if accumulate), row-major
     * without gaps; ta: A is stored [k,m]; tb: B is stored [n,k]. */
    int64_t m, n, k;
    bool ta, tb, accumulate;
    enum ss_map map;
    struct ss_ref a, b, c, d;
    /** Elements and their size. Element-wise, optimizer, copy (c = a): of each
     * operand. Communication as in rt.h's icollective: all-reduce and broadcast
     * are in place on c; all-gather: a has count, c count x ranks;
     * reduce-scatter: a has count x ranks, c count; all-to-all: both count x
     * ranks; send: a; recv: c. GEMM: of c. */
    uint64_t count;
    int elem_size;
    int peer;     /**< send, recv, broadcast root: rank in the dim */
    double flops; /**< that run; 0 unless a GEMM */
    double bytes; /**< memory traffic (compute) or message bytes S as
                     nccl-tests counts them: the full buffer for
                     all-gather and reduce-scatter */
    int order;    /**< communication: position in the total order, else -1 */
    int fused; /**< fused-group mark: ops with equal mark >= 0 launch together
                */
    int n_waits;
    int wait[SS_WAITS_MAX]; /**< indices of earlier ops on other lanes */
};

/** model.precision, as a plan stores it: fp8 GEMMs read bf16 storage. */
enum ss_dtype ss_plan_storage(int precision);
/** Default of plan.bucket: printed as untuned. */
#define SS_PLAN_BUCKET_DEFAULT (UINT64_C(25) << 20)
/** More ops than this in one step are refused. */
#define SS_PLAN_OPS_MAX 1000000

struct ss_plan {
    struct ss_model model;
    struct ss_op *op; /**< owned */
    int n_ops;
    struct ss_buffer *buffer; /**< owned */
    int n_buffers;
    struct ss_layout layout;
    struct ss_coords coords;
    int64_t tokens;       /**< of this rank's data-parallel share per step */
    int64_t micro_tokens; /**< per micro-batch */
    int precision;        /**< SS_PRECISION_*, resolved */
    enum ss_dtype grad_dtype; /**< of gradients, on the wire too */
    uint64_t bucket_bytes;
    int64_t params;     /**< on this rank */
    double model_flops; /**< of this rank's share, per step */
    double flops;       /**< that run, per step */
    double phase_flops[SS_PHASES], phase_bytes[SS_PHASES];
    double comm_bytes[SS_DIMS]; /**< message bytes S summed, by dimension */
};

struct ss_plan_args {
    const struct ss_model *model;
    struct ss_layout layout;
    struct ss_coords coords;
    int64_t tokens; /**< per data-parallel rank and step, all micro-batches */
    int precision;  /**< SS_PRECISION_*, resolved (not auto) */
    int grad_dtype; /**< SS_GRAD_*, resolved */
    uint64_t bucket_bytes;
};

/**
 * Builds one rank's plan. Under 10 ms for 126 layers. SS_ERR_CONFIG: hidden
 * (or ffn, heads) not divisible by tp, tokens not divisible by micro-batches
 * (or by tp with sp), a layout this version cannot plan.
 *
 * The step: per micro-batch forward over the layers, then backward. The first
 * Linears' input gradient is computed only with tp > 1 (as torch does). Each
 * Linear's weight gradient comes before its input gradient, so that buckets
 * start early; with tp > 1 after it, so that it hides the tp communication of
 * the input gradient. Buckets are all-reduced during the last backward pass;
 * the optimizer is the last op and waits for every lane: its end is the step's.
 */
enum ss_status ss_plan_build(const struct ss_plan_args *args,
                             struct ss_plan *out);
void ss_plan_free(struct ss_plan *plan);
/** Checks: waits point backwards and to other lanes, orders ascend, lanes and
 * phases fit the kind, operands lie in their buffers, peers exist.
 * SS_ERR_INTERNAL names the op. Also for plans that were not built here. */
enum ss_status ss_plan_validate(const struct ss_plan *plan);
/** The communication order of a plan as one word per dim; equal on all ranks
 * of a communicator or the plan is refused (agree on it before connecting). */
uint64_t ss_plan_order_word(const struct ss_plan *plan, enum ss_dim dim);
/** Of all that a plan says, less its coordinates: equal for ranks that do the
 * same. */
uint64_t ss_plan_hash(const struct ss_plan *plan);
/** Device memory in bytes: parameters, gradients, moments, activations. */
double ss_plan_memory(const struct ss_plan *plan);
/** Where this rank's part of one Linear lies in the unsplit matrix [out, in]:
 * `rows` runs of `cols` elements, `pitch` apart, from element `first`. */
struct ss_shard {
    uint64_t rows, cols, pitch, first;
};
struct ss_shard ss_plan_shard(const struct ss_plan *plan, int linear);
bool ss_op_is_comm(const struct ss_op *op);
const char *ss_op_kind_name(enum ss_op_kind kind);
/** Does this op run in this variant? */
bool ss_op_runs(const struct ss_op *op, enum ss_variant variant);

/**
 * Tokens per data-parallel rank for a mode: weak: model.tokens x tp-and-cp
 * share (tokens per DEVICE constant, so x tp cp pp ep per dp rank); strong:
 * global / dp. Also splits strong shares above model.tokens into more
 * micro-batches (layout->micro_batches grows). `skip` is filled with a reason
 * (and SS_OK returned, *tokens = 0) when the share is under min_tokens or
 * does not divide.
 */
enum ss_status ss_plan_tokens(const struct ss_config *config,
                              const struct ss_model *model, bool strong,
                              int64_t global_batch, struct ss_layout *layout,
                              int64_t *tokens, char *skip, size_t skip_size);
/** Default strong batch: model.tokens x largest / 8, at least model.tokens and
 * scaling.min_tokens on every rank of the largest size. */
int64_t ss_plan_global_batch(const struct ss_config *config,
                             const struct ss_model *model, int largest);
/** auto -> what the engine computes in ("cuda": bf16, "host": fp32, "null":
 * bf16). */
void ss_plan_precision(const struct ss_config *config, const char *engine,
                       int *precision, int *grad_dtype);

/** Text of one plan; repeated layers and micro-batches are folded into loops.
 * Golden-tested. */
enum ss_status ss_plan_print(const struct ss_plan *plan, struct ss_buf *out);

/** Sums over all ranks of a layout (args->coords does not matter), by classes
 * of equal ranks; < 2 s for 100,000 ranks. */
struct ss_plan_totals {
    int ranks, classes;
    double flops, model_flops, memory_max;
    double phase_flops[SS_PHASES], phase_bytes[SS_PHASES];
    double comm_bytes[SS_DIMS];
};
enum ss_status ss_plan_totals(const struct ss_plan_args *args,
                              struct ss_plan_totals *out);

#endif
