/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the small things of a file that cannot be trusted: links, groups,
 * attributes, texts. Links that lead to another file are as good as absent:
 * a result must not make its reader open anything else.
 */
#include "store/table_read.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"

#define TEXT_MAX ((size_t)64 << 20)

enum ss_status ss_h5_damaged(const struct ss_h5_place *place,
                             const char *object, const char *what)
{
    H5Eclear2(H5E_DEFAULT);
    return ss_fail(SS_ERR_FORMAT,
                   "%s is damaged or was not written by stepscale: %s%s%s %s",
                   place->file, place->prefix, *object ? "/" : "", object,
                   what);
}

bool ss_h5_has(const struct ss_h5_place *place, const char *name)
{
    H5L_info_t info;
    return H5Lexists(place->id, name, H5P_DEFAULT) > 0 &&
           H5Lget_info(place->id, name, &info, H5P_DEFAULT) >= 0 &&
           info.type == H5L_TYPE_HARD;
}

enum ss_status ss_h5_open_group(const struct ss_h5_place *place,
                                const char *name, hid_t *out)
{
    if (!ss_h5_has(place, name))
        return ss_h5_damaged(place, name, "is missing");
    *out = H5Gopen2(place->id, name, H5P_DEFAULT);
    if (*out < 0)
        return ss_h5_fail(SS_ERR_FORMAT, "read", place, name);
    return SS_OK;
}

static bool attr_fits(hid_t attr, const struct ss_column *column)
{
    hid_t space = H5Aget_space(attr);
    hid_t type = H5Aget_type(attr);
    bool fits = space >= 0 && type >= 0 &&
                H5Sget_simple_extent_npoints(space) == 1 &&
                ss_h5_type_fits(type, column);
    if (type >= 0)
        H5Tclose(type);
    if (space >= 0)
        H5Sclose(space);
    return fits;
}

/* The attribute is known to be there. */
static enum ss_status load_attr(const struct ss_h5_place *place,
                                const struct ss_column *column, void *value)
{
    hid_t attr = H5Aopen(place->id, column->name, H5P_DEFAULT);
    hid_t type;
    bool bad;
    if (attr < 0)
        return ss_h5_fail(SS_ERR_FORMAT, "read", place, column->name);
    if (!attr_fits(attr, column)) {
        H5Aclose(attr);
        return ss_h5_damaged(place, column->name,
                             "is an attribute of another type");
    }
    type = ss_column_type(column, false);
    bad = type < 0 || H5Aread(attr, type, value) < 0;
    if (type >= 0)
        H5Tclose(type);
    H5Aclose(attr);
    if (bad)
        return ss_h5_fail(SS_ERR_FORMAT, "read", place, column->name);
    return SS_OK;
}

enum ss_status ss_h5_read_attr(const struct ss_h5_place *place,
                               const struct ss_table *table,
                               const struct ss_column *column, void *row)
{
    if (H5Aexists(place->id, column->name) > 0)
        return load_attr(place, column, (char *)row + column->offset);
    ss_column_fill(table, column, row, 1);
    return SS_OK;
}

static enum ss_status need_attr(const struct ss_h5_place *place,
                                const struct ss_column *column, void *value)
{
    if (H5Aexists(place->id, column->name) <= 0)
        return ss_h5_damaged(place, column->name, "is missing (an attribute)");
    return load_attr(place, column, value);
}

enum ss_status ss_h5_read_attr_int(const struct ss_h5_place *place,
                                   const char *name, int32_t *out)
{
    const struct ss_column column = {
        .name = name, .kind = SS_KIND_I32, .size = sizeof *out};
    return need_attr(place, &column, out);
}

enum ss_status ss_h5_read_attr_text(const struct ss_h5_place *place,
                                    const char *name, char *out, size_t size)
{
    const struct ss_column column = {
        .name = name, .kind = SS_KIND_STR, .size = size};
    return need_attr(place, &column, out);
}

/* Size of a scalar, fixed-size text kept in the file itself; 0: it is not. */
static size_t text_size(hid_t dataset)
{
    const struct ss_column column = {.kind = SS_KIND_STR};
    hid_t space = H5Dget_space(dataset);
    hid_t type = H5Dget_type(dataset);
    hid_t props = H5Dget_create_plist(dataset);
    size_t size = 0;
    if (space >= 0 && type >= 0 && props >= 0 &&
        H5Pget_layout(props) == H5D_CONTIGUOUS &&
        H5Pget_external_count(props) == 0 &&
        H5Sget_simple_extent_npoints(space) == 1 &&
        ss_h5_type_fits(type, &column))
        size = H5Tget_size(type);
    if (props >= 0)
        H5Pclose(props);
    if (type >= 0)
        H5Tclose(type);
    if (space >= 0)
        H5Sclose(space);
    return size;
}

static enum ss_status load_text(const struct ss_h5_place *place,
                                const char *name, hid_t dataset, char **out)
{
    size_t size = text_size(dataset);
    const struct ss_column column = {.kind = SS_KIND_STR, .size = size + 1};
    hid_t type;
    bool bad;
    char *text;
    if (size == 0 || size > TEXT_MAX)
        return ss_h5_damaged(place, name, "is not a text");
    text = ss_alloc(size + 1, 1, name);
    if (!text)
        return SS_ERR_NO_MEMORY;
    type = ss_column_type(&column, false);
    bad = type < 0 ||
          H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, text) < 0;
    if (type >= 0)
        H5Tclose(type);
    if (bad) {
        ss_free(text);
        return ss_h5_fail(SS_ERR_FORMAT, "read", place, name);
    }
    *out = text;
    return SS_OK;
}

enum ss_status ss_h5_read_text(const struct ss_h5_place *place,
                               const char *name, char **out)
{
    enum ss_status status;
    hid_t dataset;
    if (!ss_h5_has(place, name))
        return ss_h5_damaged(place, name, "is missing");
    dataset = H5Dopen2(place->id, name, H5P_DEFAULT);
    if (dataset < 0)
        return ss_h5_fail(SS_ERR_FORMAT, "read", place, name);
    status = load_text(place, name, dataset, out);
    H5Dclose(dataset);
    return status;
}
