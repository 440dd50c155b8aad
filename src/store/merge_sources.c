/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a merge is made of: every part of every input, proved to be sound and
 * of one run before a byte is copied. Inputs are only read here. It must not
 * know how the merged file is laid out.
 */
#include "store/merge_sources.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "store/read_file.h"
#include "store/store.h"

struct listing {
    struct ss_merge_plan plan;
    int source_cap;
    int folder_cap;
    bool trusted;
};

static bool grow(void **array, int n, int *cap, size_t size)
{
    int more = *cap ? *cap * 2 : 32;
    void *grown;
    if (n < *cap)
        return true;
    grown = ss_realloc(*array, (size_t)more, size, "a list of parts");
    if (!grown)
        return false;
    *array = grown;
    *cap = more;
    return true;
}

/* The run id and, of a provenance, the plan; refuses another run's file. */
static enum ss_status take_run(struct listing *l, const char *path,
                               const struct ss_run_data *run, bool provenance)
{
    struct ss_merge_plan *plan = &l->plan;
    if (plan->run_id[0] == '\0')
        ss_copy(plan->run_id, sizeof plan->run_id, run->run_id);
    if (strcmp(plan->run_id, run->run_id) != 0)
        return ss_fail(SS_ERR_FORMAT,
                       "%s belongs to run %s, the others to run %s: only the "
                       "parts of one run can be merged",
                       path, run->run_id, plan->run_id);
    if (provenance)
        plan->planned_points = run->planned_points;
    return SS_OK;
}

static enum ss_status add_source(struct listing *l, const char *path,
                                 bool in_result, int index)
{
    struct ss_merge_plan *plan = &l->plan;
    void *array = plan->source;
    char *copy;
    if (!grow(&array, plan->n, &l->source_cap, sizeof *plan->source))
        return SS_ERR_NO_MEMORY;
    plan->source = array;
    copy = ss_strdup(path);
    if (!copy)
        return SS_ERR_NO_MEMORY;
    plan->source[plan->n++] = (struct ss_merge_source){
        .path = copy, .in_result = in_result, .index = index};
    return SS_OK;
}

static enum ss_status read_input(const struct listing *l, const char *path,
                                 struct ss_file_content *out)
{
    struct ss_file_want want = {.depth = SS_READ_META, .keep = false};
    if (!l->trusted)
        SS_TRY(ss_file_check(path, SS_READ_ALL));
    return ss_file_read(path, want, out);
}

static enum ss_status add_part(struct listing *l, const char *folder, int index)
{
    struct ss_file_content content;
    char path[SS_PATH_MAX];
    enum ss_status status;
    SS_TRY(ss_part_path(folder, index, path));
    SS_TRY(read_input(l, path, &content));
    status = take_run(l, path, &content.run, content.kind == SS_FILE_RUN);
    if (status == SS_OK &&
        (content.index != index ||
         content.kind != (index ? SS_FILE_POINT : SS_FILE_RUN)))
        status =
            ss_fail(SS_ERR_FORMAT, "%s does not hold part %d", path, index);
    ss_file_content_free(&content);
    if (status == SS_OK)
        status = add_source(l, path, false, index);
    return status;
}

/* Given twice, it is claimed once: which point comes twice is said later. */
static bool is_listed(const struct ss_merge_plan *plan, const char *path)
{
    struct stat mine, other;
    if (stat(path, &mine) < 0)
        return false;
    for (int i = 0; i < plan->n_folders; i++)
        if (stat(plan->folder[i].path, &other) == 0 &&
            other.st_dev == mine.st_dev && other.st_ino == mine.st_ino)
            return true;
    return false;
}

static enum ss_status add_folder(struct listing *l, const char *path)
{
    struct ss_merge_plan *plan = &l->plan;
    struct ss_merge_folder *folder;
    void *array = plan->folder;
    bool listed = is_listed(plan, path);
    if (!grow(&array, plan->n_folders, &l->folder_cap, sizeof *plan->folder))
        return SS_ERR_NO_MEMORY;
    plan->folder = array;
    folder = &plan->folder[plan->n_folders];
    *folder = (struct ss_merge_folder){.path = ss_strdup(path)};
    if (!folder->path)
        return SS_ERR_NO_MEMORY;
    plan->n_folders++;
    if (!listed)
        SS_TRY(ss_part_claim(path, &folder->claim));
    SS_TRY(ss_part_list(path, &folder->parts));
    for (int i = 0; i < folder->parts.n; i++)
        SS_TRY(add_part(l, path, folder->parts.index[i]));
    return SS_OK;
}

