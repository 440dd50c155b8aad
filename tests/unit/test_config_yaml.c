/* SPDX-License-Identifier: Apache-2.0 */
/* What a settings file may hold, and the line and column of what it may not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "support/config_case.h"

static void fine(struct config_case *c)
{
    if (case_resolve(c) != SS_OK)
        fail_msg("%s", c->problems);
}

static void comments_alone_set_nothing(void **state)
{
    struct config_case c = {.yaml = "# nothing\n\n  # here\n"};
    struct ss_config defaults;
    (void)state;
    fine(&c);
    ss_config_default(&defaults);
    assert_memory_equal(&c.config, &defaults, sizeof defaults);
    c.yaml = " \n";
    fine(&c);
}

static void forms_that_are_accepted(void **state)
{
    struct config_case c = {.yaml =
                                "--- # a job\n"
                                "model: {hidden: \"64\", preset: 'llama-7b'}\n"
                                "layout:\n"
                                "  # tp: 4\n"
                                "scaling:\n"
                                "  sizes: [1, 2n, \"world\"]\n"
                                "  modes:\n"
                                "    - strong\n"
                                "device: {progress: on, share: yes}\n"
                                "rules: {file: \"\"}\n"
                                "...\n"};
    (void)state;
    fine(&c);
    assert_int_equal(c.config.model_hidden, 64);
    assert_string_equal(c.config.model_preset, "llama-7b");
    assert_string_equal(c.config.scaling_sizes, "1,2n,world");
    assert_string_equal(c.config.scaling_modes, "strong");
    assert_int_equal(c.config.device_progress, SS_PROGRESS_ON);
    assert_int_equal(c.config.device_share, 1);
    c.yaml = "scaling:\n  sizes: 1, 8, 2n\n";
    fine(&c);
    assert_string_equal(c.config.scaling_sizes, "1, 8, 2n");
}

static void unknown_names(void **state)
{
    (void)state;
    case_refused("modle:\n  hidden: 4\n  x: {y: [z]}\n",
                 "job.yaml:1:1: unknown section modle; did you mean model?\n");
    case_refused("frobnicate: 3\n",
                 "job.yaml:1:1: unknown section frobnicate; "
                 "`stepscale config --help` lists the keys\n");
    case_refused("model.hidden: 4\n",
                 "job.yaml:1:1: model.hidden: write the section and the "
                 "indented key on lines of their own\n");
    case_refused("model:\n  \"a\\nb\": 4\n",
                 "job.yaml:2:3: unknown key model.a?b; `stepscale config "
                 "--help` lists the keys\n");
}

static void duplicates_name_both_lines(void **state)
{
    (void)state;
    case_refused("layout:\n  tp: 2\n  sp: on\n  tp: 4\n",
                 "job.yaml:4:3: layout.tp stands twice, in lines 2 and 4; keep "
                 "one\n");
    case_refused("layout:\n  tp: 2\nmodel:\n  hidden: 8\nlayout:\n  sp: on\n",
                 "job.yaml:5:1: layout stands twice, in lines 1 and 5; keep "
                 "one\n");
}

static void nested_and_lists(void **state)
{
    (void)state;
    case_refused("model:\n  hidden: {a: {b: [1]}}\n  layers: [1]\n"
                 "layout: 3\nscaling: [1]\n",
                 "job.yaml:2:11: model.hidden: one value is expected here; "
                 "sections have one level of keys\n"
                 "job.yaml:3:11: model.layers: one value is expected here, not "
                 "a list\n"
                 "job.yaml:4:9: layout: indented keys are expected below a "
                 "section\n"
                 "job.yaml:5:10: scaling: indented keys are expected below a "
                 "section\n");
    case_refused("scaling:\n  sizes: [1, [2], {a: 3}, ~]\n",
                 "job.yaml:2:14: items of this list are plain words or "
                 "numbers\n"
                 "job.yaml:2:19: items of this list are plain words or "
                 "numbers\n"
                 "job.yaml:2:27: items of this list are plain words or "
                 "numbers\n");
    case_refused("- model\n", "job.yaml:1:1: sections such as \"model:\" with "
                              "indented keys are expected\n");
    case_refused("---\n", "job.yaml:2:1: sections such as \"model:\" with "
                          "indented keys are expected\n");
}

static void what_yaml_offers_and_we_do_not_take(void **state)
{
    (void)state;
    case_refused("model:\n  hidden: &h 64\n  layers: *h\n  tokens: !!int 3\n"
                 "  file: \"a\\0b\"\n  ? [a]\n  : 3\n",
                 "job.yaml:2:11: model.hidden: anchors are not accepted; write "
                 "each value out\n"
                 "job.yaml:3:11: model.layers: aliases are not accepted; write "
                 "the value out\n"
                 "job.yaml:4:11: model.tokens: tags are not accepted; write "
                 "the plain value\n"
                 "job.yaml:5:9: model.file: a text must not contain a zero "
                 "byte\n"
                 "job.yaml:6:5: a key must be a word\n");
    case_refused("model:\n  hidden:\n  file: ~\n",
                 "job.yaml:2:10: model.hidden: no value is given; write \"\" "
                 "for an empty text\n"
                 "job.yaml:3:9: model.file: no value is given; write \"\" for "
                 "an empty text\n");
    case_refused("model: {hidden: 4}\n---\nmodel: {hidden: 5}\n",
                 "job.yaml:2:1: a second document begins here; use one\n");
}

static void damaged_texts(void **state)
{
    struct config_case c = {.yaml = "model:\n  hidden: 4\n   layers: 3\n"};
    (void)state;
    case_refused("", "job.yaml: the file is empty; remove --config or write "
                     "settings\n");
    assert_int_equal(case_resolve(&c), SS_ERR_CONFIG);
    assert_non_null(strstr(c.problems, "job.yaml:3:10: not valid YAML: "));
    c.yaml = "model:\n  preset: \xff\xfe\n";
    assert_int_equal(case_resolve(&c), SS_ERR_CONFIG);
    assert_non_null(strstr(c.problems, "not a YAML text"));
    c.yaml = "model:\n\thidden: 4\n";
    assert_int_equal(case_resolve(&c), SS_ERR_CONFIG);
    c.yaml = "%YAML 3.0\n---\na: b\n";
    assert_int_equal(case_resolve(&c), SS_ERR_CONFIG);
}

static void bytes_refused(const char *yaml, size_t len, const char *text)
{
    struct ss_config_sources sources = {
        .yaml = yaml, .yaml_len = len, .yaml_name = "x"};
    struct ss_config config;
    struct ss_buf problems;
    ss_buf_init(&problems, CASE_TEXT);
    assert_int_equal(ss_config_resolve(&sources, &config, &problems),
                     SS_ERR_CONFIG);
    assert_non_null(strstr(ss_buf_text(&problems), text));
    ss_buf_free(&problems);
}

static void binary_and_large_files(void **state)
{
    size_t len = 10u << 20;
    char *large = ss_alloc(len, 1, "a large file");
    (void)state;
    assert_non_null(large);
    bytes_refused("\x7f"
                  "ELF\0\0",
                  6, "x: the file is binary, not a YAML text");
    memset(large, ' ', len);
    bytes_refused(large, len, "x: the file is larger than 1 MiB");
    bytes_refused(large, SS_CONFIG_FILE_MAX + 1u, "larger than 1 MiB");
    ss_free(large);
}

/* A mebibyte of nonsense: bounded time and memory, and the count is said. */
static void many_problems_are_counted(void **state)
{
    struct ss_buf yaml;
    (void)state;
    ss_buf_init(&yaml, SS_CONFIG_FILE_MAX);
    ss_buf_printf(&yaml, "model:\n");
    for (int i = 0; i < 50000; i++)
        ss_buf_printf(&yaml, "  hiden%d: 1\n", i);
    assert_int_equal(ss_buf_status(&yaml), SS_OK);
    bytes_refused(yaml.data, yaml.len, "and 49800 more problems\n");
    assert_non_null(strstr(ss_error_text(), "(and 49999 more problems)"));
    ss_buf_free(&yaml);
}

