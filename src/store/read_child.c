/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a file once in a child process with limits on time and memory, for
 * libhdf5 crashes or loops on some damaged files. The child tells its status
 * and its sentence through a pipe; silence means that it crashed or was
 * stopped. It must not know what is in the file.
 */
#include "store/read_file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/str.h"

#define CPU_SECONDS 20
#define BYTES_PER_SECOND 20000000 /* what a slow machine surely inflates */
#define MEMORY_BYTES ((rlim_t)4 << 30)

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HAS_SHADOW_MEMORY 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define HAS_SHADOW_MEMORY 1
#endif
#endif

struct message {
    int status;
    char text[SS_ERROR_TEXT_MAX];
};

static int64_t cpu_seconds(const char *path)
{
    struct stat info;
    if (stat(path, &info) < 0)
        return CPU_SECONDS;
    return CPU_SECONDS + (int64_t)info.st_size / BYTES_PER_SECOND;
}

static void set_limit(__rlimit_resource_t what, rlim_t most)
{
    struct rlimit limit;
    if (getrlimit(what, &limit) < 0)
        return;
    if (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur > most)
        limit.rlim_cur = most;
    setrlimit(what, &limit);
}

#ifndef HAS_SHADOW_MEMORY
/* Drivers of GPUs reserve terabytes of addresses: only growth is limited. */
static void limit_memory(void)
{
    char text[128] = "";
    FILE *file = fopen("/proc/self/statm", "re");
    char *got = file ? fgets(text, sizeof text, file) : NULL;
    if (file)
        fclose(file);
    if (got)
        set_limit(RLIMIT_AS, (rlim_t)strtoull(text, NULL, 10) *
                                     (rlim_t)sysconf(_SC_PAGESIZE) +
                                 MEMORY_BYTES);
}
#endif

/* A handler of the parent's (MPI, a test frame) must not outlive a crash. */
static void reset_signals(void)
{
    static const int deadly[] = {SIGSEGV, SIGBUS, SIGFPE,  SIGILL,  SIGABRT,
                                 SIGTRAP, SIGSYS, SIGXCPU, SIGTERM, SIGINT};
    for (size_t i = 0; i < SS_COUNT_OF(deadly); i++)
        signal(deadly[i], SIG_DFL);
}

static void run_child(int pipe_end, const char *path, enum ss_read_depth depth)
{
    struct ss_file_want want = {.depth = depth, .keep = false};
    struct ss_file_content content = {0};
    struct message message = {.status = SS_OK};
    int null_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (null_fd >= 0)
        dup2(null_fd, STDERR_FILENO); /* libhdf5's last gasps */
    reset_signals();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    set_limit(RLIMIT_CORE, 0);
    set_limit(RLIMIT_CPU, (rlim_t)cpu_seconds(path));
#ifndef HAS_SHADOW_MEMORY
    limit_memory();
#endif
    message.status = (int)ss_file_read(path, want, &content);
    if (message.status != SS_OK)
        ss_copy(message.text, sizeof message.text, ss_error_text());
    if (write(pipe_end, &message, sizeof message) != sizeof message)
        _exit(3);
    _exit(0);
}

/* False when nothing whole came before the deadline. */
static bool receive(int pipe_end, int64_t deadline, struct message *message)
{
    struct pollfd poll_fd = {.fd = pipe_end, .events = POLLIN};
    for (;;) {
        int64_t left = (deadline - ss_clock_ns()) / SS_NS_PER_MS;
        int ready = left > 0 ? poll(&poll_fd, 1, (int)left) : 0;
        if (ready < 0 && errno == EINTR)
            continue;
        /* One write below PIPE_BUF arrives in one piece or not at all. */
        return ready > 0 &&
               read(pipe_end, message, sizeof *message) == sizeof *message;
    }
}

static enum ss_status explain_silence(const char *path, int wait_status,
                                      bool late)
{
    int sig = WIFSIGNALED(wait_status) ? WTERMSIG(wait_status) : 0;
    if (late || sig == SIGXCPU || sig == SIGKILL)
        return ss_fail(SS_ERR_FORMAT,
                       "%s is damaged: reading it did not come to an end",
                       path);
    return ss_fail(SS_ERR_FORMAT,
                   "%s is damaged: reading it ends HDF5 by signal %d", path,
                   sig);
}

static enum ss_status await_child(pid_t child, int pipe_end, const char *path)
{
    struct message message = {.status = SS_ERR_FORMAT};
    int64_t wall = 3 * cpu_seconds(path) * SS_NS_PER_S;
    int64_t deadline = ss_clock_ns() + wall;
    bool heard = receive(pipe_end, deadline, &message);
    bool late = !heard && ss_clock_ns() >= deadline;
    int wait_status = 0;
    if (late)
        kill(child, SIGKILL);
    while (waitpid(child, &wait_status, 0) < 0 && errno == EINTR)
        continue;
    if (!heard)
        return explain_silence(path, wait_status, late);
    message.text[sizeof message.text - 1] = '\0';
    if (message.status != SS_OK)
        ss_error_set(message.text);
    return (enum ss_status)message.status;
}

enum ss_status ss_file_check(const char *path, enum ss_read_depth depth)
{
    enum ss_status status;
    int ends[2];
    pid_t child;
    if (pipe2(ends, O_CLOEXEC) < 0)
        return ss_fail(SS_ERR_ENV, "cannot make a pipe to read %s: %s", path,
                       strerror(errno));
    child = fork();
    if (child == 0)
        run_child(ends[1], path, depth);
    close(ends[1]);
    if (child < 0)
        status = ss_fail(SS_ERR_ENV, "cannot start a process to read %s: %s",
                         path, strerror(errno));
    else
        status = await_child(child, ends[0], path);
    close(ends[0]);
    return status;
}
