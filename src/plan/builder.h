/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_PLAN_BUILDER_H
#define SS_PLAN_BUILDER_H

/*
 * Inside the plan room: what the files that write parts of a step share. An op
 * is drafted with the places it reads and writes; pushing it derives its waits
 * from them, so no file that describes the step names a wait.
 */
#include "plan/plan.h"

/** A place that some op writes within a step and that its readers depend on.
 * region < 0: constant during the step. */
struct ss_span {
    struct ss_ref ref;
    int region;
};

/** Columns [first, row) with one source, then the row that ends the block. */
struct ss_block {
    int first, row;
};

/** Places in WORK. */
enum ss_slot {
    SS_SLOT_DX,      /**< gradient between blocks: read before it is replaced */
    SS_SLOT_DACT,    /**< gradient of a row Linear's input */
    SS_SLOT_DJOIN,   /**< gradient of a gate */
    SS_SLOT_SINK,    /**< outputs that nobody reads */
    SS_SLOT_XFULL,   /**< sp: a block's gathered input */
    SS_SLOT_DYFULL,  /**< sp: a block's gathered output gradient */
    SS_SLOT_PARTIAL, /**< sp: before a reduce-scatter */
    SS_SLOTS
};
/** Places in INPUT. */
enum ss_constant { SS_CONST_X, SS_CONST_DY, SS_CONST_CORE, SS_CONSTS };
/** Places of one Linear in one layer. */
enum ss_kept {
    SS_KEPT_OUT, /**< a column Linear's output (pre-activation) */
    SS_KEPT_ACT, /**< its activation, where it has one */
    SS_KEPT_END, /**< a row Linear's: the block's output */
    SS_KEPT_GRAD,
    SS_KEPTS
};

/** Last writer and last readers by lane; -1: none yet. */
struct ss_region {
    int write, read[SS_LANES];
};

struct ss_builder {
    struct ss_plan *plan;
    const struct ss_model *model;
    int n_blocks;
    struct ss_block block[SS_LINEARS_MAX];
    int tp;
    bool sp;              /**< and tp > 1 */
    int64_t rows;         /**< tokens of a micro-batch in a GEMM */
    int64_t rows_between; /**< of them held between blocks: rows / tp with sp */
    int micro, layer;     /**< where the next op belongs */
    bool backward;
    /* Where things lie, in elements. */
    uint64_t weight_layer, weight_at[SS_LINEARS_MAX];
    uint64_t act_layer, act_at[SS_LINEARS_MAX][SS_KEPTS];
    uint64_t work_at[SS_SLOTS], const_at[SS_CONSTS];
    /* Dependencies (builder.c). */
    int capacity;
    struct ss_region *region; /**< owned */
    int (*seen)[SS_LANES];    /**< owned: [op][lane], see builder.c */
    int knows[SS_LANES][SS_LANES];
    int orders;
    struct ss_span loss; /**< region >= 0: the next op depends on it */
    /* The gradient bucket being filled (plan_buckets.c). */
    uint64_t bucket_from, bucket_to;
    int buckets;
};

#define SS_TOUCHES_MAX 6
struct ss_draft {
    struct ss_op op;
    int n_touches;
    struct ss_span touch[SS_TOUCHES_MAX];
    bool writes[SS_TOUCHES_MAX];
    bool joins; /**< waits for all lanes */
};

/* builder.c */
/** Borrowed plan and model; allocates the plan's ops and its own tables. */
enum ss_status ss_builder_open(struct ss_builder *b, int n_ops);
void ss_builder_close(struct ss_builder *b);
/** A draft named "stem.verb" of the current micro-batch and layer. */
struct ss_draft ss_draft_make(const struct ss_builder *b, enum ss_op_kind kind,
                              enum ss_phase phase, const char *stem,
                              const char *verb);
void ss_draft_read(struct ss_draft *d, struct ss_ref *operand,
                   struct ss_span span);
void ss_draft_write(struct ss_draft *d, struct ss_ref *operand,
                    struct ss_span span);
/** Depends on a place without having it as an operand. */
void ss_draft_after(struct ss_draft *d, struct ss_span span);
void ss_builder_push(struct ss_builder *b, struct ss_draft *d);

/* plan_ops.c: drafts of the kinds of op, with their FLOPs and bytes */
struct ss_gemm {
    const char *stem, *verb;
    int64_t m, n, k;
    bool ta, tb, accumulate;
    struct ss_span a, b, c;
};
void ss_push_gemm(struct ss_builder *b, const struct ss_gemm *g);
/** Four operands; unused ones have buf < 0. Writes c, and d where used. */
struct ss_map_args {
    const char *stem, *verb;
    enum ss_map map;
    int64_t count;
    struct ss_span a, b, c, d;
};
void ss_push_map(struct ss_builder *b, const struct ss_map_args *m);
/** tp collectives of [rows, hidden]; `shard` is this rank's part with sp. */
void ss_push_tp_reduce(struct ss_builder *b, const char *stem, const char *verb,
                       struct ss_span full);
void ss_push_tp_gather(struct ss_builder *b, const char *stem, const char *verb,
                       struct ss_span shard, struct ss_span full);
void ss_push_tp_scatter(struct ss_builder *b, const char *stem,
                        const char *verb, struct ss_span full,
                        struct ss_span shard);
struct ss_span ss_span_none(void);

/* plan_places.c */
void ss_places_make(struct ss_builder *b);
int ss_places_regions(const struct ss_builder *b);
struct ss_span ss_place_weight(const struct ss_builder *b, int layer, int i);
struct ss_span ss_place_kept(const struct ss_builder *b, int layer, int i,
                             enum ss_kept what);
struct ss_span ss_place_work(const struct ss_builder *b, enum ss_slot slot);
struct ss_span ss_place_const(const struct ss_builder *b,
                              enum ss_constant what);
/** What a block reads: the batch, or the output of the block before. */
struct ss_span ss_place_block_input(const struct ss_builder *b, int layer,
                                    int block);
/** What a row Linear reads: an activation, or the core's stand-in. */
struct ss_span ss_place_row_input(const struct ss_builder *b, int layer,
                                  int row);
/** Sizes of this rank's part of a Linear. */
int64_t ss_local_in(const struct ss_builder *b, int i);
int64_t ss_local_out(const struct ss_builder *b, int i);
/** Does any Linear of the block read this one's output? */
bool ss_is_sink(const struct ss_builder *b, int i);

/* plan_forward.c, plan_backward.c, plan_buckets.c */
void ss_plan_forward(struct ss_builder *b);
void ss_plan_backward(struct ss_builder *b);
/** A weight gradient is complete: all-reduces the bucket when it is full or
 * this was the last. */
void ss_plan_bucket(struct ss_builder *b, int layer, int i);
void ss_plan_optimizer(struct ss_builder *b);

/* precision.c */
enum ss_dtype ss_plan_grad_type(int grad_dtype);
/* plan_check.c */
enum ss_status ss_plan_check(const struct ss_plan_args *args);
/** SS_ERR_CONFIG where the Linears do not come as blocks (model.h). */
enum ss_status ss_plan_blocks(const struct ss_model *model,
                              struct ss_block *block, int *n);

#endif
