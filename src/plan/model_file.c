/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shapes from a Hugging Face config.json. The file comes from outside, so every
 * number has a type and a range before anybody multiplies it. It must not know
 * what the shapes are used for.
 */
#include "plan/model_shape.h"

#include <inttypes.h>
#include <string.h>

#include <jansson.h>

#include "base/str.h"

#define FILE_MAX (1u << 20)

/* A key, where it goes and the largest sensible value; optional ones keep what
 * is there when the key is missing or null. */
struct key {
    const char *name;
    int64_t *to;
    int64_t max;
    bool optional;
};

static enum ss_status read_key(const char *path, const json_t *root,
                               const struct key *key)
{
    const json_t *value = json_object_get(root, key->name);
    json_int_t number;
    if (!value || json_is_null(value)) {
        if (key->optional)
            return SS_OK;
        return ss_fail(SS_ERR_CONFIG, "%s: key \"%s\" is missing", path,
                       key->name);
    }
    number = json_integer_value(value); /* 0 when it is no integer */
    if (!json_is_integer(value) || number < 1 || number > key->max)
        return ss_fail(SS_ERR_CONFIG,
                       "%s: \"%s\" must be an integer from 1 to %" PRId64, path,
                       key->name, key->max);
    *key->to = number;
    return SS_OK;
}

static enum ss_status read_keys(const char *path, const json_t *root,
                                const struct key *keys, size_t n)
{
    for (size_t i = 0; i < n; i++)
        SS_TRY(read_key(path, root, &keys[i]));
    return SS_OK;
}

static enum ss_status read_gpt2(const char *path, const json_t *root,
                                struct ss_shape *s)
{
    const struct key keys[] = {{"n_embd", &s->hidden, 131072, false},
                               {"n_layer", &s->layers, 1024, false},
                               {"n_head", &s->heads, 4096, false},
                               {"vocab_size", &s->vocab, 1 << 24, false},
                               {"n_positions", &s->seq, 1 << 24, false},
                               {"n_inner", &s->ffn, 1048576, true}};
    s->family = SS_FAMILY_GPT2;
    SS_TRY(read_keys(path, root, keys, SS_COUNT_OF(keys)));
    s->kv_heads = s->heads;
    if (s->ffn == 0)
        s->ffn = 4 * s->hidden;
    return SS_OK;
}

static enum ss_status read_llama(const char *path, const json_t *root,
                                 struct ss_shape *s)
{
    const struct key keys[] = {
        {"hidden_size", &s->hidden, 131072, false},
        {"intermediate_size", &s->ffn, 1048576, false},
        {"num_hidden_layers", &s->layers, 1024, false},
        {"num_attention_heads", &s->heads, 4096, false},
        {"num_key_value_heads", &s->kv_heads, 4096, true},
        {"head_dim", &s->head_dim, 65536, true},
        {"vocab_size", &s->vocab, 1 << 24, false},
        {"max_position_embeddings", &s->seq, 1 << 24, false}};
    s->family = SS_FAMILY_LLAMA;
    SS_TRY(read_keys(path, root, keys, SS_COUNT_OF(keys)));
    if (s->kv_heads == 0)
        s->kv_heads = s->heads;
    return SS_OK;
}

static enum ss_status check_heads(const char *path, struct ss_shape *s)
{
    if (s->head_dim == 0) {
        if (s->hidden % s->heads != 0)
            return ss_fail(SS_ERR_CONFIG,
                           "%s: hidden size %" PRId64
                           " does not divide by %" PRId64 " attention heads",
                           path, s->hidden, s->heads);
        s->head_dim = s->hidden / s->heads;
    }
    if (s->kv_heads > s->heads || s->heads % s->kv_heads != 0)
        return ss_fail(SS_ERR_CONFIG,
                       "%s: %" PRId64 " attention heads cannot share %" PRId64
                       " key-value heads evenly",
                       path, s->heads, s->kv_heads);
    return SS_OK;
}

static bool is_printable(const char *text)
{
    for (; *text; text++) {
        if (*text < 0x20 || *text > 0x7e)
            return false;
    }
    return true;
}

/* "llama:config.json"; without the file's name where that is not plain text. */
static void name_model(const char *path, const char *type, struct ss_shape *s)
{
    const char *slash = strrchr(path, '/');
    const char *base = slash ? slash + 1 : path;
    if (is_printable(base))
        ss_format(s->name, sizeof s->name, "%s:%s", type, base);
    else
        ss_copy(s->name, sizeof s->name, type);
}

static enum ss_status read_root(const char *path, const json_t *root,
                                struct ss_shape *out)
{
    const char *type = json_string_value(json_object_get(root, "model_type"));
    struct ss_shape s = {.heads = 0};
    if (!type)
        return ss_fail(SS_ERR_CONFIG,
                       "%s: no key \"model_type\"; a Hugging Face config.json "
                       "of gpt2, llama or mistral is expected",
                       path);
    if (strcmp(type, "gpt2") == 0)
        SS_TRY(read_gpt2(path, root, &s));
    else if (strcmp(type, "llama") == 0 || strcmp(type, "mistral") == 0)
        SS_TRY(read_llama(path, root, &s));
    else
        return ss_fail(SS_ERR_CONFIG,
                       "%s: model_type \"%.40s\" is not supported; known are "
                       "gpt2, llama and mistral",
                       path, type);
    SS_TRY(check_heads(path, &s));
    s.tokens = s.seq;
    name_model(path, type, &s);
    *out = s;
    return SS_OK;
}

enum ss_status ss_model_parse(const char *path, const char *text, size_t len,
                              struct ss_shape *out)
{
    json_error_t error;
    json_t *root = json_loadb(text, len, JSON_REJECT_DUPLICATES, &error);
    enum ss_status status;
    if (!root)
        return ss_fail(SS_ERR_CONFIG, "%s:%d:%d: not valid JSON: %s", path,
                       error.line, error.column, error.text);
    status = read_root(path, root, out);
    json_decref(root);
    return status;
}

enum ss_status ss_model_file(const char *path, struct ss_shape *out)
{
    struct ss_buf text;
    enum ss_status status;
    SS_TRY(ss_read_named_file(path, FILE_MAX, &text));
    status = ss_model_parse(path, ss_buf_text(&text), text.len, out);
    ss_buf_free(&text);
    return status;
}
