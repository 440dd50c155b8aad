/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns what rank 0 has gathered into the files of a part folder. A part that
 * the reader would refuse is refused here already, where the run can still
 * say so. It must not know how bytes reach the disk (disk_file.c) nor who
 * measured what.
 */
#include "store/store.h"

#include <string.h>

#include "store/hdf5_util.h"
#include "store/part_folder.h"
#include "store/read_check.h"

static enum ss_status write_head(const struct ss_h5_place *root,
                                 const char *kind, const char *run_id,
                                 int index)
{
    SS_TRY(ss_h5_write_attr_int(root, "schema", SS_SCHEMA));
    SS_TRY(ss_h5_write_attr_text(root, "kind", kind));
    SS_TRY(ss_h5_write_attr_text(root, "run_id", run_id));
    return ss_h5_write_attr_int(root, "index", index);
}

static enum ss_status write_flat(const struct ss_h5_place *root,
                                 const struct ss_table *table, const void *rows,
                                 int64_t n)
{
    return ss_h5_write_table(root, table, rows, (hsize_t)n, SS_H5_FLAT);
}

static enum ss_status write_run(const struct ss_h5_place *root,
                                const struct ss_run_data *run)
{
    SS_TRY(write_head(root, "run", run->run_id, 0));
    for (int i = 0; i < ss_table_run.n_columns; i++)
        SS_TRY(ss_h5_write_attr(root, &ss_table_run.columns[i], run));
    SS_TRY(ss_h5_write_text(root, "config_yaml",
                            run->config_yaml ? run->config_yaml : "",
                            "the resolved configuration"));
    SS_TRY(ss_h5_write_text(root, "command_line",
                            run->command_line ? run->command_line : "",
                            "as it was typed"));
    SS_TRY(write_flat(root, &ss_table_rank, run->rank, run->n_ranks));
    SS_TRY(write_flat(root, &ss_table_node, run->node, run->n_nodes));
    SS_TRY(write_flat(root, &ss_table_version, run->versions, run->n_versions));
    return write_flat(root, &ss_table_variable, run->variable,
                      run->n_variables);
}

static enum ss_status write_samples(const struct ss_h5_place *root,
                                    const struct ss_point_data *point)
{
    const struct ss_column steps = {
        .name = "step_ns",
        .text = "[rank][step]: T of every step of every block",
        .kind = point->wide ? SS_KIND_U64 : SS_KIND_I32};
    SS_TRY(write_flat(root, &ss_table_block, point->block, point->n_blocks));
    SS_TRY(ss_h5_write_table(root, &ss_table_block_rank, point->block_rank,
                             (hsize_t)point->n_blocks,
                             (hsize_t)point->n_ranks));
    SS_TRY(ss_h5_write_matrix(root, &steps, point->step_ns,
                              (hsize_t)point->n_ranks,
                              (hsize_t)point->n_steps));
    return write_flat(root, &ss_table_terms, point->terms, point->n_terms);
}

static enum ss_status write_point(const struct ss_disk_file *file,
                                  const char *run_id,
                                  const struct ss_point_data *point)
{
    const struct ss_h5_place root = {
        .id = file->id, .file = file->path, .prefix = ""};
    SS_TRY(write_head(&root, "point", run_id, point->meta.index));
    SS_TRY(write_flat(&root, &ss_table_point, &point->meta, 1));
    SS_TRY(
        write_flat(&root, &ss_table_point_rank, point->rank, point->n_ranks));
    SS_TRY(ss_disk_status(file));
    SS_TRY(write_samples(&root, point));
    SS_TRY(write_flat(&root, &ss_table_net, point->net, point->n_nets));
    if (point->n_paths > 0)
        SS_TRY(write_flat(&root, &ss_table_path, point->path, point->n_paths));
    if (point->n_pairs > 0)
        SS_TRY(write_flat(&root, &ss_table_pair, point->pair, point->n_pairs));
    if (point->n_colls > 0)
        SS_TRY(write_flat(&root, &ss_table_coll, point->coll, point->n_colls));
    if (point->n_ports > 0)
        SS_TRY(write_flat(&root, &ss_table_port, point->port, point->n_ports));
    return write_flat(&root, &ss_table_check, point->check, point->n_checks);
}

static enum ss_status open_part(const char *out, int index,
                                struct ss_disk_file *file)
{
    char folder[SS_PATH_MAX];
    char path[SS_PATH_MAX];
    if (!ss_part_folder(out, folder, sizeof folder))
        return ss_fail(SS_ERR_CONFIG, "the path %.80s... is too long", out);
    SS_TRY(ss_part_path(folder, index, path));
    return ss_disk_create(path, file);
}

enum ss_status ss_part_write_run(const char *out, const struct ss_run_data *run)
{
    struct ss_disk_file file = {.id = H5I_INVALID_HID};
    struct ss_h5_place root = {.prefix = ""};
    SS_TRY(open_part(out, 0, &file));
    root.id = file.id;
    root.file = file.path;
    return ss_disk_finish(&file, write_run(&root, run));
}

enum ss_status ss_part_write_point(const char *out, const char *run_id,
                                   const struct ss_point_data *point)
{
    struct ss_disk_file file = {.id = H5I_INVALID_HID};
    char wrong[SS_CHECK_TEXT_MAX];
    if (!ss_check_sizes(&ss_table_point, NULL, &point->meta, 1, wrong,
                        sizeof wrong) ||
        !ss_check_point(point, wrong, sizeof wrong))
        return ss_fail(SS_ERR_INTERNAL, "point %d is not written: %s",
                       point->meta.index, wrong);
    SS_TRY(open_part(out, point->meta.index, &file));
    return ss_disk_finish(&file, write_point(&file, run_id, point));
}

double ss_point_bytes(int ranks, int blocks, int64_t steps, int64_t terms)
{
    /* Noisy ns lose a byte of four to deflate, terms half of their bytes;
     * headers and descriptions take the rest. */
    double step_bytes = 3.0 * ranks * (double)steps;
    double block_bytes =
        0.6 * sizeof(struct ss_block_rank_row) * ranks * (double)blocks;
    double term_bytes = 0.5 * sizeof(struct ss_terms_row) * (double)terms;
    double rank_bytes = 0.3 * sizeof(struct ss_point_rank_row) * ranks;
    return 60e3 + step_bytes + block_bytes + term_bytes + rank_bytes;
}
