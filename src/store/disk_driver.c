/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file driver for libhdf5 that never lets a write fail in its sight. With
 * the stock driver a full disk makes H5Fclose fail half-way: the file stays
 * open inside the library, its space is not given back when it is unlinked,
 * and the library tries again at exit. Here the first error is kept for the
 * caller, who owns the descriptor, and closing always succeeds. It must not
 * know paths, names or when a file is good: disk_file.c decides that.
 */
#include "store/disk_driver.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct driver_file {
    H5FD_t head; /* libhdf5's part, first by its rules */
    struct ss_disk *disk;
    haddr_t eoa;
};

static struct driver_file *mine(H5FD_t *file)
{
    return (struct driver_file *)(void *)file;
}

static const struct driver_file *mine_const(const H5FD_t *file)
{
    return (const struct driver_file *)(const void *)file;
}

/* The library frees it through driver_close, so it is not ss_alloc's. */
static H5FD_t *driver_open(const char *name, unsigned flags, hid_t access,
                           haddr_t max_address)
{
    struct ss_disk *const *info = H5Pget_driver_info(access);
    struct driver_file *file = info ? calloc(1, sizeof *file) : NULL;
    (void)name;
    (void)flags;
    (void)max_address;
    if (!file)
        return NULL;
    file->disk = *info;
    return &file->head;
}

static herr_t driver_close(H5FD_t *file)
{
    free(file);
    return 0;
}

static herr_t driver_query(const H5FD_t *file, unsigned long *flags)
{
    (void)file;
    *flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA |
             H5FD_FEAT_AGGREGATE_SMALLDATA;
    return 0;
}

static haddr_t driver_get_eoa(const H5FD_t *file, H5FD_mem_t type)
{
    (void)type;
    return mine_const(file)->eoa;
}

static herr_t driver_set_eoa(H5FD_t *file, H5FD_mem_t type, haddr_t eoa)
{
    (void)type;
    mine(file)->eoa = eoa;
    return 0;
}

static haddr_t driver_get_eof(const H5FD_t *file, H5FD_mem_t type)
{
    (void)type;
    return mine_const(file)->disk->eof;
}

/* Behind the end of the file, and after an error, there are zeros. */
static herr_t driver_read(H5FD_t *file, H5FD_mem_t type, hid_t transfer,
                          haddr_t address, size_t size, void *buffer)
{
    struct ss_disk *disk = mine(file)->disk;
    char *to = buffer;
    (void)type;
    (void)transfer;
    while (size > 0 && disk->error == 0) {
        ssize_t got = pread(disk->fd, to, size, (off_t)address);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            disk->error = errno;
        if (got <= 0)
            break;
        to += got;
        size -= (size_t)got;
        address += (haddr_t)got;
    }
    memset(to, 0, size);
    return 0;
}

static herr_t driver_write(H5FD_t *file, H5FD_mem_t type, hid_t transfer,
                           haddr_t address, size_t size, const void *buffer)
{
    struct ss_disk *disk = mine(file)->disk;
    const char *from = buffer;
    (void)type;
    (void)transfer;
    while (size > 0 && disk->error == 0) {
        ssize_t put = pwrite(disk->fd, from, size, (off_t)address);
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0) {
            disk->error = put < 0 ? errno : EIO;
            break;
        }
        from += put;
        size -= (size_t)put;
        address += (haddr_t)put;
    }
    if (address > disk->eof)
        disk->eof = address;
    return 0;
}

static herr_t driver_truncate(H5FD_t *file, hid_t transfer, hbool_t closing)
{
    struct driver_file *of = mine(file);
    (void)transfer;
    (void)closing;
    if (of->disk->eof == of->eoa || of->disk->error != 0)
        return 0;
    if (ftruncate(of->disk->fd, (off_t)of->eoa) < 0)
        of->disk->error = errno;
    of->disk->eof = of->eoa;
    return 0;
}

static const H5FD_class_t driver = {
#if H5_VERSION_GE(1, 13, 0)
    .version = H5FD_CLASS_VERSION,
    .value = (H5FD_class_value_t)511, /* the range kept for private drivers */
#endif
    .name = "stepscale",
    .maxaddr = (haddr_t)INT64_MAX,
    .fc_degree = H5F_CLOSE_STRONG,
    .fapl_size = sizeof(struct ss_disk *),
    .open = driver_open,
    .close = driver_close,
    .query = driver_query,
    .get_eoa = driver_get_eoa,
    .set_eoa = driver_set_eoa,
    .get_eof = driver_get_eof,
    .read = driver_read,
    .write = driver_write,
    .truncate = driver_truncate,
    .fl_map = H5FD_FLMAP_DICHOTOMY,
};

/* The file keeps its own count on the driver: ours is given back at once. */
hid_t ss_disk_access(struct ss_disk *disk)
{
    hid_t id = H5FDregister(&driver);
    hid_t access = id < 0 ? id : H5Pcreate(H5P_FILE_ACCESS);
    bool bad =
        access < 0 || H5Pset_driver(access, id, &disk) < 0 ||
        H5Pset_fclose_degree(access, H5F_CLOSE_STRONG) < 0 ||
        H5Pset_libver_bounds(access, H5F_LIBVER_EARLIEST, H5F_LIBVER_V18) < 0;
    if (id >= 0 && H5FDunregister(id) < 0)
        bad = true;
    if (bad && access >= 0)
        H5Pclose(access);
    return bad ? H5I_INVALID_HID : access;
}
