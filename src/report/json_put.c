/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Filling JSON objects with the house rules: a number that is not there is
 * null, a text that is not there is null, order is kept, a failure is noticed
 * once at the end. It must not know any key.
 */
#include "report/json_put.h"

#include <math.h>

#include "base/mem.h"

void ss_json_open(struct ss_json *json)
{
    *json = (struct ss_json){.object = json_object()};
    json->failed = !json->object;
}

json_t *ss_json_close(struct ss_json *json)
{
    if (json->failed) {
        json_decref(json->object);
        return NULL;
    }
    return json->object;
}

/* Bytes that are not UTF-8, in a name of a file or a variable, as '?'. */
static char *as_ascii(const char *text)
{
    char *copy = ss_strdup(text);
    for (char *at = copy; at && *at; at++) {
        if ((unsigned char)*at >= 0x80)
            *at = '?';
    }
    return copy;
}

/* Takes the value over. The key may be none that JSON can hold. */
static bool put(json_t *object, const char *key, json_t *value)
{
    bool good = json_object_set(object, key, value) == 0;
    char *copy = good || !value ? NULL : as_ascii(key);
    if (copy)
        good = json_object_set(object, copy, value) == 0;
    ss_free(copy);
    json_decref(value);
    return good;
}

void ss_json_put(struct ss_json *json, const char *key, json_t *value)
{
    if (json->failed)
        json_decref(value);
    else if (!put(json->object, key, value))
        json->failed = true;
}

void ss_json_number(struct ss_json *json, const char *key, double value)
{
    if (value == 0)
        value = 0; /* -0.0 would be printed as such */
    ss_json_put(json, key, isfinite(value) ? json_real(value) : json_null());
}

void ss_json_int(struct ss_json *json, const char *key, int64_t value)
{
    ss_json_put(json, key, json_integer(value));
}

void ss_json_tristate(struct ss_json *json, const char *key, int value)
{
    ss_json_put(json, key, value < 0 ? json_null() : json_boolean(value));
}

json_t *ss_json_string(const char *text)
{
    json_t *value = json_string(text);
    char *copy;
    if (value)
        return value;
    copy = as_ascii(text); /* not UTF-8, or out of memory: then so below */
    value = copy ? json_string(copy) : NULL;
    ss_free(copy);
    return value;
}

void ss_json_text(struct ss_json *json, const char *key, const char *text)
{
    ss_json_put(json, key,
                text && text[0] ? ss_json_string(text) : json_null());
}

static int append(const char *bytes, size_t len, void *out)
{
    ss_buf_append(out, bytes, len);
    return 0;
}

enum ss_status ss_json_dump(json_t *value, size_t flags, struct ss_buf *out)
{
    /* Ten digits: more than any clock here resolves, and equal on reading. */
    int failed =
        !value || json_dump_callback(value, append, out,
                                     flags | JSON_REAL_PRECISION(10)) != 0;
    json_decref(value);
    if (failed)
        return ss_fail(SS_ERR_NO_MEMORY,
                       "cannot build the JSON report: out of memory");
    return ss_buf_status(out);
}
