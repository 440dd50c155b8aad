/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One HDF5 file from its first byte to its last object: is it ours, of which
 * kind and schema, and is everything in it sound. It runs in a child process
 * first and must therefore hold no state; it must not know folders.
 */
#include "store/read_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "store/part_folder.h"
#include "store/read_check.h"
#include "store/table_read.h"

static const char magic[] = "\211HDF\r\n\032\n";

/* Told apart before libhdf5 sees the file, in words that help. */
static enum ss_status check_magic(const char *path)
{
    char head[8] = {0};
    struct stat info;
    ssize_t got = -1;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return ss_fail(SS_ERR_CONFIG, "cannot open %s: %s", path,
                       strerror(errno));
    if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode))
        got = pread(fd, head, sizeof head, 0);
    close(fd);
    if (got == 0)
        return ss_fail(SS_ERR_FORMAT, "%s is empty: not a result of stepscale",
                       path);
    if (got != sizeof head || memcmp(head, magic, sizeof head) != 0)
        return ss_fail(SS_ERR_FORMAT,
                       "%s is not an HDF5 file: not a result of stepscale",
                       path);
    return SS_OK;
}

/* Schema, run id and kind, the same in files and in groups of a result. */
static enum ss_status read_head(const struct ss_h5_place *place, char kind[16],
                                struct ss_run_data *run)
{
    int32_t schema = 0;
    if (H5Aexists(place->id, "schema") <= 0 ||
        H5Aexists(place->id, "kind") <= 0)
        return ss_fail(SS_ERR_FORMAT,
                       "%s is an HDF5 file of another program: it has no "
                       "attributes schema and kind",
                       place->file);
    SS_TRY(ss_h5_read_attr_int(place, "schema", &schema));
    if (schema > SS_SCHEMA)
        return ss_fail(SS_ERR_FORMAT,
                       "%s was written by a newer stepscale: schema %d, this "
                       "one reads up to %d",
                       place->file, schema, SS_SCHEMA);
    if (schema < 1)
        return ss_h5_damaged(place, "schema", "is below 1");
    run->schema = schema;
    SS_TRY(ss_h5_read_attr_text(place, "kind", kind, 16));
    return ss_h5_read_attr_text(place, "run_id", run->run_id,
                                sizeof run->run_id);
}

static enum ss_status same_run(const struct ss_h5_place *place,
                               const struct ss_run_data *run,
                               const char *expected_kind)
{
    struct ss_run_data head = {0};
    char kind[16] = "";
    SS_TRY(read_head(place, kind, &head));
    if (strcmp(kind, expected_kind) != 0)
        return ss_h5_damaged(place, "", "is of another kind");
    if (strcmp(head.run_id, run->run_id) != 0)
        return ss_h5_damaged(place, "", "belongs to another run");
    return SS_OK;
}

static enum ss_status read_run_group(const struct ss_h5_place *root,
                                     struct ss_run_data *run)
{
    struct ss_h5_place inside = {.file = root->file, .prefix = "/run"};
    enum ss_status status;
    SS_TRY(ss_h5_open_group(root, "run", &inside.id));
    status = same_run(&inside, run, "run");
    if (status == SS_OK)
        status = ss_run_objects_read(&inside, run);
    H5Gclose(inside.id);
    return status;
}

static enum ss_status check_index(const struct ss_h5_place *place, int index,
                                  const struct ss_point_data *point)
{
    int32_t stored = 0;
    SS_TRY(ss_h5_read_attr_int(place, "index", &stored));
    if (stored != index || point->meta.index != index)
        return ss_h5_damaged(place, "index", "is that of another point");
    return SS_OK;
}

/* "0007" to 7; false for a name that is not ours. */
static bool parse_group_name(const char *name, int *index)
{
    char part[40];
    return ss_format(part, sizeof part, "%s.h5", name) &&
           ss_part_parse_name(part, index) && *index > 0;
}

static enum ss_status read_member(const struct ss_h5_place *points,
                                  const char *name, struct ss_file_want want,
                                  struct ss_run_data *run)
{
    char prefix[64];
    struct ss_h5_place inside = {.file = points->file, .prefix = prefix};
    struct ss_point_data *point = &run->point[run->n_points];
    char wrong[SS_CHECK_TEXT_MAX];
    enum ss_status status;
    int index;
    ss_format(prefix, sizeof prefix, "/points/%s", name);
    if (!parse_group_name(name, &index))
        return ss_h5_damaged(points, name, "is not the name of a point");
    SS_TRY(ss_h5_open_group(points, name, &inside.id));
    status = same_run(&inside, run, "point");
    if (status == SS_OK)
        status = ss_point_read(&inside, want, point);
    if (status == SS_OK) {
        run->n_points++; /* now freed with the run */
        status = check_index(&inside, index, point);
    }
    if (status == SS_OK &&
        !ss_check_point_in_run(run, point, wrong, sizeof wrong))
        status = ss_h5_damaged(&inside, "", wrong);
    H5Gclose(inside.id);
    return status;
}

