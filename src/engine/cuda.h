/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_ENGINE_CUDA_H
#define SS_ENGINE_CUDA_H

#include <cuda_runtime.h>
#include <pthread.h>
#include <stdatomic.h>

#include "engine/check.h"
#include "engine/coll_nccl.h"
#include "engine/coll_nccl_log.h"
#include "engine/cuda_lt.h"
#include "engine/engine.h"
#include "engine/gemm_cache.h"
#include "health/nvml.h"
#include "kernels/kernels.h"

/* The inside of the cuda engine. A lane is a stream; lanes wait for each other
 * by events only, and no thread waits inside a step. */

#define SS_CUDA_MARKS 2048   /* steps whose marks are kept on the device */
#define SS_CUDA_EVENTS 32768 /* of the ops of a sampled block */
#define SS_CUDA_ANCHORS 256  /* one a second, and at both ends */
#define SS_CUDA_NORMALS SS_KERNEL_NORMALS
#define SS_CUDA_WORKSPACE ((size_t)64 << 20)

/** The device that this rank drives. */
struct ss_cuda_device {
    int ordinal; /**< in this process */
    int slot;    /**< with device.share: which of the ranks on it; else -1 */
    int visible; /**< devices that this process sees */
    char name[64], uuid[48], bus_id[24];
};

/** One moment on both clocks. */
struct ss_cuda_anchor {
    cudaEvent_t event;
    int64_t host_ns;  /**< middle of the bracket */
    int64_t width_ns; /**< half of it */
    double device_ns; /**< since the first anchor of the block */
};
struct ss_cuda_clock {
    cudaStream_t stream;
    struct ss_cuda_anchor anchor[SS_CUDA_ANCHORS];
    cudaEvent_t spare;
    int n; /**< taken in this block */
};

/** A product of one shape, and how it is done. */
struct ss_cuda_gemm {
    int64_t m, n, k;
    bool ta, tb, accumulate;
    enum ss_map tail; /**< the function after it that it may take in */
    enum ss_dtype in, out;
    unsigned align[4]; /**< of a, b, c, the tail's c; in bytes, at most 256 */
    cublasLtMatmulDesc_t desc, fused; /**< alone; with its tail */
    cublasLtMatrixLayout_t a, b, c;   /**< as cuBLASLt sees them */
    struct ss_gemm_choice choice;
};

/** What an op of the plan needs at its enqueue, found once. */
struct ss_cuda_op {
    bool runs;        /**< in the variant of this block */
    bool awaited;     /**< another op waits for it */
    bool has_start;   /**< its start is marked, not derived */
    int event;        /**< of a slot: start if it has one, then end */
    int gemm;         /**< -1: none */
    int tail;         /**< of a product: the map it may take in, -1: none */
    int head;         /**< of such a map: the product, -1: none */
    cudaEvent_t done; /**< unsampled blocks, if awaited */
};

/** The captured ops of a step. */
struct ss_cuda_graph {
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaGraphNode_t *node; /**< sampled: [per_slot], NULL where none */
};

struct ss_cuda {
    struct ss_engine base;
    const struct ss_config *config;
    struct ss_place place;
    struct ss_cuda_device device;
    struct ss_nvml *nvml;
    cudaStream_t lane[SS_LANES];
    cudaEvent_t tail[SS_LANES]; /**< last of a lane, for a joining mark */
    cudaEvent_t fork;           /**< first of a capture */
    struct ss_cuda_clock clock;
    struct ss_lt *lt;
    cublasLtHandle_t blas;
    void *workspace;
    char products[512]; /**< file of choices, "": none */
    struct ss_gemm_cache cache;
    bool warm;       /**< products were measured under load before */
    double *normals; /**< [SS_CUDA_NORMALS] on the device */
    uint64_t *words; /**< results of checks, on the device */
    double sums[2];

    struct ss_comms comms;
    struct ss_nccl_api *nccl_api;
    pthread_mutex_t nccl_lock; /**< of the pointer, not of what it does */
    struct ss_nccl *nccl;
    char nccl_log[160];                /**< file of NCCL's log, "": not ours */
    struct ss_nccl_paths paths_before; /**< what it said before this point */
    atomic_bool aborted;

    struct ss_engine_work work;
    enum ss_dtype storage;
    void *buffer[SS_BUF_ROLES];
    struct ss_cuda_op *op;
    struct ss_cuda_gemm *gemm;
    int n_gemms;
    bool settled;               /**< the group does its products alike */
    bool chains, always_chains; /**< communication ops run one by one */
    cudaEvent_t *mark;          /**< [SS_CUDA_MARKS] */
    cudaEvent_t *event;         /**< [slots][per_slot] */
    int slots, per_slot;
    struct ss_block_record trial; /**< of the steps that check_all runs */
    uint64_t *hashes;             /**< [dp] of the replica check */
    double variance;              /**< of the weights at the start */
    struct ss_state_age age;