static enum ss_status add_members(struct listing *l, const char *path,
                                  const struct ss_run_data *run)
{
    SS_TRY(take_run(l, path, run, true));
    SS_TRY(add_source(l, path, true, 0));
    for (int i = 0; i < run->n_points; i++)
        SS_TRY(add_source(l, path, true, run->point[i].meta.index));
    return SS_OK;
}

static enum ss_status add_file(struct listing *l, const char *path)
{
    struct ss_file_content content;
    enum ss_status status;
    SS_TRY(read_input(l, path, &content));
    if (content.kind == SS_FILE_RESULT)
        status = add_members(l, path, &content.run);
    else {
        status = take_run(l, path, &content.run, content.kind == SS_FILE_RUN);
        if (status == SS_OK)
            status = add_source(l, path, false, content.index);
    }
    ss_file_content_free(&content);
    return status;
}

static enum ss_status add_input(struct listing *l, const char *input)
{
    char folder[SS_PATH_MAX];
    struct stat info;
    if (stat(input, &info) == 0)
        return S_ISDIR(info.st_mode) ? add_folder(l, input)
                                     : add_file(l, input);
    if (ss_part_folder(input, folder, sizeof folder) &&
        stat(folder, &info) == 0)
        return add_folder(l, folder);
    return ss_fail(SS_ERR_CONFIG,
                   "there is no file %s and no folder %s.part beside it", input,
                   input);
}

static int by_index(const void *a, const void *b)
{
    int x = ((const struct ss_merge_source *)a)->index;
    int y = ((const struct ss_merge_source *)b)->index;
    return (x > y) - (x < y);
}

/* Several inputs may each bring the provenance of the run: one is enough. */
static void drop_second_provenance(struct ss_merge_plan *plan)
{
    int first = 0;
    while (first + 1 < plan->n && plan->source[first + 1].index == 0)
        first++;
    for (int i = 0; i < first; i++)
        ss_free(plan->source[i].path);
    plan->n -= first;
    memmove(plan->source, plan->source + first,
            (size_t)plan->n * sizeof *plan->source);
}

static enum ss_status settle(struct ss_merge_plan *plan)
{
    if (plan->n > 0)
        qsort(plan->source, (size_t)plan->n, sizeof *plan->source, by_index);
    if (plan->n == 0 || plan->source[0].index != 0)
        return ss_fail(SS_ERR_FORMAT,
                       "none of the inputs holds 0000.h5, the start of the "
                       "run: add the .part folder that does");
    drop_second_provenance(plan);
    for (int i = 1; i < plan->n; i++) {
        if (plan->source[i].index == plan->source[i - 1].index)
            return ss_fail(SS_ERR_CONFIG,
                           "point %d is in %s and in %s: leave one out",
                           plan->source[i].index, plan->source[i - 1].path,
                           plan->source[i].path);
    }
    return SS_OK;
}

enum ss_status ss_merge_plan_make(const char *const *inputs, int n,
                                  bool trusted, struct ss_merge_plan *out)
{
    struct listing l = {.trusted = trusted};
    enum ss_status status = SS_OK;
    for (int i = 0; status == SS_OK && i < n; i++)
        status = add_input(&l, inputs[i]);
    if (status == SS_OK)
        status = settle(&l.plan);
    if (status != SS_OK)
        ss_merge_plan_free(&l.plan);
    else
        *out = l.plan;
    return status;
}

void ss_merge_plan_free(struct ss_merge_plan *plan)
{
    for (int i = 0; i < plan->n; i++)
        ss_free(plan->source[i].path);
    for (int i = 0; i < plan->n_folders; i++) {
        ss_free(plan->folder[i].path);
        ss_free(plan->folder[i].parts.index);
        ss_part_unclaim(&plan->folder[i].claim);
    }
    ss_free(plan->source);
    ss_free(plan->folder);
    *plan = (struct ss_merge_plan){0};
}
