/* SPDX-License-Identifier: Apache-2.0 */
/* Processes that end beside this one, and those that do not. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/str.h"
#include "cluster/siblings.h"

/* A child that waits to be killed. */
static pid_t child(struct ss_process *out)
{
    int says[2];
    assert_int_equal(pipe(says), 0);
    pid_t pid = fork();
    if (pid == 0) {
        ss_process_identify(out);
        if (write(says[1], out, sizeof(*out)) != (ssize_t)sizeof(*out))
            _exit(1);
        for (;;)
            (void)pause();
    }
    assert_int_equal(read(says[0], out, sizeof(*out)), sizeof(*out));
    (void)close(says[0]);
    (void)close(says[1]);
    assert_int_equal(out->pid, pid);
    return pid;
}

static void end(pid_t pid)
{
    assert_int_equal(kill(pid, SIGKILL), 0);
    siginfo_t info;
    /* ended, and still a zombie */
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
}

static void a_process_ends(void **state)
{
    (void)state;
    struct ss_process process, self;
    pid_t pid = child(&process);
    ss_process_identify(&self);
    assert_int_equal(self.space, process.space);
    assert_false(ss_process_ended(&process));
    assert_false(ss_process_ended(&self));
    assert_int_equal(kill(pid, SIGSTOP), 0);
    assert_false(ss_process_ended(&process)); /* it stands still */
    end(pid);
    assert_true(ss_process_ended(&process));
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_true(ss_process_ended(&process));
    self.start++; /* another process has got the number */
    assert_true(ss_process_ended(&self));
    const struct ss_process unknown = {.pid = 0};
    assert_false(ss_process_ended(&unknown));
}

static void put(struct ss_place *place, const char *host,
                const struct ss_process *process)
{
    (void)ss_copy(place->host, sizeof(place->host), host);
    (void)ss_copy(place->boot_id, sizeof(place->boot_id), "b");
    place->process = *process;
}

/* Ranks 0, 1, 2, 4 here; 3 on another host with the same number. */
static void siblings_are_of_one_host(void **state)
{
    (void)state;
    struct ss_place place[6] = {{0}};
    struct ss_topology topology = {.ranks = 6, .place = place};
    struct ss_process self, one, two, four;
    struct ss_siblings *siblings;
    char gone[64];
    ss_process_identify(&self);
    pid_t pid[] = {child(&one), child(&two), child(&four)};
    put(&place[0], "a", &self);
    put(&place[1], "a", &one);
    put(&place[2], "a", &two);
    put(&place[3], "c", &two);
    put(&place[4], "a", &four);
    put(&place[5], "a", &two);
    place[5].process.space++; /* a container of its own */
    assert_int_equal(ss_siblings_open(&topology, 0, &siblings), SS_OK);
    ss_siblings_gone(siblings, gone, sizeof(gone));
    assert_string_equal(gone, "");
    end(pid[1]);
    ss_siblings_gone(siblings, gone, sizeof(gone));
    assert_string_equal(gone, "2");
    end(pid[0]);
    end(pid[2]);
    ss_siblings_gone(siblings, gone, sizeof(gone));
    assert_string_equal(gone, "1-2,4");
    ss_siblings_gone(siblings, gone, 5);
    assert_string_equal(gone, "1-2");
    for (int i = 0; i < 3; i++)
        assert_int_equal(waitpid(pid[i], NULL, 0), pid[i]);
    ss_siblings_close(siblings);
    ss_siblings_close(NULL);
    ss_siblings_gone(NULL, gone, sizeof(gone));
    assert_string_equal(gone, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_process_ends),
        cmocka_unit_test(siblings_are_of_one_host),
    };
    return cmocka_run_group_tests_name("siblings", tests, NULL, NULL);
}
