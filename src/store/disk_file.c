/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The protocol that makes a file either absent or whole: create under another
 * name, write, close, fsync, rename, fsync the folder. Closing an HDF5 file
 * syncs nothing, and a full disk may first show at any of these steps. It must
 * not know what the file holds.
 */
#include "store/disk_file.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "store/disk_driver.h"
#include "store/hdf5_util.h"

enum ss_status ss_disk_fail(const char *verb, const char *path, int error)
{
    char cause[128];
    const char *remedy = "";
    ss_copy(cause, sizeof cause, strerror(error));
    cause[0] = (char)tolower((unsigned char)cause[0]);
    if (error == ENOSPC || error == EDQUOT)
        remedy = "; free some space or choose another folder with --out";
    else if (error == EFBIG)
        remedy = "; raise the limit on the size of a file (ulimit -f)";
    else if (error == EACCES || error == EROFS || error == ENOENT)
        remedy = "; choose a folder that exists and is writable with --out";
    return ss_fail(SS_ERR_IO, "cannot %s %s: %s%s", verb, path, cause, remedy);
}

enum ss_status ss_disk_sync_folder(const char *path)
{
    char folder[SS_PATH_MAX];
    char *slash;
    int error = 0;
    int fd;
    ss_copy(folder, sizeof folder, path);
    slash = strrchr(folder, '/');
    if (!slash)
        ss_copy(folder, sizeof folder, ".");
    else if (slash == folder)
        folder[1] = '\0';
    else
        *slash = '\0';
    fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return ss_disk_fail("open folder", folder, errno);
    /* Some network file systems cannot sync a folder and say EINVAL. */
    if (fsync(fd) < 0 && errno != EINVAL && errno != ENOTSUP)
        error = errno;
    close(fd);
    return error ? ss_disk_fail("sync folder", folder, error) : SS_OK;
}

/* A file that another process put under this name is not ours to rename or
 * remove: two merges of the same parts, where folders cannot be locked. */
static bool is_ours(const struct ss_disk_file *file, const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && info.st_dev == file->device &&
           info.st_ino == file->inode;
}

static void remove_temp(const struct ss_disk_file *file)
{
    if (is_ours(file, file->temp))
        unlink(file->temp);
}

static enum ss_status rename_temp(const struct ss_disk_file *file)
{
    if (is_ours(file, file->temp) && access(file->path, F_OK) < 0 &&
        rename(file->temp, file->path) < 0)
        return ss_disk_fail("rename to", file->path, errno);
    if (!is_ours(file, file->path))
        return ss_fail(SS_ERR_CONFIG,
                       "another process wrote %s at the same time; what it "
                       "wrote stays, nothing was removed",
                       file->path);
    return ss_disk_sync_folder(file->path);
}

static enum ss_status open_temp(struct ss_disk_file *file)
{
    struct stat info;
    if (access(file->path, F_OK) == 0)
        return ss_fail(SS_ERR_CONFIG,
                       "%s already exists and is never overwritten; move it "
                       "away or choose another name",
                       file->path);
    if (unlink(file->temp) < 0 && errno != ENOENT)
        return ss_disk_fail("replace", file->temp, errno);
    file->disk->fd =
        open(file->temp, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file->disk->fd < 0)
        return ss_disk_fail("create", file->temp, errno);
    if (fstat(file->disk->fd, &info) < 0)
        return ss_disk_fail("look at", file->temp, errno);
    file->device = info.st_dev;
    file->inode = info.st_ino;
    return SS_OK;
}

static enum ss_status open_hdf5(struct ss_disk_file *file)
{
    struct ss_h5_place place = {.file = file->temp, .prefix = ""};
    hid_t access_id = ss_disk_access(file->disk);
    if (access_id < 0)
        return ss_h5_fail(SS_ERR_IO, "create", &place, "");
    file->id = H5Fcreate(file->temp, H5F_ACC_TRUNC, H5P_DEFAULT, access_id);
    H5Pclose(access_id);
    if (file->id < 0)
        return ss_h5_fail(SS_ERR_IO, "create", &place, "");
    return SS_OK;
}

/* Closes the HDF5 file; the descriptor stays ours and open. */
static enum ss_status close_hdf5(struct ss_disk_file *file)
{
    struct ss_h5_place place = {.file = file->temp, .prefix = ""};
    herr_t closed = file->id < 0 ? 0 : H5Fclose(file->id);
    file->id = H5I_INVALID_HID;
    if (closed < 0)
        return ss_h5_fail(SS_ERR_IO, "close", &place, "");
    return SS_OK;
}

static void abandon(struct ss_disk_file *file)
{
    char text[SS_ERROR_TEXT_MAX];
    struct ss_disk *disk = file->disk;
    enum ss_status closed;
    if (!disk)
        return;
    ss_copy(text, sizeof text, ss_error_text());
    if (disk->error == 0)
        disk->error = ECANCELED; /* nothing more reaches the disk */
    closed = close_hdf5(file);
    if (disk->fd >= 0) {
        close(disk->fd);
        remove_temp(file);
    }
    disk->fd = -1;
    file->disk = NULL;
    /* A file that libhdf5 still holds open keeps its (silent) disk. */
    if (closed == SS_OK)
        ss_free(disk);
    ss_error_set(text);
}

enum ss_status ss_disk_create(const char *path, struct ss_disk_file *out)
{
    enum ss_status status;
    out->id = H5I_INVALID_HID;
    if (!ss_copy(out->path, sizeof out->path, path) ||
        !ss_format(out->temp, sizeof out->temp, "%s.tmp", path))
        return ss_fail(SS_ERR_CONFIG, "the path %.80s... is too long", path);
    ss_h5_quiet();
    out->disk = ss_alloc(1, sizeof *out->disk, "an output file");
    if (!out->disk)
        return SS_ERR_NO_MEMORY;
    out->disk->fd = -1;
    status = open_temp(out);
    if (status == SS_OK)
        status = open_hdf5(out);
    if (status != SS_OK)
        abandon(out);
    return status;
}

enum ss_status ss_disk_status(const struct ss_disk_file *file)
{
    if (file->disk->error == 0)
        return SS_OK;
    return ss_disk_fail("write", file->path, file->disk->error);
}

/* A second descriptor keeps the inode, and so its number, until the end. */
static enum ss_status close_and_rename(struct ss_disk_file *file)
{
    int fd = file->disk->fd;
    int second = dup(fd);
    enum ss_status status = SS_OK;
    file->disk->fd = -1;
    if (close(fd) < 0)
        status = ss_disk_fail("close", file->path, errno);
    if (status == SS_OK)
        status = rename_temp(file);
    if (status != SS_OK)
        remove_temp(file);
    if (second >= 0)
        close(second);
    return status;
}

static enum ss_status settle(struct ss_disk_file *file)
{
    SS_TRY(close_hdf5(file));
    SS_TRY(ss_disk_status(file));
    if (fsync(file->disk->fd) < 0)
        return ss_disk_fail("sync", file->path, errno);
    return close_and_rename(file);
}

enum ss_status ss_disk_finish(struct ss_disk_file *file, enum ss_status status)
{
    /* What libhdf5 says after a failed write is a consequence of it. */
    if (status != SS_OK && file->disk->error != 0)
        status = ss_disk_status(file);
    if (status == SS_OK)
        status = settle(file);
    if (status != SS_OK) {
        abandon(file);
        return status;
    }
    ss_free(file->disk);
    file->disk = NULL;
    return SS_OK;
}
