/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a YAML file, and the same bytes as settings. What is accepted
 * must survive dump and reading again; what is refused must say why, one
 * printable line for each problem.
 */
#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "config/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_problems(const struct ss_buf *problems)
{
    SS_ASSERT(ss_error_text()[0] != '\0');
    SS_ASSERT(problems->len > 0);
    SS_ASSERT(problems->data[problems->len - 1] == '\n');
    for (size_t i = 0; i < problems->len; i++)
        SS_ASSERT(problems->data[i] == '\n' ||
                  (unsigned char)problems->data[i] >= 0x20);
}

static enum ss_status resolve(const char *yaml, size_t len, const char *setting,
                              struct ss_config *out)
{
    struct ss_config_sources sources = {.yaml = yaml, .yaml_len = len};
    struct ss_buf problems;
    enum ss_status status;
    if (setting) {
        sources.settings = &setting;
        sources.n_settings = 1;
    }
    ss_buf_init(&problems, 1 << 16);
    status = ss_config_resolve(&sources, out, &problems);
    if (status != SS_OK)
        check_problems(&problems);
    ss_buf_free(&problems);
    return status;
}

static void check_round_trip(const struct ss_config *config)
{
    struct ss_config again;
    struct ss_buf dump;
    enum ss_status status;
    ss_buf_init(&dump, 1 << 16);
    status = ss_config_dump(config, &dump);
    SS_ASSERT(status == SS_OK);
    status = resolve(ss_buf_text(&dump), dump.len, NULL, &again);
    SS_ASSERT(status == SS_OK);
    SS_ASSERT(memcmp(config, &again, sizeof again) == 0);
    SS_ASSERT(ss_config_hash(config) == ss_config_hash(&again));
    ss_buf_free(&dump);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ss_config config;
    struct ss_buf text;
    long live = ss_mem_live();
    ss_buf_init(&text, size + 1);
    ss_buf_append(&text, data, size);
    if (resolve(ss_buf_text(&text), size, NULL, &config) == SS_OK)
        check_round_trip(&config);
    if (resolve(NULL, 0, ss_buf_text(&text), &config) == SS_OK)
        check_round_trip(&config);
    ss_buf_free(&text);
    SS_ASSERT(ss_mem_live() == live);
    return 0;
}
