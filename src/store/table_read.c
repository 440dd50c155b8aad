/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads tables and matrices whose file cannot be trusted. The order matters:
 * kind of storage, shape, type, then stored bytes against claimed bytes, and
 * only then memory, so that a file of 10 kB cannot ask for a terabyte. Columns
 * that an older file lacks are filled; those that a newer one adds are not
 * read. It must not know what the columns mean.
 */
#include "store/table_read.h"

#include "base/mem.h"
#include "base/str.h"
#include "store/read_check.h"

/* Deflate cannot do better than 1032:1. */
#define RATIO_MAX UINT64_C(1040)

struct source {
    const struct ss_h5_place *place;
    const char *name;
    hid_t id;
    hid_t type;
};

static void source_close(struct source *s)
{
    if (s->type >= 0)
        H5Tclose(s->type);
    if (s->id >= 0)
        H5Dclose(s->id);
}

/* Chunks inside this file: no external or virtual storage. */
static bool is_chunked(hid_t dataset)
{
    hid_t props = H5Dget_create_plist(dataset);
    bool chunked = props >= 0 && H5Pget_layout(props) == H5D_CHUNKED;
    if (props >= 0)
        H5Pclose(props);
    return chunked;
}

static enum ss_status source_open(struct source *s)
{
    s->type = H5I_INVALID_HID;
    s->id = H5I_INVALID_HID;
    if (!ss_h5_has(s->place, s->name))
        return ss_h5_damaged(s->place, s->name, "is missing");
    s->id = H5Dopen2(s->place->id, s->name, H5P_DEFAULT);
    if (s->id < 0)
        return ss_h5_fail(SS_ERR_FORMAT, "read", s->place, s->name);
    if (!is_chunked(s->id))
        return ss_h5_damaged(s->place, s->name, "is not a chunked dataset");
    s->type = H5Dget_type(s->id);
    if (s->type < 0)
        return ss_h5_fail(SS_ERR_FORMAT, "read", s->place, s->name);
    return SS_OK;
}

static enum ss_status read_shape(const struct source *s,
                                 struct ss_h5_shape *shape)
{
    char what[96];
    hid_t space = H5Dget_space(s->id);
    int rank = space < 0 ? -1 : H5Sget_simple_extent_ndims(space);
    shape->dims[1] = 1;
    if (rank == shape->rank &&
        H5Sget_simple_extent_dims(space, shape->dims, NULL) != rank)
        rank = -1;
    if (space >= 0)
        H5Sclose(space);
    if (rank == shape->rank)
        return SS_OK;
    ss_format(what, sizeof what, "has %d dimensions where %d are expected",
              rank, shape->rank);
    return ss_h5_damaged(s->place, s->name, what);
}

/* Counts fit an int32 and the claimed bytes are really in the file. */
static enum ss_status check_bytes(const struct source *s,
                                  const struct ss_h5_shape *shape,
                                  size_t memory_row)
{
    uint64_t file_bytes = 0;
    uint64_t memory_bytes = 0;
    uint64_t rows = 0;
    hsize_t stored = H5Dget_storage_size(s->id);
    if (__builtin_mul_overflow(shape->dims[0], shape->dims[1], &rows) ||
        __builtin_mul_overflow(rows, H5Tget_size(s->type), &file_bytes) ||
        __builtin_mul_overflow(rows, memory_row, &memory_bytes) ||
        shape->dims[0] > INT32_MAX || memory_bytes > INT64_MAX)
        return ss_h5_damaged(s->place, s->name,
                             "claims more rows than any file can hold");
    if (file_bytes / RATIO_MAX > stored || (rows > 0 && stored == 0))
        return ss_h5_damaged(s->place, s->name,
                             "claims more rows than the file holds");
    return SS_OK;
}

bool ss_h5_type_fits(hid_t type, const struct ss_column *column)
{
    H5T_class_t class = H5Tget_class(type);
    size_t size = H5Tget_size(type);
    bool is_unsigned = column->kind == SS_KIND_U64;
    switch (column->kind) {
    case SS_KIND_F64:
    case SS_KIND_F32:
        return class == H5T_FLOAT && size == column->size;
    case SS_KIND_STR:
        return class == H5T_STRING && size > 0 && H5Tis_variable_str(type) == 0;
    default:
        return class == H5T_INTEGER && size == column->size &&
               H5Tget_sign(type) == (is_unsigned ? H5T_SGN_NONE : H5T_SGN_2);
    }
}

