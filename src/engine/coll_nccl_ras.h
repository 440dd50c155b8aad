/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_ENGINE_COLL_NCCL_RAS_H
#define SS_ENGINE_COLL_NCCL_RAS_H

#include <stdint.h>

#include "base/str.h"

/**
 * What NCCL itself knows of its communicators (RAS, since 2.24): every process
 * of a job answers for the whole job, in text, on NCCL_RAS_ADDR (default
 * localhost:28028). Appends the answer; nothing where nobody answers, or
 * NCCL_RAS_ENABLE=0. Takes at most limit_ns. Any thread.
 */
void ss_nccl_ras_ask(char *const *environment, int64_t limit_ns,
                     struct ss_buf *out);

#endif
