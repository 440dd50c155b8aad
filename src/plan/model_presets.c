/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The presets as one table: a model is a line of numbers from its authors'
 * configuration files. Nothing here knows what is computed with them.
 */
#include "plan/model_shape.h"

#include <string.h>

#include "base/str.h"
#include "plan/model.h"

/*
 * X(name, family, layers, hidden, ffn, heads, kv_heads, head_dim, vocab, seq,
 *   tokens). The MLP is ours: one fp32 step of about 2.3 GFLOP, some 50 ms on
 * one CPU core, and enough tokens for two ranks in strong scaling. The others
 * take one sequence per device.
 */
#define PRESETS(X)                                                             \
    X("mlp", MLP, 3, 128, 512, 0, 0, 0, 0, 0, 1024)                            \
    X("gpt2-124m", GPT2, 12, 768, 3072, 12, 12, 64, 50257, 1024, 1024)         \
    X("gpt2-355m", GPT2, 24, 1024, 4096, 16, 16, 64, 50257, 1024, 1024)        \
    X("gpt2-774m", GPT2, 36, 1280, 5120, 20, 20, 64, 50257, 1024, 1024)        \
    X("gpt2-1.5b", GPT2, 48, 1600, 6400, 25, 25, 64, 50257, 1024, 1024)        \
    X("llama-7b", LLAMA, 32, 4096, 11008, 32, 32, 128, 32000, 4096, 4096)      \
    X("llama-8b", LLAMA, 32, 4096, 14336, 32, 8, 128, 128256, 8192, 8192)      \
    X("llama-13b", LLAMA, 40, 5120, 13824, 40, 40, 128, 32000, 4096, 4096)     \
    X("llama-70b", LLAMA, 80, 8192, 28672, 64, 8, 128, 128256, 8192, 8192)     \
    X("llama-405b", LLAMA, 126, 16384, 53248, 128, 8, 128, 128256, 8192, 8192)

static const struct ss_shape presets[] = {
#define X(name, family, ...) {name, SS_FAMILY_##family, __VA_ARGS__},
    PRESETS(X)
#undef X
};

const char *const *ss_model_presets(void)
{
    static const char *const names[] = {
#define X(name, ...) name,
        PRESETS(X)
#undef X
            NULL};
    return names;
}

enum ss_status ss_model_preset(const char *name, struct ss_shape *out)
{
    const char *near;
    for (size_t i = 0; i < SS_COUNT_OF(presets); i++) {
        if (strcmp(presets[i].name, name) == 0) {
            *out = presets[i];
            return SS_OK;
        }
    }
    near = ss_nearest(name, ss_model_presets());
    if (near)
        return ss_fail(SS_ERR_CONFIG,
                       "unknown model.preset '%s'; did you mean %s?", name,
                       near);
    return ss_fail(SS_ERR_CONFIG,
                   "unknown model.preset '%s'; known are mlp, "
                   "gpt2-{124m,355m,774m,1.5b} and "
                   "llama-{7b,8b,13b,70b,405b}",
                   name);
}
