/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A YAML file of sections and keys, read as libyaml's events and handed on as
 * (field, text, place). Only what a settings file needs is let through: two
 * levels, scalars, lists where a field is a list. Anchors, tags and a second
 * document are refused, because a reader of the file must see what is set.
 * After a problem the node is skipped and reading goes on. It must not know
 * what a value means.
 */
#include <string.h>
#include <yaml.h>

#include "base/str.h"
#include "config/config_internal.h"

/* libyaml's time grows with the square of the depth. */
#define DEPTH_MAX 32

struct walker {
    struct ss_resolve *resolve;
    const char *name;
    yaml_parser_t parser;
    yaml_event_t event; /* the current one, owned */
    bool has_event;
    /* Lines where a field was set and a section began; 0: not yet. */
    size_t line[SS_N_FIELDS];
    size_t section_line[SS_N_FIELDS];
};

static void drop_event(struct walker *w)
{
    if (w->has_event)
        yaml_event_delete(&w->event);
    w->has_event = false;
}

static void place_of(const struct walker *w, yaml_mark_t mark, char *out,
                     size_t size)
{
    ss_format(out, size, "%.200s:%zu:%zu", w->name, mark.line + 1,
              mark.column + 1);
}

static void problem(struct walker *w, const char *what)
{
    char place[256];
    place_of(w, w->event.start_mark, place, sizeof place);
    ss_problem(w->resolve, "%s: %s", place, what);
}

static void syntax_problem(struct walker *w)
{
    const yaml_parser_t *p = &w->parser;
    char place[256];
    if (p->error == YAML_MEMORY_ERROR) {
        w->resolve->hard = ss_fail(
            SS_ERR_NO_MEMORY, "cannot read %.200s: out of memory", w->name);
        return;
    }
    place_of(w, p->problem_mark, place, sizeof place);
    if (p->error == YAML_READER_ERROR)
        ss_problem(w->resolve, "%s: not a YAML text: %s at byte %zu", w->name,
                   p->problem ? p->problem : "unreadable", p->problem_offset);
    else
        ss_problem(w->resolve, "%s: not valid YAML: %s", place,
                   p->problem ? p->problem : "unreadable");
}

/* The next event; false at an error, which ends the reading. */
static bool next(struct walker *w)
{
    drop_event(w);
    if (w->resolve->hard != SS_OK)
        return false;
    w->has_event = yaml_parser_parse(&w->parser, &w->event) != 0;
    if (!w->has_event)
        syntax_problem(w);
    return w->has_event;
}

/* Skips the node that begins at the current event. */
static bool skip(struct walker *w)
{
    size_t depth = 0;
    for (;;) {
        yaml_event_type_t type = w->event.type;
        if (type == YAML_MAPPING_START_EVENT ||
            type == YAML_SEQUENCE_START_EVENT)
            depth++;
        if (depth > DEPTH_MAX) {
            problem(w, "nested too deeply; reading ends here");
            return false;
        }
        if (type == YAML_MAPPING_END_EVENT || type == YAML_SEQUENCE_END_EVENT)
            depth--;
        if (depth == 0)
            return true;
        if (!next(w))
            return false;
    }
}

/* What YAML offers and a settings file does not need: NULL if none of it. */
static const char *forbidden(const yaml_event_t *event)
{
    const yaml_char_t *anchor = NULL;
    const yaml_char_t *tag = NULL;
    if (event->type == YAML_ALIAS_EVENT)
        return "aliases are not accepted; write the value out";
    if (event->type == YAML_SCALAR_EVENT) {
        anchor = event->data.scalar.anchor;
        tag = event->data.scalar.tag;
        if (strlen((const char *)event->data.scalar.value) !=
            event->data.scalar.length)
            return "a text must not contain a zero byte";
    } else if (event->type == YAML_MAPPING_START_EVENT) {
        anchor = event->data.mapping_start.anchor;
        tag = event->data.mapping_start.tag;
    } else if (event->type == YAML_SEQUENCE_START_EVENT) {
        anchor = event->data.sequence_start.anchor;
        tag = event->data.sequence_start.tag;
    }
    if (anchor)
        return "anchors are not accepted; write each value out";
    return tag ? "tags are not accepted; write the plain value" : NULL;
}

static const char *scalar_text(const struct walker *w)
{
    return (const char *)w->event.data.scalar.value;
}

