/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table that fields.def becomes, and how a text becomes a member. One
 * setter serves defaults, YAML, environment and command line, so a value
 * means the same wherever it comes from. It must not know those sources.
 */
#include <stddef.h>
#include <string.h>

#include "base/units.h"
#include "config/config_internal.h"

#define FIELD(s, k, d, t, h)                                                   \
    .section = #s, .key = #k, .name = #s "." #k, .def = (d), .help = (h),      \
    .type = SS_FIELD_##t, .offset = offsetof(struct ss_config, s##_##k)

const struct ss_field ss_fields[SS_N_FIELDS] = {
#define INT(s, k, d, l, u, h) {FIELD(s, k, #d, INT, h), .lo = (l), .hi = (u)},
#define DBL(s, k, d, l, u, h) {FIELD(s, k, #d, DBL, h), .dlo = (l), .dhi = (u)},
#define BOOL(s, k, d, h) {FIELD(s, k, #d, BOOL, h)},
#define TIME(s, k, d, l, u, h) {FIELD(s, k, d, TIME, h), .lo = (l), .hi = (u)},
#define BYTES(s, k, d, l, u, h)                                                \
    {FIELD(s, k, d, BYTES, h), .lo = (l), .hi = (u)},
#define RATE(s, k, d, h) {FIELD(s, k, d, RATE, h)},
#define ENUM(s, k, d, c, h) {FIELD(s, k, d, ENUM, h), .choices = (c)},
#define TEXT(s, k, d, h) {FIELD(s, k, d, TEXT, h)},
#include "config/fields.def"
};

const struct ss_field *ss_field_find(const char *name)
{
    for (size_t i = 0; i < SS_N_FIELDS; i++) {
        if (strcmp(ss_fields[i].name, name) == 0)
            return &ss_fields[i];
    }
    return NULL;
}

int ss_field_section(const char *section)
{
    for (size_t i = 0; i < SS_N_FIELDS; i++) {
        if (strcmp(ss_fields[i].section, section) == 0)
            return (int)i;
    }
    return -1;
}

bool ss_field_is_list(const struct ss_field *field)
{
    return field == &ss_fields[SS_KEY_scaling_sizes] ||
           field == &ss_fields[SS_KEY_scaling_modes] ||
           field == &ss_fields[SS_KEY_probe_sizes] ||
           field == &ss_fields[SS_KEY_probe_ops] ||
           field == &ss_fields[SS_KEY_probe_coll_sizes];
}

const char *ss_field_nearest(const char *name)
{
    const char *names[SS_N_FIELDS + 1];
    for (size_t i = 0; i < SS_N_FIELDS; i++)
        names[i] = ss_fields[i].name;
    names[SS_N_FIELDS] = NULL;
    return ss_nearest(name, names);
}

const char *ss_field_nearest_section(const char *name)
{
    const char *names[SS_N_FIELDS + 1];
    for (size_t i = 0; i < SS_N_FIELDS; i++)
        names[i] = ss_fields[i].section;
    names[SS_N_FIELDS] = NULL;
    return ss_nearest(name, names);
}

/* Adds what this field accepts to the text that a parser left. */
static enum ss_status with_range(const struct ss_field *field,
                                 enum ss_status status)
{
    char range[128];
    if (status != SS_ERR_CONFIG)
        return status;
    ss_field_range(field, range, sizeof range);
    return ss_fail(status, "%.300s; range: %s", ss_error_text(), range);
}

static enum ss_status out_of_range(const struct ss_field *field,
                                   const char *text)
{
    char range[128];
    ss_field_range(field, range, sizeof range);
    return ss_fail(SS_ERR_CONFIG, "%.40s is out of range; accepted: %s", text,
                   range);
}

static enum ss_status set_int(const struct ss_field *field, void *member,
                              const char *text)
{
    int64_t value;
    enum ss_status status = field->type == SS_FIELD_TIME
                                ? ss_parse_time(text, &value)
                                : ss_parse_int(text, &value);
    if (status != SS_OK)
        return with_range(field, status);
    if (value < field->lo || value > field->hi)
        return out_of_range(field, text);
    memcpy(member, &value, sizeof value);
    return SS_OK;
}

static enum ss_status set_bytes(const struct ss_field *field, void *member,
                                const char *text)
{
    uint64_t value;
    enum ss_status status = ss_parse_bytes(text, &value);
    if (status != SS_OK)
        return with_range(field, status);
    if (value < (uint64_t)field->lo || value > (uint64_t)field->hi)
        return out_of_range(field, text);
    memcpy(member, &value, sizeof value);
    return SS_OK;
}

