/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libhdf5's manners: silent, without locks and plug-ins, and with its error
 * stack turned into the one sentence that a user reads. Small things are
 * written here (attributes, texts); tables have a file of their own. It must
 * not know what the files mean.
 */
#include "store/hdf5_util.h"

#include <string.h>

#include "base/str.h"

void ss_h5_quiet(void)
{
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    H5PLset_loading_state(0);
}

static herr_t take_first(unsigned n, const H5E_error2_t *error, void *out)
{
    const char **cause = out;
    if (n == 0)
        *cause = error->desc;
    return 0;
}

void ss_h5_cause(char *out, size_t size)
{
    const char *cause = NULL;
    if (H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, take_first, &cause) < 0 ||
        !cause || !*cause)
        cause = "its inner structure is not readable";
    ss_copy(out, size, cause);
}

enum ss_status ss_h5_fail(enum ss_status status, const char *verb,
                          const struct ss_h5_place *place, const char *object)
{
    char cause[160];
    ss_h5_cause(cause, sizeof cause);
    H5Eclear2(H5E_DEFAULT);
    return ss_fail(status, "cannot %s %s%s%s%s%s: %s", verb, place->file,
                   *place->prefix || *object ? ": " : "", place->prefix,
                   *object ? "/" : "", object, cause);
}

/* Locks are refused on many NFS and Lustre mounts, and nobody writes twice. */
hid_t ss_h5_open(const char *path)
{
    hid_t file = H5I_INVALID_HID;
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    if (access < 0)
        return access;
#if H5_VERSION_GE(1, 10, 7)
    if (H5Pset_file_locking(access, 0, 1) < 0)
        goto out;
#endif
    if (H5Pset_fclose_degree(access, H5F_CLOSE_STRONG) >= 0)
        file = H5Fopen(path, H5F_ACC_RDONLY, access);
#if H5_VERSION_GE(1, 10, 7)
out:
#endif
    H5Pclose(access);
    return file;
}

/* Writes `value` of the memory type as an attribute; takes both types. */
static enum ss_status put_attr(const struct ss_h5_place *place,
                               const char *name, hid_t file_type,
                               hid_t memory_type, const void *value)
{
    hid_t space = H5Screate(H5S_SCALAR);
    hid_t attr = H5I_INVALID_HID;
    bool bad = space < 0 || file_type < 0 || memory_type < 0;
    if (!bad)
        attr = H5Acreate2(place->id, name, file_type, space, H5P_DEFAULT,
                          H5P_DEFAULT);
    bad = bad || attr < 0 || H5Awrite(attr, memory_type, value) < 0;
    if (attr >= 0 && H5Aclose(attr) < 0)
        bad = true;
    if (space >= 0)
        H5Sclose(space);
    if (memory_type >= 0)
        H5Tclose(memory_type);
    if (file_type >= 0)
        H5Tclose(file_type);
    return bad ? ss_h5_fail(SS_ERR_IO, "write", place, name) : SS_OK;
}

enum ss_status ss_h5_write_attr(const struct ss_h5_place *place,
                                const struct ss_column *column, const void *row)
{
    return put_attr(place, column->name, ss_column_type(column, true),
                    ss_column_type(column, false),
                    (const char *)row + column->offset);
}

enum ss_status ss_h5_write_attr_int(const struct ss_h5_place *place,
                                    const char *name, int32_t value)
{
    const struct ss_column column = {
        .name = name, .kind = SS_KIND_I32, .size = sizeof value};
    return ss_h5_write_attr(place, &column, &value);
}

enum ss_status ss_h5_write_attr_text(const struct ss_h5_place *place,
                                     const char *name, const char *text)
{
    const struct ss_column column = {
        .name = name, .kind = SS_KIND_STR, .size = strlen(text) + 1};
    return ss_h5_write_attr(place, &column, text);
}

enum ss_status ss_h5_write_text(const struct ss_h5_place *place,
                                const char *name, const char *text,
                                const char *about)
{
    const struct ss_column column = {
        .name = name, .kind = SS_KIND_STR, .size = strlen(text) + 1};
    struct ss_h5_place inside = *place;
    hid_t file_type = ss_column_type(&column, true);
    hid_t memory_type = ss_column_type(&column, false);
    hid_t space = H5Screate(H5S_SCALAR);
    hid_t props = H5Pcreate(H5P_DATASET_CREATE);
    enum ss_status status = SS_OK;
    bool bad = file_type < 0 || memory_type < 0 || space < 0 || props < 0 ||
               H5Pset_obj_track_times(props, 0) < 0;
    inside.id = bad ? H5I_INVALID_HID
                    : H5Dcreate2(place->id, name, file_type, space, H5P_DEFAULT,
                                 props, H5P_DEFAULT);
    bad = inside.id < 0 || H5Dwrite(inside.id, memory_type, H5S_ALL, H5S_ALL,
                                    H5P_DEFAULT, text) < 0;
    if (!bad)
        status = ss_h5_write_attr_text(&inside, "description", about);
    if (inside.id >= 0 && H5Dclose(inside.id) < 0)
        bad = true;
    H5Pclose(props);
    H5Sclose(space);
    H5Tclose(memory_type);
    H5Tclose(file_type);
    return bad ? ss_h5_fail(SS_ERR_IO, "write", place, name) : status;
}
