/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_REPORT_GRID_H
#define SS_REPORT_GRID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "base/str.h"

/**
 * One table of plain text. Columns first, then rows cell by cell; errors are
 * sticky and come back from ss_grid_print, which also frees everything.
 */
struct libscols_table;
struct libscols_line;
struct ss_grid {
    struct libscols_table *table;
    struct libscols_line *line;
    size_t column; /**< that the next cell fills */
    bool failed;
};
enum ss_align { SS_LEFT, SS_RIGHT, SS_LEFT_CUT /**< cut when too wide */ };

void ss_grid_open(struct ss_grid *table);
void ss_grid_column(struct ss_grid *table, const char *name,
                    enum ss_align align);
void ss_grid_row(struct ss_grid *table);
void ss_grid_cell(struct ss_grid *table, const char *text);
void ss_grid_cell_int(struct ss_grid *table, int64_t value);
enum ss_status ss_grid_print(struct ss_grid *table, struct ss_buf *out);

#endif
