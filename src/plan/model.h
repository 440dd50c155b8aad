/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_PLAN_MODEL_H
#define SS_PLAN_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "config/config.h"

/** source of a Linear fed by the attention core, which a skeleton leaves out:
 * it reads a constant, and the outputs that nobody reads (q, k, v) get constant
 * gradients. */
#define SS_SOURCE_CORE (-2)

/** One Linear of a layer: y[tokens, out] = x[tokens, in] W[out, in]^T. */
struct ss_linear {
    char name[12];   /**< "fc1", "qkv", "gate" */
    int64_t in, out; /**< unsplit */
    bool column;     /**< tensor parallel splits out (column) or in (row) */
    int source;      /**< index of the linear whose activation feeds it; -1: the
                        layer's input; SS_SOURCE_CORE */
    bool gelu_after; /**< element-wise activation on its output */
    int join;        /**< index of an earlier one, -1: none; the activation is
                        silu(that one's output) x this one's (SwiGLU) */
};
#define SS_LINEARS_MAX 8

/**
 * Shapes of a model as a stack of equal layers of Linears: a GEMM skeleton.
 * mlp: Linear h -> 4h, GELU, Linear 4h -> h, no bias. gpt2: qkv, proj, fc1,
 * fc2. llama: q, k, v, o, gate, up, down (SwiGLU, grouped kv heads). Left out
 * with the attention core: norms, residual additions, embedding, output head
 * and loss. The Linears come as blocks: one or more column-split ones with one
 * source, then the row-split one that ends the block.
 */
struct ss_model {
    char name[48]; /**< "mlp", "llama-8b", or "llama:config.json" */
    int64_t layers, hidden, tokens; /**< tokens per device and step (weak) */
    int64_t ffn, heads, kv_heads, vocab, seq; /**< 0 where it has none */
    int n_linears;
    struct ss_linear linear[SS_LINEARS_MAX];
    bool skeleton; /**< attention core, norms, embedding, loss missing */
    double
        skeleton_share; /**< FLOPs of the GEMMs / the full model's (causal) */
};

/** From config (preset or file, with overrides). Reads model.file. */
enum ss_status ss_model_resolve(const struct ss_config *config,
                                struct ss_model *out);
/** Parameters of the skeleton (all layers, unsplit). */
int64_t ss_model_params(const struct ss_model *model);
/** Model FLOPs of one token, forward + backward: 6 x parameters (2 FLOPs per
 * multiply-add, backward twice the forward), of the skeleton. */
double ss_model_flops_per_token(const struct ss_model *model);
/** Names of all presets, NULL-ended. */
const char *const *ss_model_presets(void);

#endif
