/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes the folder of an earlier run ready for more points: a merged result
 * becomes parts again (and stays beside them under another name), what a
 * stopped job left behind goes. Every step leaves a state from which the next
 * try can start. It must not know which points are missing, or why.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/part_folder.h"
#include "store/store.h"

#define PART ".part"

enum ss_status ss_resume_out(const char *path, char *out, size_t size)
{
    size_t len = strlen(path);

    while (len > 1 && path[len - 1] == '/')
        len--;
    if (len > strlen(PART) &&
        strncmp(path + len - strlen(PART), PART, strlen(PART)) == 0)
        len -= strlen(PART);
    if (!ss_format(out, size, "%.*s", (int)len, path))
        return ss_fail(SS_ERR_CONFIG, "the path %.80s... is too long", path);
    return SS_OK;
}

static bool is_file(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/** A folder that stands beside the file already must be of the same run. */
static enum ss_status make_folder(const char *folder, const char *run_id)
{
    struct ss_run_data run = {0};

    if (mkdir(folder, 0777) == 0)
        return SS_OK;
    if (errno != EEXIST)
        return ss_disk_fail("create folder", folder, errno);
    if (ss_run_read(folder, SS_READ_META, &run, NULL) != SS_OK)
        return SS_OK; /* not even its 0000.h5 was written */
    bool same = strcmp(run.run_id, run_id) == 0;
    ss_run_data_free(&run);
    if (!same)
        return ss_fail(SS_ERR_CONFIG,
                       "%s is of another run; move it away, or go on with it",
                       folder);
    return SS_OK;
}

static enum ss_status write_parts(const char *out,
                                  const struct ss_run_data *run)
{
    SS_TRY(ss_part_write_run(out, run));
    for (int i = 0; i < run->n_points; i++)
        SS_TRY(ss_part_write_point(out, run->run_id, &run->point[i]));
    return SS_OK;
}

/** The file is renamed only when all of its points are parts on disk. */
static enum ss_status unmerge(const char *out, const char *folder, int *claim)
{
    struct ss_run_data run = {0};
    char before[SS_PATH_MAX];
    enum ss_status status;

    if (!ss_format(before, sizeof before, "%s.before", out))
        return ss_fail(SS_ERR_CONFIG, "the path %.80s... is too long", out);
    SS_TRY(ss_run_read(out, SS_READ_ALL, &run, NULL));
    status = make_folder(folder, run.run_id);
    if (status == SS_OK)
        status = ss_part_claim(folder, claim);
    if (status == SS_OK) {
        ss_part_tidy(folder);
        status = write_parts(out, &run);
    }
    ss_run_data_free(&run);
    SS_TRY(status);
    if (rename(out, before) < 0)
        return ss_disk_fail("rename", out, errno);
    return SS_OK;
}

enum ss_status ss_part_resume(const char *out, int *claim)
{
    char folder[SS_PATH_MAX];
    *claim = 0;
    if (!ss_part_folder(out, folder, sizeof folder))
        return ss_fail(SS_ERR_CONFIG, "the path %.80s... is too long", out);
    if (is_file(out))
        SS_TRY(unmerge(out, folder, claim));
    else
        SS_TRY(ss_part_claim(folder, claim));
    SS_TRY(ss_part_prove_writable(folder));
    ss_part_tidy(folder);
    return ss_disk_sync_folder(folder);
}
