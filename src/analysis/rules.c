/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a rules file: limits that a run has to keep. The text is a user's:
 * every problem is collected with its line, and nothing of it is believed
 * before it was checked. Must not know how a limit is judged.
 */
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <yaml.h>

#include "analysis/verdict.h"
#include "base/str.h"
#include "base/units.h"

struct reader {
    yaml_document_t document;
    const char *name;
    struct ss_buf *problems;
    int n_problems;
    char first[256];
};

static void problem(struct reader *r, const yaml_mark_t *at, const char *format,
                    ...) __attribute__((format(printf, 3, 4)));

static void problem(struct reader *r, const yaml_mark_t *at, const char *format,
                    ...)
{
    char text[256], line[512];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    ss_format(line, sizeof(line), "%.128s:%zu:%zu: %s", r->name, at->line + 1,
              at->column + 1, text);
    ss_buf_printf(r->problems, "%s\n", line);
    if (r->n_problems++ == 0)
        ss_copy(r->first, sizeof(r->first), line);
}

/** A scalar's text, or NULL (said); texts with NUL bytes are none. */
static const char *scalar(struct reader *r, yaml_node_t *node, const char *what)
{
    const char *text;

    if (!node || node->type != YAML_SCALAR_NODE) {
        if (node)
            problem(r, &node->start_mark, "%s must be one value", what);
        return NULL;
    }
    text = (const char *)node->data.scalar.value;
    if (strlen(text) != node->data.scalar.length) {
        problem(r, &node->start_mark, "%s holds a NUL byte", what);
        return NULL;
    }
    return text;
}

static void read_number(struct reader *r, yaml_node_t *node, const char *what,
                        double *out)
{
    const char *text = scalar(r, node, what);

    if (text && ss_parse_double(text, out) != SS_OK)
        problem(r, &node->start_mark, "%s: %s", what, ss_error_text());
}

static void read_size(struct reader *r, yaml_node_t *node, int *out)
{
    const char *text = scalar(r, node, "size");
    int64_t size;

    if (!text)
        return;
    if (strcmp(text, "all") == 0) {
        *out = 0;
    } else if (strcmp(text, "largest") == 0) {
        *out = -1;
    } else if (ss_parse_int(text, &size) != SS_OK || size < 1 ||
               size > INT_MAX) {
        problem(r, &node->start_mark,
                "size '%.40s' is not a number of ranks, 'all' or 'largest'",
                text);
    } else {
        *out = (int)size;
    }
}

static void read_mode(struct reader *r, yaml_node_t *node, struct ss_rule *rule)
{
    const char *text = scalar(r, node, "mode");

    if (!text)
        return;
    if (strcmp(text, "weak") != 0 && strcmp(text, "strong") != 0)
        problem(r, &node->start_mark, "mode '%.40s' is not weak or strong",
                text);
    ss_copy(rule->mode, sizeof(rule->mode), text);
}

static void unknown(struct reader *r, const yaml_node_t *node, const char *what,
                    const char *word, const char *const *known)
{
    const char *near = ss_nearest(word, known);

    if (near)
        problem(r, &node->start_mark, "unknown %s '%.40s'; did you mean %s?",
                what, word, near);
    else
        problem(r, &node->start_mark,
                "unknown %s '%.40s'; results/README.md lists them", what, word);
}

static void read_metric(struct reader *r, yaml_node_t *node,
                        struct ss_rule *rule)
{
    const char *text = scalar(r, node, "metric");

    if (!text)
        return;
    if (ss_metric_find(text) < 0)
        unknown(r, node, "metric", text, ss_metric_names());
    ss_copy(rule->metric, sizeof(rule->metric), text);
}

enum { KEY_METRIC, KEY_MODE, KEY_SIZE, KEY_MIN, KEY_MAX, KEYS };
static const char *const rule_keys[KEYS + 1] = {"metric", "mode", "size", "min",
                                                "max"};

static int find_word(const char *word, const char *const *words)
{
    for (int i = 0; words[i]; i++)
        if (strcmp(words[i], word) == 0)
            return i;
    return -1;
}

static void read_value(struct reader *r, int key, yaml_node_t *value,
                       struct ss_rule *rule)
{
    switch (key) {
    case KEY_METRIC:
        read_metric(r, value, rule);
        break;
    case KEY_MODE:
        read_mode(r, value, rule);
        break;
    case KEY_SIZE:
        read_size(r, value, &rule->size);
        break;
    case KEY_MIN:
        read_number(r, value, "min", &rule->min);
        break;
    default:
        read_number(r, value, "max", &rule->max);
        break;
    }
}

/** Walks a mapping; -1 for a key that is no key, unknown or a repetition. */
static int next_key(struct reader *r, const yaml_node_pair_t *pair,
                    const char *const *keys, unsigned *seen)
{
    yaml_node_t *node = yaml_document_get_node(&r->document, pair->key);
    const char *word = scalar(r, node, "a key");
    int key = word ? find_word(word, keys) : -1;

    if (!word)
        return -1;
    if (key < 0) {
        unknown(r, node, "key", word, keys);
    } else if (*seen & 1u << key) {
        problem(r, &node->start_mark, "key '%s' stands here twice", word);
        return -1;
    } else {
        *seen |= 1u << key;
    }
    return key;
}

