/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_STORE_HDF5_UTIL_H
#define SS_STORE_HDF5_UTIL_H

#include <stdbool.h>

#include <hdf5.h>

#include "base/status.h"
#include "store/tables.h"

/* The room's manners with libhdf5. Internal to the room. */

/** A place in an open file: what is read or written, and how to call it. */
struct ss_h5_place {
    hid_t id;           /**< file or group */
    const char *file;   /**< its path, for texts */
    const char *prefix; /**< "" at the root, else "/points/0003" */
};

/** No printing by libhdf5, no filter plug-ins. Every entry point calls it. */
void ss_h5_quiet(void);
/**
 * ss_fail with the innermost line of HDF5's error stack behind the sentence
 * "cannot <verb> <file><prefix>/<object>". object may be "".
 */
enum ss_status ss_h5_fail(enum ss_status status, const char *verb,
                          const struct ss_h5_place *place, const char *object)
    __attribute__((warn_unused_result));
/** As much of the innermost line of the error stack as fits. */
void ss_h5_cause(char *out, size_t size);

/** Opens for reading: no locks, everything closes with the file. */
hid_t ss_h5_open(const char *path);

enum ss_status ss_h5_write_attr(const struct ss_h5_place *place,
                                const struct ss_column *column,
                                const void *row);
enum ss_status ss_h5_write_attr_int(const struct ss_h5_place *place,
                                    const char *name, int32_t value);
/** A fixed-size text as large as it is (at least 1 byte). */
enum ss_status ss_h5_write_attr_text(const struct ss_h5_place *place,
                                     const char *name, const char *text);
/** A scalar dataset that holds a text. */
enum ss_status ss_h5_write_text(const struct ss_h5_place *place,
                                const char *name, const char *text,
                                const char *about);
#define SS_H5_FLAT ((hsize_t)-1)
/** n rows of a table; dims [n] (columns SS_H5_FLAT), else [n][columns]. */
enum ss_status ss_h5_write_table(const struct ss_h5_place *place,
                                 const struct ss_table *table, const void *rows,
                                 hsize_t n, hsize_t columns);
/** A matrix of plain numbers, [n][columns], chunks aligned to rows. */
enum ss_status ss_h5_write_matrix(const struct ss_h5_place *place,
                                  const struct ss_column *about,
                                  const void *data, hsize_t n, hsize_t columns);

#endif
