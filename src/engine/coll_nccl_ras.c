/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A short question to NCCL's RAS threads over TCP, as its own client asks it.
 * Called when a job hangs: so every wait has an end, and no failure here is an
 * error. Must not call into NCCL, which may hang.
 */
#include "engine/coll_nccl_ras.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"

#define DEFAULT_ADDRESS "localhost:28028"
/* Peers that do not answer RAS itself get a second of the whole. */
#define QUESTION "timeout 1\nverbose status\n"
#define TIMEOUT_ANSWER "OK\n"

static const char *lookup(char *const *environment, const char *name)
{
    size_t len = strlen(name);
    for (; environment && *environment; environment++)
        if (strncmp(*environment, name, len) == 0 && (*environment)[len] == '=')
            return *environment + len + 1;
    return NULL;
}

/* "host:port", "[::1]:port". */
static bool split(const char *address, char *host, size_t size,
                  const char **port)
{
    const char *colon = strrchr(address, ':');
    if (!colon || colon == address)
        return false;
    size_t len = (size_t)(colon - address);
    if (address[0] == '[' && address[len - 1] == ']') {
        address++;
        len -= 2;
    }
    *port = colon + 1;
    return ss_format(host, size, "%.*s", (int)len, address);
}

static bool wait_for(int fd, short events, int64_t until)
{
    struct pollfd poller = {.fd = fd, .events = events};
    int64_t left = until - ss_clock_ns();
    if (left <= 0)
        return false;
    return poll(&poller, 1, (int)(left / SS_NS_PER_MS) + 1) == 1;
}

/* A connected socket, or -1. */
static int connect_to(const struct addrinfo *info, int64_t until)
{
    int fd =
        socket(info->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int error = 0;
    socklen_t size = sizeof(error);
    if (fd < 0)
        return -1;
    if (connect(fd, info->ai_addr, info->ai_addrlen) == 0)
        return fd;
    if (errno == EINPROGRESS && wait_for(fd, POLLOUT, until) &&
        getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0)
        return fd;
    close(fd);
    return -1;
}

static int open_address(const char *address, int64_t until)
{
    char host[256];
    const char *port;
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *list = NULL;
    int fd = -1;
    if (!split(address, host, sizeof(host), &port) ||
        getaddrinfo(host, port, &hints, &list) != 0)
        return -1;
    for (struct addrinfo *info = list; info && fd < 0; info = info->ai_next)
        fd = connect_to(info, until);
    freeaddrinfo(list);
    return fd;
}

/* Up to the end of the answer, the time or the room for it. */
static void read_answer(int fd, int64_t until, struct ss_buf *out)
{
    char piece[4096];
    while (ss_buf_status(out) == SS_OK && wait_for(fd, POLLIN, until)) {
        ssize_t n = recv(fd, piece, sizeof(piece), 0);
        if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
            return;
        if (n > 0)
            ss_buf_append(out, piece, (size_t)n);
    }
}

void ss_nccl_ras_ask(char *const *environment, int64_t limit_ns,
                     struct ss_buf *out)
{
    const char *address = lookup(environment, "NCCL_RAS_ADDR");
    const char *enabled = lookup(environment, "NCCL_RAS_ENABLE");
    int64_t until = ss_clock_ns() + limit_ns;
    struct ss_buf answer;
    if (enabled && strcmp(enabled, "0") == 0)
        return;
    int fd = open_address(address ? address : DEFAULT_ADDRESS, until);
    if (fd < 0)
        return;
    ss_buf_init(&answer, 1 << 20);
    if (send(fd, QUESTION, strlen(QUESTION), MSG_NOSIGNAL) ==
        (ssize_t)strlen(QUESTION))
        read_answer(fd, until, &answer);
    close(fd);
    const char *text = ss_buf_text(&answer);
    if (strncmp(text, TIMEOUT_ANSWER, strlen(TIMEOUT_ANSWER)) == 0)
        text += strlen(TIMEOUT_ANSWER);
    ss_buf_append(out, text, strlen(text));
    ss_buf_free(&answer);
}