static void deep_nesting_ends(void **state)
{
    char *deep = ss_alloc(100001, 1, "a nested file");
    (void)state;
    assert_non_null(deep);
    memset(deep, '[', 100000);
    bytes_refused(deep, 100000, "x:1:33: nested too deeply");
    ss_free(deep);
}

static void long_lists_are_refused(void **state)
{
    struct ss_buf yaml;
    (void)state;
    ss_buf_init(&yaml, 10000);
    ss_buf_printf(&yaml, "scaling:\n  sizes: [1");
    for (int i = 0; i < 1000; i++)
        ss_buf_printf(&yaml, ", %d", i + 2);
    ss_buf_printf(&yaml, "]\n");
    bytes_refused(yaml.data, yaml.len,
                  "scaling.sizes: the text is too long; accepted: at most 511");
    ss_buf_free(&yaml);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(comments_alone_set_nothing),
        cmocka_unit_test(forms_that_are_accepted),
        cmocka_unit_test(unknown_names),
        cmocka_unit_test(duplicates_name_both_lines),
        cmocka_unit_test(nested_and_lists),
        cmocka_unit_test(what_yaml_offers_and_we_do_not_take),
        cmocka_unit_test(damaged_texts),
        cmocka_unit_test(binary_and_large_files),
        cmocka_unit_test(many_problems_are_counted),
        cmocka_unit_test(deep_nesting_ends),
        cmocka_unit_test(long_lists_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
