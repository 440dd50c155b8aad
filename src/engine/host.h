/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_ENGINE_HOST_H
#define SS_ENGINE_HOST_H

#include <pthread.h>

#include "engine/check.h"
#include "engine/engine.h"
#include "engine/host_blas.h"
#include "engine/host_memory.h"

/* The inside of the host engine. Element type T is float or double, one for
 * the whole plan. */

#define SS_HOST_NORMALS 4096 /* a power of two */

/** The call of a communication op that is queued or in flight; an op has at
 * most one. */
struct ss_host_call {
    int op, step;
    int next; /**< op queued behind it on its lane, -1 */
    bool pending, started;
    int64_t nth; /**< communication call of this point */
    struct ss_op_event event;
    struct ss_request request;
};
/** A lane runs one collective at a time, in order, as a stream does. */
struct ss_host_lane {
    int first, last; /**< ops, -1: empty */
};

/** The progress thread; idle unless `on`. */
struct ss_host_progress {
    bool on, stop, running;
    pthread_t thread;
    pthread_mutex_t lock; /**< of all that pump touches */
    pthread_cond_t wake;
};

struct ss_host {
    struct ss_engine base;
    const struct ss_config *config;
    struct ss_place place;
    struct ss_blas blas;
    int threads; /**< of BLAS */
    double normal[SS_HOST_NORMALS];
    struct ss_comms comms;
    int host_ranks;         /**< of the group, on this host */
    double available_bytes; /**< on this host, before anything was loaded */

    struct ss_engine_work work;
    enum ss_dtype dtype;
    size_t elem_size;
    void *memory[SS_BUF_ROLES];   /**< as allocated */
    void *buffer[SS_BUF_ROLES];   /**< aligned; by a ref's buf */
    struct ss_block_record trial; /**< of the steps that check_all runs */
    uint64_t *hashes;             /**< [dp] of the replica check */
    double flop_rate;             /**< measured at load, FLOP/s */
    double variance;              /**< of the weights at the start */
    struct ss_state_age age;

    struct ss_host_call *call; /**< [n_ops] */
    int64_t *end;              /**< [n_ops] end in this step */
    bool *runs;                /**< [n_ops] in the variant of this block */
    struct ss_host_lane lane[SS_LANES];
    int in_flight;          /**< queued or started */
    enum ss_status failure; /**< of the progress thread */
    char failure_text[SS_ERROR_TEXT_MAX];
    struct ss_host_progress progress;

    struct ss_block_spec spec;
    struct ss_block_record *record;
};

static inline struct ss_host *ss_host_of(struct ss_engine *engine)
{
    return (struct ss_host *)engine;
}
/** Where a ref points; NULL when it is none. */
void *ss_host_at(const struct ss_host *self, struct ss_ref ref);

/* host_memory.c */
/** Refuses a plan that does not fit, then takes its buffers. */
enum ss_status ss_host_buffers_open(struct ss_host *self);
void ss_host_buffers_close(struct ss_host *self);

/* host_data.c */
void ss_host_normals_fill(struct ss_host *self);
/** Seeded weights and inputs, moments and gradients 0. */
void ss_host_fill(struct ss_host *self);

/* host_gemm.c */
/** C rows [row, row + rows) of a GEMM op. */
void ss_host_gemm_rows(const struct ss_host *self, const struct ss_op *op,
                       int64_t row, int64_t rows);
/** The op, in panels with communication driven between them if any flies. */
enum ss_status ss_host_gemm(struct ss_host *self, const struct ss_op *op);
/** Rows of C in a panel of about 0.7 ms. */
int64_t ss_host_panel_rows(const struct ss_host *self, const struct ss_op *op);
void ss_host_measure_rate(struct ss_host *self);

/* host_map.c */
enum ss_status ss_host_map(struct ss_host *self, const struct ss_op *op);
enum ss_status ss_host_optimizer(struct ss_host *self, const struct ss_op *op);

/* host_comm.c: pump's world; call with the progress lock held (see below) */
void ss_host_lanes_clear(struct ss_host *self);
enum ss_status ss_host_submit(struct ss_host *self, int index, int step);
/** Starts what may start, stamps what has ended. */
enum ss_status ss_host_pump(struct ss_host *self);
/** Pumps until the op's call has ended. */
enum ss_status ss_host_wait(struct ss_host *self, int op);
enum ss_status ss_host_wait_all(struct ss_host *self);
/** Between pieces of computation: pumps if anything flies and no thread does.
 */
enum ss_status ss_host_between(struct ss_host *self);

/* host_progress.c */
bool ss_host_wants_thread(const struct ss_config *config,
                          const struct ss_place *place, int threads);
enum ss_status ss_host_progress_start(struct ss_host *self);
void ss_host_progress_stop(struct ss_host *self);
void ss_host_lock(struct ss_host *self);
void ss_host_unlock(struct ss_host *self);

/* host_run.c: the block */
enum ss_status ss_host_block_begin(struct ss_engine *,
                                   const struct ss_block_spec *,
                                   struct ss_block_record *);
enum ss_status ss_host_enqueue(struct ss_engine *, int index, int step);
enum ss_status ss_host_mark(struct ss_engine *, int step, bool join);
enum ss_status ss_host_drain(struct ss_engine *, int64_t deadline_ns);
enum ss_status ss_host_block_end(struct ss_engine *);
enum ss_status ss_host_reset(struct ss_engine *);

/* host_check.c, host_state.c */
enum ss_status ss_host_check_all(struct ss_engine *, const char *when,
                                 struct ss_check_row *rows, int max, int *n);
/** After whole steps: finite, variance, replicas. */
enum ss_status ss_host_check_state_all(struct ss_engine *,
                                       struct ss_check_sink *sink);
double ss_host_weight_variance(const struct ss_host *self);

#endif
