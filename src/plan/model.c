/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a few numbers to the list of Linears of one layer, and the counts that
 * follow from it. Pure but for model.file. It must not know layouts: what a
 * rank holds of a Linear is the plan's business.
 */
#include "plan/model.h"

#include <inttypes.h>

#include "base/str.h"
#include "plan/model_shape.h"

static void add(struct ss_model *m, const char *name, int64_t in, int64_t out,
                int source)
{
    struct ss_linear *l = &m->linear[m->n_linears];
    ss_copy(l->name, sizeof l->name, name);
    l->in = in;
    l->out = out;
    l->source = source;
    l->column = true;
    l->join = -1;
    m->n_linears++;
}

/* The row-split Linear that ends a block. */
static void add_row(struct ss_model *m, const char *name, int64_t in,
                    int source)
{
    add(m, name, in, m->hidden, source);
    m->linear[m->n_linears - 1].column = false;
}

/* Linear, GELU, Linear: the whole layer of an MLP, the second half of GPT-2's.
 * The first of the two has the index `at`. */
static void add_gelu_pair(struct ss_model *m, int source)
{
    int at = m->n_linears;
    add(m, "fc1", m->hidden, m->ffn, source);
    m->linear[at].gelu_after = true;
    add_row(m, "fc2", m->ffn, at);
}

static void add_gpt2(struct ss_model *m, int64_t head_dim)
{
    int64_t attention = m->heads * head_dim;
    add(m, "qkv", m->hidden, 3 * attention, -1);
    add_row(m, "proj", attention, SS_SOURCE_CORE);
    add_gelu_pair(m, 1);
}

static void add_llama(struct ss_model *m, int64_t head_dim)
{
    add(m, "q", m->hidden, m->heads * head_dim, -1);
    add(m, "k", m->hidden, m->kv_heads * head_dim, -1);
    add(m, "v", m->hidden, m->kv_heads * head_dim, -1);
    add_row(m, "o", m->heads * head_dim, SS_SOURCE_CORE);
    add(m, "gate", m->hidden, m->ffn, 3);
    add(m, "up", m->hidden, m->ffn, 3);
    m->linear[5].join = 4;
    add_row(m, "down", m->ffn, 5);
}

/* Per token, forward and backward (6 per weight): causal attention scores and
 * values 6 h s, output head 6 h V. Norms and loss are below 0.1 %. */
static double share_of_full_model(const struct ss_model *m, int64_t head_dim)
{
    double gemms = ss_model_flops_per_token(m);
    double core = 6.0 * (double)m->layers * (double)(m->heads * head_dim) *
                  (double)m->seq;
    double head = 6.0 * (double)m->hidden * (double)m->vocab;
    return gemms / (gemms + core + head);
}

static void make_model(const struct ss_shape *s, struct ss_model *m)
{
    *m = (struct ss_model){.layers = s->layers,
                           .hidden = s->hidden,
                           .tokens = s->tokens,
                           .ffn = s->ffn,
                           .heads = s->heads,
                           .kv_heads = s->kv_heads,
                           .vocab = s->vocab,
                           .seq = s->seq,
                           .skeleton = s->family != SS_FAMILY_MLP,
                           .skeleton_share = 1};
    ss_copy(m->name, sizeof m->name, s->name);
    if (s->family == SS_FAMILY_MLP)
        add_gelu_pair(m, -1);
    else if (s->family == SS_FAMILY_GPT2)
        add_gpt2(m, s->head_dim);
    else
        add_llama(m, s->head_dim);
    if (m->skeleton)
        m->skeleton_share = share_of_full_model(m, s->head_dim);
}

/* The same family at another width: head size and, as far as it divides, the
 * number of heads per kv head stay; ffn keeps its ratio to hidden. */
static enum ss_status resize(struct ss_shape *s, int64_t hidden)
{
    double ratio = (double)s->ffn / (double)s->hidden;
    if (s->head_dim > 0 && hidden % s->head_dim != 0)
        return ss_fail(SS_ERR_CONFIG,
                       "model.hidden %" PRId64 " is not a multiple of the head "
                       "size %" PRId64 " of %s; choose a multiple of it",
                       hidden, s->head_dim, s->name);
    if (s->head_dim > 0) {
        int64_t group = s->heads / s->kv_heads;
        s->heads = hidden / s->head_dim;
        s->kv_heads = s->heads > group ? s->heads / group : 1;
        while (s->heads % s->kv_heads != 0)
            s->kv_heads--;
    }
    s->ffn = (int64_t)(ratio * (double)hidden + 0.5);
    if (s->family == SS_FAMILY_LLAMA)
        s->ffn = s->ffn < 384 ? 256 : (s->ffn + 128) / 256 * 256;
    s->hidden = hidden;
    return SS_OK;
}

enum ss_status ss_model_resolve(const struct ss_config *config,
                                struct ss_model *out)
{
    struct ss_shape shape;
    if (config->model_file[0])
        SS_TRY(ss_model_file(config->model_file, &shape));
    else
        SS_TRY(ss_model_preset(config->model_preset, &shape));
    if (config->model_hidden > 0 && config->model_hidden != shape.hidden)
        SS_TRY(resize(&shape, config->model_hidden));
    if (config->model_layers > 0)
        shape.layers = config->model_layers;
    if (config->model_tokens > 0)
        shape.tokens = config->model_tokens;
    make_model(&shape, out);
    return SS_OK;
}

int64_t ss_model_params(const struct ss_model *model)
{
    int64_t layer = 0;
    for (int i = 0; i < model->n_linears; i++)
        layer += model->linear[i].in * model->linear[i].out;
    return layer * model->layers;
}

double ss_model_flops_per_token(const struct ss_model *model)
{
    return 6.0 * (double)ss_model_params(model);
}
