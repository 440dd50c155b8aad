/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The report for programs: one object, keys as in DESIGN section 8, versioned
 * by "schema". Parts that were not measured (collectives, pairs, fits)
 * are empty arrays, so that a reader needs no special case.
 */
#include <math.h>
#include <string.h>

#include "analysis/paths.h"
#include "config/config.h"
#include "report/json_put.h"

enum { JSON_SCHEMA = 1 };

static json_t *nodes_of(const struct ss_run_data *run)
{
    json_t *list = json_array();
    for (int i = 0; i < run->n_nodes; i++) {
        if (json_array_append_new(list, ss_json_string(run->node[i].name)) !=
            0) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

/* A library whose version differs between ranks gets all of them. */
static json_t *versions_of(const struct ss_run_data *run)
{
    struct ss_json json;
    ss_json_open(&json);
    for (int i = 0; i < run->n_versions && !json.failed; i++) {
        const struct ss_variable_row *v = &run->versions[i];
        const char *before =
            json_string_value(json_object_get(json.object, v->name));
        char both[640];
        ss_format(both, sizeof both, "%s%s%s", before ? before : "",
                  before ? "; " : "", v->value);
        ss_json_text(&json, v->name, both);
    }
    return ss_json_close(&json);
}

static json_t *section(struct ss_json *config, const char *name)
{
    json_t *object = json_object_get(config->object, name);
    if (!object) {
        object = json_object();
        ss_json_put(config, name, object);
    }
    return object;
}

static json_t *text_of(const struct ss_config *config, const char *key)
{
    struct ss_buf text;
    json_t *value = NULL;
    ss_buf_init(&text, (size_t)2 * SS_TEXT_MAX);
    if (ss_config_get(config, key, &text) && !text.failed)
        value = ss_json_string(ss_buf_text(&text));
    ss_buf_free(&text);
    return value;
}

static json_t *real_or_null(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

/* Numbers as numbers, switches as booleans, the rest as --set takes it. */
static void put_option(struct ss_json *config, const char *name,
                       const char *key, json_t *value)
{
    json_t *into = section(config, name);
    if (config->failed)
        json_decref(value);
    else if (json_object_set_new(into, key, value) != 0)
        config->failed = true;
}

static json_t *config_object(const struct ss_config *c)
{
    struct ss_json json;
    ss_json_open(&json);
#define INT(s, k, d, lo, hi, h)                                                \
    put_option(&json, #s, #k, json_integer(c->s##_##k));
#define DBL(s, k, d, lo, hi, h)                                                \
    put_option(&json, #s, #k, real_or_null(c->s##_##k));
#define BOOL(s, k, d, h) put_option(&json, #s, #k, json_boolean(c->s##_##k));
#define TIME(s, k, d, lo, hi, h)                                               \
    put_option(&json, #s, #k, text_of(c, #s "." #k));
#define BYTES(s, k, d, lo, hi, h)                                              \
    put_option(&json, #s, #k, text_of(c, #s "." #k));
#define RATE(s, k, d, h) put_option(&json, #s, #k, text_of(c, #s "." #k));
#define ENUM(s, k, d, choices, h)                                              \
    put_option(&json, #s, #k, text_of(c, #s "." #k));
#define TEXT(s, k, d, h) put_option(&json, #s, #k, text_of(c, #s "." #k));
#include "config/fields.def"
    return ss_json_close(&json);
}

/* The stored text, resolved; null where another version wrote other keys. */
static json_t *config_of(const struct ss_run_data *run)
{
    struct ss_config config;
    struct ss_buf problems;
    enum ss_status status;
    struct ss_config_sources sources = {.yaml = run->config_yaml,
                                        .yaml_name = "config"};
    if (!run->config_yaml)
        return json_null();
    sources.yaml_len = strlen(run->config_yaml);
    ss_buf_init(&problems, 1 << 16);
    status = ss_config_resolve(&sources, &config, &problems);
    ss_buf_free(&problems);
    if (status == SS_ERR_NO_MEMORY)
        return NULL;
    return status == SS_OK ? config_object(&config) : json_null();
}

static void put_size(struct ss_json *json, const char *key, int size)
{
    if (size > 0)
        ss_json_int(json, key, size);
    else
        ss_json_put(json, key, json_null());
}

static json_t *run_of(const struct ss_result *result)
{
    const struct ss_run_data *run = result->run;
    struct ss_json json;
    ss_json_open(&json);
    ss_json_text(&json, "id", run->run_id);
    ss_json_text(&json, "start", ss_word_time(run->start_ns).text);
    ss_json_text(&json, "engine", run->engine);
    ss_json_int(&json, "world", run->n_ranks);
    ss_json_put(&json, "nodes", nodes_of(run));
    ss_json_text(&json, "model", run->model);
    ss_json_text(&json, "precision", run->precision);
    ss_json_put(&json, "versions", versions_of(run));
    ss_json_text(&json, "transports", result->transports);
    ss_json_put(&json, "config", config_of(run));
    ss_json_tristate(&json, "complete", result->complete != 0);
    put_size(&json, "largest_started", result->largest_started);
    put_size(&json, "not_started", result->not_started);
    return ss_json_close(&json);
}

static json_t *culprit_of(const struct ss_finding *f)
{
    struct ss_json json;
    ss_json_open(&json);
    if (f->rank >= 0)
        ss_json_int(&json, "rank", f->rank);
    else
        ss_json_put(&json, "rank", json_null());
    ss_json_text(&json, "node", f->node);
    ss_json_text(&json, "device", f->device);
    ss_json_text(&json, "uuid", f->uuid);
    ss_json_text(&json, "link", f->link);
    ss_json_text(&json, "rail", f->rail);
    ss_json_text(&json, "setting", f->setting);
    ss_json_text(&json, "value", f->value);
    return ss_json_close(&json);
}

static json_t *finding_of(const struct ss_finding *f)
{
    struct ss_json json;
    ss_json_open(&json);
    ss_json_text(&json, "kind", ss_finding_name(f->kind));
    ss_json_text(&json, "severity", ss_severity_name(f->severity));
    ss_json_put(&json, "culprit", culprit_of(f));
    ss_json_number(&json, "factor", f->factor);
    ss_json_number(&json, "factor_lo", f->factor_lo);
    ss_json_number(&json, "factor_hi", f->factor_hi);
    ss_json_text(&json, "evidence", f->evidence);
    ss_json_number(&json, "confidence", f->confidence);
    ss_json_text(&json, "advice", f->advice);
    return ss_json_close(&json);
}

static json_t *verdict_of(const struct ss_verdict *v)
{
    static const char *const words[] = {[SS_PASS] = "pass",
                                        [SS_FAIL] = "fail",
                                        [SS_INCONCLUSIVE] = "inconclusive",
                                        [SS_NONE] = "none"};
    struct ss_json json;
    json_t *reasons = json_array();
    ss_json_open(&json);
    ss_json_text(&json, "result", words[v->result]);
    ss_json_int(&json, "exit_code", v->exit_code);
    for (int i = 0; i < v->n_reasons; i++) {
        if (json_array_append_new(reasons, ss_json_string(v->reason[i])) != 0)
            json.failed = true;
    }
    ss_json_put(&json, "reasons", reasons);
    return ss_json_close(&json);
}

static void put_points(struct ss_json *json, const struct ss_result *result,
                       enum ss_report_ranks ranks)
{
    json_t *list = json_array();
    for (int i = 0; i < result->n_points; i++) {
        json_t *point = ss_json_point(&result->point[i], ranks, true);
        if (json_array_append_new(list, point) != 0)
            json->failed = true;
    }
    ss_json_put(json, "points", list);
}

static void put_pairs(struct ss_json *json, const struct ss_result *result)
{
    json_t *list = json_array();
    for (int64_t i = 0; i < result->n_pairs; i++) {
        json_t *pair = ss_json_pair(result->run, &result->pair[i]);
        if (json_array_append_new(list, pair) != 0)
            json->failed = true;
    }
    ss_json_put(json, "pairs", list);
}

static void put_colls(struct ss_json *json, const struct ss_result *result)
{
    json_t *list = json_array();
    for (int64_t i = 0; i < result->n_colls; i++) {
        if (json_array_append_new(list, ss_json_coll(&result->coll[i])) != 0)
            json->failed = true;
    }
    ss_json_put(json, "collectives", list);
}

static void put_fits(struct ss_json *json, const struct ss_result *result)
{
    json_t *list = json_array();
    for (int i = 0; i < result->n_fits; i++) {
        if (json_array_append_new(list, ss_json_fit(&result->fit[i])) != 0)
            json->failed = true;
    }
    ss_json_put(json, "fits", list);
}

static json_t *path_of(const struct ss_path_row *row)
{
    struct ss_json json;
    ss_json_open(&json);
    ss_json_text(&json, "library", row->library);
    ss_json_text(&json, "carrier", row->carrier);
    ss_json_text(&json, "network", row->network);
    ss_json_text(&json, "devices", row->devices);
    if (row->connections > 0)
        ss_json_int(&json, "connections", row->connections);
    else
        ss_json_put(&json, "connections", json_null());
    ss_json_int(&json, "ranks", row->ranks);
    return ss_json_close(&json);
}

static void put_paths(struct ss_json *json, const struct ss_result *result)
{
    struct ss_path_row rows[SS_PATHS_MAX];
    json_t *list = json_array();
    int n = ss_paths_of_run(result->run, rows);
    for (int i = 0; i < n; i++) {
        if (json_array_append_new(list, path_of(&rows[i])) != 0)
            json->failed = true;
    }
    ss_json_put(json, "paths", list);
}

static void put_findings(struct ss_json *json, const struct ss_result *result)
{
    json_t *list = json_array();
    for (int i = 0; i < result->n_findings; i++) {
        if (json_array_append_new(list, finding_of(&result->finding[i])) != 0)
            json->failed = true;
    }
    ss_json_put(json, "findings", list);
}

enum ss_status ss_json_render(const struct ss_result *result,
                              enum ss_report_ranks ranks, struct ss_buf *out)
{
    struct ss_json json;
    ss_json_open(&json);
    ss_json_int(&json, "schema", JSON_SCHEMA);
    ss_json_put(&json, "run", run_of(result));
    put_points(&json, result, ranks);
    put_colls(&json, result);
    put_pairs(&json, result);
    put_fits(&json, result);
    put_paths(&json, result);
    put_findings(&json, result);
    ss_json_put(&json, "verdict", verdict_of(&result->verdict));
    SS_TRY(ss_json_dump(ss_json_close(&json), JSON_INDENT(2), out));
    ss_buf_append(out, "\n", 1);
    return ss_buf_status(out);
}

enum ss_status ss_report_verdict_json(const struct ss_verdict *verdict,
                                      struct ss_buf *out)
{
    return ss_json_dump(verdict_of(verdict), JSON_COMPACT, out);
}