static int by_index(const void *a, const void *b)
{
    int x = ((const struct ss_point_data *)a)->meta.index;
    int y = ((const struct ss_point_data *)b)->meta.index;
    return (x > y) - (x < y);
}

static enum ss_status read_members(const struct ss_h5_place *points,
                                   struct ss_file_want want,
                                   struct ss_run_data *run)
{
    H5G_info_t info;
    char name[32];
    if (H5Gget_info(points->id, &info) < 0)
        return ss_h5_fail(SS_ERR_FORMAT, "read", points, "");
    if (info.nlinks > 1000000)
        return ss_h5_damaged(points, "", "claims over a million points");
    run->point =
        ss_alloc((size_t)info.nlinks, sizeof *run->point, "a list of points");
    if (!run->point)
        return SS_ERR_NO_MEMORY;
    for (hsize_t i = 0; i < info.nlinks; i++) {
        if (H5Lget_name_by_idx(points->id, ".", H5_INDEX_NAME, H5_ITER_INC, i,
                               name, sizeof name, H5P_DEFAULT) < 0)
            return ss_h5_fail(SS_ERR_FORMAT, "read", points, "");
        SS_TRY(read_member(points, name, want, run));
    }
    if (run->n_points > 0)
        qsort(run->point, (size_t)run->n_points, sizeof *run->point, by_index);
    return SS_OK;
}

static enum ss_status read_result(const struct ss_h5_place *root,
                                  struct ss_file_want want,
                                  struct ss_file_content *content)
{
    struct ss_h5_place points = {.file = root->file, .prefix = "/points"};
    struct ss_run_data *run = &content->run;
    enum ss_status status;
    SS_TRY(ss_h5_read_attr_text(root, "end_reason", run->end_reason,
                                sizeof run->end_reason));
    SS_TRY(ss_h5_read_attr_int(root, "verdict_code", &run->verdict_code));
    SS_TRY(read_run_group(root, run));
    if (ss_h5_has(root, "verdict_json"))
        SS_TRY(ss_h5_read_text(root, "verdict_json", &run->verdict_json));
    if (ss_h5_has(root, "last_words"))
        SS_TRY(ss_h5_read_text(root, "last_words", &content->last_words));
    SS_TRY(ss_h5_open_group(root, "points", &points.id));
    status = read_members(&points, want, run);
    H5Gclose(points.id);
    return status;
}

static enum ss_status read_part(const struct ss_h5_place *root,
                                struct ss_file_want want,
                                struct ss_file_content *content)
{
    struct ss_run_data *run = &content->run;
    int32_t index = 0;
    SS_TRY(ss_h5_read_attr_int(root, "index", &index));
    content->index = index;
    if (content->kind == SS_FILE_RUN)
        return ss_run_objects_read(root, run);
    run->point = ss_alloc(1, sizeof *run->point, "a point");
    if (!run->point)
        return SS_ERR_NO_MEMORY;
    SS_TRY(ss_point_read(root, want, run->point));
    run->n_points = 1;
    return check_index(root, index, run->point);
}

static enum ss_status read_open(const struct ss_h5_place *root,
                                struct ss_file_want want,
                                struct ss_file_content *content)
{
    char kind[16] = "";
    SS_TRY(read_head(root, kind, &content->run));
    content->run.verdict_code = -1;
    if (strcmp(kind, "result") == 0) {
        content->kind = SS_FILE_RESULT;
        return read_result(root, want, content);
    }
    if (strcmp(kind, "run") != 0 && strcmp(kind, "point") != 0)
        return ss_fail(SS_ERR_FORMAT,
                       "%s is an HDF5 file of another kind (\"%s\")",
                       root->file, kind);
    content->kind = *kind == 'r' ? SS_FILE_RUN : SS_FILE_POINT;
    return read_part(root, want, content);
}

enum ss_status ss_file_read(const char *path, struct ss_file_want want,
                            struct ss_file_content *out)
{
    struct ss_file_content content = {0};
    struct ss_h5_place root = {.file = path, .prefix = ""};
    enum ss_status status;
    char cause[160];
    ss_h5_quiet();
    SS_TRY(check_magic(path));
    root.id = ss_h5_open(path);
    if (root.id < 0) {
        ss_h5_cause(cause, sizeof cause);
        return ss_fail(SS_ERR_FORMAT,
                       "%s is damaged: HDF5 cannot open it (%s); take another "
                       "copy, or the .part folder if it is still there",
                       path, cause);
    }
    status = read_open(&root, want, &content);
    H5Fclose(root.id);
    if (status != SS_OK)
        ss_file_content_free(&content);
    else
        *out = content;
    return status;
}

void ss_file_content_free(struct ss_file_content *content)
{
    ss_run_data_free(&content->run);
    ss_free(content->last_words);
    content->last_words = NULL;
}

enum ss_status ss_file_read_safely(const char *path, enum ss_read_depth depth,
                                   struct ss_file_content *out)
{
    struct ss_file_want want = {.depth = depth, .keep = true};
    SS_TRY(ss_file_check(path, depth));
    return ss_file_read(path, want, out);
}
