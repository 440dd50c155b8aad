/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Are two runs or points the same, field by field? Columns come from
 * schema.def, so that a new one is compared without a word here. Padding is not
 * looked at.
 */
#include <string.h>

#include "support/store_sample.h"

/* Texts are equal up to their NUL; numbers bit for bit. */
#define SAME(name)                                                             \
    same = same && memcmp(&a->name, &b->name, sizeof a->name) == 0;
#define I32(name, text) SAME(name)
#define I64(name, text) SAME(name)
#define U64(name, text) SAME(name)
#define F64(name, text) SAME(name)
#define F32(name, text) SAME(name)
#define STR(bytes, name, text) same = same && strcmp(a->name, b->name) == 0;
#define EQUAL(type, function)                                                  \
    static bool function(const struct type *a, const struct type *b)
EQUAL(ss_point_row, equal_point)
{
    bool same = true;
#define SS_TABLE_POINT
#include "store/schema.def"
#undef SS_TABLE_POINT
    return same;
}
EQUAL(ss_point_rank_row, equal_point_rank)
{
    bool same = true;
#define SS_TABLE_POINT_RANK
#include "store/schema.def"
#undef SS_TABLE_POINT_RANK
    return same;
}
EQUAL(ss_block_row, equal_block)
{
    bool same = true;
#define SS_TABLE_BLOCK
#include "store/schema.def"
#undef SS_TABLE_BLOCK
    return same;
}
EQUAL(ss_block_rank_row, equal_block_rank)
{
    bool same = true;
#define SS_TABLE_BLOCK_RANK
#include "store/schema.def"
#undef SS_TABLE_BLOCK_RANK
    return same;
}
EQUAL(ss_terms_row, equal_terms)
{
    bool same = true;
#define SS_TABLE_TERMS
#include "store/schema.def"
#undef SS_TABLE_TERMS
    return same;
}
EQUAL(ss_net_row, equal_net)
{
    bool same = true;
#define SS_TABLE_NET
#include "store/schema.def"
#undef SS_TABLE_NET
    return same;
}
EQUAL(ss_path_row, equal_path)
{
    bool same = true;
#define SS_TABLE_PATH
#include "store/schema.def"
#undef SS_TABLE_PATH
    return same;
}
EQUAL(ss_pair_row, equal_pair)
{
    bool same = true;
#define SS_TABLE_PAIR
#include "store/schema.def"
#undef SS_TABLE_PAIR
    return same;
}
EQUAL(ss_coll_row, equal_coll)
{
    bool same = true;
#define SS_TABLE_COLL
#include "store/schema.def"
#undef SS_TABLE_COLL
    return same;
}
EQUAL(ss_port_row, equal_port)
{
    bool same = true;
#define SS_TABLE_PORT
#include "store/schema.def"
#undef SS_TABLE_PORT
    return same;
}
EQUAL(ss_check_row, equal_check)
{
    bool same = true;
#define SS_TABLE_CHECK
#include "store/schema.def"
#undef SS_TABLE_CHECK
    return same;
}
EQUAL(ss_rank_row, equal_rank)
{
    bool same = true;
#define SS_TABLE_RANK
#include "store/schema.def"
#undef SS_TABLE_RANK
    return same;
}
EQUAL(ss_node_row, equal_node)
{
    bool same = true;
#define SS_TABLE_NODE
#include "store/schema.def"
#undef SS_TABLE_NODE
    return same;
}
EQUAL(ss_variable_row, equal_variable)
{
    bool same = true;
#define SS_TABLE_VARIABLE
#include "store/schema.def"
#undef SS_TABLE_VARIABLE
    return same;
}

#define ROWS_EQUAL(count, array, function)                                     \
    if (a->count != b->count)                                                  \
        return false;                                                          \
    for (int64_t i = 0; i < a->count; i++) {                                   \
        if (!function(&a->array[i], &b->array[i]))                             \
            return false;                                                      \
    }

bool sample_points_equal(const struct ss_point_data *a,
                         const struct ss_point_data *b)
{
    int64_t pairs = (int64_t)a->n_blocks * a->n_ranks;
    size_t bytes = (size_t)a->n_ranks * (size_t)a->n_steps * (a->wide ? 8 : 4);
    if (!equal_point(&a->meta, &b->meta) || a->wide != b->wide ||
        a->n_steps != b->n_steps)
        return false;
    ROWS_EQUAL(n_ranks, rank, equal_point_rank)
    ROWS_EQUAL(n_blocks, block, equal_block)
    ROWS_EQUAL(n_terms, terms, equal_terms)
    ROWS_EQUAL(n_nets, net, equal_net)
    ROWS_EQUAL(n_paths, path, equal_path)
    ROWS_EQUAL(n_pairs, pair, equal_pair)
    ROWS_EQUAL(n_colls, coll, equal_coll)
    ROWS_EQUAL(n_ports, port, equal_port)
    ROWS_EQUAL(n_checks, check, equal_check)
    for (int64_t i = 0; i < pairs; i++) {
        if (!equal_block_rank(&a->block_rank[i], &b->block_rank[i]))
            return false;
    }
    return memcmp(a->step_ns, b->step_ns, bytes) == 0;
}

/* Bit for bit is meant: NaN equals NaN.
 * NOLINTBEGIN(bugprone-suspicious-memory-comparison,cert-*) */
static bool scalars_equal(const struct ss_run_data *a,
                          const struct ss_run_data *b)
{
    bool same = true;
    SAME(schema)
    SAME(start_ns)
    SAME(skeleton)
    SAME(skeleton_share)
    SAME(peak_flops)
    SAME(share_devices)
    SAME(planned_points)
    SAME(budget_ns)
    SAME(seed)
    SAME(config_hash)
    STR(0, run_id, "")
    STR(0, version, "")
    STR(0, engine, "")
    STR(0, model, "")
    STR(0, precision, "")
    STR(0, grad_dtype, "")
    STR(0, peak_source, "")
    STR(0, transports, "")
    STR(0, config_yaml, "")
    STR(0, command_line, "")
    return same;
}
/* NOLINTEND(bugprone-suspicious-memory-comparison,cert-*) */

bool sample_runs_equal(const struct ss_run_data *a, const struct ss_run_data *b)
{
    if (!scalars_equal(a, b))
        return false;
    ROWS_EQUAL(n_ranks, rank, equal_rank)
    ROWS_EQUAL(n_nodes, node, equal_node)
    ROWS_EQUAL(n_versions, versions, equal_variable)
    ROWS_EQUAL(n_variables, variable, equal_variable)
    return true;
}
