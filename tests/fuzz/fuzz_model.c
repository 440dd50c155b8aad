/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a Hugging Face config.json: refused, or shapes in range. */
#include <stddef.h>
#include <stdint.h>

#include "plan/model_shape.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ss_shape s;
    if (ss_model_parse("fuzz.json", (const char *)data, size, &s) != SS_OK) {
        SS_ASSERT(ss_error_text()[0]);
        return 0;
    }
    SS_ASSERT(s.hidden > 0 && s.layers > 0 && s.ffn > 0 && s.tokens > 0);
    SS_ASSERT(s.heads % s.kv_heads == 0 && s.head_dim > 0);
    return 0;
}
