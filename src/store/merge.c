/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parts into one result. Objects are copied as they are (H5Ocopy moves the
 * compressed chunks), the file appears under its name only when it is whole
 * and on disk, and only then are the parts removed. Killed anywhere, either
 * the parts or the result are complete. It must not know what points mean.
 */
#include "store/store.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/units.h"
#include "store/hdf5_util.h"
#include "store/merge_sources.h"

#define LAST_WORDS_MAX ((size_t)4 << 20)
#define COPY_BYTES_PER_S 100000000.0
#define COPY_NS_PER_PART INT64_C(5000000)

static enum ss_status copy_object(const struct ss_merge_source *source,
                                  const struct ss_h5_place *to)
{
    struct ss_h5_place from = {.file = source->path, .prefix = ""};
    char object[32] = "/";
    char name[32] = "run";
    enum ss_status status = SS_OK;
    if (source->index != 0)
        ss_format(name, sizeof name, "points/%04d", source->index);
    if (source->in_result)
        ss_format(object, sizeof object, "/%s", name);
    from.id = ss_h5_open(source->path);
    if (from.id < 0)
        return ss_h5_fail(SS_ERR_IO, "open", &from, "");
    if (H5Ocopy(from.id, object, to->id, name, H5P_DEFAULT, H5P_DEFAULT) < 0)
        status = ss_h5_fail(SS_ERR_IO, "copy", &from, object + 1);
    H5Fclose(from.id);
    return status;
}

static enum ss_status make_points_group(const struct ss_h5_place *root)
{
    hid_t props = H5Pcreate(H5P_GROUP_CREATE);
    hid_t group = H5I_INVALID_HID;
    bool bad = props < 0 || H5Pset_obj_track_times(props, 0) < 0;
    if (!bad)
        group = H5Gcreate2(root->id, "points", H5P_DEFAULT, props, H5P_DEFAULT);
    bad = bad || group < 0 || H5Gclose(group) < 0;
    if (props >= 0)
        H5Pclose(props);
    return bad ? ss_h5_fail(SS_ERR_IO, "write", root, "points") : SS_OK;
}

static enum ss_status write_last_words(const struct ss_h5_place *root,
                                       const struct ss_merge_plan *plan)
{
    struct ss_buf words;
    enum ss_status status = SS_OK;
    ss_buf_init(&words, LAST_WORDS_MAX);
    for (int i = 0; status == SS_OK && i < plan->n_folders; i++)
        status = ss_part_last_words(plan->folder[i].path, &words);
    if (status == SS_OK && words.len > 0)
        status = ss_h5_write_text(root, "last_words", ss_buf_text(&words),
                                  "what ranks wrote when they gave up");
    ss_buf_free(&words);
    return status;
}

static enum ss_status write_end(const struct ss_h5_place *root,
                                const struct ss_run_end *end)
{
    SS_TRY(ss_h5_write_attr_int(root, "complete", end->reason[0] == '\0'));
    SS_TRY(ss_h5_write_attr_text(root, "end_reason", end->reason));
    SS_TRY(ss_h5_write_attr_int(root, "verdict_code", end->verdict_code));
    if (!end->verdict_json)
        return SS_OK;
    return ss_h5_write_text(root, "verdict_json", end->verdict_json,
                            "the verdict as it was reported");
}

static enum ss_status write_result(const struct ss_disk_file *file,
                                   const struct ss_merge_plan *plan,
                                   const struct ss_run_end *end)
{
    const struct ss_h5_place root = {
        .id = file->id, .file = file->path, .prefix = ""};
    SS_TRY(ss_h5_write_attr_text(&root, "kind", "result"));
    SS_TRY(ss_h5_write_attr_int(&root, "schema", SS_SCHEMA));
    SS_TRY(ss_h5_write_attr_text(&root, "run_id", plan->run_id));
    SS_TRY(write_end(&root, end));
    SS_TRY(make_points_group(&root));
    for (int i = 0; i < plan->n; i++) {
        SS_TRY(copy_object(&plan->source[i], &root));
        SS_TRY(ss_disk_status(file));
    }
    return write_last_words(&root, plan);
}

static void derive_end(const struct ss_merge_plan *plan, struct ss_run_end *end)
{
    int points = plan->n - 1;
    *end = (struct ss_run_end){.verdict_code = -1};
    if (points < plan->planned_points)
        ss_format(end->reason, sizeof end->reason,
                  "%d of %lld points were measured", points,
                  (long long)plan->planned_points);
}

static enum ss_status merge_plan(const char *out,
                                 const struct ss_merge_plan *plan,
                                 const struct ss_run_end *given)
{
    struct ss_run_end end;
    struct ss_disk_file file = {.id = H5I_INVALID_HID};
    derive_end(plan, &end);
    SS_TRY(ss_disk_create(out, &file));
    SS_TRY(
        ss_disk_finish(&file, write_result(&file, plan, given ? given : &end)));
    for (int i = 0; i < plan->n_folders; i++)
        ss_part_remove(plan->folder[i].path, &plan->folder[i].parts);
    return SS_OK;
}

/** A file among the inputs stays; so does a folder that holds more. */
static void tell(const char *out, const struct ss_merge_plan *plan,
                 struct ss_merged *told)
{
    size_t size = sizeof(told->text);
    int points = plan->n - 1, removed = 0;
    const char *one = "";
    for (int i = 0; i < plan->n_folders; i++) {
        if (access(plan->folder[i].path, F_OK) == 0)
            continue;
        removed++;
        one = plan->folder[i].path;
    }
    ss_format(told->text, size, "%s holds %d of %s", out, points,
              ss_counted(plan->planned_points, "point").text);
    size_t at = strlen(told->text);
    if (removed == 1)
        ss_format(told->text + at, size - at, "; removed %s", one);
    else if (removed > 1)
        ss_format(told->text + at, size - at, "; removed %d .part folders",
                  removed);
}

enum ss_status ss_merge_told(const char *out, const char *const *inputs, int n,
                             const struct ss_run_end *end,
                             struct ss_merged *told)
{
    struct ss_merge_plan plan = {0};
    enum ss_status status;
    if (access(out, F_OK) == 0)
        return ss_fail(SS_ERR_CONFIG,
                       "%s already exists and is never overwritten; move it "
                       "away or choose another name",
                       out);
    if (n == 0) { /* the folder beside it */
        inputs = &out;
        n = 1;
    }
    SS_TRY(ss_merge_plan_make(inputs, n, end != NULL, &plan));
    status = merge_plan(out, &plan, end);
    if (status == SS_OK && told)
        tell(out, &plan, told);
    ss_merge_plan_free(&plan);
    return status;
}

enum ss_status ss_merge(const char *out, const char *const *inputs, int n,
                        const struct ss_run_end *end)
{
    return ss_merge_told(out, inputs, n, end, NULL);
}

int64_t ss_merge_forecast_ns(const char *out)
{
    struct ss_part_list list;
    char folder[SS_PATH_MAX];
    char path[SS_PATH_MAX];
    struct stat info;
    double bytes = 0;
    int64_t parts;
    if (!ss_part_folder(out, folder, sizeof folder) ||
        ss_part_list(folder, &list) != SS_OK)
        return 0;
    parts = list.n;
    for (int i = 0; i < list.n; i++) {
        if (ss_part_path(folder, list.index[i], path) == SS_OK &&
            stat(path, &info) == 0)
            bytes += (double)info.st_size;
    }
    ss_free(list.index);
    return parts * COPY_NS_PER_PART + (int64_t)(bytes / COPY_BYTES_PER_S * 1e9);
}