    struct ss_cuda_graph graph[SS_VARIANTS][2]; /**< [1]: sampled */
    const struct ss_cuda_graph *graph_now;      /**< of this block, or NULL */
    int graph_ops;  /**< the first so many ops are in it */
    int graph_step; /**< last launched in this block */
    bool graph_refused, has_run[SS_VARIANTS];

    struct ss_block_spec spec;
    struct ss_block_record *record;
    int lane_step[SS_LANES];       /**< last step that the lane has entered */
    int last_comm, last_comm_step; /**< enqueued, -1: none */
    int harvested;                 /**< steps whose times are in the record */
    int marked;                    /**< steps marked */
    struct ss_nvml_counters before;
    double clock_sum; /**< SM clock, sampled while the device works */
    int clock_samples;
    int64_t clock_next_ns;
};

static inline struct ss_cuda *ss_cuda_of(struct ss_engine *engine)
{
    return (struct ss_cuda *)engine;
}
/** SS_ERR_DEVICE with CUDA's words when `error` is one. */
enum ss_status ss_cuda_said(const struct ss_cuda *self, int error,
                            const char *what);
/** Where a ref points; NULL when it is none. */
void *ss_cuda_at(const struct ss_cuda *self, struct ss_ref ref);
enum ss_dtype ss_cuda_type(const struct ss_cuda *self, struct ss_ref ref);

/* cuda_device.c */
/** Finds this rank's device; SS_ERR_ENV says why there is none. */
enum ss_status ss_cuda_device_find(const struct ss_config *config,
                                   const struct ss_place *place,
                                   struct ss_cuda_device *out);
/** Pure: which of `visible` devices a local rank drives, -1: none. *slot as in
 * struct ss_cuda_device. */
int ss_cuda_device_choose(int visible, int local_rank, bool share, int *slot);
/** Pure: "GPU-8-4-4-4-12" as the driver prints it. */
void ss_cuda_uuid_text(const unsigned char bytes[16], bool mig, char *out,
                       size_t size);

/* cuda_describe.c */
enum ss_status ss_cuda_describe(struct ss_engine *, struct ss_place *,
                                double *memory_bytes);
double ss_cuda_peak_flops(struct ss_engine *, int precision, char *source,
                          size_t size);
int ss_cuda_paths(struct ss_engine *, struct ss_path_row *rows, int max);
/** NCCL's log so far; all 0 where it cannot be read. */
void ss_cuda_read_log(const struct ss_cuda *, struct ss_nccl_paths *out);

/* cuda_clock.c */
enum ss_status ss_cuda_clock_open(struct ss_cuda *self);
void ss_cuda_clock_close(struct ss_cuda *self);
/** The first anchor of a block, and the last; the device is idle. */
enum ss_status ss_cuda_clock_begin(struct ss_cuda *self);
enum ss_status ss_cuda_clock_end(struct ss_cuda *self);
/** One more when the last is a second old. */
enum ss_status ss_cuda_clock_tick(struct ss_cuda *self);
/** An event that is over, in ns since the first anchor; *near is a hint kept
 * by the caller, from 0. */
enum ss_status ss_cuda_clock_read(const struct ss_cuda *self, cudaEvent_t event,
                                  int *near, int64_t *out);
/** Such a time on the host clock; after ss_cuda_clock_end. */
int64_t ss_cuda_clock_host(const struct ss_cuda_clock *clock, int64_t ns);
int64_t ss_cuda_clock_width(const struct ss_cuda_clock *clock);

/* cuda_data.c */
enum ss_status ss_cuda_normals_open(struct ss_cuda *self);
enum ss_status ss_cuda_buffers_open(struct ss_cuda *self);
void ss_cuda_buffers_close(struct ss_cuda *self);
/** Seeded weights and inputs, moments and gradients 0; enqueued. */
enum ss_status ss_cuda_fill(struct ss_cuda *self);
/** Normal data where only ops write, so that nothing is timed on zeros. */
enum ss_status ss_cuda_fill_rest(struct ss_cuda *self);

/* cuda_gemm.c: products of the plan */
/** Shapes, and for each how it is done: from the cache, else measured. */
enum ss_status ss_cuda_gemms_open(struct ss_cuda *self);
void ss_cuda_gemms_close(struct ss_cuda *self);
/** Once after a load: all ranks of the group do as its rank 0. */
enum ss_status ss_cuda_gemms_settle_all(struct ss_cuda *self);
/** Enqueues op `index`; alone: without what it accumulates on. */
enum ss_status ss_cuda_gemm(struct ss_cuda *self, int index, bool alone);
enum ss_status ss_cuda_gemm_run(struct ss_cuda *self, int index,
                                const struct ss_gemm_choice *choice,
                                bool alone);