static enum ss_status set_double(const struct ss_field *field, void *member,
                                 const char *text)
{
    double value;
    enum ss_status status = ss_parse_double(text, &value);
    if (status != SS_OK)
        return with_range(field, status);
    if (!(value >= field->dlo && value <= field->dhi))
        return out_of_range(field, text);
    value += 0.0; /* -0.0 and 0.0 are one setting, and one hash */
    memcpy(member, &value, sizeof value);
    return SS_OK;
}

int ss_field_choice(const char *choices, const char *word)
{
    size_t len = strlen(word);
    for (int i = 0; choices; i++) {
        size_t n = strcspn(choices, "|");
        if (n == len && strncmp(choices, word, n) == 0)
            return i;
        choices = choices[n] == '|' ? choices + n + 1 : NULL;
    }
    return -1;
}

/* The nearest choice, in out; false if none is near. */
static bool nearest_choice(const char *choices, const char *word, char *out,
                           size_t size)
{
    char copy[128];
    const char *names[32] = {NULL};
    const char *found;
    size_t n = 0;
    char *p = copy;
    ss_copy(copy, sizeof copy, choices);
    while (p && n + 1 < SS_COUNT_OF(names)) {
        names[n++] = p;
        p = strchr(p, '|');
        if (p)
            *p++ = '\0';
    }
    found = ss_nearest(word, names);
    return found && ss_copy(out, size, found);
}

static enum ss_status set_enum(const struct ss_field *field, void *member,
                               const char *text)
{
    int value = ss_field_choice(field->choices, text);
    char near[32];
    if (value >= 0) {
        memcpy(member, &value, sizeof value);
        return SS_OK;
    }
    if (nearest_choice(field->choices, text, near, sizeof near))
        return ss_fail(SS_ERR_CONFIG,
                       "\"%.40s\" is not one of %s; did you mean %s?", text,
                       field->choices, near);
    return ss_fail(SS_ERR_CONFIG, "\"%.40s\" is not one of %s", text,
                   field->choices);
}

/* The length of the character at p, 0 if it is not one of UTF-8. */
static size_t utf8_char(const unsigned char *p, uint32_t *out)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t n = *p < 0x80   ? 1
               : *p < 0xC2 ? 0
               : *p < 0xE0 ? 2
               : *p < 0xF0 ? 3
                           : 4;
    uint32_t c = n == 1 ? *p : *p & (0xFFu >> (n + 1));
    if (n == 0 || *p > 0xF4)
        return 0;
    for (size_t i = 1; i < n; i++) {
        if ((p[i] & 0xC0) != 0x80)
            return 0;
        c = c << 6 | (p[i] & 0x3Fu);
    }
    if (c < least[n] || c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF))
        return 0;
    *out = c;
    return n;
}

/* Texts are stored as YAML: what YAML folds or forbids is refused here. */
static enum ss_status check_text(const char *text)
{
    const unsigned char *p = (const unsigned char *)text;
    while (*p) {
        uint32_t c = 0;
        size_t n = utf8_char(p, &c);
        if (n == 0)
            return ss_fail(SS_ERR_CONFIG, "the text has bytes that are not "
                                          "UTF-8; use a UTF-8 text");
        if (c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0x2028 || c == 0x2029 ||
            c == 0xFEFF || c == 0xFFFE || c == 0xFFFF)
            return ss_fail(SS_ERR_CONFIG,
                           "the text has a control character (U+%04X); use "
                           "printable characters",
                           (unsigned)c);
        p += n;
    }
    return SS_OK;
}

static enum ss_status set_text(void *member, const char *text)
{
    size_t len = strlen(text);
    if (len >= SS_TEXT_MAX)
        return ss_fail(SS_ERR_CONFIG,
                       "the text is too long; accepted: at most %d bytes",
                       SS_TEXT_MAX - 1);
    SS_TRY(check_text(text));
    /* The tail is cleared so that equal configurations are equal bytes. */
    memset(member, 0, SS_TEXT_MAX);
    memcpy(member, text, len);
    return SS_OK;
}

enum ss_status ss_field_set(const struct ss_field *field,
                            struct ss_config *config, const char *text)
{
    void *member = (char *)config + field->offset;
    switch (field->type) {
    case SS_FIELD_INT:
    case SS_FIELD_TIME:
        return set_int(field, member, text);
    case SS_FIELD_BYTES:
        return set_bytes(field, member, text);
    case SS_FIELD_DBL:
        return set_double(field, member, text);
    case SS_FIELD_RATE:
        return ss_parse_rate(text, member);
    case SS_FIELD_BOOL:
        return ss_parse_bool(text, member);
    case SS_FIELD_ENUM:
        return set_enum(field, member, text);
    case SS_FIELD_TEXT:
        return set_text(member, text);
    }
    return ss_fail(SS_ERR_INTERNAL, "field %s has no type", field->name);
}
