/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_TESTS_CONFIG_CASE_H
#define SS_TESTS_CONFIG_CASE_H

/*
 * Resolving a configuration in one call, with the problems as a text.
 * Include after cmocka.h.
 */
#include <string.h>

#include "base/str.h"
#include "config/config.h"

#define CASE_TEXT 65536

struct config_case {
    const char *yaml;
    const char *settings[8]; /**< ends with NULL */
    char *environment[8];    /**< ends with NULL */
    struct ss_config config;
    char problems[CASE_TEXT];
};

static inline enum ss_status case_resolve(struct config_case *c)
{
    struct ss_config_sources sources = {.yaml = c->yaml,
                                        .yaml_len =
                                            c->yaml ? strlen(c->yaml) : 0,
                                        .yaml_name = "job.yaml",
                                        .environment = c->environment,
                                        .settings = c->settings};
    struct ss_buf problems;
    enum ss_status status;
    while (c->settings[sources.n_settings])
        sources.n_settings++;
    ss_buf_init(&problems, CASE_TEXT - 1);
    ss_error_set(NULL);
    status = ss_config_resolve(&sources, &c->config, &problems);
    ss_copy(c->problems, sizeof c->problems, ss_buf_text(&problems));
    ss_buf_free(&problems);
    return status;
}

/** The YAML text must be refused with exactly these lines. */
static inline void case_refused(const char *yaml, const char *problems)
{
    struct config_case c = {.yaml = yaml};
    assert_int_equal(case_resolve(&c), SS_ERR_CONFIG);
    assert_string_equal(c.problems, problems);
}

#endif
