/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_STORE_DISK_DRIVER_H
#define SS_STORE_DISK_DRIVER_H

#include <stdint.h>

#include <hdf5.h>

/**
 * The bytes under one HDF5 file being written. `error` is the errno of the
 * first call that failed, 0 while all went well; after it nothing more is
 * written, and libhdf5 is told that all is well, so that it can close.
 */
struct ss_disk {
    int fd;
    int error;
    uint64_t eof;
};

/** File access properties for writing through `disk`; < 0 on failure. */
hid_t ss_disk_access(struct ss_disk *disk);

#endif
