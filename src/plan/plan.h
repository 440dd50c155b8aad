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
enum ss_map { /**< element-wise functions */
    SS_MAP_NONE,
    SS_MAP_GELU,     /**< c = gelu_tanh(a) */
    SS_MAP_GELU_BWD, /**< c = a * gelu_tanh'(b) */
    SS_MAP_MUL_SILU, /**< c = silu(a) * b */
    SS_MAP_MUL_SILU_BWD, /**< (da, db) from (dc = c2, a, b): see plan.c */
    SS_MAP_ADD       /**< c = a + b */
};
enum ss_role { /**< what a buffer is; one per role and dtype of a plan */
    SS_BUF_WEIGHT,   /**< all parameters, flat, layer by layer */
    SS_BUF_GRAD,     /**< all gradients, same order */
    SS_BUF_MOMENT1,
    SS_BUF_MOMENT2,
    SS_BUF_ACT,      /**< kept between forward and backward */
    SS_BUF_WORK,     /**< reused within a step */
    SS_BUF_INPUT,    /**< the batch and the output gradient, constant */
    SS_BUF_ROLES
};
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
    enum ss_dim dim;      /**< communication: whose communicator */
    int layer, micro;     /**< -1: belongs to none */
    char name[16];        /**< "fc1.fwd", "bucket3" */
    /** GEMM: C[m,n] = op(A)[m,k] op(B)[k,n] (+ C if accumulate), row-major. */
    int64_t m, n, k;
    bool ta, tb, accumulate;
    enum ss_map map;
    struct ss_ref a, b, c, d;
    /** Communication and element-wise: elements (of c, per rank contribution
     * as in rt.h's icollective) and their size. */
    uint64_t count;
    int elem_size;
    int peer;             /**< send, recv, broadcast root: rank in the dim */
    double flops;         /**< that run */
    double bytes;         /**< memory traffic (compute) or message bytes (S) */
    int order;            /**< communication: position in the total order, else -1 */
    int fused;            /**< fused-group mark: ops with equal mark >= 0 launch together */
    int n_waits;
    int wait[SS_WAITS_MAX]; /**< indices of earlier ops on other lanes */
};

struct ss_plan {
    struct ss_op *op; /**< owned */
    int n_ops;
    struct ss_buffer *buffer; /**< owned */
    int n_buffers;
    struct ss_layout layout;
    struct ss_coords coords;
    int64_t tokens;       /**< of this rank's data-parallel share per step */
    int64_t micro_tokens; /**< per micro-batch */
    int precision;            /**< SS_PRECISION_*, resolved */
    enum ss_dtype grad_dtype; /**< of gradients, on the wire too */
    uint64_t bucket_bytes;
    int64_t params;       /**< on this rank */
    double model_flops;   /**< of this rank's share, per step */
    double flops;         /**< that run, per step */
    double phase_flops[SS_PHASES], phase_bytes[SS_PHASES];
    double comm_bytes[SS_DIMS]; /**< message bytes S summed, by dimension */
};

struct ss_plan_args {
    const struct ss_model *model;
    struct ss_layout layout;
    struct ss_coords coords;
    int64_t tokens;      /**< per data-parallel rank and step, all micro-batches */
    int precision;       /**< SS_PRECISION_*, resolved (not auto) */
    int grad_dtype;      /**< SS_GRAD_*, resolved */
    uint64_t bucket_bytes;
};

/**
 * Builds one rank's plan. Under 10 ms for 126 layers. SS_ERR_CONFIG: hidden
 * (or ffn, heads) not divisible by tp, tokens not divisible by micro-batches
 * (or by tp with sp), a layout this version cannot plan.
 */
enum ss_status ss_plan_build(const struct ss_plan_args *args,
                             struct ss_plan *out);
void ss_plan_free(struct ss_plan *plan);
/** Checks: waits point backwards, lanes and orders ascend, buffers in range. */
enum ss_status ss_plan_validate(const struct ss_plan *plan);
/** The communication order of a plan as one word per dim; equal on all ranks
 * of a communicator or the plan is refused (agree on it before connecting). */
uint64_t ss_plan_order_word(const struct ss_plan *plan, enum ss_dim dim);
uint64_t ss_plan_hash(const struct ss_plan *plan);
/** Device memory in bytes: parameters, gradients, moments, activations. */
double ss_plan_memory(const struct ss_plan *plan);
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
/** Default strong batch: model.tokens x largest / 8, at least model.tokens. */
int64_t ss_plan_global_batch(const struct ss_config *config,
                             const struct ss_model *model, int largest);
/** auto -> what the engine computes in ("cuda": bf16, "host": fp32, "null": bf16). */
void ss_plan_precision(const struct ss_config *config, const char *engine,
                       int *precision, int *grad_dtype);

/** Text of one plan; repeated layers and micro-batches are folded into loops.
 * Golden-tested. */
enum ss_status ss_plan_print(const struct ss_plan *plan, struct ss_buf *out);

/** Sums over all ranks of a layout, by classes of equal ranks; < 2 s for
 * 100,000 ranks. */
struct ss_plan_totals {
    int ranks, classes;
    double flops, model_flops, memory_max;
    double phase_flops[SS_PHASES], phase_bytes[SS_PHASES];
    double comm_bytes[SS_DIMS];
};
enum ss_status ss_plan_totals(const struct ss_plan_args *args,
                              struct ss_plan_totals *out);

#endif
