/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The report for spreadsheets: RFC 4180, one row a point (of a probe's file: a
 * pair, then a collective). It flattens the
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

static enum ss_status no_memory(void)
{
    return ss_fail(SS_ERR_NO_MEMORY,
                   "cannot build the CSV report: out of memory");
}

static enum ss_status put_point(struct csv *csv,
                                const struct ss_point_result *point)
{
    json_t *object = ss_json_point(point, SS_RANKS_NONE, false);
    if (!object)
        return no_memory();
    put_row(csv, object);
    json_decref(object);
    return SS_OK;
}

/* Takes `object` over; keys of `shape` that it lacks are empty cells. */
static enum ss_status put_object(struct csv *csv, json_t *shape, json_t *object)
{
    json_t *row = object && shape ? json_deep_copy(shape) : NULL;
    bool good = row && json_object_update(row, object) == 0;
    if (good)
        put_row(csv, row);
    json_decref(row);
    json_decref(object);
    return good ? SS_OK : no_memory();
}

static void blank(json_t *object)
{
    const char *key;
    json_t *value;
    void *next;
    json_object_foreach_safe(object, next, key, value)
    {
        if (json_is_object(value))
            blank(value);
        else
            json_object_set_new(object, key, json_null());
    }
}

/* The columns: a pair's, then what a collective has besides. */
static json_t *shape_of(const struct ss_result *result)
{
    json_t *shape = result->n_pairs > 0
                        ? ss_json_pair(result->run, &result->pair[0])
                        : json_object();
    json_t *more =
        result->n_colls > 0 ? ss_json_coll(&result->coll[0]) : json_object();
    if (shape && more && json_object_update_missing(shape, more) == 0)
        blank(shape);
    json_decref(more);
    return shape;
}

/* A file of a probe has no points: one row a pair, one a collective. */
static enum ss_status put_probe(struct csv *csv, const struct ss_result *result)
{
    json_t *shape = shape_of(result);
    enum ss_status status = put_object(csv, shape, json_object());
    csv->names = false;
    for (int64_t i = 0; i < result->n_pairs && status == SS_OK; i++)
        status =
            put_object(csv, shape, ss_json_pair(result->run, &result->pair[i]));
    for (int64_t i = 0; i < result->n_colls && status == SS_OK; i++)
        status = put_object(csv, shape, ss_json_coll(&result->coll[i]));
    json_decref(shape);
    return status == SS_OK ? ss_buf_status(csv->out) : status;
}

enum ss_status ss_csv_render(const struct ss_result *result, struct ss_buf *out)
{
    static const struct ss_point_row blank;
    const struct ss_point_result shape = {.meta = &blank, .status = ""};
    struct csv csv = {.out = out, .names = true};
    if (result->n_points == 0 && result->n_pairs + result->n_colls > 0)
        return put_probe(&csv, result);
    SS_TRY(put_point(&csv, &shape));
    csv.names = false;
    for (int i = 0; i < result->n_points; i++)
        SS_TRY(put_point(&csv, &result->point[i]));
    return ss_buf_status(out);
}
