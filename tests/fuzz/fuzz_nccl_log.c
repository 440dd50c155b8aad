/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any text as NCCL's log: no more connections than lines, and the rows that
 * are made of them are whole.
 */
#include <stdint.h>
#include <string.h>

#include "base/str.h"
#include "engine/coll_nccl_log.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ss_nccl_paths paths = {0};
    struct ss_path_row row[SS_NCCL_PATHS];
    struct ss_buf text;
    size_t lines = 1;
    ss_buf_init(&text, size + 1);
    ss_buf_append(&text, data, size);
    for (const char *at = ss_buf_text(&text); *at; at++)
        lines += *at == '\n';
    ss_nccl_log_parse(ss_buf_text(&text), &paths);
    SS_ASSERT((size_t)(paths.p2p + paths.shm + paths.rdma + paths.bounce +
                       paths.socket + paths.other) <= lines);
    int n = ss_nccl_paths_rows(&paths, NULL, row);
    SS_ASSERT(n >= 0 && n <= SS_NCCL_PATHS);
    for (int r = 0; r < n; r++) {
        SS_ASSERT(row[r].connections > 0);
        SS_ASSERT(strnlen(row[r].network, sizeof row[r].network) <
                  sizeof row[r].network);
        SS_ASSERT(strnlen(row[r].devices, sizeof row[r].devices) <
                  sizeof row[r].devices);
    }
    SS_ASSERT(ss_nccl_paths_rows(&paths, &paths, row) == 0);
    ss_buf_free(&text);
    return 0;
}
