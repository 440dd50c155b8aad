/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_STORE_TABLE_READ_H
#define SS_STORE_TABLE_READ_H

#include "store/hdf5_util.h"

/*
 * Reading of one object from a file that may be damaged or hostile: type,
 * shape and stored size are checked before memory is taken. Every error is
 * SS_ERR_FORMAT and names file and object. Internal to the room.
 */

/** SS_ERR_FORMAT "<file>: <prefix>/<object>: <what>". */
enum ss_status ss_h5_damaged(const struct ss_h5_place *place,
                             const char *object, const char *what)
    __attribute__((warn_unused_result));
/** True where `name` is there and not a link to another place or file. */
bool ss_h5_has(const struct ss_h5_place *place, const char *name);
/** Opens a group below the place; the caller closes its id. */
enum ss_status ss_h5_open_group(const struct ss_h5_place *place,
                                const char *name, hid_t *out);

/** True where a stored type can be read as the column's, size and sign too. */
bool ss_h5_type_fits(hid_t type, const struct ss_column *column);
/** Sets one field of a row; an attribute that is not there: 0, NaN or "". */
enum ss_status ss_h5_read_attr(const struct ss_h5_place *place,
                               const struct ss_table *table,
                               const struct ss_column *column, void *row);
/** An int attribute that must be there. */
enum ss_status ss_h5_read_attr_int(const struct ss_h5_place *place,
                                   const char *name, int32_t *out);
/** A text attribute that must be there; size bytes with the NUL. */
enum ss_status ss_h5_read_attr_text(const struct ss_h5_place *place,
                                    const char *name, char *out, size_t size);
/** A scalar text dataset; owned by the caller. */
enum ss_status ss_h5_read_text(const struct ss_h5_place *place,
                               const char *name, char **out);

/** What a dataset was found to hold. */
struct ss_h5_shape {
    int rank;        /**< 1 or 2: asked for */
    hsize_t dims[2]; /**< found; [1] is 1 for rank 1 */
};
/** All rows of a table; the caller owns *rows. shape->rank is given. */
enum ss_status ss_h5_read_table(const struct ss_h5_place *place,
                                const struct ss_table *table,
                                struct ss_h5_shape *shape, void **rows);
/** A matrix of u32 or u64. */
enum ss_status ss_h5_read_matrix(const struct ss_h5_place *place,
                                 const char *name, struct ss_h5_shape *shape,
                                 bool *wide, void **data);

#endif
