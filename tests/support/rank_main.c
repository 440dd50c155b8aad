/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmocka prints its totals on every rank, so eight passing ranks look like
 * noise and one failing rank drowns. Here each rank writes into a file of its
 * own and only failures are shown. A rank that fails in mid-collective leaves
 * the others waiting: an alarm ends them, after their output is shown.
 */
#include "support/rank_main.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ALARM_S = 40 };

static struct ss_rt *world;
static int capture_fd = -1, saved_out = -1, saved_err = -1;
static int my_rank;

struct ss_rt *rank_world(void)
{
    return world;
}

static void capture_start(void)
{
    fflush(NULL);
    capture_fd = memfd_create("rank output", MFD_CLOEXEC);
    saved_out = dup(STDOUT_FILENO);
    saved_err = dup(STDERR_FILENO);
    (void)dup2(capture_fd, STDOUT_FILENO);
    (void)dup2(capture_fd, STDERR_FILENO);
}

static void capture_end(void)
{
    fflush(NULL);
    (void)dup2(saved_out, STDOUT_FILENO);
    (void)dup2(saved_err, STDERR_FILENO);
}

static void show(void)
{
    FILE *from = fdopen(dup(capture_fd), "r");
    char line[512];
    rewind(from);
    while (fgets(line, sizeof(line), from))
        fprintf(stderr, "[rank %d] %s", my_rank, line);
    fclose(from);
}

/* Not async-signal-safe, and need not be: the test has failed already. */
static void on_alarm(int number)
{
    (void)number;
    capture_end();
    show();
    fprintf(stderr, "[rank %d] hangs: %d s passed\n", my_rank, ALARM_S);
    _exit(1);
}

int rank_main(int argc, char **argv, const char *name,
              const struct CMUnitTest *tests, size_t n)
{
    if (ss_rt_open_all(&argc, &argv, &world) != SS_OK) {
        fprintf(stderr, "cannot open the world: %s\n", ss_error_text());
        return 1;
    }
    my_rank = world->rank;
    (void)signal(SIGALRM, on_alarm);
    alarm(ALARM_S);
    capture_start();
    int64_t failed = _cmocka_run_group_tests(name, tests, n, NULL, NULL);
    capture_end();
    if (failed > 0)
        show();
    if (ss_allreduce_all(world, &failed, 1, SS_DT_I64, SS_RED_SUM) != SS_OK)
        failed = 1;
    if (my_rank == 0)
        printf("%s: %zu tests on %d ranks, %lld failed\n", name, n, world->size,
               (long long)failed);
    ss_rt_close(world);
    return failed > 0;
}
