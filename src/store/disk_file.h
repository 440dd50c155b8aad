/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_STORE_DISK_FILE_H
#define SS_STORE_DISK_FILE_H

#include <hdf5.h>

#include "base/status.h"

#define SS_PATH_MAX 4096

struct ss_disk;

/**
 * One file on its way to disk: written as `<path>.tmp`, and seen under its
 * name only when every byte of it is safe. Internal to the room.
 */
struct ss_disk_file {
    char path[SS_PATH_MAX];
    char temp[SS_PATH_MAX];
    struct ss_disk *disk;   /**< owned */
    uint64_t device, inode; /**< of the file, whatever name it has by now */
    hid_t id;               /**< the open HDF5 file */
};

/** Creates `<path>.tmp`; refuses (SS_ERR_CONFIG) where path exists. */
enum ss_status ss_disk_create(const char *path, struct ss_disk_file *out);
/** SS_OK while every write so far succeeded; SS_ERR_IO names the cause. */
enum ss_status ss_disk_status(const struct ss_disk_file *file);
/**
 * The end of a file whose writing went as `status` says: closes, syncs,
 * renames, syncs the folder; or, on any failure, removes `<path>.tmp`.
 * Returns the first cause. Where two processes write the same path, one of them
 * fails here, and what stands under the name is whole.
 */
enum ss_status ss_disk_finish(struct ss_disk_file *file, enum ss_status status);

/** SS_ERR_IO "cannot <verb> <path>: <cause>" from an errno, with a remedy. */
enum ss_status ss_disk_fail(const char *verb, const char *path, int error)
    __attribute__((warn_unused_result));
/** fsync of the folder that holds `path`. */
enum ss_status ss_disk_sync_folder(const char *path);

#endif
