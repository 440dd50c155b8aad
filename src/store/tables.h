/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_STORE_TABLES_H
#define SS_STORE_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hdf5.h>

#include "store/schema.h"

/*
 * schema.def as data: what the writer, the reader and its checks share, so
 * that a column is described in one place only. Internal to the room.
 */
enum ss_kind {
    SS_KIND_I32,
    SS_KIND_I64,
    SS_KIND_U64,
    SS_KIND_F64,
    SS_KIND_F32,
    SS_KIND_STR
};

struct ss_column {
    const char *name;
    const char *text; /**< what it is; an attribute of the dataset */
    enum ss_kind kind;
    size_t offset; /**< in the row's struct */
    size_t size;   /**< bytes; of a text with its NUL */
};

struct ss_table {
    const char *name; /**< of the dataset */
    const char *text; /**< its `description` */
    size_t row_bytes;
    const struct ss_column *columns;
    int n_columns;
    bool strict; /**< floating columns are sizes: finite and not negative */
};

extern const struct ss_table ss_table_point;
extern const struct ss_table ss_table_point_rank;
extern const struct ss_table ss_table_block;
extern const struct ss_table ss_table_block_rank;
extern const struct ss_table ss_table_terms;
extern const struct ss_table ss_table_net;
extern const struct ss_table ss_table_path;
extern const struct ss_table ss_table_pair;
extern const struct ss_table ss_table_coll;
extern const struct ss_table ss_table_port;
extern const struct ss_table ss_table_check;
extern const struct ss_table ss_table_rank;
extern const struct ss_table ss_table_node;
extern const struct ss_table ss_table_version;
extern const struct ss_table ss_table_variable;
/** The scalars of struct ss_run_data: attributes of 0000.h5, not a dataset. */
extern const struct ss_table ss_table_run;

/** HDF5 type of one column in memory, or (little-endian, packed) in a file. */
hid_t ss_column_type(const struct ss_column *column, bool in_file);
/**
 * The compound type of a row. `keep` (may be NULL) says which columns take
 * part, so that a reader can leave out those that a file lacks.
 */
hid_t ss_table_type(const struct ss_table *table, bool in_file,
                    const bool *keep);
/** Sets one column of n rows to 0, NaN or "". */
void ss_column_fill(const struct ss_table *table,
                    const struct ss_column *column, void *rows, int64_t n);

#define SS_MAX_COLUMNS 64

#endif