static void read_rule(struct reader *r, yaml_node_t *node, struct ss_rules *out)
{
    struct ss_rule rule = {
        .min = NAN, .max = NAN, .line = (int)node->start_mark.line + 1};
    unsigned seen = 0;
    int before = r->n_problems;

    if (node->type != YAML_MAPPING_NODE) {
        problem(r, &node->start_mark,
                "a rule is {metric, mode, size, min, "
                "max}, as in {metric: efficiency, min: "
                "0.9}");
        return;
    }
    for (yaml_node_pair_t *pair = node->data.mapping.pairs.start;
         pair < node->data.mapping.pairs.top; pair++) {
        int key = next_key(r, pair, rule_keys, &seen);
        if (key >= 0)
            read_value(r, key,
                       yaml_document_get_node(&r->document, pair->value),
                       &rule);
    }
    if (!(seen & 1u << KEY_METRIC))
        problem(r, &node->start_mark, "the rule names no metric");
    if (!(seen & (1u << KEY_MIN | 1u << KEY_MAX)))
        problem(r, &node->start_mark, "the rule has neither min nor max");
    if (rule.min > rule.max)
        problem(r, &node->start_mark, "min %g is above max %g", rule.min,
                rule.max);
    if (r->n_problems > before)
        return;
    if (out->n == (int)SS_COUNT_OF(out->rule))
        problem(r, &node->start_mark, "more than %zu rules",
                SS_COUNT_OF(out->rule));
    else
        out->rule[out->n++] = rule;
}

static void read_list(struct reader *r, yaml_node_t *node, struct ss_rules *out)
{
    if (!node || node->type != YAML_SEQUENCE_NODE) {
        if (node)
            problem(r, &node->start_mark, "rules must be a list of rules");
        return;
    }
    for (yaml_node_item_t *item = node->data.sequence.items.start;
         item < node->data.sequence.items.top; item++) {
        yaml_node_t *rule = yaml_document_get_node(&r->document, *item);
        if (rule)
            read_rule(r, rule, out);
    }
}

static void read_effect(struct reader *r, yaml_node_t *node, const char *what,
                        double *out)
{
    double value = *out;

    read_number(r, node, what, &value);
    if (value < 0 || value > 1)
        problem(r, &node->start_mark, "%s %g is not a share from 0 to 1", what,
                value);
    *out = value;
}

static void read_root(struct reader *r, struct ss_rules *out)
{
    static const char *const keys[] = {"rules", "min_effect", "min_effect_link",
                                       NULL};
    yaml_node_t *root = yaml_document_get_root_node(&r->document);
    unsigned seen = 0;

    if (!root || root->type != YAML_MAPPING_NODE) {
        const yaml_mark_t start = {0, 0, 0};
        problem(r, root ? &root->start_mark : &start,
                "a rules file holds 'rules:' and a list of rules");
        return;
    }
    for (yaml_node_pair_t *pair = root->data.mapping.pairs.start;
         pair < root->data.mapping.pairs.top; pair++) {
        int key = next_key(r, pair, keys, &seen);
        yaml_node_t *value = yaml_document_get_node(&r->document, pair->value);
        if (key == 0)
            read_list(r, value, out);
        else if (key == 1)
            read_effect(r, value, keys[1], &out->min_effect);
        else if (key == 2)
            read_effect(r, value, keys[2], &out->min_effect_link);
    }
    if (!(seen & 1))
        problem(r, &root->start_mark, "there is no list 'rules'");
}

static void syntax_problem(struct reader *r, const yaml_parser_t *parser)
{
    problem(r, &parser->problem_mark, "%s%s%s",
            parser->problem ? parser->problem : "not YAML",
            parser->context ? " " : "", parser->context ? parser->context : "");
}

enum ss_status ss_rules_parse(const char *text, size_t len, const char *name,
                              struct ss_rules *out, struct ss_buf *problems)
{
    struct reader reader = {.name = name, .problems = problems};
    struct ss_rules rules = *out;
    yaml_parser_t parser;

    if (!yaml_parser_initialize(&parser))
        return ss_fail(SS_ERR_NO_MEMORY, "cannot read rules: out of memory");
    rules.n = 0;
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, len);
    if (!yaml_parser_load(&parser, &reader.document)) {
        syntax_problem(&reader, &parser);
    } else {
        read_root(&reader, &rules);
        yaml_document_delete(&reader.document);
    }
    yaml_parser_delete(&parser);
    if (reader.n_problems > 1)
        return ss_fail(SS_ERR_CONFIG, "%s (and %d more)", reader.first,
                       reader.n_problems - 1);
    if (reader.n_problems == 1)
        return ss_fail(SS_ERR_CONFIG, "%s", reader.first);
    *out = rules;
    return SS_OK;
}
