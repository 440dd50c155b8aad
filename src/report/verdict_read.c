/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The verdict object back from its JSON, as json.c wrote it: a file's verdict
 * is the one that was given when it was measured, under the rules of then.
 */
#include <jansson.h>
#include <string.h>

#include "base/str.h"
#include "report/report.h"

static bool read_result(const json_t *object, struct ss_verdict *out)
{
    static const char *const word[] = {"pass", "fail", "inconclusive", "none"};
    const char *text = json_string_value(json_object_get(object, "result"));

    for (size_t i = 0; text && i < SS_COUNT_OF(word); i++)
        if (strcmp(text, word[i]) == 0) {
            out->result = (enum ss_verdict_result)i;
            return true;
        }
    return false;
}

static void read_reasons(const json_t *object, struct ss_verdict *out)
{
    const json_t *list = json_object_get(object, "reasons");
    size_t n = json_array_size(list);

    for (size_t i = 0; i < n && i < SS_COUNT_OF(out->reason); i++) {
        const char *text = json_string_value(json_array_get(list, i));
        ss_copy(out->reason[i], sizeof(out->reason[i]), text ? text : "");
        out->n_reasons++;
    }
}

bool ss_report_verdict_read(const char *json, struct ss_verdict *out)
{
    json_t *object = json_loads(json, 0, NULL);
    const json_t *code = json_object_get(object, "exit_code");
    struct ss_verdict verdict = {0};
    bool good = json_is_integer(code) && json_integer_value(code) >= 0 &&
                json_integer_value(code) < 126 && read_result(object, &verdict);

    if (good) {
        verdict.exit_code = (int)json_integer_value(code);
        read_reasons(object, &verdict);
        *out = verdict;
    }
    json_decref(object);
    return good;
}
