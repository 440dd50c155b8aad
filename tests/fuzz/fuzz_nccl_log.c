/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any text as NCCL's log: no more connections than lines, and the words that
 * are made of the counts fit where they go.
 */
#include <stdint.h>
#include <string.h>

#include "base/str.h"
#include "engine/coll_nccl_log.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ss_nccl_paths paths = {0};
    char words[64];
    struct ss_buf text;
    size_t lines = 1;
    ss_buf_init(&text, size + 1);
    ss_buf_append(&text, data, size);
    for (const char *at = ss_buf_text(&text); *at; at++)
        lines += *at == '\n';
    ss_nccl_log_parse(ss_buf_text(&text), &paths);
    SS_ASSERT((size_t)(paths.p2p + paths.shm + paths.rdma + paths.bounce +
                       paths.socket + paths.other) <= lines);
    for (size_t room = 1; room <= sizeof words; room++) {
        memset(words, 'x', sizeof words);
        ss_nccl_paths_text(&paths, words, room);
        SS_ASSERT(strnlen(words, sizeof words) < room);
    }
    ss_buf_free(&text);
    return 0;
}
