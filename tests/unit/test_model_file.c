/* SPDX-License-Identifier: Apache-2.0 */
/* Hugging Face files: the same model as the preset, and refusals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "plan/model_shape.h"
#include "support/plan_case.h"
#include "support/torture.h"

#define LLAMA                                                                  \
    "{\"model_type\":\"llama\",\"hidden_size\":64,\"intermediate_size\":96,"   \
    "\"num_hidden_layers\":2,\"num_attention_heads\":8,\"vocab_size\":50,"     \
    "\"max_position_embeddings\":16"

static void file_equals_preset(void **state)
{
    const struct plan_case file = {
        .model = "tests/fixtures/model/llama-3.1-8b.json"};
    const struct plan_case preset = {.model = "llama-8b"};
    struct ss_model a, b;
    (void)state;
    plan_case_model(&file, &a);
    plan_case_model(&preset, &b);
    assert_string_equal(a.name, "llama:llama-3.1-8b.json");
    assert_int_equal(a.seq, 131072);
    assert_int_equal(ss_model_params(&a), ss_model_params(&b));
    assert_memory_equal(a.linear, b.linear, sizeof a.linear);
}

static void gpt2_file(void **state)
{
    const struct plan_case file = {
        .model = "tests/fixtures/model/gpt2-tiny.json", .layers = 5};
    struct ss_model m;
    (void)state;
    plan_case_model(&file, &m);
    assert_int_equal(m.layers, 5);
    assert_int_equal(m.ffn, 32);
    assert_int_equal(m.tokens, 16);
    assert_int_equal(ss_model_params(&m), 5 * 12 * 64);
}

static enum ss_status parse(const char *text, struct ss_shape *out)
{
    return ss_model_parse("x/c.json", text, strlen(text), out);
}

static void defaults_of_optional_keys(void **state)
{
    struct ss_shape s;
    (void)state;
    assert_int_equal(parse(LLAMA "}", &s), SS_OK);
    assert_int_equal(s.kv_heads, 8);
    assert_int_equal(s.head_dim, 8);
    assert_string_equal(s.name, "llama:c.json");
    assert_int_equal(parse(LLAMA ",\"head_dim\":32}", &s), SS_OK);
    assert_int_equal(s.head_dim, 32);
}

static void refuses(const char *text, const char *part)
{
    struct ss_shape s;
    if (parse(text, &s) != SS_ERR_CONFIG)
        fail_msg("%s was accepted", text);
    if (!strstr(ss_error_text(), part))
        fail_msg("%s: \"%s\" lacks \"%s\"", text, ss_error_text(), part);
}

static void refusals(void **state)
{
    (void)state;
    refuses("", "not valid JSON");
    refuses("[1,2]", "no key \"model_type\"");
    refuses("{\"model_type\":3}", "no key \"model_type\"");
    refuses("{\"model_type\":\"bert\"}", "known are gpt2, llama and mistral");
    refuses("{\"model_type\":\"llama\"}", "\"hidden_size\" is missing");
    refuses(LLAMA ",\"hidden_size\":3}", "duplicate");
    refuses(LLAMA ",\"num_key_value_heads\":3}", "cannot share 3");
    refuses(LLAMA ",\"num_key_value_heads\":16}", "cannot share 16");
    refuses(LLAMA ",\"num_key_value_heads\":2.0}", "must be an integer");
    refuses(LLAMA ",\"head_dim\":0}", "from 1 to 65536");
    refuses(LLAMA ",\"head_dim\":99999999999999999999}", "not valid JSON");
    refuses("{\"model_type\":\"gpt2\",\"n_embd\":10,\"n_layer\":1,"
            "\"n_head\":3,\"vocab_size\":1,\"n_positions\":1}",
            "does not divide by 3");
    refuses("{\"model_type\":\"gpt2\",\"n_embd\":131073}", "to 131072");
}

static void file_that_is_not_there(void **state)
{
    struct ss_shape s;
    (void)state;
    assert_int_equal(ss_model_file("tests/fixtures/none.json", &s),
                     SS_ERR_CONFIG);
    assert_non_null(strstr(ss_error_text(), "none.json"));
}

static void file_that_is_too_large(void **state)
{
    char path[] = "/tmp/ss-model-XXXXXX";
    int fd = mkstemp(path);
    struct ss_shape s;
    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, 10 << 20), 0);
    close(fd);
    assert_int_equal(ss_model_file(path, &s), SS_ERR_CONFIG);
    unlink(path);
}

static enum ss_status read_one(void *arg)
{
    struct ss_shape s;
    return ss_model_file(arg, &s);
}

static void torture(void **state)
{
    char path[] = "tests/fixtures/model/llama-tiny.json";
    (void)state;
    assert_true(ss_torture(read_one, path) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(file_equals_preset),
        cmocka_unit_test(gpt2_file),
        cmocka_unit_test(defaults_of_optional_keys),
        cmocka_unit_test(refusals),
        cmocka_unit_test(file_that_is_not_there),
        cmocka_unit_test(file_that_is_too_large),
        cmocka_unit_test(torture),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
