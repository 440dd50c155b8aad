/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_STORE_PART_FOLDER_H
#define SS_STORE_PART_FOLDER_H

#include <stdbool.h>

#include "base/str.h"
#include "store/disk_file.h"

/* What stands in a `.part` folder. Internal to the room. */

struct ss_part_list {
    int n;
    int *index; /**< owned, ascending; 0 is the provenance */
};

/** SS_ERR_IO while the disk is full or read-only, by writing a small file. */
enum ss_status ss_part_prove_writable(const char *folder);
/** Removes what a job that did not finish left: unfinished parts, last words.
 */
void ss_part_tidy(const char *folder);
/** "<folder>/0007.h5". */
enum ss_status ss_part_path(const char *folder, int index,
                            char path[SS_PATH_MAX]);
/** True for "0007.h5", with the number. */
bool ss_part_parse_name(const char *name, int *index);
/** The finished parts; names that are not ours are passed over. */
enum ss_status ss_part_list(const char *folder, struct ss_part_list *out);
/** Appends the last-*.txt files: "last-3.txt:\n<text>\n"; none: nothing. */
enum ss_status ss_part_last_words(const char *folder, struct ss_buf *out);
/**
 * Removes the named parts, what is left of unfinished ones and the last
 * words, then the folder; a folder that holds more stays, with a warning.
 */
void ss_part_remove(const char *folder, const struct ss_part_list *parts);

#endif
