/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_STORE_READ_CHECK_H
#define SS_STORE_READ_CHECK_H

#include <stdbool.h>
#include <stddef.h>

#include "store/schema.h"
#include "store/tables.h"

/*
 * What must hold for a point and a run so that no reader of theirs can index
 * outside an array. Pure. Internal to the room.
 */
#define SS_CHECK_TEXT_MAX 256

/** True when sound; else `wrong` says what is not ("blocks[3].first is -1"). */
bool ss_check_point(const struct ss_point_data *point, char *wrong,
                    size_t size);
/** The tables of 0000.h5. */
bool ss_check_run(const struct ss_run_data *run, char *wrong, size_t size);
/** A point against its run. */
bool ss_check_point_in_run(const struct ss_run_data *run,
                           const struct ss_point_data *point, char *wrong,
                           size_t size);
/** Floating columns of a `strict` table: finite and not negative. */
bool ss_check_sizes(const struct ss_table *table, const bool *have,
                    const void *rows, int64_t n, char *wrong, size_t size);

#endif
