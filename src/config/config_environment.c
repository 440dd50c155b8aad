/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Settings from the environment: SS_SECTION_KEY. Other programs have SS_
 * variables too, so a wrong name in one of our sections is a problem, and any
 * other SS_ name is only pointed out. It must not read the environment itself:
 * the caller hands it over.
 */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/str.h"
#include "config/config_internal.h"

/* Ours, but of the build and the tests: no setting was meant by them. */
static const char *const not_settings[] = {
    "SS_BATS",          "SS_BUILD",       "SS_FUZZ",       "SS_FUZZ_SECONDS",
    "SS_KILL_AT",       "SS_KILL_POINTS", "SS_KILL_SHIM",  "SS_KILL_TELL",
    "SS_KILL_UNDER",    "SS_PACKAGES",    "SS_PROGRAM",    "SS_PYTHON",
    "SS_SANITIZE",      "SS_SIM_POINTS",  "SS_TESTS",      "SS_THREAD_JOB",
    "SS_UPDATE_GOLDEN", "SS_WERROR",      "SS_WRITE_PARTS"};

static void env_name(const struct ss_field *field, char out[SS_NAME_MAX])
{
    ss_format(out, SS_NAME_MAX, "SS_%s_%s", field->section, field->key);
    for (char *p = out; *p; p++)
        *p = (char)toupper((unsigned char)*p);
}

/* The SS_ name that an entry of the environment sets. */
static bool name_of(const char *entry, char *out, size_t size)
{
    const char *value = strchr(entry, '=');
    if (strncmp(entry, "SS_", 3) != 0 || !value)
        return false;
    ss_format(out, size, "%.*s", (int)(value - entry), entry);
    return true;
}

static const struct ss_field *field_of(const char *name)
{
    char known[SS_NAME_MAX];
    for (size_t i = 0; i < SS_N_FIELDS; i++) {
        env_name(&ss_fields[i], known);
        if (strcmp(name, known) == 0)
            return &ss_fields[i];
    }
    return NULL;
}

/* SS_BUDGET is what people type for SS_MEASURE_BUDGET. */
static bool env_by_key(const char *name, char out[SS_NAME_MAX])
{
    const struct ss_field *found = NULL;
    for (size_t i = 0; i < SS_N_FIELDS; i++) {
        if (strcasecmp(name + 3, ss_fields[i].key) != 0)
            continue;
        if (found)
            return false;
        found = &ss_fields[i];
    }
    if (found)
        env_name(found, out);
    return found != NULL;
}

/* The nearest variable of ours, in out; false if none is near. */
static bool nearest_env(const char *name, char out[SS_NAME_MAX])
{
    char names[SS_N_FIELDS][SS_NAME_MAX];
    const char *list[SS_N_FIELDS + 1] = {NULL};
    const char *near;
    for (size_t i = 0; i < SS_N_FIELDS; i++) {
        env_name(&ss_fields[i], names[i]);
        list[i] = names[i];
    }
    near = ss_nearest(name, list);
    return near && ss_copy(out, SS_NAME_MAX, near);
}

/* Other programs have SS_ variables too: only our sections are ours. */
static bool env_is_ours(const char *name)
{
    for (size_t i = 0; i < SS_N_FIELDS; i++) {
        size_t n = strlen(ss_fields[i].section);
        if (strncasecmp(name + 3, ss_fields[i].section, n) == 0 &&
            name[3 + n] == '_')
            return true;
    }
    return false;
}

void ss_config_read_variable(struct ss_resolve *resolve, const char *entry)
{
    char name[128];
    char known[SS_NAME_MAX];
    const struct ss_field *field;
    if (!name_of(entry, name, sizeof name))
        return;
    field = field_of(name);
    if (field)
        ss_resolve_set(resolve, name, field, strchr(entry, '=') + 1);
    if (field || !env_is_ours(name))
        return;
    if (nearest_env(name, known))
        ss_problem(resolve,
                   "environment: unknown variable %s; did you mean %s?", name,
                   known);
    else
        ss_problem(resolve, "environment: unknown variable %s; " SS_KEYS_LISTED,
                   name);
}

static bool is_no_setting(const char *name)
{
    for (size_t i = 0; i < SS_COUNT_OF(not_settings); i++) {
        if (strcmp(name, not_settings[i]) == 0)
            return true;
    }
    return false;
}

static void point_out(const char *name, struct ss_buf *out)
{
    char known[SS_NAME_MAX];
    ss_buf_printf(out, "environment: %s is no setting and has no effect; ",
                  name);
    if (env_by_key(name, known) || nearest_env(name, known))
        ss_buf_printf(out, "did you mean %s?\n", known);
    else
        ss_buf_printf(out, SS_KEYS_LISTED "\n");
}

enum ss_status ss_config_odd_variables(char *const *environment,
                                       struct ss_buf *out)
{
    char name[128];
    for (; environment && *environment; environment++) {
        if (name_of(*environment, name, sizeof name) && !env_is_ours(name) &&
            !is_no_setting(name)) {
            ss_make_printable(name);
            point_out(name, out);
        }
    }
    return ss_buf_status(out);
}
