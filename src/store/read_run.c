/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The objects of the provenance (0000.h5, or /run of a result). It must not
 * know points.
 */
#include "store/read_file.h"

#include "store/read_check.h"
#include "store/table_read.h"

static enum ss_status read_flat(const struct ss_h5_place *place,
                                const struct ss_table *table, void **rows,
                                int *n)
{
    struct ss_h5_shape shape = {.rank = 1};
    SS_TRY(ss_h5_read_table(place, table, &shape, rows));
    *n = (int)shape.dims[0];
    return SS_OK;
}

static enum ss_status read_tables(const struct ss_h5_place *place,
                                  struct ss_run_data *run)
{
    void *rows = NULL;
    SS_TRY(read_flat(place, &ss_table_rank, &rows, &run->n_ranks));
    run->rank = rows;
    SS_TRY(read_flat(place, &ss_table_node, &rows, &run->n_nodes));
    run->node = rows;
    SS_TRY(read_flat(place, &ss_table_version, &rows, &run->n_versions));
    run->versions = rows;
    SS_TRY(read_flat(place, &ss_table_variable, &rows, &run->n_variables));
    run->variable = rows;
    return SS_OK;
}

enum ss_status ss_run_objects_read(const struct ss_h5_place *place,
                                   struct ss_run_data *run)
{
    char wrong[SS_CHECK_TEXT_MAX];
    for (int i = 0; i < ss_table_run.n_columns; i++)
        SS_TRY(ss_h5_read_attr(place, &ss_table_run, &ss_table_run.columns[i],
                               run));
    SS_TRY(ss_h5_read_text(place, "config_yaml", &run->config_yaml));
    SS_TRY(ss_h5_read_text(place, "command_line", &run->command_line));
    SS_TRY(read_tables(place, run));
    if (!ss_check_run(run, wrong, sizeof wrong))
        return ss_h5_damaged(place, "", wrong);
    return SS_OK;
}
