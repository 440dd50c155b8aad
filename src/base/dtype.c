/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sizes and names of element types. Lives on the lowest floor because plans
 * (pure) and runtimes (MPI) both speak of elements.
 */
#include "base/dtype.h"

static const struct {
    size_t size;
    const char *name;
} types[] = {
    [SS_DT_BYTE] = {1, "byte"}, [SS_DT_I32] = {4, "i32"},
    [SS_DT_I64] = {8, "i64"},   [SS_DT_U64] = {8, "u64"},
    [SS_DT_F32] = {4, "fp32"},  [SS_DT_F64] = {8, "fp64"},
    [SS_DT_BF16] = {2, "bf16"}, [SS_DT_FP16] = {2, "fp16"},
    [SS_DT_FP8] = {1, "fp8"},
};

size_t ss_dtype_size(enum ss_dtype dtype)
{
    return types[dtype].size;
}

const char *ss_dtype_name(enum ss_dtype dtype)
{
    return types[dtype].name;
}