/** A map that the product before it has done already. */
bool ss_cuda_is_taken_in(const struct ss_cuda *self, int index);

/* cuda_gemm_shape.c: how cuBLASLt is told of a product */
struct ss_cuda_gemm ss_cuda_gemm_shape(const struct ss_cuda *self, int index);
bool ss_cuda_gemm_same(const struct ss_cuda_gemm *a,
                       const struct ss_cuda_gemm *b);
uint64_t ss_cuda_gemm_key(const struct ss_cuda *self,
                          const struct ss_cuda_gemm *shape);
cublasStatus_t ss_cuda_gemm_describe(const struct ss_cuda *self,
                                     struct ss_cuda_gemm *shape);
void ss_cuda_gemm_forget(const struct ss_cuda *self,
                         struct ss_cuda_gemm *shape);
/** What the heuristic offers; *n is 0 where it offers nothing. */
cublasStatus_t ss_cuda_gemm_offers(const struct ss_cuda *self,
                                   const struct ss_cuda_gemm *shape, bool fused,
                                   cublasLtMatmulHeuristicResult_t *out,
                                   int room, int *n);

/* cuda_gemm_fuse.c */
/** Pure: the map that the product `index` may take into its epilogue: nothing
 * between the two touches what it writes; -1: none. */
int ss_cuda_fusable(const struct ss_plan *plan, int index);

/* cuda_gemm_pick.c */
/** Measures op `index` with every algorithm offered, alone and with its tail,
 * and keeps the fastest under load. */
enum ss_status ss_cuda_gemm_pick(struct ss_cuda *self, int index);

/* cuda_graph.c: a step as one launch (device.graph) */
/** At the begin of a block; captures when its variant has run before. */
enum ss_status ss_cuda_graph_begin(struct ss_cuda *self);
/** Does the graph of this block do op `index`? */
bool ss_cuda_in_graph(const struct ss_cuda *self, int index);
/** Once a step, whichever of its ops asks first. */
enum ss_status ss_cuda_graph_launch(struct ss_cuda *self, int step);
void ss_cuda_graphs_close(struct ss_cuda *self);

/* cuda_ops.c: any op onto its lane */
enum ss_status ss_cuda_issue(struct ss_cuda *self, int index);

/* cuda_events.c */
enum ss_status ss_cuda_events_open(struct ss_cuda *self);
void ss_cuda_events_close(struct ss_cuda *self);
/** What others wait for after op `index` of `step`. */
cudaEvent_t ss_cuda_end_event(const struct ss_cuda *self, int index, int step);
cudaEvent_t ss_cuda_start_event(const struct ss_cuda *self, int index,
                                int step);
/** Reads steps until fewer than `room` are not in the record. */
enum ss_status ss_cuda_harvest(struct ss_cuda *self, int room);
/** All times of the block onto the host clock. */
void ss_cuda_events_align(struct ss_cuda *self);

/* cuda_run.c: the block */
enum ss_status ss_cuda_block_begin(struct ss_engine *,
                                   const struct ss_block_spec *,
                                   struct ss_block_record *);
enum ss_status ss_cuda_enqueue(struct ss_engine *, int index, int step);
enum ss_status ss_cuda_mark(struct ss_engine *, int step, bool join);
enum ss_status ss_cuda_drain(struct ss_engine *, int64_t deadline_ns);
enum ss_status ss_cuda_block_end(struct ss_engine *);
enum ss_status ss_cuda_reset(struct ss_engine *);
/** Looks until the lane is idle, or was told to give up. */
enum ss_status ss_cuda_wait_lane(struct ss_cuda *self, int lane);
/** One look at what may end a wait early. */
enum ss_status ss_cuda_look(struct ss_cuda *self);
void ss_cuda_nap(void);

/* cuda_check.c, cuda_check_gemm.c, cuda_state.c */
enum ss_status ss_cuda_check_all(struct ss_engine *, const char *when,
                                 struct ss_check_row *rows, int max, int *n);
enum ss_status ss_cuda_check_gemms(struct ss_engine *,
                                   struct ss_check_sink *sink);
enum ss_status ss_cuda_check_state_all(struct ss_engine *,
                                       struct ss_check_sink *sink);
enum ss_status ss_cuda_weight_variance(struct ss_cuda *self, double *out);
/** A word on the device: set, and read back once the compute lane is idle. */
enum ss_status ss_cuda_word_set(struct ss_cuda *self, int byte);
enum ss_status ss_cuda_word_get(struct ss_cuda *self, void *out, size_t size);

#endif
