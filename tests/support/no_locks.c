/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LD_PRELOAD library that stands for a file system without locks (Lustre
 * mounted without flock, some NFS): every lock fails as it does there.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/file.h>

typedef int (*fcntl_fn)(int fd, int command, void *argument);

int flock(int fd, int operation)
{
    (void)fd, (void)operation;
    errno = ENOSYS;
    return -1;
}

static int forward(const char *name, int fd, int command, void *argument)
{
    fcntl_fn real;

    switch (command) {
    case F_SETLK:
    case F_SETLKW:
    case F_OFD_SETLK:
    case F_OFD_SETLKW:
        errno = ENOLCK;
        return -1;
    default:
        *(void **)&real = dlsym(RTLD_NEXT, name);
        return real(fd, command, argument);
    }
}

#define FORWARD(name)                                                          \
    int name(int fd, int command, ...)                                         \
    {                                                                          \
        va_list list;                                                          \
        va_start(list, command);                                               \
        void *argument = va_arg(list, void *);                                 \
        va_end(list);                                                          \
        return forward(#name, fd, command, argument);                          \
    }
FORWARD(fcntl)
FORWARD(fcntl64)
