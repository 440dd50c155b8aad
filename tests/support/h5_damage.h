/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_TESTS_H5_DAMAGE_H
#define SS_TESTS_H5_DAMAGE_H

#include <stdint.h>

/*
 * Damages good result files on purpose, with libhdf5 or byte by byte. All
 * abort when the damage cannot be done.
 */

/** Overwrites one integer or floating field: "points/0001/blocks", "first". */
void damage_field(const char *path, const char *dataset, const char *column,
                  uint64_t row, double value);
/** Overwrites an integer attribute of a group ("/" or "points/0001"). */
void damage_attr(const char *path, const char *group, const char *name,
                 int32_t value);
/** Removes a dataset or group. */
void damage_remove(const char *path, const char *object);
/** Puts a dataset of another kind in the place of one. */
enum damage_kind {
    DAMAGE_FLAT_DOUBLES, /**< 1-D doubles, not a table */
    DAMAGE_OTHER_TABLE,  /**< a table with one foreign column */
    DAMAGE_TEXT_COLUMN,  /**< a table whose column `rank` is a text */
    DAMAGE_HUGE,         /**< a u32 matrix of 2^30 x 2^30, nothing stored */
    DAMAGE_WRONG_SHAPE,  /**< a u32 matrix of 1 x 1 */
    DAMAGE_LINK          /**< an external link to /etc/hostname */
};
void damage_replace(const char *path, const char *object,
                    enum damage_kind kind);
/** Cuts the file to `bytes`; negative: that many off the end. */
void damage_truncate(const char *path, int64_t bytes);
/** Flips the bits of one byte. */
void damage_flip(const char *path, int64_t at);
/** Removes a column from a table, as a file of an older minor lacks it. */
void damage_drop_column(const char *path, const char *dataset,
                        const char *column);
/** Adds a column, as a file of a newer minor has it. */
void damage_add_column(const char *path, const char *dataset,
                       const char *column);

#endif
