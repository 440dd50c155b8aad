/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The objects of one point, from the root of a part or from a group of a
 * result: the same code, the place differs. Shapes are compared before the
 * larger arrays are read. It must not know other points or the run.
 */
#include "store/read_file.h"

#include "base/mem.h"
#include "base/str.h"
#include "store/read_check.h"
#include "store/table_read.h"

static enum ss_status read_flat(const struct ss_h5_place *place,
                                const struct ss_table *table, void **rows,
                                int64_t *n)
{
    struct ss_h5_shape shape = {.rank = 1};
    SS_TRY(ss_h5_read_table(place, table, &shape, rows));
    *n = (int64_t)shape.dims[0];
    return SS_OK;
}

static enum ss_status read_meta(const struct ss_h5_place *place,
                                struct ss_point_row *out)
{
    void *rows = NULL;
    int64_t n = 0;
    SS_TRY(read_flat(place, &ss_table_point, &rows, &n));
    if (n == 1)
        *out = *(struct ss_point_row *)rows;
    ss_free(rows);
    if (n != 1)
        return ss_h5_damaged(place, "point", "has not exactly one row");
    return SS_OK;
}

static enum ss_status shape_is(const struct ss_h5_place *place,
                               const char *name,
                               const struct ss_h5_shape *shape, int64_t rows,
                               int64_t columns)
{
    char what[128];
    if ((int64_t)shape->dims[0] == rows &&
        (columns < 0 || (int64_t)shape->dims[1] == columns))
        return SS_OK;
    ss_format(what, sizeof what,
              "is %llu x %llu where the other tables mean %lld x %lld",
              (unsigned long long)shape->dims[0],
              (unsigned long long)shape->dims[1], (long long)rows,
              (long long)(columns < 0 ? (int64_t)shape->dims[1] : columns));
    return ss_h5_damaged(place, name, what);
}

static enum ss_status read_samples(const struct ss_h5_place *place,
                                   struct ss_point_data *p)
{
    struct ss_h5_shape pairs = {.rank = 2};
    struct ss_h5_shape steps = {.rank = 2};
    int64_t n = 0;
    void *rows = NULL;
    SS_TRY(read_flat(place, &ss_table_block, &rows, &n));
    p->block = rows;
    p->n_blocks = (int)n;
    SS_TRY(ss_h5_read_table(place, &ss_table_block_rank, &pairs, &rows));
    p->block_rank = rows;
    SS_TRY(shape_is(place, "block_ranks", &pairs, p->n_blocks, p->n_ranks));
    SS_TRY(ss_h5_read_matrix(place, "step_ns", &steps, &p->wide, &p->step_ns));
    SS_TRY(shape_is(place, "step_ns", &steps, p->n_ranks, -1));
    p->n_steps = (int64_t)steps.dims[1];
    SS_TRY(read_flat(place, &ss_table_terms, &rows, &p->n_terms));
    p->terms = rows;
    return SS_OK;
}

static enum ss_status read_all(const struct ss_h5_place *place,
                               struct ss_point_data *p)
{
    char wrong[SS_CHECK_TEXT_MAX];
    void *rows = NULL;
    int64_t n = 0;
    SS_TRY(read_flat(place, &ss_table_point_rank, &rows, &n));
    p->rank = rows;
    p->n_ranks = (int)n;
    SS_TRY(read_samples(place, p));
    SS_TRY(read_flat(place, &ss_table_net, &rows, &n));
    p->net = rows;
    p->n_nets = (int)n;
    if (ss_h5_has(place, ss_table_path.name)) {
        SS_TRY(read_flat(place, &ss_table_path, &rows, &n));
        p->path = rows;
        p->n_paths = (int)n;
    }
    SS_TRY(read_flat(place, &ss_table_check, &rows, &n));
    p->check = rows;
    p->n_checks = (int)n;
    if (ss_h5_has(place, ss_table_pair.name)) {
        SS_TRY(read_flat(place, &ss_table_pair, &rows, &p->n_pairs));
        p->pair = rows;
    }
    if (ss_h5_has(place, ss_table_port.name)) {
        SS_TRY(read_flat(place, &ss_table_port, &rows, &n));
        p->port = rows;
        p->n_ports = (int)n;
    }
    if (ss_h5_has(place, ss_table_coll.name)) {
        SS_TRY(read_flat(place, &ss_table_coll, &rows, &p->n_colls));
        p->coll = rows;
    }
    if (!ss_check_point(p, wrong, sizeof wrong))
        return ss_h5_damaged(place, "", wrong);
    return SS_OK;
}

enum ss_status ss_point_read(const struct ss_h5_place *place,
                             struct ss_file_want want,
                             struct ss_point_data *out)
{
    struct ss_point_data point = {0};
    char wrong[SS_CHECK_TEXT_MAX];
    enum ss_status status = read_meta(place, &point.meta);
    if (status == SS_OK && want.depth == SS_READ_ALL)
        status = read_all(place, &point);
    else if (status == SS_OK && !ss_check_point(&point, wrong, sizeof wrong))
        status = ss_h5_damaged(place, "point", wrong);
    if (status != SS_OK || !want.keep) {
        struct ss_point_row meta = point.meta;
        ss_point_data_free(&point);
        point.meta = meta;
    }
    if (status == SS_OK)
        *out = point;
    return status;
}
