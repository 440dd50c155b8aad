/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The descriptor arrays that schema.def expands to, and the one builder of
 * compound types from them. Text is NUL-terminated in memory and NUL-padded
 * in files, so that HDF5 itself clears what stands behind the end of a text
 * and ends every text it reads. It must not know files or folders.
 */
#include "store/tables.h"

#include <math.h>
#include <string.h>

#include "base/status.h"

#define COLUMN(name, text, kind)                                               \
    {#name, text, kind, offsetof(ROW, name), sizeof(((ROW *)0)->name)},
#define I32(name, text) COLUMN(name, text, SS_KIND_I32)
#define I64(name, text) COLUMN(name, text, SS_KIND_I64)
#define U64(name, text) COLUMN(name, text, SS_KIND_U64)
#define F64(name, text) COLUMN(name, text, SS_KIND_F64)
#define F32(name, text) COLUMN(name, text, SS_KIND_F32)
#define STR(bytes, name, text) COLUMN(name, text, SS_KIND_STR)

#define ROW struct ss_point_row
static const struct ss_column point_columns[] = {
#define SS_TABLE_POINT
#include "store/schema.def"
#undef SS_TABLE_POINT
};
#undef ROW
#define ROW struct ss_point_rank_row
static const struct ss_column point_rank_columns[] = {
#define SS_TABLE_POINT_RANK
#include "store/schema.def"
#undef SS_TABLE_POINT_RANK
};
#undef ROW
#define ROW struct ss_block_row
static const struct ss_column block_columns[] = {
#define SS_TABLE_BLOCK
#include "store/schema.def"
#undef SS_TABLE_BLOCK
};
#undef ROW
#define ROW struct ss_block_rank_row
static const struct ss_column block_rank_columns[] = {
#define SS_TABLE_BLOCK_RANK
#include "store/schema.def"
#undef SS_TABLE_BLOCK_RANK
};
#undef ROW
#define ROW struct ss_terms_row
static const struct ss_column terms_columns[] = {
#define SS_TABLE_TERMS
#include "store/schema.def"
#undef SS_TABLE_TERMS
};
#undef ROW
#define ROW struct ss_net_row
static const struct ss_column net_columns[] = {
#define SS_TABLE_NET
#include "store/schema.def"
#undef SS_TABLE_NET
};
#undef ROW
#define ROW struct ss_path_row
static const struct ss_column path_columns[] = {
#define SS_TABLE_PATH
#include "store/schema.def"
#undef SS_TABLE_PATH
};
#undef ROW
#define ROW struct ss_pair_row
static const struct ss_column pair_columns[] = {
#define SS_TABLE_PAIR
#include "store/schema.def"
#undef SS_TABLE_PAIR
};
#undef ROW
#define ROW struct ss_coll_row
static const struct ss_column coll_columns[] = {
#define SS_TABLE_COLL
#include "store/schema.def"
#undef SS_TABLE_COLL
};
#undef ROW
#define ROW struct ss_port_row
static const struct ss_column port_columns[] = {
#define SS_TABLE_PORT
#include "store/schema.def"
#undef SS_TABLE_PORT
};
#undef ROW
#define ROW struct ss_check_row
static const struct ss_column check_columns[] = {
#define SS_TABLE_CHECK
#include "store/schema.def"
#undef SS_TABLE_CHECK
};
#undef ROW
#define ROW struct ss_rank_row
static const struct ss_column rank_columns[] = {
#define SS_TABLE_RANK
#include "store/schema.def"
#undef SS_TABLE_RANK
};
#undef ROW
#define ROW struct ss_node_row
static const struct ss_column node_columns[] = {
#define SS_TABLE_NODE
#include "store/schema.def"
#undef SS_TABLE_NODE
};
#undef ROW
#define ROW struct ss_variable_row
static const struct ss_column variable_columns[] = {
#define SS_TABLE_VARIABLE
#include "store/schema.def"
#undef SS_TABLE_VARIABLE
};
#undef ROW
#define ROW struct ss_run_data
static const struct ss_column run_columns[] = {
    I64(start_ns, "wall clock at the start, ns since 1970") STR(
        64, version, "of stepscale") STR(16, engine, "cuda, host or null")
        STR(64, model, "preset or file") I32(
            skeleton, "1: a GEMM skeleton, not the full model")
            F64(skeleton_share, "its FLOPs over those of the model") STR(
                8, precision, "of activations and weights")
                STR(8, grad_dtype, "of the reduced gradients") F64(
                    peak_flops, "per device at this precision; NaN: unknown")
                    STR(128, peak_source, "where the peak comes from")
                        STR(256, transports,
                            "the MPI library; what it used: table paths")
                            I32(share_devices, "1: ranks shared devices")
                                I64(planned_points, "points planned")
                                    I64(budget_ns, "time given")
                                        I64(seed, "of data and order")
                                            U64(config_hash,
                                                "xxh64 of the configuration")};
#undef ROW

#define TABLE(symbol, dataset, about, columns_, row, strict_)                  \
    const struct ss_table symbol = {.name = (dataset),                         \
                                    .text = (about),                           \
                                    .row_bytes = sizeof(row),                  \
                                    .columns = (columns_),                     \
                                    .n_columns = (int)SS_COUNT_OF(columns_),   \
                                    .strict = (strict_)}

TABLE(ss_table_point, "point", "the measured configuration, one row",
      point_columns, struct ss_point_row, true);
TABLE(ss_table_point_rank, "ranks", "one row a logical rank",
      point_rank_columns, struct ss_point_rank_row, false);
TABLE(ss_table_block, "blocks",
      "steps run back to back, one row a block in time order", block_columns,
      struct ss_block_row, false);
TABLE(ss_table_block_rank, "block_ranks",
      "[block][rank]: first mark and device counters", block_rank_columns,
      struct ss_block_rank_row, false);
TABLE(ss_table_terms, "terms",
      "terms of the accounting identity of each sampled step and rank",
      terms_columns, struct ss_terms_row, false);
TABLE(ss_table_net, "net", "bytes at each network interface of each node",
      net_columns, struct ss_net_row, false);
TABLE(ss_table_path, "paths", "what carried communication, by library",
      path_columns, struct ss_path_row, false);
TABLE(ss_table_pair, "pairs",
      "one row a timed batch between two nodes or devices", pair_columns,
      struct ss_pair_row, true);
TABLE(ss_table_coll, "collectives",
      "one row a timed batch of a collective in one group", coll_columns,
      struct ss_coll_row, true);
TABLE(ss_table_port, "ports", "RDMA ports of each node", port_columns,
      struct ss_port_row, true);
TABLE(ss_table_check, "checks", "outcome of each verification", check_columns,
      struct ss_check_row, false);
TABLE(ss_table_rank, "ranks", "where each logical rank ran", rank_columns,
      struct ss_rank_row, false);
TABLE(ss_table_node, "nodes", "hosts in order of their node index",
      node_columns, struct ss_node_row, false);
TABLE(ss_table_version, "versions", "libraries and drivers", variable_columns,
      struct ss_variable_row, false);
TABLE(ss_table_variable, "variables",
      "environment, one row a distinct value, with the ranks that hold it",
      variable_columns, struct ss_variable_row, false);
TABLE(ss_table_run, "run", "scalars of the run", run_columns,
      struct ss_run_data, false);

static hid_t text_type(size_t size, bool in_file)
{
    hid_t type = H5Tcopy(H5T_C_S1);
    if (type < 0)
        return type;
    if (H5Tset_size(type, size) < 0 ||
        H5Tset_strpad(type, in_file ? H5T_STR_NULLPAD : H5T_STR_NULLTERM) < 0) {
        H5Tclose(type);
        return H5I_INVALID_HID;
    }
    return type;
}

hid_t ss_column_type(const struct ss_column *column, bool in_file)
{
    switch (column->kind) {
    case SS_KIND_I32:
        return H5Tcopy(in_file ? H5T_STD_I32LE : H5T_NATIVE_INT32);
    case SS_KIND_I64:
        return H5Tcopy(in_file ? H5T_STD_I64LE : H5T_NATIVE_INT64);
    case SS_KIND_U64:
        return H5Tcopy(in_file ? H5T_STD_U64LE : H5T_NATIVE_UINT64);
    case SS_KIND_F64:
        return H5Tcopy(in_file ? H5T_IEEE_F64LE : H5T_NATIVE_DOUBLE);
    case SS_KIND_F32:
        return H5Tcopy(in_file ? H5T_IEEE_F32LE : H5T_NATIVE_FLOAT);
    case SS_KIND_STR:
        return text_type(column->size, in_file);
    }
    return H5I_INVALID_HID;
}

static size_t packed_bytes(const struct ss_table *table)
{
    size_t bytes = 0;
    for (int i = 0; i < table->n_columns; i++)
        bytes += table->columns[i].size;
    return bytes;
}

hid_t ss_table_type(const struct ss_table *table, bool in_file,
                    const bool *keep)
{
    size_t packed = 0;
    hid_t type = H5Tcreate(H5T_COMPOUND,
                           in_file ? packed_bytes(table) : table->row_bytes);
    for (int i = 0; type >= 0 && i < table->n_columns; i++) {
        const struct ss_column *column = &table->columns[i];
        size_t offset = in_file ? packed : column->offset;
        hid_t member;
        herr_t bad;
        packed += column->size;
        if (keep && !keep[i])
            continue;
        member = ss_column_type(column, in_file);
        bad = member < 0 ? -1 : H5Tinsert(type, column->name, offset, member);
        if (member >= 0 && H5Tclose(member) < 0)
            bad = -1;
        if (bad < 0) {
            H5Tclose(type);
            type = H5I_INVALID_HID;
        }
    }
    return type;
}

void ss_column_fill(const struct ss_table *table,
                    const struct ss_column *column, void *rows, int64_t n)
{
    const double nan64 = NAN;
    const float nan32 = NAN;
    char *field = (char *)rows + column->offset;
    for (int64_t i = 0; i < n; i++, field += table->row_bytes) {
        memset(field, 0, column->size);
        if (column->kind == SS_KIND_F64)
            memcpy(field, &nan64, sizeof nan64);
        else if (column->kind == SS_KIND_F32)
            memcpy(field, &nan32, sizeof nan32);
    }
}
