/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From many sources to one struct. Every source is read to its end, weakest
 * first, so that all problems of a job are reported at once; nothing is
 * returned unless there is none. Pure: no files, no clock, no ranks; whoever
 * calls hands over bytes and the environment.
 */
#define XXH_STATIC_LINKING_ONLY /* a hash state without heap */
#include <xxhash.h>

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "config/config_internal.h"

#define LINE_BYTES 1024

void ss_config_default(struct ss_config *config)
{
    memset(config, 0, sizeof *config);
    for (size_t i = 0; i < SS_N_FIELDS; i++) {
        enum ss_status status =
            ss_field_set(&ss_fields[i], config, ss_fields[i].def);
        SS_ASSERT(status == SS_OK);
    }
}

void ss_make_printable(char *line)
{
    for (; *line; line++) {
        if ((unsigned char)*line < 0x20 || *line == 0x7F)
            *line = '?';
    }
}

void ss_problem(struct ss_resolve *resolve, const char *format, ...)
{
    struct ss_buf *buf = resolve->problems;
    char line[LINE_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    ss_make_printable(line);
    if (resolve->n_problems++ == 0)
        ss_copy(resolve->first, sizeof resolve->first - 40, line);
    /* The caller's ceiling must not turn a wrong file into lost memory. */
    if (resolve->n_shown >= SS_PROBLEMS_SHOWN ||
        buf->max - buf->len < 2 * sizeof line)
        return;
    resolve->n_shown++;
    ss_buf_printf(buf, "%s\n", line);
    if (buf->failed && resolve->hard == SS_OK)
        resolve->hard = ss_buf_status(buf);
}

void ss_resolve_set(struct ss_resolve *resolve, const char *place,
                    const struct ss_field *field, const char *value)
{
    enum ss_status status = ss_field_set(field, &resolve->config, value);
    if (status == SS_OK)
        return;
    resolve->bad[field - ss_fields] = true;
    if (status == SS_ERR_CONFIG)
        ss_problem(resolve, "%s: %s: %s", place, field->name, ss_error_text());
    else
        resolve->hard = status;
}

/* "did you mean" for a key that is none; `place` comes first. */
static void unknown_key(struct ss_resolve *resolve, const char *place,
                        const char *name)
{
    const char *near = ss_field_nearest(name);
    if (near)
        ss_problem(resolve, "%s: unknown key %s; did you mean %s?", place, name,
                   near);
    else
        ss_problem(resolve, "%s: unknown key %s; " SS_KEYS_LISTED, place, name);
}

static void read_setting(struct ss_resolve *resolve, const char *setting)
{
    char name[128];
    const struct ss_field *field;
    const char *value = strchr(setting, '=');
    if (!value) {
        ss_problem(resolve,
                   "command line: \"%.100s\" is not a setting; "
                   "accepted: section.key=value",
                   setting);
        return;
    }
    ss_format(name, sizeof name, "%.*s", (int)(value - setting), setting);
    field = ss_field_find(name);
    if (field)
        ss_resolve_set(resolve, "command line", field, value + 1);
    else
        unknown_key(resolve, "command line", name);
}

static enum ss_status finish(struct ss_resolve *resolve, struct ss_config *out)
{
    int more = resolve->n_problems - resolve->n_shown;
    if (resolve->hard != SS_OK)
        return resolve->hard;
    if (resolve->n_problems == 0) {
        *out = resolve->config;
        return SS_OK;
    }
    if (more > 0)
        ss_buf_printf(resolve->problems, "and %d more problem%s\n", more,
                      more == 1 ? "" : "s");
    SS_TRY(ss_buf_status(resolve->problems));
    if (resolve->n_problems == 1)
        return ss_fail(SS_ERR_CONFIG, "%s", resolve->first);
    return ss_fail(SS_ERR_CONFIG, "%s (and %d more problem%s)", resolve->first,
                   resolve->n_problems - 1,
                   resolve->n_problems == 2 ? "" : "s");
}

enum ss_status ss_config_resolve(const struct ss_config_sources *sources,
                                 struct ss_config *out, struct ss_buf *problems)
{
    struct ss_resolve resolve = {.sources = sources, .problems = problems};
    ss_config_default(&resolve.config);
    if (sources->yaml)
        ss_config_read_yaml(&resolve);
    for (char **entry = sources->environment; entry && *entry; entry++)
        ss_config_read_variable(&resolve, *entry);
    for (size_t i = 0; i < sources->n_settings; i++)
        read_setting(&resolve, sources->settings[i]);
    ss_config_check(&resolve);
    return finish(&resolve, out);
}

enum ss_status ss_config_set(struct ss_config *config, const char *key,
                             const char *value)
{
    const struct ss_field *field = ss_field_find(key);
    const char *near;
    enum ss_status status;
    if (!field) {
        near = ss_field_nearest(key);
        return near ? ss_fail(SS_ERR_CONFIG,
                              "unknown key %.100s; did you mean %s?", key, near)
                    : ss_fail(SS_ERR_CONFIG,
                              "unknown key %.100s; " SS_KEYS_LISTED, key);
    }
    status = ss_field_set(field, config, value);
    if (status == SS_ERR_CONFIG)
        return ss_fail(status, "%s: %s", field->name, ss_error_text());
    return status;
}

bool ss_config_is_setting(const char *arg)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789_";
    size_t section = strspn(arg, letters);
    size_t key;
    if (section == 0 || isdigit((unsigned char)arg[0]) || arg[section] != '.')
        return false;
    key = strspn(arg + section + 1, letters);
    return key > 0 && arg[section + 1 + key] == '=';
}

bool ss_config_get(const struct ss_config *config, const char *key,
                   struct ss_buf *out)
{
    const struct ss_field *field = ss_field_find(key);
    char value[SS_VALUE_MAX];
    if (!field)
        return false;
    ss_field_plain(field, config, value);
    ss_buf_append(out, value, strlen(value));
    return true;
}

/* The dump's lines of field i, with the section's head where one begins. */
static void dump_field(const struct ss_config *config, size_t i, char *line,
                       size_t size)
{
    const struct ss_field *field = &ss_fields[i];
    bool head = i == 0 || strcmp(ss_fields[i - 1].section, field->section) != 0;
    char value[SS_VALUE_MAX];
    ss_field_yaml(field, config, value);
    ss_format(line, size, "%s%s  %s: %s\n", head ? field->section : "",
              head ? ":\n" : "", field->key, value);
}

enum ss_status ss_config_dump(const struct ss_config *config,
                              struct ss_buf *out)
{
    char line[SS_VALUE_MAX + 2 * SS_NAME_MAX];
    for (size_t i = 0; i < SS_N_FIELDS; i++) {
        dump_field(config, i, line, sizeof line);
        ss_buf_append(out, line, strlen(line));
    }
    return ss_buf_status(out);
}

uint64_t ss_config_hash(const struct ss_config *config)
{
    char line[SS_VALUE_MAX + 2 * SS_NAME_MAX];
    XXH64_state_t state;
    XXH64_reset(&state, 0);
    for (size_t i = 0; i < SS_N_FIELDS; i++) {
        if (strcmp(ss_fields[i].section, "out") == 0)
            continue;
        dump_field(config, i, line, sizeof line);
        XXH64_update(&state, line, strlen(line));
    }
    return XXH64_digest(&state);
}
