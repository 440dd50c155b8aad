/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The watchdog in one process: it stays quiet when it should, ends a world of
 * threads that hangs, and lets SIGTERM end a rank that meets nobody. Real
 * endings of real jobs are in scripts/watchdog.bats.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "cluster/agree.h"
#include "cluster/start_guard.h"
#include "cluster/watchdog.h"

static char folder[64];

static int make_folder(void **state)
{
    (void)state;
    (void)ss_copy(folder, sizeof(folder), "/tmp/ss-dog-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    char command[128];
    (void)ss_format(command, sizeof(command), "rm -rf '%s'", folder);
    return system(command);
}

static void quiet(void **state)
{
    (void)state;
    struct ss_rt *rt;
    struct ss_watchdog *dog;
    assert_int_equal(ss_rt_solo_open(&rt), SS_OK);
    struct ss_watchdog_args args = {.rt = rt};
    assert_int_equal(ss_watchdog_start(&args, &dog), SS_OK);
    assert_int_equal(atomic_load(&ss_watchdog_progress(dog)->collective), -1);
    for (int i = 0; i < 1000; i++) {
        ss_watchdog_arm(dog, 10 * SS_NS_PER_S, "block");
        ss_watchdog_disarm(dog);
    }
    /* A deadline that passes after its end. */
    ss_watchdog_arm(dog, 200 * SS_NS_PER_MS, "block");
    ss_watchdog_disarm(dog);
    ss_clock_sleep_until(ss_clock_ns() + 350 * SS_NS_PER_MS);
    assert_int_equal(ss_watchdog_fired(dog), 0);
    ss_watchdog_stop(dog);
    ss_rt_close(rt);
    assert_int_equal(ss_mem_live(), 0);
    ss_watchdog_arm(NULL, 1, "nothing");
    ss_watchdog_stop(NULL);
}

static const char *name_op(void *arg, int64_t op, char *out, size_t size)
{
    (void)ss_format(out, size, "%s_%d", (const char *)arg, (int)op);
    return out;
}

static void note_abort(void *arg)
{
    *(int *)arg = 1;
}

static void tell(void *arg, struct ss_buf *out)
{
    (void)arg;
    ss_buf_printf(out, "Rank 1 is missing:\nask=it\n");
}

/* Rank 1 never comes. Rank 0's dog speaks, judges and ends the world; both
 * ranks get away with an error. */
static enum ss_status hang(struct ss_rt *rt, void *arg)
{
    struct ss_watchdog *dog;
    int *aborted = arg;
    struct ss_watchdog_args args = {.rt = rt,
                                    .folder = folder,
                                    .run_id = "r1",
                                    .op_name = name_op,
                                    .op_arg = (void *)(uintptr_t) "reduce",
                                    .abort_engine = note_abort,
                                    .abort_arg = &aborted[rt->rank],
                                    .explain = tell};
    SS_TRY(ss_watchdog_start(&args, &dog));
    if (rt->rank == 0) {
        struct ss_progress *at = ss_watchdog_progress(dog);
        atomic_store(&at->collective, 5);
        atomic_store(&at->nth, 3);
        ss_watchdog_arm(dog, 100 * SS_NS_PER_MS, "block");
    } else {
        ss_clock_sleep_until(ss_clock_ns() + 4 * SS_NS_PER_S);
    }
    enum ss_status status = ss_barrier_all(rt);
    aborted[2 + rt->rank] = ss_watchdog_fired(dog);
    ss_watchdog_stop(dog);
    return status;
}

/* Lines of rank 0's last words that are this text. */
static int count_lines(const char *text)
{
    char path[128], line[256];
    int n = 0;
    (void)ss_format(path, sizeof(path), "%s/last-0.txt", folder);
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    while (fgets(line, sizeof(line), file)) {
        line[strcspn(line, "\n")] = '\0';
        n += strcmp(line, text) == 0;
    }
    (void)fclose(file);
    return n;
}

static void ends_a_world_of_threads(void **state)
{
    (void)state;
    int seen[4] = {0}, n;
    struct ss_last_words *words;
    assert_int_equal(ss_rt_threads_run(2, 1, hang, seen), SS_ERR_TRANSPORT);
    assert_non_null(strstr(ss_error_text(), "ended the job with code 13"));
    assert_int_equal(seen[0], 1); /* the engine was aborted */
    assert_int_equal(seen[1], 0);
    assert_int_equal(seen[2], 1); /* fired */
    assert_int_equal(seen[3], 0);
    assert_int_equal(ss_last_words_read(folder, &words, &n), SS_OK);
    assert_int_equal(n, 1);
    assert_string_equal(words[0].op_name, "reduce_5");
    assert_string_equal(words[0].run_id, "r1");
    assert_string_equal(words[0].why, "deadline");
    assert_int_equal(words[0].nth, 3);
    ss_free(words);
    assert_int_equal(count_lines("library=Rank 1 is missing:"), 1);
    assert_int_equal(count_lines("library=ask=it"), 1);
    assert_int_equal(ss_mem_live(), 0);
}

/* In a child: SIGTERM, then either an agreement in time or never again. */
static int terminated_child(int polite)
{
    struct ss_rt *rt;
    struct ss_watchdog *dog;
    if (ss_rt_solo_open(&rt) != SS_OK)
        return 99;
    struct ss_watchdog_args args = {.rt = rt, .folder = folder};
    if (ss_watchdog_start(&args, &dog) != SS_OK)
        return 98;
    ss_stop_install();
    ss_watchdog_arm(dog, 60 * SS_NS_PER_S, "block");
    raise(SIGTERM);
    /* 1.3 s: the last words are written, and taken back by an orderly stop */
    ss_clock_sleep_until(ss_clock_ns() +
                         (polite ? 1300 * SS_NS_PER_MS : 30 * SS_NS_PER_S));
    ss_watchdog_disarm(dog);
    enum ss_status status = ss_agree_or_stop_all(rt, SS_OK);
    ss_watchdog_stop(dog);
    ss_rt_close(rt);
    return ss_status_exit_code(status);
}

static int run_child(int polite)
{
    int status;
    pid_t child = fork();
    if (child == 0)
        _exit(terminated_child(polite));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void sigterm(void **state)
{
    (void)state;
    struct ss_last_words *words;
    int n;
    assert_int_equal(run_child(1), 11);
    assert_int_equal(ss_last_words_read(folder, &words, &n), SS_OK);
    assert_int_equal(n, 0);
    ss_free(words);
    assert_int_equal(run_child(0), 13);
    assert_int_equal(ss_last_words_read(folder, &words, &n), SS_OK);
    assert_int_equal(n, 1);
    assert_string_equal(words[0].why, "SIGTERM");
    ss_free(words);
}

/* A child whose start takes 0.6 s, under a limit: its exit code. */
static int started_child(int64_t limit, bool ended)
{
    char zero[] = "PMIX_RANK=0", size[] = "OMPI_COMM_WORLD_SIZE=4";
    char *environment[] = {zero, size, NULL};
    struct ss_start_guard *guard;
    if (ss_start_guard_start(environment, 60 * SS_NS_PER_S, &guard) != SS_OK)
        return 99;
    ss_start_guard_limit(guard, limit);
    ss_start_guard_enter(guard, "MPI_Init");
    if (ended)
        ss_start_guard_end(guard);
    /* rank 0 gives the others' words 2 s */
    ss_clock_sleep_until(ss_clock_ns() +
                         (ended ? 600 * SS_NS_PER_MS : 10 * SS_NS_PER_S));
    ss_start_guard_free(guard);
    return ss_mem_live() == 0 ? 0 : 98;
}

static int code_of_start(int64_t limit, bool ended)
{
    int state = 0;
    pid_t child = fork();
    if (child == 0)
        _exit(started_child(limit, ended));
    assert_int_equal(waitpid(child, &state, 0), child);
    return WIFEXITED(state) ? WEXITSTATUS(state) : -1;
}

static void a_start_has_a_deadline(void **state)
{
    (void)state;
    assert_int_equal(code_of_start(100 * SS_NS_PER_MS, false), 13);
    assert_int_equal(code_of_start(100 * SS_NS_PER_MS, true), 0);
    ss_start_guard_enter(NULL, "nothing");
    ss_start_guard_limit(NULL, 1);
    ss_start_guard_end(NULL);
    ss_start_guard_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quiet),
        cmocka_unit_test_setup_teardown(ends_a_world_of_threads, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(sigterm, make_folder, remove_folder),
        cmocka_unit_test(a_start_has_a_deadline),
    };
    return cmocka_run_group_tests_name("watchdog", tests, NULL, NULL);
}
