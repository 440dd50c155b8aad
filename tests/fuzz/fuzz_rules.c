/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a rules file: accepted ones hold only sound rules, refused ones
 * say why, with a place.
 */
#include <stdint.h>
#include <string.h>

#include "analysis/result.h"
#include "base/mem.h"
#include "base/str.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_rule(const struct ss_rule *rule)
{
    SS_ASSERT(rule->metric[0] != '\0');
    SS_ASSERT(rule->size >= -1);
    SS_ASSERT(rule->line >= 1);
    SS_ASSERT(rule->min == rule->min || rule->max == rule->max);
    SS_ASSERT(!(rule->min > rule->max));
    SS_ASSERT(rule->mode[0] == '\0' || strcmp(rule->mode, "weak") == 0 ||
              strcmp(rule->mode, "strong") == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ss_rules rules = {.min_effect = 0.02, .min_effect_link = 0.05};
    struct ss_buf problems;
    enum ss_status status;

    ss_buf_init(&problems, 1 << 20);
    ss_error_set(NULL);
    status = ss_rules_parse((const char *)data, size, "r", &rules, &problems);
    if (status == SS_OK) {
        SS_ASSERT(problems.len == 0);
        SS_ASSERT(rules.n >= 0 && rules.n <= 64);
        for (int i = 0; i < rules.n; i++)
            check_rule(&rules.rule[i]);
    } else {
        SS_ASSERT(status == SS_ERR_CONFIG || status == SS_ERR_NO_MEMORY);
        SS_ASSERT(ss_error_text()[0] != '\0');
        SS_ASSERT(rules.n == 0);
    }
    ss_buf_free(&problems);
    return 0;
}
