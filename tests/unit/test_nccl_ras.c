/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The question to NCCL's RAS, against servers that answer, answer slowly, say
 * nothing, or are not there.
 */
#include <arpa/inet.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/mem.h"
#include "engine/coll_nccl_ras.h"

#define STATUS "NCCL version 2.28.9\nRank 2 has not launched AllReduce 7\n"

/* One connection: what it hears, what it says, and whether it hangs up. */
struct server {
    int fd;
    const char *say;
    bool keep_open;
    char heard[64];
    char address[64];
    pthread_t thread;
};

static void *serve(void *arg)
{
    struct server *self = arg;
    int fd = accept(self->fd, NULL, NULL);
    size_t got = 0;
    ssize_t n = 1;
    char byte;
    while (fd >= 0 && n > 0 && !strstr(self->heard, "status\n")) {
        n = recv(fd, self->heard + got, sizeof(self->heard) - 1 - got, 0);
        got += n > 0 ? (size_t)n : 0;
    }
    if (fd >= 0 && send(fd, self->say, strlen(self->say), MSG_NOSIGNAL) >= 0 &&
        self->keep_open)
        (void)recv(fd, &byte, 1, 0); /* until the other side hangs up */
    close(fd);
    return NULL;
}

static void start(struct server *self, const char *say, bool keep_open)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(at);
    *self = (struct server){.say = say, .keep_open = keep_open};
    self->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(self->fd >= 0);
    assert_int_equal(bind(self->fd, (struct sockaddr *)&at, size), 0);
    assert_int_equal(listen(self->fd, 1), 0);
    assert_int_equal(getsockname(self->fd, (struct sockaddr *)&at, &size), 0);
    ss_format(self->address, sizeof(self->address),
              "NCCL_RAS_ADDR=localhost:%d", ntohs(at.sin_port));
    assert_int_equal(pthread_create(&self->thread, NULL, serve, self), 0);
}

static void stop(struct server *self)
{
    shutdown(self->fd, SHUT_RDWR);
    pthread_join(self->thread, NULL);
    close(self->fd);
}

static void ask(char *address, char *more, int64_t limit, const char *expected)
{
    char *environment[] = {address, more, NULL};
    struct ss_buf out;
    ss_buf_init(&out, 4096);
    ss_nccl_ras_ask(environment, limit, &out);
    assert_string_equal(ss_buf_text(&out), expected);
    ss_buf_free(&out);
    assert_int_equal(ss_mem_live(), 0);
}

static void answers(void **state)
{
    (void)state;
    struct server server;
    start(&server, "OK\n" STATUS, false);
    ask(server.address, NULL, 10 * SS_NS_PER_S, STATUS);
    stop(&server);
    assert_string_equal(server.heard, "timeout 1\nverbose status\n");
    /* a server without the first word */
    start(&server, STATUS, false);
    ask(server.address, NULL, 10 * SS_NS_PER_S, STATUS);
    stop(&server);
}

static void has_a_deadline(void **state)
{
    (void)state;
    struct server server;
    int64_t began = ss_clock_ns();
    start(&server, "OK\nhalf of it", true);
    ask(server.address, NULL, 200 * SS_NS_PER_MS, "half of it");
    stop(&server);
    start(&server, "", true);
    ask(server.address, NULL, 200 * SS_NS_PER_MS, "");
    stop(&server);
    assert_true(ss_clock_ns() - began < 30 * SS_NS_PER_S);
}

static void is_not_there(void **state)
{
    (void)state;
    struct server server;
    char none[] = "NCCL_RAS_ADDR=none", strange[] = "NCCL_RAS_ADDR=:1";
    char off[] = "NCCL_RAS_ENABLE=0";
    ask(none, NULL, SS_NS_PER_S, "");
    ask(strange, NULL, SS_NS_PER_S, "");
    start(&server, STATUS, false);
    ask(server.address, off, SS_NS_PER_S, "");
    stop(&server);
    ask(server.address, NULL, SS_NS_PER_S, ""); /* its port is free again */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers),
        cmocka_unit_test(has_a_deadline),
        cmocka_unit_test(is_not_there),
    };
    return cmocka_run_group_tests_name("nccl_ras", tests, NULL, NULL);
}
