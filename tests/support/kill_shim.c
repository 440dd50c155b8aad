/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LD_PRELOAD library for the crash proof: counts the calls that change files
 * below the folder SS_KILL_UNDER and kills the process with SIGKILL before the
 * one numbered SS_KILL_AT (from 1). Without SS_KILL_AT it prints the total at
 * exit. Names that a returned rename gave go to the file SS_KILL_TELL, a
 * witness of what must survive. It must not need anything but the C library,
 * nor change a result.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

static atomic_long calls;

static int is_under(const char *path)
{
    const char *folder = getenv("SS_KILL_UNDER");
    size_t len = folder ? strlen(folder) : 0;
    return len > 0 && strncmp(path, folder, len) == 0;
}

static void count(void)
{
    const char *at = getenv("SS_KILL_AT");
    long limit = at ? strtol(at, NULL, 10) : 0;
    long n = atomic_fetch_add(&calls, 1) + 1;
    if (limit > 0 && n >= limit)
        kill(getpid(), SIGKILL);
}

static void count_fd(int fd)
{
    char link[64];
    char path[PATH_MAX];
    ssize_t len;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    len = readlink(link, path, sizeof path - 1);
    if (len <= 0)
        return;
    path[len] = '\0';
    if (is_under(path))
        count();
}

static void count_path(const char *path)
{
    char cwd[PATH_MAX];
    char whole[2 * PATH_MAX];
    if (path[0] != '/' && getcwd(cwd, sizeof cwd)) {
        snprintf(whole, sizeof whole, "%s/%s", cwd, path);
        path = whole;
    }
    if (is_under(path))
        count();
}

__attribute__((destructor)) static void print_total(void)
{
    if (getenv("SS_KILL_UNDER") && !getenv("SS_KILL_AT"))
        dprintf(STDERR_FILENO, "kill_shim: %ld calls\n", atomic_load(&calls));
}

static int tell(int result, const char *to)
{
    const char *path = getenv("SS_KILL_TELL");
    const char *name = strrchr(to, '/');
    int fd = -1;
    if (result == 0 && path)
        fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (fd >= 0) {
        dprintf(fd, "%s\n", name ? name + 1 : to);
        close(fd);
    }
    return result;
}

/* RESULT NAME(PARAMETERS): counted, then passed on. */
#define PASS(result, name, parameters, arguments, counting)                    \
    PASS_AND(result, name, parameters, arguments, counting, )
#define PASS_AND(result, name, parameters, arguments, counting, then)          \
    result name parameters                                                     \
    {                                                                          \
        static result(*next) parameters;                                       \
        if (!next) {                                                           \
            void *symbol = dlsym(RTLD_NEXT, #name);                            \
            memcpy(&next, &symbol, sizeof next);                               \
        }                                                                      \
        counting;                                                              \
        return then(next arguments);                                           \
    }

#define TELL(call) tell(call, to)

/* clang-format off: one line a call */
PASS(ssize_t, write, (int fd, const void *data, size_t n), (fd, data, n),
     count_fd(fd))
PASS(ssize_t, pwrite, (int fd, const void *data, size_t n, off_t at),
     (fd, data, n, at), count_fd(fd))
PASS(ssize_t, pwrite64, (int fd, const void *data, size_t n, off64_t at),
     (fd, data, n, at), count_fd(fd))
PASS(ssize_t, writev, (int fd, const struct iovec *parts, int n),
     (fd, parts, n), count_fd(fd))
PASS(ssize_t, pwritev, (int fd, const struct iovec *parts, int n, off_t at),
     (fd, parts, n, at), count_fd(fd))
PASS(int, ftruncate, (int fd, off_t size), (fd, size), count_fd(fd))
PASS(int, ftruncate64, (int fd, off64_t size), (fd, size), count_fd(fd))
PASS(int, truncate, (const char *path, off_t size), (path, size),
     count_path(path))
PASS(int, fsync, (int fd), (fd), count_fd(fd))
PASS(int, fdatasync, (int fd), (fd), count_fd(fd))
PASS_AND(int, rename, (const char *from, const char *to), (from, to),
         count_path(to), TELL)
PASS_AND(int, renameat, (int a, const char *from, int b, const char *to),
         (a, from, b, to), count_path(to), TELL)
PASS_AND(int, renameat2,
         (int a, const char *from, int b, const char *to, unsigned flags),
         (a, from, b, to, flags), count_path(to), TELL)
PASS(int, link, (const char *from, const char *to), (from, to), count_path(to))
PASS(int, unlink, (const char *path), (path), count_path(path))
PASS(int, mkdir, (const char *path, mode_t mode), (path, mode),
     count_path(path))
PASS(int, rmdir, (const char *path), (path), count_path(path))
/* clang-format on */