/* Which columns the file has; SS_ERR_FORMAT where one has another type. */
static enum ss_status match_columns(const struct source *s,
                                    const struct ss_table *table, bool *have)
{
    char what[128];
    int found = 0;
    if (H5Tget_class(s->type) != H5T_COMPOUND)
        return ss_h5_damaged(s->place, s->name, "is not a table of columns");
    for (int i = 0; i < table->n_columns; i++) {
        const struct ss_column *column = &table->columns[i];
        int member = H5Tget_member_index(s->type, column->name);
        hid_t type =
            member < 0 ? -1 : H5Tget_member_type(s->type, (unsigned)member);
        bool fits = type >= 0 && ss_h5_type_fits(type, column);
        if (type >= 0)
            H5Tclose(type);
        have[i] = member >= 0;
        found += have[i];
        if (have[i] && !fits) {
            ss_format(what, sizeof what, "column %s has another type",
                      column->name);
            return ss_h5_damaged(s->place, s->name, what);
        }
    }
    H5Eclear2(H5E_DEFAULT);
    if (found == 0)
        return ss_h5_damaged(s->place, s->name, "has none of our columns");
    return SS_OK;
}

static enum ss_status read_rows(const struct source *s, hid_t memory_type,
                                int64_t n, void *rows)
{
    bool bad =
        memory_type < 0 || (n > 0 && H5Dread(s->id, memory_type, H5S_ALL,
                                             H5S_ALL, H5P_DEFAULT, rows) < 0);
    if (memory_type >= 0)
        H5Tclose(memory_type);
    if (bad)
        return ss_h5_fail(SS_ERR_FORMAT, "read", s->place, s->name);
    return SS_OK;
}

static enum ss_status load_table(const struct source *s,
                                 const struct ss_table *table,
                                 struct ss_h5_shape *shape, void **rows)
{
    char wrong[SS_CHECK_TEXT_MAX];
    bool have[SS_MAX_COLUMNS] = {false};
    int64_t n;
    SS_TRY(read_shape(s, shape));
    SS_TRY(match_columns(s, table, have));
    SS_TRY(check_bytes(s, shape, table->row_bytes));
    n = (int64_t)(shape->dims[0] * shape->dims[1]);
    *rows = ss_alloc((size_t)n, table->row_bytes, table->name);
    if (!*rows)
        return SS_ERR_NO_MEMORY;
    SS_TRY(read_rows(s, ss_table_type(table, false, have), n, *rows));
    for (int i = 0; i < table->n_columns; i++) {
        if (!have[i])
            ss_column_fill(table, &table->columns[i], *rows, n);
    }
    if (!ss_check_sizes(table, have, *rows, n, wrong, sizeof wrong))
        return ss_h5_damaged(s->place, s->name, wrong);
    return SS_OK;
}

enum ss_status ss_h5_read_table(const struct ss_h5_place *place,
                                const struct ss_table *table,
                                struct ss_h5_shape *shape, void **rows)
{
    struct source s = {.place = place, .name = table->name};
    enum ss_status status = source_open(&s);
    void *loaded = NULL;
    if (status == SS_OK)
        status = load_table(&s, table, shape, &loaded);
    source_close(&s);
    if (status != SS_OK)
        ss_free(loaded);
    else
        *rows = loaded;
    return status;
}

static enum ss_status load_matrix(const struct source *s,
                                  struct ss_h5_shape *shape, bool *wide,
                                  void **data)
{
    size_t element = H5Tget_size(s->type);
    int64_t n;
    if (H5Tget_class(s->type) != H5T_INTEGER ||
        H5Tget_sign(s->type) != H5T_SGN_NONE || (element != 4 && element != 8))
        return ss_h5_damaged(s->place, s->name, "is not of type u32 or u64");
    SS_TRY(read_shape(s, shape));
    SS_TRY(check_bytes(s, shape, element));
    n = (int64_t)(shape->dims[0] * shape->dims[1]);
    *wide = element == 8;
    *data = ss_alloc((size_t)n, element, "step times");
    if (!*data)
        return SS_ERR_NO_MEMORY;
    return read_rows(s, H5Tcopy(*wide ? H5T_NATIVE_UINT64 : H5T_NATIVE_UINT32),
                     n, *data);
}

enum ss_status ss_h5_read_matrix(const struct ss_h5_place *place,
                                 const char *name, struct ss_h5_shape *shape,
                                 bool *wide, void **data)
{
    struct source s = {.place = place, .name = name};
    enum ss_status status = source_open(&s);
    void *loaded = NULL;
    if (status == SS_OK)
        status = load_matrix(&s, shape, wide, &loaded);
    source_close(&s);
    if (status != SS_OK)
        ss_free(loaded);
    else
        *data = loaded;
    return status;
}
