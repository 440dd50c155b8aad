/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_CONFIG_INTERNAL_H
#define SS_CONFIG_INTERNAL_H

/*
 * Shared by the files of this room only: the table that fields.def becomes,
 * and the state of one resolution.
 */
#include "config/config.h"

enum ss_field_type {
    SS_FIELD_INT,
    SS_FIELD_DBL,
    SS_FIELD_BOOL,
    SS_FIELD_TIME,
    SS_FIELD_BYTES,
    SS_FIELD_RATE,
    SS_FIELD_ENUM,
    SS_FIELD_TEXT
};

struct ss_field {
    const char *section;
    const char *key;
    const char *name; /**< "section.key" */
    const char *def;  /**< default as text, parsed like any other value */
    const char *choices;
    const char *help;
    size_t offset; /**< of the member in struct ss_config */
    enum ss_field_type type;
    int64_t lo, hi;  /**< INT, TIME, BYTES */
    double dlo, dhi; /**< DBL */
};

enum {
#define INT(s, k, d, lo, hi, h) SS_KEY_##s##_##k,
#define DBL(s, k, d, lo, hi, h) SS_KEY_##s##_##k,
#define BOOL(s, k, d, h) SS_KEY_##s##_##k,
#define TIME(s, k, d, lo, hi, h) SS_KEY_##s##_##k,
#define BYTES(s, k, d, lo, hi, h) SS_KEY_##s##_##k,
#define RATE(s, k, d, h) SS_KEY_##s##_##k,
#define ENUM(s, k, d, choices, h) SS_KEY_##s##_##k,
#define TEXT(s, k, d, h) SS_KEY_##s##_##k,
#include "config/fields.def"
    SS_N_FIELDS
};

#define SS_NAME_MAX 64        /**< longer than any "SS_SECTION_KEY" */
#define SS_VALUE_MAX 1100     /**< a quoted text with every byte escaped */
#define SS_PROBLEMS_SHOWN 200 /**< further ones are only counted */
#define SS_KEYS_LISTED "`stepscale config --help` lists the keys"

extern const struct ss_field ss_fields[SS_N_FIELDS];

/** The field called "section.key", or NULL. */
const struct ss_field *ss_field_find(const char *name);
/** The index of the first field of a section, or -1. */
int ss_field_section(const char *section);
/** True for the texts that YAML may write as a list. */
bool ss_field_is_list(const struct ss_field *field);
/** The nearest field or section name, or NULL. */
const char *ss_field_nearest(const char *name);
const char *ss_field_nearest_section(const char *name);
/**
 * Parses and stores one value. On SS_ERR_CONFIG the error text quotes the
 * input and says what is accepted, without the field's name.
 */
enum ss_status ss_field_set(const struct ss_field *field,
                            struct ss_config *config, const char *text);
/** The choice called `word` in "a|b|c", or -1. */
int ss_field_choice(const char *choices, const char *word);
/** The member's value as canonical YAML, and without quotes. */
void ss_field_yaml(const struct ss_field *field, const struct ss_config *config,
                   char out[SS_VALUE_MAX]);
void ss_field_plain(const struct ss_field *field,
                    const struct ss_config *config, char out[SS_VALUE_MAX]);
/** "0 to 1024", "auto|fp64|fp32": what a field accepts. */
void ss_field_range(const struct ss_field *field, char *out, size_t size);

/** One resolution in progress. */
struct ss_resolve {
    const struct ss_config_sources *sources;
    struct ss_buf *problems;
    struct ss_config config;
    int n_problems;
    int n_shown;
    char first[SS_ERROR_TEXT_MAX]; /**< the first problem, cut */
    bool bad[SS_N_FIELDS];         /**< some source gave a wrong value */
    enum ss_status hard;           /**< not the user's fault: memory */
};

/** A message is one line whatever bytes the user's input had. */
void ss_make_printable(char *line);
/** Records one problem (a line). */
void ss_problem(struct ss_resolve *resolve, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/** Sets a known field; a wrong value is a problem that begins with `place`. */
void ss_resolve_set(struct ss_resolve *resolve, const char *place,
                    const struct ss_field *field, const char *value);

/** Takes one "NAME=value" of the environment. */
void ss_config_read_variable(struct ss_resolve *resolve, const char *entry);
/** Reads the YAML source into resolve->config. */
void ss_config_read_yaml(struct ss_resolve *resolve);
/** Grammar of texts and rules between fields. */
void ss_config_check(struct ss_resolve *resolve);
/** Those of a probe's collectives. */
void ss_config_check_colls(struct ss_resolve *resolve);
/**
 * Takes the next item of a comma list without the blanks around it, cut to
 * `size`; false at the end, where *list is NULL.
 */
bool ss_list_next(const char **list, char *out, size_t size);
/** SS_ERR_CONFIG unless the text is a list of sizes for some world. */
enum ss_status ss_sizes_check_syntax(const char *text);

#endif
