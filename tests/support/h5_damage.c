/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hostile hand of the store's tests. It speaks to libhdf5 directly, for
 * the store itself refuses to write what is done here.
 */
#include "support/h5_damage.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <hdf5.h>

#define MUST(x)                                                                \
    do {                                                                       \
        if (!((x) >= 0)) {                                                     \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #x);            \
            abort();                                                           \
        }                                                                      \
    } while (0)

static hid_t open_for_change(const char *path)
{
    hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    MUST(file);
    return file;
}

void damage_field(const char *path, const char *dataset, const char *column,
                  uint64_t row, double value)
{
    hid_t file = open_for_change(path);
    hid_t set = H5Dopen2(file, dataset, H5P_DEFAULT);
    hid_t space = H5Dget_space(set);
    hid_t type = H5Tcreate(H5T_COMPOUND, sizeof value);
    hsize_t at[2] = {row, 0};
    hsize_t one[2] = {1, 1};
    hid_t memory = H5Screate_simple(1, one, NULL);
    MUST(H5Tinsert(type, column, 0, H5T_NATIVE_DOUBLE));
    MUST(H5Sselect_hyperslab(space, H5S_SELECT_SET, at, NULL, one, NULL));
    MUST(H5Dwrite(set, type, memory, space, H5P_DEFAULT, &value));
    H5Sclose(memory);
    H5Tclose(type);
    H5Sclose(space);
    H5Dclose(set);
    MUST(H5Fclose(file));
}

void damage_attr(const char *path, const char *group, const char *name,
                 int32_t value)
{
    hid_t file = open_for_change(path);
    hid_t attr = H5Aopen_by_name(file, group, name, H5P_DEFAULT, H5P_DEFAULT);
    MUST(H5Awrite(attr, H5T_NATIVE_INT32, &value));
    H5Aclose(attr);
    MUST(H5Fclose(file));
}

void damage_remove(const char *path, const char *object)
{
    hid_t file = open_for_change(path);
    MUST(H5Ldelete(file, object, H5P_DEFAULT));
    MUST(H5Fclose(file));
}

static hid_t strange_type(enum damage_kind kind)
{
    hid_t type;
    hid_t text;
    if (kind == DAMAGE_FLAT_DOUBLES)
        return H5Tcopy(H5T_NATIVE_DOUBLE);
    if (kind == DAMAGE_HUGE || kind == DAMAGE_WRONG_SHAPE)
        return H5Tcopy(H5T_NATIVE_UINT32);
    type = H5Tcreate(H5T_COMPOUND, 16);
    text = H5Tcopy(H5T_C_S1);
    MUST(H5Tset_size(text, 16));
    MUST(H5Tinsert(type, kind == DAMAGE_TEXT_COLUMN ? "rank" : "foreign", 0,
                   text));
    H5Tclose(text);
    return type;
}

void damage_replace(const char *path, const char *object, enum damage_kind kind)
{
    hid_t file = open_for_change(path);
    hsize_t dims[2] = {1, 1};
    hsize_t chunk[2] = {1, 1};
    int rank = kind == DAMAGE_HUGE || kind == DAMAGE_WRONG_SHAPE ? 2 : 1;
    hid_t props = H5Pcreate(H5P_DATASET_CREATE);
    hid_t type;
    hid_t space;
    hid_t set;
    MUST(H5Ldelete(file, object, H5P_DEFAULT));
    if (kind == DAMAGE_LINK) {
        MUST(H5Lcreate_external("/etc/hostname", "/", file, object, H5P_DEFAULT,
                                H5P_DEFAULT));
    } else {
        if (kind == DAMAGE_HUGE)
            dims[0] = dims[1] = (hsize_t)1 << 30;
        MUST(H5Pset_chunk(props, rank, chunk));
        type = strange_type(kind);
        space = H5Screate_simple(rank, dims, NULL);
        set = H5Dcreate2(file, object, type, space, H5P_DEFAULT, props,
                         H5P_DEFAULT);
        MUST(set);
        H5Dclose(set);
        H5Sclose(space);
        H5Tclose(type);
    }
    H5Pclose(props);
    MUST(H5Fclose(file));
}

void damage_truncate(const char *path, int64_t bytes)
{
    struct stat info;
    MUST(stat(path, &info));
    MUST(truncate(path, bytes < 0 ? info.st_size + bytes : bytes));
}

void damage_flip(const char *path, int64_t at)
{
    unsigned char byte;
    int fd = open(path, O_RDWR | O_CLOEXEC);
    MUST(fd);
    MUST(pread(fd, &byte, 1, at));
    byte = (unsigned char)~byte;
    MUST(pwrite(fd, &byte, 1, at));
    close(fd);
}

/* The members of a compound but one, and, if `added`, an int64 more. */
static hid_t other_columns(hid_t type, const char *without, const char *added)
{
    size_t size = H5Tget_size(type);
    hid_t out = H5Tcreate(H5T_COMPOUND, size + 8);
    int n = H5Tget_nmembers(type);
    for (unsigned i = 0; (int)i < n; i++) {
        char *name = H5Tget_member_name(type, i);
        hid_t member = H5Tget_member_type(type, i);
        if (!without || strcmp(name, without) != 0)
            MUST(H5Tinsert(out, name, H5Tget_member_offset(type, i), member));
        H5Tclose(member);
        H5free_memory(name);
    }
    if (added)
        MUST(H5Tinsert(out, added, size, H5T_STD_I64LE));
    return out;
}

static void change_columns(const char *path, const char *dataset,
                           const char *without, const char *added)
{
    hid_t file = open_for_change(path);
    hid_t set = H5Dopen2(file, dataset, H5P_DEFAULT);
    hid_t space = H5Dget_space(set);
    hid_t props = H5Dget_create_plist(set);
    hid_t type = H5Dget_type(set);
    hid_t changed = other_columns(type, without, added);
    size_t rows = (size_t)H5Sget_simple_extent_npoints(space);
    void *data = calloc(rows + 1, H5Tget_size(changed));
    MUST(H5Dread(set, changed, H5S_ALL, H5S_ALL, H5P_DEFAULT, data));
    H5Dclose(set);
    MUST(H5Ldelete(file, dataset, H5P_DEFAULT));
    set = H5Dcreate2(file, dataset, changed, space, H5P_DEFAULT, props,
                     H5P_DEFAULT);
    MUST(H5Dwrite(set, changed, H5S_ALL, H5S_ALL, H5P_DEFAULT, data));
    free(data);
    H5Dclose(set);
    H5Tclose(changed);
    H5Tclose(type);
    H5Pclose(props);
    H5Sclose(space);
    MUST(H5Fclose(file));
}

void damage_drop_column(const char *path, const char *dataset,
                        const char *column)
{
    change_columns(path, dataset, column, NULL);
}

void damage_add_column(const char *path, const char *dataset,
                       const char *column)
{
    change_columns(path, dataset, NULL, column);
}
