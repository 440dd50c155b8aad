/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who may write into a folder of parts: nobody where something stands already,
 * and one process at a time. The claim is a lock on the folder itself, which
 * the kernel drops with a killed process; a file system that has no such locks
 * goes without. It must not know what is written.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "store/part_folder.h"
#include "store/store.h"

static bool stands(const char *path, struct stat *info)
{
    return lstat(path, info) == 0;
}

static enum ss_status refuse_out(const char *out, const struct stat *info)
{
    if (S_ISREG(info->st_mode))
        return ss_fail(SS_ERR_CONFIG,
                       "%s already exists, from an earlier run; choose another "
                       "name with --out (stepscale merge joins partial runs)",
                       out);
    if (S_ISDIR(info->st_mode))
        return ss_fail(SS_ERR_CONFIG,
                       "%s already exists and is a folder; name a file in it "
                       "with --out",
                       out);
    return ss_fail(SS_ERR_CONFIG,
                   "%s already exists and is no plain file; choose another "
                   "name with --out",
                   out);
}

static enum ss_status refuse_folder(const char *folder, const char *out)
{
    struct stat info;
    struct ss_part_list list;
    if (stands(folder, &info) && !S_ISDIR(info.st_mode) &&
        stat(folder, &info) < 0)
        return ss_fail(SS_ERR_CONFIG,
                       "%s already exists and leads nowhere; remove it, or "
                       "choose another name with --out",
                       folder);
    if (!S_ISDIR(info.st_mode))
        return ss_fail(SS_ERR_CONFIG,
                       "%s already exists and is no folder; move it away, or "
                       "choose another name with --out",
                       folder);
    if (ss_part_list(folder, &list) == SS_OK) {
        int n = list.n;
        ss_free(list.index);
        if (n == 0)
            return ss_fail(SS_ERR_CONFIG,
                           "%s already exists and holds no points, perhaps of "
                           "a run that was killed; remove it, or choose "
                           "another name with --out",
                           folder);
    }
    return ss_fail(SS_ERR_CONFIG,
                   "%s holds the points of an earlier run; go on with it by "
                   "--resume, turn it into %s by stepscale merge, or choose "
                   "another name with --out",
                   folder, out);
}

enum ss_status ss_part_create(const char *out)
{
    char folder[SS_PATH_MAX];
    struct stat info;
    enum ss_status status;
    if (!ss_part_folder(out, folder, sizeof folder))
        return ss_fail(SS_ERR_CONFIG, "the path %.80s... is too long", out);
    if (stands(out, &info))
        return refuse_out(out, &info);
    if (mkdir(folder, 0777) < 0) {
        if (errno == EEXIST)
            return refuse_folder(folder, out);
        return ss_disk_fail("create folder", folder, errno);
    }
    status = ss_part_prove_writable(folder);
    if (status == SS_OK)
        status = ss_disk_sync_folder(folder);
    if (status != SS_OK)
        rmdir(folder);
    return status;
}

enum ss_status ss_part_claim(const char *folder, int *claim)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    *claim = 0;
    if (fd < 0)
        return ss_fail(SS_ERR_CONFIG, "cannot open folder %s: %s", folder,
                       strerror(errno));
    if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
        *claim = fd;
        return SS_OK;
    }
    bool taken = errno == EWOULDBLOCK;
    close(fd);
    if (taken)
        return ss_fail(SS_ERR_CONFIG,
                       "%s is in use by another stepscale that writes or "
                       "merges it; wait for its end",
                       folder);
    return SS_OK;
}

void ss_part_unclaim(int *claim)
{
    if (*claim > 0)
        close(*claim);
    *claim = 0;
}
