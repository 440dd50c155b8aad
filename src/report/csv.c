/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The report for spreadsheets: RFC 4180, one row a point (of a
 * file of pairs: a pair). It flattens the
 * JSON object of a point, so that names are the JSON's joined by "_" and
 * nothing is listed twice. null is an empty cell; lists are joined by ";".
 */
#include <string.h>

#include "report/json_put.h"

enum { NAME = 96 };

/* What to write for each leaf of the object: its name, or its value. */
struct csv {
    struct ss_buf *out;
    bool names;
    int column;
};

static void put_text(struct csv *csv, const char *text, size_t len)
{
    bool quote = memchr(text, ',', len) || memchr(text, '"', len) ||
                 memchr(text, '\n', len) || memchr(text, '\r', len);
    if (quote)
        ss_buf_append(csv->out, "\"", 1);
    for (size_t i = 0; i < len; i++) {
        if (text[i] == '"')
            ss_buf_append(csv->out, "\"", 1);
        ss_buf_append(csv->out, &text[i], 1);
    }
    if (quote)
        ss_buf_append(csv->out, "\"", 1);
}

static void put_list(struct csv *csv, const json_t *list)
{
    size_t i;
    json_t *item;
    json_array_foreach((json_t *)list, i, item)
    {
        if (i > 0)
            ss_buf_append(csv->out, ";", 1);
        put_text(csv, json_string_value(item), json_string_length(item));
    }
}

static void put_value(struct csv *csv, const json_t *value)
{
    if (json_is_string(value))
        put_text(csv, json_string_value(value), json_string_length(value));
    else if (json_is_integer(value))
        ss_buf_printf(csv->out, "%" JSON_INTEGER_FORMAT,
                      json_integer_value(value));
    else if (json_is_real(value))
        ss_buf_printf(csv->out, "%.10g", json_real_value(value));
    else if (json_is_boolean(value))
        ss_buf_printf(csv->out, "%s", json_is_true(value) ? "true" : "false");
    else if (json_is_array(value))
        put_list(csv, value);
}

static void put_leaf(struct csv *csv, const char *name, const json_t *value)
{
    if (csv->column++ > 0)
        ss_buf_append(csv->out, ",", 1);
    if (csv->names)
        put_text(csv, name, strlen(name));
    else
        put_value(csv, value);
}

/* Objects of a point nest once: no recursion is needed. */
static void put_row(struct csv *csv, json_t *point)
{
    const char *key;
    const char *inner;
    json_t *value;
    json_t *leaf;
    csv->column = 0;
    json_object_foreach(point, key, value)
    {
        if (!json_is_object(value)) {
            put_leaf(csv, key, value);
            continue;
        }
        json_object_foreach(value, inner, leaf)
        {
            char name[NAME];
            ss_format(name, sizeof name, "%s_%s", key, inner);
            put_leaf(csv, name, leaf);
        }
    }
    ss_buf_append(csv->out, "\r\n", 2);
}

static enum ss_status put_point(struct csv *csv,
                                const struct ss_point_result *point)
{
    json_t *object = ss_json_point(point, SS_RANKS_NONE, false);
    if (!object)
        return ss_fail(SS_ERR_NO_MEMORY,
                       "cannot build the CSV report: out of memory");
    put_row(csv, object);
    json_decref(object);
    return SS_OK;
}

/* A file of pairs has no points: one row a pair. */
static enum ss_status put_pairs(struct csv *csv, const struct ss_result *result)
{
    for (int64_t i = -1; i < result->n_pairs; i++) {
        json_t *object =
            ss_json_pair(result->run, &result->pair[i < 0 ? 0 : i]);
        if (!object)
            return ss_fail(SS_ERR_NO_MEMORY,
                           "cannot build the CSV report: out of memory");
        csv->names = i < 0;
        put_row(csv, object);
        json_decref(object);
    }
    return ss_buf_status(csv->out);
}

enum ss_status ss_csv_render(const struct ss_result *result, struct ss_buf *out)
{
    static const struct ss_point_row blank;
    const struct ss_point_result shape = {.meta = &blank, .status = ""};
    struct csv csv = {.out = out, .names = true};
    if (result->n_points == 0 && result->n_pairs > 0)
        return put_pairs(&csv, result);
    SS_TRY(put_point(&csv, &shape));
    csv.names = false;
    for (int i = 0; i < result->n_points; i++)
        SS_TRY(put_point(&csv, &result->point[i]));
    return ss_buf_status(out);
}
