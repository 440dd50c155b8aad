/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A writer without manners: every change goes through libhdf5, so the file
 * stays one that libhdf5 opens. It must not know what the store checks. Failed
 * calls are ignored on purpose: not every edit fits every object.
 */
#include "support/h5_hostile.h"

#include <stdlib.h>
#include <string.h>

#include <hdf5.h>

#include "base/status.h"
#include "support/h5_strange.h"

#define MAX_OBJECTS 64
#define DATA_MAX ((hsize_t)1 << 14) /* chunks of one row are slow */

struct edit {
    hid_t file;
    const char *object; /* the object's path */
    uint8_t a, b;
    uint64_t value;
    char (*name)[64]; /* every object, to link to */
    int n;
};

static const uint64_t edges[] = {0,
                                 1,
                                 UINT64_MAX,
                                 INT32_MAX,
                                 0x80000000,
                                 UINT32_MAX,
                                 INT64_MAX,
                                 1ull << 63,
                                 0x7ff8000000000000 /* NaN */,
                                 0x7ff0ull << 48 /* infinity */,
                                 0xfff0ull << 48,
                                 0x7fefffffffffffff /* the largest double */,
                                 0x3ff0ull << 48 /* 1.0 */,
                                 0xbff0ull << 48,
                                 1000000007};

static uint64_t value_of(const struct edit *e)
{
    return e->b & 0x80 ? edges[e->value % SS_COUNT_OF(edges)] : e->value;
}

/* A buffer for the whole dataset, if it is small and plain; else NULL. */
static char *room_for(hid_t space, hid_t type)
{
    hssize_t n = H5Sget_simple_extent_npoints(space);
    size_t size = H5Tget_size(type);
    if (n <= 0 || size == 0 || size > DATA_MAX ||
        (hsize_t)n > DATA_MAX / size || H5Tis_variable_str(type) != 0 ||
        H5Tdetect_class(type, H5T_VLEN) != 0)
        return NULL;
    return calloc((size_t)n + 1, size + 8);
}

/* Repeats the eight bytes of `value` over the whole dataset, if it is small. */
static void fill(hid_t set, hid_t type, uint64_t value)
{
    hid_t space = H5Dget_space(set);
    hssize_t n = H5Sget_simple_extent_npoints(space);
    size_t size = H5Tget_size(type);
    char *data = room_for(space, type);
    for (size_t i = 0; data && i < (size_t)n * size; i += 8)
        memcpy(data + i, &value, 8);
    if (data)
        H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data);
    free(data);
    H5Sclose(space);
}

static hid_t type_of(const struct edit *e)
{
    hid_t set = H5Dopen2(e->file, e->object, H5P_DEFAULT);
    hid_t type = set < 0 ? H5I_INVALID_HID : H5Dget_type(set);
    if (set >= 0)
        H5Dclose(set);
    return type;
}

static void replace(const struct edit *e)
{
    hid_t base = type_of(e);
    hid_t type = strange_type(e->b, base);
    hid_t space = strange_space(e->a, e->value);
    hid_t props = strange_layout((uint8_t)(e->value >> 32), space);
    hid_t set;
    H5Ldelete(e->file, e->object, H5P_DEFAULT);
    set = H5Dcreate2(e->file, e->object, type, space, H5P_DEFAULT, props,
                     H5P_DEFAULT);
    if (set >= 0) {
        fill(set, type, e->value);
        H5Dclose(set);
    }
    H5Pclose(props);
    H5Sclose(space);
    H5Tclose(type);
    if (base >= 0)
        H5Tclose(base);
}

/* Bytes of one field of one row, or of the dataset as it lies. */
static size_t field_at(const struct edit *e, hid_t type, size_t rows)
{
    size_t at = e->b & 0x7f;
    if (H5Tget_class(type) == H5T_COMPOUND) {
        int n = H5Tget_nmembers(type);
        at = n > 0 ? H5Tget_member_offset(type, e->a % (unsigned)n) : 0;
    }
    return H5Tget_size(type) * ((e->b & 0x7f) % rows) + at;
}

