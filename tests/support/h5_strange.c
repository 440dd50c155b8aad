/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Types, shapes and layouts that the store never writes and libhdf5 allows.
 * Those without members are left out where libhdf5 1.10 itself crashes.
 */
#include "support/h5_strange.h"

#include "base/status.h"

hid_t strange_text(size_t size, int padding)
{
    hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, size);
    H5Tset_strpad(type, padding ? H5T_STR_NULLPAD : H5T_STR_SPACEPAD);
    return type;
}

static hid_t derived_type(unsigned kind, hid_t base)
{
    const hsize_t three = 3;
    const int32_t one = 1;
    hid_t type = H5I_INVALID_HID;
    hid_t inner = base >= 0 ? H5Tcopy(base) : H5Tcopy(H5T_STD_I32LE);
    if (kind == 0)
        type = H5Tarray_create2(inner, 1, &three);
    else if (kind == 1)
        type = H5Tvlen_create(inner);
    else if (kind == 2)
        type = H5Tenum_create(H5T_STD_I32LE);
    else if (kind == 3)
        type = H5Tcreate(H5T_OPAQUE, 7);
    else
        type = H5Tcreate(H5T_COMPOUND, H5Tget_size(inner) + 8);
    /* without a member libhdf5 itself crashes on some of them */
    if (kind == 2)
        H5Tenum_insert(type, "one", &one);
    if (kind >= 4)
        H5Tinsert(type, kind == 4 ? "rank" : "other", 0, inner);
    H5Tclose(inner);
    return type;
}

/* One of many types; `base` is the object's own, or invalid. */
hid_t strange_type(uint8_t which, hid_t base)
{
    const hid_t plain[] = {H5T_STD_I8LE,  H5T_STD_U8LE,   H5T_STD_I32LE,
                           H5T_STD_I32BE, H5T_STD_U32LE,  H5T_STD_I64LE,
                           H5T_STD_U64LE, H5T_IEEE_F32LE, H5T_IEEE_F64LE,
                           H5T_STD_B32LE, H5T_STD_REF_OBJ};
    unsigned n = SS_COUNT_OF(plain);
    unsigned kind = which % (n + 10);
    if (kind < n)
        return H5Tcopy(plain[kind]);
    if (kind == n)
        return strange_text(1, 0);
    if (kind == n + 1)
        return strange_text(70000, 1);
    if (kind == n + 2)
        return strange_text(H5T_VARIABLE, 1);
    if (kind < n + 8)
        return derived_type(kind - n - 3, base);
    return base >= 0 ? H5Tcopy(base) : H5Tcopy(H5T_STD_I32LE);
}

hid_t strange_space(uint8_t which, uint64_t value)
{
    static const hsize_t sizes[] = {
        0,  1,       2,        3,          4,          6,
        64, 1 << 20, 1u << 31, 1ull << 32, 1ull << 40, 1ull << 62};
    hsize_t dims[3];
    int rank = which & 3;
    for (int i = 0; i < 3; i++)
        dims[i] = sizes[(value >> (8 * i)) % SS_COUNT_OF(sizes)];
    if (rank == 0)
        return H5Screate(which & 4 ? H5S_NULL : H5S_SCALAR);
    return H5Screate_simple(rank, dims, NULL);
}

hid_t strange_layout(uint8_t which, hid_t space)
{
    hid_t props = H5Pcreate(H5P_DATASET_CREATE);
    hsize_t chunk[3] = {1, 1, 1};
    int rank = H5Sget_simple_extent_ndims(space);
    chunk[0] = which & 8 ? 4096 : 1;
    if (rank > 0 && which % 5 != 4)
        H5Pset_chunk(props, rank, chunk);
    else if (which & 32)
        H5Pset_layout(props, H5D_COMPACT);
    if (which & 16)
        H5Pset_deflate(props, 1);
    return props;
}
