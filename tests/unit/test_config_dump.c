/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The dump reads back to the same bytes, and the hash sees every field that
 * can change a run. Fields added later are covered without a change here.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <xxhash.h>

#include "support/config_case.h"

/* Every field off its default, with awkward texts. */
static const char *const settings[][2] = {
    {"model.preset", "a \"b\" \\ # : é"},
    {"model.file", " x "},
    {"model.layers", "1024"},
    {"model.hidden", "4096"},
    {"model.tokens", "1"},
    {"model.precision", "fp8"},
    {"model.grad_dtype", "fp16"},
    {"layout.dp", "7"},
    {"layout.tp", "3"},
    {"layout.sp", "yes"},
    {"layout.micro_batches", "9"},
    {"scaling.sizes", "1, 2n"},
    {"scaling.modes", "strong"},
    {"scaling.axis", "tp"},
    {"scaling.global_batch", "1099511627776"},
    {"scaling.min_tokens", "1"},
    {"groups.mode", "both"},
    {"groups.order", "launcher"},
    {"plan.bucket", "1025"},
    {"measure.budget", "90min"},
    {"measure.max_seconds", "1.5s"},
    {"measure.min_steps", "4"},
    {"measure.min_block", "1ns"},
    {"measure.min_blocks", "13"},
    {"measure.max_blocks", "14"},
    {"measure.precision", "0.1234567890123456"},
    {"measure.seed", "9223372036854775807"},
    {"measure.sample_every", "0"},
    {"measure.isolate", "on"},
    {"measure.soak", "100us"},
    {"measure.verify", "off"},
    {"device.share", "1"},
    {"device.threads", "5"},
    {"device.progress", "on"},
    {"deadline.start", "24h"},
    {"deadline.connect", "1ms"},
    {"deadline.block", "61s"},
    {"rules.file", "null"},
    {"rules.min_effect", "1e-5"},
    {"rules.min_effect_link", "0.3333333333333333"},
    {"out.file", "~"},
    {"out.format", "csv"},
    {"null.clock", "real"},
    {"null.gemm_ms", "0.1"},
    {"null.elementwise_ms", "1e6"},
    {"null.optimizer_ms", "3"},
    {"null.copy_ms", "4"},
    {"null.collective_ms", "5"},
    {"null.slow_rank", "0"},
    {"null.slow_factor", "1.25"},
    {"null.noise", "0.02"},
    {"null.corrupt_op", "1:2:3"},
    {"null.fail_op", "0:0:0"},
    {"null.hang_op", "1:0:x"},
    {"null.pace", "true"}};

static void set_everything(struct ss_config *config)
{
    for (size_t i = 0; i < SS_COUNT_OF(settings); i++)
        assert_int_equal(ss_config_set(config, settings[i][0], settings[i][1]),
                         SS_OK);
}

static void dump_of(const struct ss_config *config, char *out)
{
    struct ss_buf buf;
    ss_buf_init(&buf, CASE_TEXT - 1);
    assert_int_equal(ss_config_dump(config, &buf), SS_OK);
    ss_copy(out, CASE_TEXT, ss_buf_text(&buf));
    ss_buf_free(&buf);
}

static void a_dump_reads_back_to_the_same_bytes(void **state)
{
    struct ss_config config;
    char first[CASE_TEXT];
    char second[CASE_TEXT];
    (void)state;
    for (int round = 0; round < 2; round++) {
        struct config_case c = {.yaml = first};
        ss_config_default(&config);
        if (round == 1)
            set_everything(&config);
        dump_of(&config, first);
        if (case_resolve(&c) != SS_OK)
            fail_msg("%s", c.problems);
        assert_memory_equal(&c.config, &config, sizeof config);
        dump_of(&c.config, second);
        assert_string_equal(first, second);
    }
}

static void the_dump_is_canonical(void **state)
{
    struct ss_config config;
    char dump[CASE_TEXT];
    (void)state;
    ss_config_default(&config);
    set_everything(&config);
    dump_of(&config, dump);
    assert_non_null(strstr(dump,
                           "model:\n  preset: \"a \\\"b\\\" \\\\ # : é\"\n"
                           "  file: \" x \"\n  layers: 1024\n"));
    assert_non_null(strstr(dump, "measure:\n  budget: 90min\n"
                                 "  max_seconds: 1500ms\n"));
    assert_non_null(strstr(dump, "\nplan:\n  bucket: 1025B\nmeasure:\n"));
    assert_non_null(strstr(dump, "  precision: 0.1234567890123456\n"));
    assert_non_null(strstr(dump, "  sp: true\n"));
}

/* Sets `key` to some value that is not its default. */
static void change(struct ss_config *config, const char *key)
{
    static const char *const tries[] = {
        "2",  "7",   "3",     "true",   "false",  "csv",     "real",
        "tp", "off", "on",    "both",   "random", "fp16",    "250ms",
        "4k", "0.5", "1:1:1", "device", "8,1M",   "400mbit", "nccl"};
    const struct ss_config before = *config;
    for (size_t i = 0; i < SS_COUNT_OF(tries); i++) {
        if (ss_config_set(config, key, tries[i]) == SS_OK &&
            memcmp(config, &before, sizeof before) != 0)
            return;
    }
    fail_msg("no value found that changes %s", key);
}

/* Walks the dump's keys, so that a field added later is covered at once. */
static void the_hash_sees_every_field_but_out(void **state)
{
    struct ss_config base;
    char dump[CASE_TEXT];
    char section[64] = "";
    int n_keys = 0;
    (void)state;
    ss_config_default(&base);
    dump_of(&base, dump);
    for (const char *line = dump; *line; line = strchr(line, '\n') + 1) {
        struct ss_config changed = base;
        const char *word = line + strspn(line, " ");
        char key[128];
        ss_format(key, sizeof key, "%s.%.*s", section, (int)strcspn(word, ":"),
                  word);
        if (word == line) {
            ss_copy(section, sizeof section, key + strlen(section) + 1);
            continue;
        }
        change(&changed, key);
        if ((ss_config_hash(&changed) != ss_config_hash(&base)) !=
            (strcmp(section, "out") != 0))
            fail_msg("the hash and %s", key);
        n_keys++;
    }
    assert_true(n_keys > 50);
}

static void the_hash_is_xxh64_of_the_dump_less_out(void **state)
{
    struct ss_config config;
    char dump[CASE_TEXT];
    char *out;
    char *after;
    (void)state;
    ss_config_default(&config);
    assert_int_equal(ss_config_set(&config, "out.file", "x.h5"), SS_OK);
    dump_of(&config, dump);
    out = strstr(dump, "\nout:\n") + 1;
    after = strstr(dump, "\nnull:\n") + 1;
    memmove(out, after, strlen(after) + 1);
    assert_null(strstr(dump, "x.h5"));
    assert_true(ss_config_hash(&config) == XXH64(dump, strlen(dump), 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_dump_reads_back_to_the_same_bytes),
        cmocka_unit_test(the_dump_is_canonical),
        cmocka_unit_test(the_hash_sees_every_field_but_out),
        cmocka_unit_test(the_hash_is_xxh64_of_the_dump_less_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