static void poke(const struct edit *e)
{
    hid_t set = H5Dopen2(e->file, e->object, H5P_DEFAULT);
    hid_t type = H5Dget_type(set);
    hid_t space = H5Dget_space(set);
    hssize_t rows = H5Sget_simple_extent_npoints(space);
    size_t size = H5Tget_size(type);
    uint64_t value = value_of(e);
    char *data = room_for(space, type);
    if (data && H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0) {
        size_t at = field_at(e, type, (size_t)rows) % ((size_t)rows * size);
        size_t left = (size_t)rows * size - at;
        memcpy(data + at, &value, left < 8 ? left : 8);
        H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data);
    }
    free(data);
    H5Sclose(space);
    H5Tclose(type);
    H5Dclose(set);
}

static void link_elsewhere(const struct edit *e)
{
    const char *to = e->name[e->value % (unsigned)e->n];
    if (e->a % 4 == 0) {
        if (H5Lcreate_hard(e->file, to, e->file, "/hostile", H5P_DEFAULT,
                           H5P_DEFAULT) < 0)
            return;
        H5Ldelete(e->file, e->object, H5P_DEFAULT);
        H5Lmove(e->file, "/hostile", e->file, e->object, H5P_DEFAULT,
                H5P_DEFAULT);
        return;
    }
    H5Ldelete(e->file, e->object, H5P_DEFAULT);
    if (e->a % 4 == 1)
        H5Lcreate_soft(e->b & 1 ? e->object : to, e->file, e->object,
                       H5P_DEFAULT, H5P_DEFAULT);
    else if (e->a % 4 == 2)
        H5Lcreate_external("/etc/hostname", "/", e->file, e->object,
                           H5P_DEFAULT, H5P_DEFAULT);
}

static void change_attribute(const struct edit *e)
{
    static const char *const names[] = {
        "schema", "kind",       "run_id",       "index",    "complete",
        "engine", "end_reason", "verdict_code", "start_ns", "planned_points",
        "model",  "seed",       "transports",   "units"};
    const char *name = names[e->value % SS_COUNT_OF(names)];
    hid_t object = H5Oopen(e->file, e->object, H5P_DEFAULT);
    hid_t type = strange_type(e->b, H5I_INVALID_HID);
    hid_t space = strange_space(e->a & 8 ? e->a : 0, e->value >> 8);
    uint64_t value[16];
    hid_t attr;
    for (size_t i = 0; i < SS_COUNT_OF(value); i++)
        value[i] = value_of(e) >> 8;
    H5Adelete(object, name);
    attr = H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    if (attr >= 0 && H5Sget_simple_extent_npoints(space) == 1 &&
        H5Tget_size(type) <= sizeof value &&
        H5Tdetect_class(type, H5T_VLEN) == 0 && H5Tis_variable_str(type) == 0)
        H5Awrite(attr, type, value);
    if (attr >= 0)
        H5Aclose(attr);
    H5Sclose(space);
    H5Tclose(type);
    H5Oclose(object);
}

static void move_or_copy(const struct edit *e)
{
    static const char *const names[] = {
        "points/0003", "points/0000",  "points/99999999",  "points/1",
        "points/x",    "points/0001a", "points/100000000", "extra",
        "run/pairs",   "last_words",   "verdict_json",     "points/0001/pairs"};
    const char *to = names[e->b % SS_COUNT_OF(names)];
    H5Ldelete(e->file, to, H5P_DEFAULT);
    /* libhdf5 crashes on a group that is copied into itself */
    if (strncmp(to, e->object, strlen(e->object)) == 0 || *e->object == '.')
        return;
    if (e->a & 1)
        H5Lmove(e->file, e->object, e->file, to, H5P_DEFAULT, H5P_DEFAULT);
    else
        H5Ocopy(e->file, e->object, e->file, to, H5P_DEFAULT, H5P_DEFAULT);
}

