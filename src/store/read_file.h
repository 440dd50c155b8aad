/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_STORE_READ_FILE_H
#define SS_STORE_READ_FILE_H

#include <stdbool.h>

#include "store/hdf5_util.h"
#include "store/store.h"

/* One file, read in this process. Internal to the room. */

enum ss_file_kind { SS_FILE_RUN, SS_FILE_POINT, SS_FILE_RESULT };

struct ss_file_content {
    enum ss_file_kind kind;
    int index;              /**< of a part */
    struct ss_run_data run; /**< of a point: run_id, schema and one point */
    char *last_words;       /**< owned; NULL: none */
};

/** How a file is read. */
struct ss_file_want {
    enum ss_read_depth depth;
    bool keep; /**< false: read and check everything, keep no samples */
};

/**
 * Reads and checks a whole file. It may crash inside libhdf5 on a damaged
 * one: ss_file_check comes first.
 */
enum ss_status ss_file_read(const char *path, struct ss_file_want want,
                            struct ss_file_content *out);
void ss_file_content_free(struct ss_file_content *content);
/** ss_file_read in a child process with limits; nothing is kept. */
enum ss_status ss_file_check(const char *path, enum ss_read_depth depth);
/** ss_file_check, then ss_file_read. */
enum ss_status ss_file_read_safely(const char *path, enum ss_read_depth depth,
                                   struct ss_file_content *out);

/** The objects of a point (read_point.c). */
enum ss_status ss_point_read(const struct ss_h5_place *place,
                             struct ss_file_want want,
                             struct ss_point_data *out);
/** The objects of 0000.h5 (read_run.c); run_id is already there. */
enum ss_status ss_run_objects_read(const struct ss_h5_place *place,
                                   struct ss_run_data *run);

#endif
