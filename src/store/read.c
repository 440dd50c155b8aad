/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reader that other rooms call: from the path a user typed to a run with
 * its points, be it a result, a folder of parts, or the name that the result
 * would have. One damaged part costs its point and a note, never the others.
 * It must not know HDF5: read_file.c reads each file.
 */
#include "store/store.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "store/part_folder.h"
#include "store/read_check.h"
#include "store/read_file.h"

#define LAST_WORDS_MAX ((size_t)4 << 20)

static void note(struct ss_buf *notes, const char *text)
{
    if (notes)
        ss_buf_printf(notes, "%s\n", text);
}

static enum ss_status read_result(const char *path, enum ss_read_depth depth,
                                  struct ss_run_data *out)
{
    struct ss_file_content content;
    SS_TRY(ss_file_read_safely(path, depth, &content));
    if (content.kind != SS_FILE_RESULT) {
        ss_file_content_free(&content);
        return ss_fail(SS_ERR_FORMAT,
                       "%s is one part of a run: give the .part folder that "
                       "holds it",
                       path);
    }
    *out = content.run;
    out->last_words = content.last_words;
    return SS_OK;
}

/* 0000.h5: without it nothing says what the points mean. */
static enum ss_status read_provenance(const char *folder,
                                      const struct ss_part_list *list,
                                      enum ss_read_depth depth,
                                      struct ss_run_data *run)
{
    struct ss_file_content content;
    char path[SS_PATH_MAX];
    if (list->n == 0 || list->index[0] != 0)
        return ss_fail(SS_ERR_FORMAT,
                       "folder %s holds no 0000.h5: it is not a .part folder "
                       "of stepscale, or its run ended before it began",
                       folder);
    SS_TRY(ss_part_path(folder, 0, path));
    SS_TRY(ss_file_read_safely(path, depth, &content));
    if (content.kind != SS_FILE_RUN || content.index != 0) {
        ss_file_content_free(&content);
        return ss_fail(SS_ERR_FORMAT, "%s does not hold the start of a run",
                       path);
    }
    *run = content.run;
    return SS_OK;
}

static enum ss_status same_run(const char *path,
                               const struct ss_file_content *content,
                               const struct ss_run_data *run)
{
    if (strcmp(content->run.run_id, run->run_id) == 0)
        return SS_OK;
    return ss_fail(SS_ERR_FORMAT,
                   "%s belongs to run %s, the folder to run %s: move it away",
                   path, content->run.run_id, run->run_id);
}

/* SS_ERR_FORMAT here costs this point only: the caller makes a note. */
static enum ss_status accept_point(const char *path, int index,
                                   const struct ss_file_content *content,
                                   const struct ss_run_data *run)
{
    char wrong[SS_CHECK_TEXT_MAX];
    if (content->kind != SS_FILE_POINT || content->index != index)
        return ss_fail(SS_ERR_FORMAT, "%s does not hold point %d", path, index);
    if (!ss_check_point_in_run(run, &content->run.point[0], wrong,
                               sizeof wrong))
        return ss_fail(SS_ERR_FORMAT, "%s does not fit its run: %s", path,
                       wrong);
    return SS_OK;
}

static enum ss_status read_part(const char *folder, int index,
                                enum ss_read_depth depth,
                                struct ss_run_data *run, struct ss_buf *notes)
{
    struct ss_file_content content;
    char path[SS_PATH_MAX];
    enum ss_status status;
    SS_TRY(ss_part_path(folder, index, path));
    status = ss_file_read_safely(path, depth, &content);
    if (status == SS_ERR_FORMAT) {
        note(notes, ss_error_text());
        return SS_OK;
    }
    SS_TRY(status);
    status = same_run(path, &content, run);
    if (status == SS_OK && accept_point(path, index, &content, run) != SS_OK)
        note(notes, ss_error_text());
    else if (status == SS_OK) {
        run->point[run->n_points++] = content.run.point[0];
        content.run.n_points = 0; /* its arrays have moved */
    }
    ss_file_content_free(&content);
    return status;
}

