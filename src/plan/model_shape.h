/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_PLAN_MODEL_SHAPE_H
#define SS_PLAN_MODEL_SHAPE_H

/* Inside the plan room: the few numbers from which a model's Linears follow,
 * whether they come from the table of presets or from a file. */
#include <stdint.h>

#include "base/status.h"

enum ss_family { SS_FAMILY_MLP, SS_FAMILY_GPT2, SS_FAMILY_LLAMA };

struct ss_shape {
    char name[48];
    enum ss_family family;
    int64_t layers, hidden, ffn;
    int64_t heads, kv_heads, head_dim, vocab, seq; /**< 0: has none */
    int64_t tokens;                                /**< default */
};

/** SS_ERR_CONFIG with the nearest name when unknown. */
enum ss_status ss_model_preset(const char *name, struct ss_shape *out);
/** Reads a Hugging Face config.json. */
enum ss_status ss_model_file(const char *path, struct ss_shape *out);
/** The same from memory; path is for messages and the name. */
enum ss_status ss_model_parse(const char *path, const char *text, size_t len,
                              struct ss_shape *out);

#endif
