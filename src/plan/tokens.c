/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many tokens a point gives to a rank in weak and in strong scaling, and
 * the reason where a size has to be left out of the curve. Arithmetic only.
 */
#include <inttypes.h>

#include "plan/plan.h"

#define MICRO_BATCHES_MAX 65536

/* Ranks that work on the same tokens. */
static int ranks_per_share(const struct ss_layout *layout)
{
    return ss_layout_size(layout) / layout->dim[SS_DIM_DP];
}

/* What the tokens of a dp rank must be a multiple of. */
static int64_t grain(const struct ss_layout *layout)
{
    return (int64_t)layout->micro_batches *
           (layout->sp ? layout->dim[SS_DIM_TP] : 1);
}

/* Where the answer goes: tokens, or why not. */
struct answer {
    int64_t *tokens;
    char *skip;
    size_t skip_size;
};

static void weak_tokens(const struct ss_model *model,
                        const struct ss_layout *layout,
                        const struct answer *out)
{
    int64_t share = model->tokens * ranks_per_share(layout);
    if (share % grain(layout) != 0)
        ss_format(out->skip, out->skip_size,
                  "%" PRId64 " tokens per dp rank do not divide by %" PRId64
                  " (micro-batches%s)",
                  share, grain(layout), layout->sp ? " x tp" : "");
    else
        *out->tokens = share;
}

/* Multiplies the micro-batches so that one holds no more tokens per rank than
 * in weak scaling; false when the share has no even split near that. */
static bool split_share(const struct ss_model *model, int64_t share,
                        struct ss_layout *layout)
{
    int64_t whole = model->tokens * ranks_per_share(layout);
    int64_t least = (share + whole - 1) / whole;
    for (int64_t k = least; k <= 2 * least; k++) {
        if (k * layout->micro_batches > MICRO_BATCHES_MAX)
            return false;
        if (share % (k * grain(layout)) == 0) {
            layout->micro_batches *= (int)k;
            return true;
        }
    }
    return false;
}

static void strong_tokens(const struct ss_config *config,
                          const struct ss_model *model, int64_t batch,
                          struct ss_layout *layout, const struct answer *out)
{
    int dp = layout->dim[SS_DIM_DP];
    int64_t share = batch / dp;
    int64_t per_rank = share / ranks_per_share(layout);
    if (batch % dp != 0)
        ss_format(out->skip, out->skip_size,
                  "the global batch of %" PRId64
                  " tokens does not divide by dp %d",
                  batch, dp);
    else if (per_rank < config->scaling_min_tokens)
        ss_format(out->skip, out->skip_size,
                  "%" PRId64 " tokens per rank, under scaling.min_tokens "
                  "%" PRId64,
                  per_rank, config->scaling_min_tokens);
    else if (share < grain(layout))
        ss_format(out->skip, out->skip_size,
                  "%" PRId64 " tokens per dp rank are fewer than %" PRId64
                  " (micro-batches%s)",
                  share, grain(layout), layout->sp ? " x tp" : "");
    else if (!split_share(model, share, layout))
        ss_format(out->skip, out->skip_size,
                  "%" PRId64 " tokens per dp rank have no even split into "
                  "micro-batches of at most %" PRId64 " per rank",
                  share, model->tokens / layout->micro_batches);
    else
        *out->tokens = share;
}

/* The header's signature. NOLINTNEXTLINE(readability-function-size) */
enum ss_status ss_plan_tokens(const struct ss_config *config,
                              const struct ss_model *model, bool strong,
                              int64_t global_batch, struct ss_layout *layout,
                              int64_t *tokens, char *skip, size_t skip_size)
{
    const struct answer out = {tokens, skip, skip_size};
    *tokens = 0;
    ss_copy(skip, skip_size, "");
    if (strong)
        strong_tokens(config, model, global_batch, layout, &out);
    else
        weak_tokens(model, layout, &out);
    return SS_OK;
}

int64_t ss_plan_global_batch(const struct ss_config *config,
                             const struct ss_model *model, int largest)
{
    int64_t batch = model->tokens * largest / 8;
    if (config->scaling_global_batch > 0)
        return config->scaling_global_batch;
    /* the largest size must keep enough tokens per rank to be measured */
    if (batch < config->scaling_min_tokens * largest)
        batch = config->scaling_min_tokens * largest;
    return batch > model->tokens ? batch : model->tokens;
}
