/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_BASE_DTYPE_H
#define SS_BASE_DTYPE_H

#include <stddef.h>

/** Element types of buffers and messages. */
enum ss_dtype {
    SS_DT_BYTE,
    SS_DT_I32,
    SS_DT_I64,
    SS_DT_U64,
    SS_DT_F32,
    SS_DT_F64,
    SS_DT_BF16, /**< 2 bytes; not reduced by a runtime */
    SS_DT_FP16,
    SS_DT_FP8
};

size_t ss_dtype_size(enum ss_dtype dtype);
const char *ss_dtype_name(enum ss_dtype dtype); /**< "bf16" */

#endif