/* "key:" with nothing, ~ or null behind it. */
static bool is_null(const struct walker *w)
{
    static const char *const words[] = {"", "~", "null", "Null", "NULL"};
    if (w->event.type != YAML_SCALAR_EVENT ||
        w->event.data.scalar.style != YAML_PLAIN_SCALAR_STYLE)
        return false;
    for (size_t i = 0; i < SS_COUNT_OF(words); i++) {
        if (strcmp(scalar_text(w), words[i]) == 0)
            return true;
    }
    return false;
}

/* Joins the items of a sequence by commas into `out`. */
static bool read_items(struct walker *w, struct ss_buf *out)
{
    for (;;) {
        const char *bad;
        if (!next(w))
            return false;
        if (w->event.type == YAML_SEQUENCE_END_EVENT)
            break;
        bad = forbidden(&w->event);
        if (!bad && (w->event.type != YAML_SCALAR_EVENT || is_null(w)))
            bad = "items of this list are plain words or numbers";
        if (bad) {
            problem(w, bad);
            if (!skip(w))
                return false;
            continue;
        }
        /* One byte over the limit is kept, so that a long list is refused. */
        if (out->len <= SS_TEXT_MAX)
            ss_buf_printf(out, "%s%.*s", out->len ? "," : "", SS_TEXT_MAX,
                          scalar_text(w));
    }
    return true;
}

static bool read_list(struct walker *w, const struct ss_field *field,
                      const char *place)
{
    struct ss_buf text;
    bool go_on;
    ss_buf_init(&text, (size_t)4 * SS_TEXT_MAX);
    go_on = read_items(w, &text);
    if (text.failed)
        w->resolve->hard = ss_buf_status(&text);
    else if (go_on)
        ss_resolve_set(w->resolve, place, field, ss_buf_text(&text));
    ss_buf_free(&text);
    return go_on;
}

/* The value of a known field stands at the current event. */
static bool read_value(struct walker *w, const struct ss_field *field)
{
    const char *bad = forbidden(&w->event);
    char place[256];
    char text[128];
    place_of(w, w->event.start_mark, place, sizeof place);
    if (!bad && w->event.type == YAML_SEQUENCE_START_EVENT &&
        ss_field_is_list(field))
        return read_list(w, field, place);
    if (!bad && w->event.type == YAML_SEQUENCE_START_EVENT)
        bad = "one value is expected here, not a list";
    if (!bad && w->event.type == YAML_MAPPING_START_EVENT)
        bad = "one value is expected here; sections have one level of keys";
    if (!bad && is_null(w))
        bad = "no value is given; write \"\" for an empty text";
    if (!bad) {
        ss_resolve_set(w->resolve, place, field, scalar_text(w));
        return true;
    }
    w->resolve->bad[field - ss_fields] = true;
    ss_format(text, sizeof text, "%s: %s", field->name, bad);
    problem(w, text);
    return skip(w);
}

static void unknown_key(struct walker *w, const char *name)
{
    const char *near = NULL;
    char text[256];
    /* Once enough is shown, a file of a million keys costs no search. */
    if (w->resolve->n_problems < SS_PROBLEMS_SHOWN)
        near = ss_field_nearest(name);
    ss_format(text, sizeof text, "unknown key %s; %s%s%s", name,
              near ? "did you mean " : SS_KEYS_LISTED, near ? near : "",
              near ? "?" : "");
    problem(w, text);
}

/* Notes where a name is used; a second time is a problem. */
static void note_line(struct walker *w, const char *name, size_t *line)
{
    size_t now = w->event.start_mark.line + 1;
    char text[128];
    if (*line != 0) {
        ss_format(text, sizeof text,
                  "%s stands twice, in lines %zu and %zu; keep one", name,
                  *line, now);
        problem(w, text);
        return;
    }
    *line = now;
}

/* Reads a key into `out`; a key that is no plain word is a problem. */
static bool read_key(struct walker *w, char *out, size_t size, bool *good)
{
    const char *bad = forbidden(&w->event);
    if (!bad && w->event.type != YAML_SCALAR_EVENT)
        bad = "a key must be a word";
    *good = bad == NULL;
    if (*good)
        ss_copy(out, size, scalar_text(w));
    else
        problem(w, bad);
    return skip(w);
}