/* A text of any length and of any bytes in the place of the object. */
static void write_text(const struct edit *e)
{
    size_t size = (size_t)(e->value >> 40) % 5000 + 1;
    hid_t type = strange_text(size, e->a & 1);
    hid_t space = H5Screate(H5S_SCALAR);
    char *text = malloc(size + 8);
    hid_t set;
    for (size_t i = 0; i < size; i += 8)
        memcpy(text + i, &e->value, 8);
    H5Ldelete(e->file, e->object, H5P_DEFAULT);
    set = H5Dcreate2(e->file, e->object, type, space, H5P_DEFAULT, H5P_DEFAULT,
                     H5P_DEFAULT);
    if (set >= 0) {
        H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, text);
        H5Dclose(set);
    }
    free(text);
    H5Sclose(space);
    H5Tclose(type);
}

#define MAX_MEMBERS 64

/* A compound like `base` with one member of another type. */
static hid_t other_compound(const struct edit *e, hid_t base)
{
    hid_t member[MAX_MEMBERS];
    size_t size = 0, at = 0;
    int n = H5Tget_nmembers(base);
    hid_t type;
    n = n < MAX_MEMBERS ? n : MAX_MEMBERS;
    for (int i = 0; i < n; i++) {
        member[i] = i == e->a % n ? strange_type(e->b & 0x3f, H5I_INVALID_HID)
                                  : H5Tget_member_type(base, (unsigned)i);
        size += H5Tget_size(member[i]);
    }
    type = H5Tcreate(H5T_COMPOUND, size);
    for (int i = 0; i < n; i++) {
        char *name = H5Tget_member_name(base, (unsigned)i);
        if (H5Tinsert(type, name, at, member[i]) >= 0)
            at += H5Tget_size(member[i]);
        H5free_memory(name);
        H5Tclose(member[i]);
    }
    return type;
}

/* The table again, of another shape, with one column of another type. */
static void retype_column(const struct edit *e)
{
    hid_t base = type_of(e);
    hid_t type = base >= 0 && H5Tget_class(base) == H5T_COMPOUND
                     ? other_compound(e, base)
                     : H5I_INVALID_HID;
    hid_t space = strange_space(e->b & 0x40 ? 2 : 1, e->value);
    hid_t props = strange_layout(0, space);
    if (type >= 0) {
        hid_t set;
        H5Ldelete(e->file, e->object, H5P_DEFAULT);
        set = H5Dcreate2(e->file, e->object, type, space, H5P_DEFAULT, props,
                         H5P_DEFAULT);
        if (set >= 0) {
            fill(set, type, e->value);
            H5Dclose(set);
        }
        H5Tclose(type);
    }
    H5Pclose(props);
    H5Sclose(space);
    if (base >= 0)
        H5Tclose(base);
}

static void remove_object(const struct edit *e)
{
    H5Ldelete(e->file, e->object, H5P_DEFAULT);
}

struct names {
    char (*name)[64];
    int n;
};

static herr_t note(hid_t file, const char *name, const H5O_info_t *info,
                   void *to)
{
    struct names *names = to;
    (void)file;
    (void)info;
    if (names->n < MAX_OBJECTS && strlen(name) < sizeof names->name[0])
        strncpy(names->name[names->n++], name, sizeof names->name[0] - 1);
    return 0;
}

static void apply(hid_t file, const uint8_t *bytes)
{
    static void (*const edits[])(const struct edit *) = {
        poke,           poke,          replace,          write_text,
        link_elsewhere, remove_object, change_attribute, move_or_copy,
        retype_column};
    char name[MAX_OBJECTS][64] = {{0}};
    struct names names = {.name = name};
    struct edit e = {.file = file, .a = bytes[2], .b = bytes[3], .name = name};
    memcpy(&e.value, bytes + 4, sizeof e.value);
    H5Ovisit(file, H5_INDEX_NAME, H5_ITER_INC, note, &names);
    e.n = names.n;
    if (e.n == 0)
        return;
    e.object = name[bytes[1] % (unsigned)e.n];
    edits[bytes[0] % SS_COUNT_OF(edits)](&e);
}

int hostile_edit(const char *path, const uint8_t *edits, size_t bytes)
{
    hid_t file;
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    if (file < 0)
        return 0;
    for (size_t i = 0; i + HOSTILE_EDIT_BYTES <= bytes; i += HOSTILE_EDIT_BYTES)
        apply(file, edits + i);
    return H5Fclose(file) >= 0;
}
