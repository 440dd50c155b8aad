/* SPDX-License-Identifier: Apache-2.0 */
/* Presets against published parameter counts, overrides, and the share of a
 * skeleton in the full model. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/near.h"
#include "support/plan_case.h"

static enum ss_status resolve(const char *preset, int64_t layers,
                              int64_t hidden, int64_t tokens,
                              struct ss_model *out)
{
    struct ss_config config;
    ss_config_default(&config);
    ss_copy(config.model_preset, sizeof config.model_preset, preset);
    config.model_layers = layers;
    config.model_hidden = hidden;
    config.model_tokens = tokens;
    return ss_model_resolve(&config, out);
}

static struct ss_model preset(const char *name)
{
    struct ss_model m;
    if (resolve(name, 0, 0, 0, &m) != SS_OK)
        fail_msg("%s: %s", name, ss_error_text());
    return m;
}

/* What a published total counts beyond the Linears. GPT-2: token and position
 * embeddings (the head is tied), 13 h of biases and norms a layer, 2 h of the
 * last norm. Llama: embedding, head, two norms a layer and the last. */
static int64_t beyond_linears(const struct ss_model *m)
{
    if (strncmp(m->name, "gpt2", 4) == 0)
        return (m->vocab + m->seq) * m->hidden +
               (13 * m->layers + 2) * m->hidden;
    return 2 * m->vocab * m->hidden + (2 * m->layers + 1) * m->hidden;
}

static void published_parameters(void **state)
{
    static const struct {
        const char *name;
        int64_t total;
    } known[] = {{"gpt2-124m", 124439808},    {"gpt2-355m", 354823168},
                 {"gpt2-774m", 774030080},    {"gpt2-1.5b", 1557611200},
                 {"llama-7b", 6738415616},    {"llama-8b", 8030261248},
                 {"llama-13b", 13015864320},  {"llama-70b", 70553706496},
                 {"llama-405b", 405853388800}};
    (void)state;
    for (size_t i = 0; i < SS_COUNT_OF(known); i++) {
        struct ss_model m = preset(known[i].name);
        assert_int_equal(ss_model_params(&m) + beyond_linears(&m),
                         known[i].total);
    }
}

/* 403.75 B matmul parameters of Llama 405B, output head included. */
static void matmul_parameters(void **state)
{
    struct ss_model m = preset("llama-405b");
    (void)state;
    assert_int_equal(ss_model_params(&m) + m.hidden * m.vocab, 403747897344);
    m = preset("gpt2-1.5b");
    assert_int_equal(ss_model_params(&m), 1474560000);
}

static void every_preset_resolves(void **state)
{
    int n = 0;
    (void)state;
    for (const char *const *name = ss_model_presets(); *name; name++, n++) {
        struct ss_model m = preset(*name);
        assert_string_equal(m.name, *name);
        assert_true(m.tokens > 0);
        assert_near(ss_model_flops_per_token(&m),
                    6.0 * (double)ss_model_params(&m), 0);
    }
    assert_int_equal(n, 10);
}

static void default_is_small(void **state)
{
    struct ss_model m = preset("mlp");
    double step = ss_model_flops_per_token(&m) * (double)m.tokens;
    (void)state;
    assert_false(m.skeleton);
    assert_near(m.skeleton_share, 1, 0);
    assert_true(step > 1.5e9 && step < 3e9);
    assert_true(m.tokens >= 1024); /* two ranks in strong scaling */
    assert_int_equal(m.heads, 0);
}

static void mlp_is_two_linears(void **state)
{
    struct ss_model m = preset("mlp");
    (void)state;
    assert_int_equal(m.n_linears, 2);
    assert_int_equal(m.linear[0].out, 4 * m.hidden);
    assert_true(m.linear[0].column && m.linear[0].gelu_after);
    assert_true(!m.linear[1].column && m.linear[1].source == 0);
}

static void llama_layer(void **state)
{
    static const char *const names[] = {"q",    "k",  "v",   "o",
                                        "gate", "up", "down"};
    struct ss_model m = preset("llama-8b");
    (void)state;
    assert_int_equal(m.n_linears, 7);
    for (int i = 0; i < 7; i++)
        assert_string_equal(m.linear[i].name, names[i]);
    assert_int_equal(m.linear[1].out, 1024); /* 8 kv heads of 128 */
    assert_int_equal(m.linear[3].source, SS_SOURCE_CORE);
    assert_int_equal(m.linear[5].join, 4);
    assert_int_equal(m.tokens, 8192);
}

/* 405B at 8192: the GEMMs do 6 x 401.65 B per token, the causal scores
 * 6 l h s = 101.5 G, the head 6 h V = 12.6 G (FACTS: 2.524e12 in all). */
static void share_of_the_full_model(void **state)
{
    struct ss_model m = preset("llama-405b");
    double full = ss_model_flops_per_token(&m) / m.skeleton_share;
    (void)state;
    assert_true(m.skeleton);
    assert_near(full / 1e12, 2.524, 0.0005);
    assert_near(m.skeleton_share, 6 * 401.64655104e9 / full, 1e-12);
}

static void overrides(void **state)
{
    struct ss_model m;
    (void)state;
    assert_int_equal(resolve("mlp", 7, 96, 64, &m), SS_OK);
    assert_int_equal(m.layers, 7);
    assert_int_equal(m.tokens, 64);
    assert_int_equal(m.linear[0].out, 384);
    assert_int_equal(resolve("gpt2-124m", 0, 1024, 0, &m), SS_OK);
    assert_int_equal(m.heads, 16);
    assert_int_equal(m.linear[0].out, 3 * 1024);
    assert_int_equal(m.ffn, 4096);
    assert_int_equal(resolve("llama-8b", 0, 2048, 0, &m), SS_OK);
    assert_int_equal(m.heads, 16);
    assert_int_equal(m.kv_heads, 4);
    assert_int_equal(m.ffn, 7168);
    assert_int_equal(resolve("llama-8b", 0, 128, 0, &m), SS_OK);
    assert_int_equal(m.heads, 1);
    assert_int_equal(m.kv_heads, 1);
    assert_int_equal(m.ffn, 512);
}

static void override_that_does_not_fit(void **state)
{
    struct ss_model m;
    (void)state;
    assert_int_equal(resolve("llama-8b", 0, 1000, 0, &m), SS_ERR_CONFIG);
    assert_non_null(strstr(ss_error_text(), "head size 128"));
}

static void unknown_preset(void **state)
{
    struct ss_model m;
    (void)state;
    assert_int_equal(resolve("llama-8", 0, 0, 0, &m), SS_ERR_CONFIG);
    assert_non_null(strstr(ss_error_text(), "did you mean llama-"));
    assert_int_equal(resolve("bert", 0, 0, 0, &m), SS_ERR_CONFIG);
    assert_non_null(strstr(ss_error_text(), "gpt2-{124m"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_parameters),
        cmocka_unit_test(matmul_parameters),
        cmocka_unit_test(every_preset_resolves),
        cmocka_unit_test(default_is_small),
        cmocka_unit_test(mlp_is_two_linears),
        cmocka_unit_test(llama_layer),
        cmocka_unit_test(share_of_the_full_model),
        cmocka_unit_test(overrides),
        cmocka_unit_test(override_that_does_not_fit),
        cmocka_unit_test(unknown_preset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
