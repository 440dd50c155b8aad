/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Datasets of rows: chunked, shuffle + deflate 1, described column by column.
 * They are written in bands of one chunk's rows straight from the caller's
 * memory, so that no second copy of a table is ever held. Creation times are
 * left out: equal data give equal files.
 */
#include "store/hdf5_util.h"

/* Small enough for libhdf5's chunk cache, large enough to compress well. */
#define CHUNK_BYTES ((hsize_t)256 * 1024)

struct dataset {
    hid_t file_type, memory_type, space, props, id;
    int rank;
    hsize_t dims[2];
    hsize_t chunk[2];
};

static bool dataset_close(struct dataset *d)
{
    bool ok = true;
    if (d->id >= 0 && H5Dclose(d->id) < 0)
        ok = false;
    if (d->props >= 0 && H5Pclose(d->props) < 0)
        ok = false;
    if (d->space >= 0 && H5Sclose(d->space) < 0)
        ok = false;
    if (d->memory_type >= 0 && H5Tclose(d->memory_type) < 0)
        ok = false;
    if (d->file_type >= 0 && H5Tclose(d->file_type) < 0)
        ok = false;
    return ok;
}

static hsize_t clamp(hsize_t value, hsize_t low, hsize_t high)
{
    return value < low ? low : value > high ? high : value;
}

/* Whole rows in a chunk, as many as fit; very long rows are cut. */
static void choose_chunk(struct dataset *d, size_t element)
{
    hsize_t most = CHUNK_BYTES / element;
    hsize_t columns = d->rank == 2 ? clamp(d->dims[1], 1, most) : 1;
    d->chunk[0] = clamp(most / columns, 1, d->dims[0] ? d->dims[0] : 1);
    d->chunk[1] = columns;
}

static bool dataset_create(struct dataset *d, hid_t where, const char *name)
{
    hsize_t max[2];
    if (d->file_type < 0 || d->memory_type < 0)
        return false;
    choose_chunk(d, H5Tget_size(d->file_type));
    for (int i = 0; i < 2; i++)
        max[i] = d->dims[i] ? d->dims[i] : H5S_UNLIMITED;
    d->space = H5Screate_simple(d->rank, d->dims, max);
    d->props = H5Pcreate(H5P_DATASET_CREATE);
    if (d->space < 0 || d->props < 0 ||
        H5Pset_chunk(d->props, d->rank, d->chunk) < 0 ||
        H5Pset_shuffle(d->props) < 0 || H5Pset_deflate(d->props, 1) < 0 ||
        H5Pset_fill_time(d->props, H5D_FILL_TIME_NEVER) < 0 ||
        H5Pset_obj_track_times(d->props, 0) < 0)
        return false;
    d->id = H5Dcreate2(where, name, d->file_type, d->space, H5P_DEFAULT,
                       d->props, H5P_DEFAULT);
    return d->id >= 0;
}

static bool write_band(const struct dataset *d, const void *rows, hsize_t first,
                       hsize_t n)
{
    const hsize_t start[2] = {first, 0};
    const hsize_t count[2] = {n, d->dims[1]};
    hid_t memory = H5Screate_simple(d->rank, count, NULL);
    bool ok = memory >= 0 &&
              H5Sselect_hyperslab(d->space, H5S_SELECT_SET, start, NULL, count,
                                  NULL) >= 0 &&
              H5Dwrite(d->id, d->memory_type, memory, d->space, H5P_DEFAULT,
                       rows) >= 0;
    if (memory >= 0 && H5Sclose(memory) < 0)
        ok = false;
    return ok;
}

static bool write_bands(const struct dataset *d, const void *data)
{
    size_t element = H5Tget_size(d->memory_type);
    hsize_t row = element * (d->rank == 2 ? d->dims[1] : 1);
    if (row == 0)
        return true;
    for (hsize_t i = 0; i < d->dims[0]; i += d->chunk[0]) {
        hsize_t n = clamp(d->chunk[0], 1, d->dims[0] - i);
        if (!write_band(d, (const char *)data + i * row, i, n))
            return false;
    }
    return true;
}

static void dataset_shape(struct dataset *d, hsize_t n, hsize_t columns)
{
    d->rank = columns == SS_H5_FLAT ? 1 : 2;
    d->dims[0] = n;
    d->dims[1] = d->rank == 2 ? columns : 1;
}

enum ss_status ss_h5_write_table(const struct ss_h5_place *place,
                                 const struct ss_table *table, const void *rows,
                                 hsize_t n, hsize_t columns)
{
    struct dataset d = {.props = H5I_INVALID_HID,
                        .space = H5I_INVALID_HID,
                        .id = H5I_INVALID_HID};
    struct ss_h5_place inside = *place;
    enum ss_status status = SS_OK;
    bool ok;
    d.file_type = ss_table_type(table, true, NULL);
    d.memory_type = ss_table_type(table, false, NULL);
    dataset_shape(&d, n, columns);
    ok = dataset_create(&d, place->id, table->name) && write_bands(&d, rows);
    inside.id = d.id;
    if (ok)
        status = ss_h5_write_attr_text(&inside, "description", table->text);
    for (int i = 0; ok && status == SS_OK && i < table->n_columns; i++)
        status = ss_h5_write_attr_text(&inside, table->columns[i].name,
                                       table->columns[i].text);
    if (!dataset_close(&d))
        ok = false;
    return ok ? status : ss_h5_fail(SS_ERR_IO, "write", place, table->name);
}

enum ss_status ss_h5_write_matrix(const struct ss_h5_place *place,
                                  const struct ss_column *about,
                                  const void *data, hsize_t n, hsize_t columns)
{
    struct dataset d = {.props = H5I_INVALID_HID,
                        .space = H5I_INVALID_HID,
                        .id = H5I_INVALID_HID};
    struct ss_h5_place inside = *place;
    enum ss_status status = SS_OK;
    bool wide = about->kind == SS_KIND_U64;
    bool ok;
    d.file_type = H5Tcopy(wide ? H5T_STD_U64LE : H5T_STD_U32LE);
    d.memory_type = H5Tcopy(wide ? H5T_NATIVE_UINT64 : H5T_NATIVE_UINT32);
    dataset_shape(&d, n, columns);
    ok = dataset_create(&d, place->id, about->name) && write_bands(&d, data);
    inside.id = d.id;
    if (ok)
        status = ss_h5_write_attr_text(&inside, "description", about->text);
    if (ok && status == SS_OK)
        status = ss_h5_write_attr_text(&inside, "units", "ns");
    if (!dataset_close(&d))
        ok = false;
    return ok ? status : ss_h5_fail(SS_ERR_IO, "write", place, about->name);
}
