/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_COMMANDS_EXCLUDE_H
#define SS_COMMANDS_EXCLUDE_H

#include "analysis/result.h"
#include "base/str.h"

/**
 * The nodes that an error finding holds to blame, as `srun --exclude` takes
 * them: "n[2,5-7],login1", in natural order, each once. A path between two good
 * nodes blames neither. "" when there is none.
 */
enum ss_status ss_exclude_list(const struct ss_result *result,
                               struct ss_buf *out);
/** The list as one line, written beside and renamed, so that a reader sees the
 * old or the new one; empty file: nobody. */
enum ss_status ss_exclude_write(const char *path,
                                const struct ss_result *result);

#endif
