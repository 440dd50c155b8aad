/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one home of libsmartcols: it measures columns and keeps a table within
 * the page, which is easy to get wrong by hand. Output is plain text whatever
 * the terminal, so that a report mailed around looks as it did on screen. It
 * must not know what a column means.
 */
#include "report/grid.h"

#include <inttypes.h>
#include <libsmartcols.h>
#include <stdlib.h>
#include <string.h>

#include "report/parts.h"

void ss_grid_open(struct ss_grid *table)
{
    *table = (struct ss_grid){.table = scols_new_table()};
    if (!table->table) {
        table->failed = true;
        return;
    }
    scols_table_enable_colors(table->table, 0);
    scols_table_enable_ascii(table->table, 1);
    scols_table_set_termforce(table->table, SCOLS_TERMFORCE_ALWAYS);
    scols_table_set_termwidth(table->table, SS_REPORT_WIDTH);
}

void ss_grid_column(struct ss_grid *table, const char *name,
                    enum ss_align align)
{
    int flags = align == SS_RIGHT      ? SCOLS_FL_RIGHT
                : align == SS_LEFT_CUT ? SCOLS_FL_TRUNC
                                       : 0;
    if (!table->failed && !scols_table_new_column(table->table, name, 0, flags))
        table->failed = true;
}

void ss_grid_row(struct ss_grid *table)
{
    if (table->failed)
        return;
    table->line = scols_table_new_line(table->table, NULL);
    table->column = 0;
    if (!table->line)
        table->failed = true;
}

void ss_grid_cell(struct ss_grid *table, const char *text)
{
    if (table->failed)
        return;
    if (scols_line_set_data(table->line, table->column, text) != 0)
        table->failed = true;
    table->column++;
}

void ss_grid_cell_int(struct ss_grid *table, int64_t value)
{
    char text[24];
    ss_format(text, sizeof text, "%" PRId64, value);
    ss_grid_cell(table, text);
}

/* Appends line by line without the blanks that pad the last column. */
static void append_trimmed(struct ss_buf *out, const char *text)
{
    while (*text) {
        size_t len = strcspn(text, "\n");
        size_t used = len;
        while (used > 0 && text[used - 1] == ' ')
            used--;
        ss_buf_append(out, text, used);
        ss_buf_append(out, "\n", 1);
        text += len + (text[len] == '\n');
    }
}

enum ss_status ss_grid_print(struct ss_grid *table, struct ss_buf *out)
{
    char *text = NULL;
    bool failed = table->failed;
    if (!failed)
        failed = scols_print_table_to_string(table->table, &text) != 0;
    if (!failed && text)
        append_trimmed(out, text);
    free(text); /* taken by libsmartcols from the C library's heap */
    scols_unref_table(table->table);
    table->table = NULL;
    if (failed)
        return ss_fail(SS_ERR_NO_MEMORY,
                       "cannot lay out a table of the report: out of memory");
    return SS_OK;
}
