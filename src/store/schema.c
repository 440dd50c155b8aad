/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The end of life of what the reader hands out. Apart from the reader, so
 * that a program which only fills and frees these structs (the sweep, tests)
 * needs no word of HDF5.
 */
#include "store/schema.h"

#include <string.h>

#include "base/mem.h"

bool ss_mode_has_steps(const char *mode)
{
    return strcmp(mode, SS_MODE_PAIRS) != 0 && strcmp(mode, SS_MODE_COLLS) != 0;
}

void ss_point_data_free(struct ss_point_data *point)
{
    ss_free(point->rank);
    ss_free(point->block);
    ss_free(point->block_rank);
    ss_free(point->step_ns);
    ss_free(point->terms);
    ss_free(point->net);
    ss_free(point->path);
    ss_free(point->check);
    ss_free(point->pair);
    ss_free(point->coll);
    ss_free(point->port);
    *point = (struct ss_point_data){0};
}

void ss_run_data_free(struct ss_run_data *run)
{
    for (int i = 0; i < run->n_points; i++)
        ss_point_data_free(&run->point[i]);
    ss_free(run->point);
    ss_free(run->rank);
    ss_free(run->node);
    ss_free(run->versions);
    ss_free(run->variable);
    ss_free(run->config_yaml);
    ss_free(run->command_line);
    ss_free(run->last_words);
    ss_free(run->verdict_json);
    *run = (struct ss_run_data){0};
}
