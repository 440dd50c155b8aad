/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of all options, for --help and for results/README.md. It is made
 * from fields.def, so the documentation cannot lag behind the program. It
 * must not print: the caller owns stdout.
 */
#include <string.h>

#include "config/config_internal.h"

#define INDENT 6
#define WIDTH 78

/* Breaks at blanks; a word longer than the line stands alone. */
static void put_wrapped(struct ss_buf *out, const char *text)
{
    size_t column = 0;
    while (*text) {
        size_t word = strcspn(text, " ");
        if (column > 0 && column + 1 + word > WIDTH - INDENT) {
            ss_buf_append(out, "\n", 1);
            column = 0;
        }
        if (column == 0)
            ss_buf_printf(out, "%*s", INDENT, "");
        else
            ss_buf_append(out, " ", 1);
        column += word + (column > 0);
        ss_buf_append(out, text, word);
        text += word;
        text += strspn(text, " ");
    }
    ss_buf_append(out, "\n", 1);
}

/* A bar would end the cell of a Markdown table. */
static void put_cell(struct ss_buf *out, const char *text)
{
    ss_buf_append(out, " ", 1);
    for (; *text; text++) {
        if (*text == '|')
            ss_buf_append(out, "\\", 1);
        ss_buf_append(out, text, 1);
    }
    ss_buf_append(out, " |", 2);
}

static void put_row(struct ss_buf *out, const struct ss_field *field,
                    const char *value, const char *range)
{
    char name[SS_NAME_MAX];
    char code[SS_VALUE_MAX + 4];
    ss_format(name, sizeof name, "`%s`", field->name);
    ss_format(code, sizeof code, "`%s`", value);
    ss_buf_append(out, "|", 1);
    put_cell(out, name);
    put_cell(out, code);
    put_cell(out, range);
    put_cell(out, field->help);
    ss_buf_append(out, "\n", 1);
}

static void put_entry(struct ss_buf *out, const struct ss_field *field,
                      const char *value, const char *range)
{
    ss_buf_printf(out, "  %s=%s  (%s)\n", field->name, value, range);
    put_wrapped(out, field->help);
}

enum ss_status ss_config_help(struct ss_buf *out, bool markdown)
{
    struct ss_config config;
    ss_config_default(&config);
    if (markdown)
        ss_buf_printf(out, "| key | default | range | meaning |\n"
                           "|---|---|---|---|\n");
    for (size_t i = 0; i < SS_N_FIELDS; i++) {
        char value[SS_VALUE_MAX];
        char range[128];
        ss_field_yaml(&ss_fields[i], &config, value);
        ss_field_range(&ss_fields[i], range, sizeof range);
        if (markdown)
            put_row(out, &ss_fields[i], value, range);
        else
            put_entry(out, &ss_fields[i], value, range);
    }
    return ss_buf_status(out);
}
