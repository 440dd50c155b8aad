/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_STORE_SCHEMA_H
#define SS_STORE_SCHEMA_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

/** Version of the file layout; a reader refuses a newer one. */
#define SS_SCHEMA 1

#define I32(name, text) int32_t name;
#define I64(name, text) int64_t name;
#define U64(name, text) uint64_t name;
#define F64(name, text) double name;
#define F32(name, text) float name;
#define STR(size, name, text) char name[size];
struct ss_point_row {
#define SS_TABLE_POINT
#include "store/schema.def"
#undef SS_TABLE_POINT
};
struct ss_point_rank_row {
#define SS_TABLE_POINT_RANK
#include "store/schema.def"
#undef SS_TABLE_POINT_RANK
};
struct ss_block_row {
#define SS_TABLE_BLOCK
#include "store/schema.def"
#undef SS_TABLE_BLOCK
};
struct ss_block_rank_row {
#define SS_TABLE_BLOCK_RANK
#include "store/schema.def"
#undef SS_TABLE_BLOCK_RANK
};
struct ss_terms_row {
#define SS_TABLE_TERMS
#include "store/schema.def"
#undef SS_TABLE_TERMS
};
struct ss_net_row {
#define SS_TABLE_NET
#include "store/schema.def"
#undef SS_TABLE_NET
};
struct ss_path_row {
#define SS_TABLE_PATH
#include "store/schema.def"
#undef SS_TABLE_PATH
};
struct ss_pair_row {
#define SS_TABLE_PAIR
#include "store/schema.def"
#undef SS_TABLE_PAIR
};
struct ss_coll_row {
#define SS_TABLE_COLL
#include "store/schema.def"
#undef SS_TABLE_COLL
};
struct ss_port_row {
#define SS_TABLE_PORT
#include "store/schema.def"
#undef SS_TABLE_PORT
};
struct ss_check_row {
#define SS_TABLE_CHECK
#include "store/schema.def"
#undef SS_TABLE_CHECK
};
struct ss_rank_row {
#define SS_TABLE_RANK
#include "store/schema.def"
#undef SS_TABLE_RANK
};
struct ss_node_row {
#define SS_TABLE_NODE
#include "store/schema.def"
#undef SS_TABLE_NODE
};
struct ss_variable_row {
#define SS_TABLE_VARIABLE
#include "store/schema.def"
#undef SS_TABLE_VARIABLE
};
#undef I32
#undef I64
#undef U64
#undef F64
#undef F32
#undef STR

/**
 * One measured point, as gathered on rank 0 and as read back. Ranks are the
 * world's logical ranks; a rank in no group has zeros in its row of step_ns.
 */
struct ss_point_data {
    struct ss_point_row meta;
    int n_ranks;
    struct ss_point_rank_row *rank; /**< [n_ranks] */
    int n_blocks;
    struct ss_block_row *block;           /**< [n_blocks], in time order */
    struct ss_block_rank_row *block_rank; /**< [n_blocks][n_ranks] */
    int64_t n_steps; /**< columns of step_ns: all blocks' */
    bool wide;       /**< step_ns is uint64_t, else uint32_t */
    void *step_ns;   /**< [n_ranks][n_steps] */
    int64_t n_terms;
    struct ss_terms_row *terms;
    int n_nets;
    struct ss_net_row *net;
    int n_paths;
    struct ss_path_row *path; /**< what carried communication */
    int n_checks;
    struct ss_check_row *check;
    int64_t n_pairs;
    struct ss_pair_row *pair; /**< of `probe`; of `run` none */
    int64_t n_colls;
    struct ss_coll_row *coll; /**< of `probe` */
    int n_ports;
    struct ss_port_row *port; /**< of `probe` */
};

/** Words of the column `carrier`, and of `network` for NVLink. */
#define SS_PATH_P2P "p2p"
#define SS_PATH_MEMORY "memory"
#define SS_PATH_GPUDIRECT "gpudirect"
#define SS_PATH_RDMA "rdma"
#define SS_PATH_SOCKETS "sockets"
#define SS_PATH_OTHER "other"
#define SS_PATH_UNKNOWN "unknown"
#define SS_PATH_NVLINK "NVLink"

/** The mode of a point that holds pairs and no steps. */
#define SS_MODE_PAIRS "pairs"
/** The same for collectives. */
#define SS_MODE_COLLS "colls"
/** Does a point hold steps? */
bool ss_mode_has_steps(const char *mode);

static inline uint64_t ss_point_step(const struct ss_point_data *p, int rank,
                                     int64_t column)
{
    int64_t i = (int64_t)rank * p->n_steps + column;
    return p->wide ? ((const uint64_t *)p->step_ns)[i]
                   : ((const uint32_t *)p->step_ns)[i];
}
/** Frees the arrays (not the struct); accepts a zeroed one. */
void ss_point_data_free(struct ss_point_data *point);

/** What is known before the first point: the provenance (0000.h5). */
struct ss_run_data {
    int schema;
    char run_id[40];
    int64_t start_ns; /**< wall clock */
    char version[64]; /**< of stepscale */
    char engine[16];
    char model[64];
    int32_t skeleton; /**< 1: a GEMM skeleton */
    double skeleton_share;
    char precision[8], grad_dtype[8];
    double peak_flops; /**< per device at this precision; NaN: unknown */
    char peak_source[128];
    char transports[256]; /**< the MPI library; of probe: what it used */
    int32_t share_devices;
    int64_t planned_points, budget_ns, seed;
    uint64_t config_hash;
    char *config_yaml;  /**< owned */
    char *command_line; /**< owned */
    int n_ranks, n_nodes, n_versions, n_variables;
    struct ss_rank_row *rank;
    struct ss_node_row *node;
    struct ss_variable_row *versions; /**< [n_versions]: libraries, drivers */
    struct ss_variable_row *variable; /**< environment, diffed over ranks */
    /* written at the end, by merge */
    char end_reason[160]; /**< "" complete; else "stopped by SIGTERM after 3 of
                             9 points" */
    int32_t verdict_code; /**< exit code; -1: none stored */
    char *verdict_json;   /**< as stored; NULL: none. Owned */
    /** What ranks that did not finish left behind, "last-N.txt:" before each;
     * NULL: nothing. Owned; ss_last_words_parse reads it. */
    char *last_words;
    int n_points;
    struct ss_point_data
        *point; /**< [n_points] by index; filled by the reader */
};
void ss_run_data_free(struct ss_run_data *run);

#endif
