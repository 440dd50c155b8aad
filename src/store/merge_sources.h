/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_STORE_MERGE_SOURCES_H
#define SS_STORE_MERGE_SOURCES_H

#include <stdbool.h>

#include "store/part_folder.h"
#include "store/schema.h"

/* Where each group of a merged file comes from. Internal to the room. */

struct ss_merge_source {
    char *path;     /**< owned: a part, or a result */
    bool in_result; /**< the object is a group of a result */
    int index;      /**< 0: the provenance */
};

struct ss_merge_folder {
    char *path; /**< owned */
    struct ss_part_list parts;
    int claim; /**< nobody else writes or merges it meanwhile */
};

struct ss_merge_plan {
    char run_id[40];
    int64_t planned_points;
    int n;
    struct ss_merge_source *source; /**< ascending by index, 0 first */
    int n_folders;
    struct ss_merge_folder *folder; /**< to be removed at the end */
};

/**
 * Lists and checks the inputs: one run id, no point twice, a provenance.
 * trusted: this process wrote them, so no child process reads them first.
 */
enum ss_status ss_merge_plan_make(const char *const *inputs, int n,
                                  bool trusted, struct ss_merge_plan *out);
void ss_merge_plan_free(struct ss_merge_plan *plan);

#endif