static enum ss_status read_parts(const char *folder,
                                 const struct ss_part_list *list,
                                 enum ss_read_depth depth,
                                 struct ss_run_data *run, struct ss_buf *notes)
{
    struct ss_buf words;
    enum ss_status status;
    run->point =
        ss_alloc((size_t)list->n, sizeof *run->point, "a list of points");
    if (!run->point)
        return SS_ERR_NO_MEMORY;
    for (int i = 1; i < list->n; i++)
        SS_TRY(read_part(folder, list->index[i], depth, run, notes));
    if (run->n_points < run->planned_points)
        ss_format(run->end_reason, sizeof run->end_reason,
                  "%d of %lld points were measured", run->n_points,
                  (long long)run->planned_points);
    ss_buf_init(&words, LAST_WORDS_MAX);
    status = ss_part_last_words(folder, &words);
    if (status == SS_OK && words.len > 0 &&
        !(run->last_words = ss_strdup(ss_buf_text(&words))))
        status = SS_ERR_NO_MEMORY;
    ss_buf_free(&words);
    return status;
}

static enum ss_status read_folder(const char *folder, enum ss_read_depth depth,
                                  struct ss_run_data *out, struct ss_buf *notes)
{
    struct ss_part_list list = {0};
    struct ss_run_data run = {0};
    enum ss_status status = ss_part_list(folder, &list);
    if (status == SS_OK)
        status = read_provenance(folder, &list, depth, &run);
    if (status == SS_OK)
        status = read_parts(folder, &list, depth, &run, notes);
    ss_free(list.index);
    if (status == SS_OK && notes)
        status = ss_buf_status(notes);
    if (status != SS_OK)
        ss_run_data_free(&run);
    else
        *out = run;
    return status;
}

/** The result into which "x.h5.part" was merged: x.h5, where it can be read. */
static bool whole_file(const char *part, char out[SS_PATH_MAX])
{
    static const char ending[] = ".part";
    struct ss_run_data run = {0};
    size_t len = strlen(part);
    while (len > 1 && part[len - 1] == '/')
        len--;
    if (len < sizeof ending || len >= SS_PATH_MAX ||
        memcmp(part + len - strlen(ending), ending, strlen(ending)) != 0)
        return false;
    ss_format(out, SS_PATH_MAX, "%.*s", (int)(len - strlen(ending)), part);
    if (access(out, R_OK) != 0 || read_result(out, SS_READ_META, &run) != SS_OK)
        return false;
    ss_run_data_free(&run);
    return true;
}

/* A run may end, and its folder become a file, while it is being read. */
static enum ss_status read_moving(const char *folder, enum ss_read_depth depth,
                                  struct ss_run_data *out, struct ss_buf *notes)
{
    char merged[SS_PATH_MAX], part[SS_PATH_MAX];
    enum ss_status status = read_folder(folder, depth, out, notes);
    if (status == SS_OK || ss_part_path(folder, 0, part) != SS_OK ||
        access(part, F_OK) == 0 ||
        ss_resume_out(folder, merged, sizeof merged) != SS_OK ||
        strcmp(merged, folder) == 0 || access(merged, F_OK) < 0)
        return status;
    if (notes) {
        size_t max = notes->max;
        ss_buf_free(notes);
        ss_buf_init(notes, max);
    }
    return read_result(merged, depth, out);
}

enum ss_status ss_run_read(const char *path, enum ss_read_depth depth,
                           struct ss_run_data *out, struct ss_buf *notes)
{
    char folder[SS_PATH_MAX];
    struct stat info;
    if (stat(path, &info) == 0) {
        if (S_ISDIR(info.st_mode))
            return read_moving(path, depth, out, notes);
        return read_result(path, depth, out);
    }
    if (ss_part_folder(path, folder, sizeof folder) &&
        stat(folder, &info) == 0 && S_ISDIR(info.st_mode))
        return read_moving(folder, depth, out, notes);
    if (whole_file(path, folder))
        return ss_fail(SS_ERR_CONFIG,
                       "there is no folder %s any more: its run is in %s", path,
                       folder);
    return ss_fail(SS_ERR_CONFIG,
                   "there is no file %s and no folder %s.part beside it", path,
                   path);
}