static bool read_section(struct walker *w, const char *section)
{
    for (;;) {
        char key[96];
        char name[192];
        const struct ss_field *field = NULL;
        bool good;
        if (!next(w))
            return false;
        if (w->event.type == YAML_MAPPING_END_EVENT)
            return true;
        if (!read_key(w, key, sizeof key, &good))
            return false;
        if (good) {
            ss_format(name, sizeof name, "%s.%s", section, key);
            field = ss_field_find(name);
            if (field)
                note_line(w, name, &w->line[field - ss_fields]);
            else
                unknown_key(w, name);
        }
        if (!next(w) || !(field ? read_value(w, field) : skip(w)))
            return false;
    }
}

static void unknown_section(struct walker *w, const char *section)
{
    const char *near = ss_field_nearest_section(section);
    char text[256];
    if (ss_field_find(section))
        ss_format(text, sizeof text,
                  "%s: write the section and the indented key on lines of "
                  "their own",
                  section);
    else if (near)
        ss_format(text, sizeof text, "unknown section %s; did you mean %s?",
                  section, near);
    else
        ss_format(text, sizeof text, "unknown section %s; " SS_KEYS_LISTED,
                  section);
    problem(w, text);
}

/* The value of a section name stands at the current event. */
static bool read_section_value(struct walker *w, const char *section)
{
    const char *bad = forbidden(&w->event);
    char text[192];
    if (!bad && w->event.type == YAML_MAPPING_START_EVENT)
        return read_section(w, section);
    if (!bad && is_null(w))
        return true; /* every key of the section is commented out */
    ss_format(text, sizeof text, "%s: %s", section,
              bad ? bad : "indented keys are expected below a section");
    problem(w, text);
    return skip(w);
}

static bool read_sections(struct walker *w)
{
    for (;;) {
        char section[96];
        bool good;
        int index;
        if (!next(w))
            return false;
        if (w->event.type == YAML_MAPPING_END_EVENT)
            return true;
        if (!read_key(w, section, sizeof section, &good))
            return false;
        index = good ? ss_field_section(section) : -1;
        if (index >= 0)
            note_line(w, section, &w->section_line[index]);
        else if (good)
            unknown_section(w, section);
        if (!next(w) ||
            !(index >= 0 ? read_section_value(w, section) : skip(w)))
            return false;
    }
}

static bool read_document(struct walker *w)
{
    const char *bad;
    if (!next(w))
        return false;
    bad = forbidden(&w->event);
    if (!bad && w->event.type == YAML_MAPPING_START_EVENT)
        return read_sections(w);
    problem(w, bad ? bad
                   : "sections such as \"model:\" with indented keys are "
                     "expected");
    return skip(w);
}

static void read_stream(struct walker *w)
{
    /* Stream start, then a document or the end (comments only). */
    if (!next(w))
        return;
    if (!next(w) || w->event.type == YAML_STREAM_END_EVENT)
        return;
    if (!read_document(w) || !next(w)) /* the document's end */
        return;
    if (!next(w))
        return;
    if (w->event.type != YAML_STREAM_END_EVENT)
        problem(w, "a second document begins here; use one");
}

/* What needs no parser to be seen; NULL if nothing. */
static const char *refuse_bytes(const struct ss_config_sources *sources)
{
    if (sources->yaml_len == 0)
        return "the file is empty; remove --config or write settings";
    if (sources->yaml_len > SS_CONFIG_FILE_MAX)
        return "the file is larger than 1 MiB; this is not a settings file";
    if (memchr(sources->yaml, '\0', sources->yaml_len))
        return "the file is binary, not a YAML text";
    return NULL;
}

void ss_config_read_yaml(struct ss_resolve *resolve)
{
    const struct ss_config_sources *sources = resolve->sources;
    const char *bad = refuse_bytes(sources);
    struct walker w = {.resolve = resolve,
                       .name = sources->yaml_name ? sources->yaml_name
                                                  : "configuration"};
    if (bad) {
        ss_problem(resolve, "%.200s: %s", w.name, bad);
        return;
    }
    if (!yaml_parser_initialize(&w.parser)) {
        resolve->hard = ss_fail(SS_ERR_NO_MEMORY,
                                "cannot read %.200s: out of memory", w.name);
        return;
    }
    yaml_parser_set_input_string(
        &w.parser, (const unsigned char *)sources->yaml, sources->yaml_len);
    read_stream(&w);
    drop_event(&w);
    yaml_parser_delete(&w.parser);
}
