/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job that hangs, for scripts/watchdog.bats: ranks enter a barrier under a
 * deadline of 1 s, and rank 2 does not; idle: without a deadline of its own.
 * watchdog_program late|idle|lost|fine [DIR]
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "cluster/watchdog.h"

static enum ss_status run(struct ss_rt *rt, struct ss_watchdog *dog,
                          const char *mode)
{
    struct ss_progress *at = ss_watchdog_progress(dog);
    bool fine = strcmp(mode, "fine") == 0, absent = !fine && rt->rank == 2;
    if (absent && strcmp(mode, "lost") == 0)
        (void)raise(SIGSTOP); /* its watchdog stands still too */
    if (!absent || strcmp(mode, "late") == 0)
        ss_watchdog_arm(dog, SS_NS_PER_S, "barrier");
    if (absent)
        ss_clock_sleep_until(ss_clock_ns() + 60 * SS_NS_PER_S);
    atomic_store(&at->collective, 0);
    atomic_store(&at->nth, 1);
    enum ss_status status = ss_barrier_all(rt);
    atomic_store(&at->collective, -1);
    ss_watchdog_disarm(dog);
    return status;
}

int main(int argc, char **argv)
{
    struct ss_rt *rt;
    struct ss_watchdog *dog;
    if (argc < 2 || ss_rt_open_all(&argc, &argv, &rt) != SS_OK) {
        fprintf(stderr, "usage: %s late|idle|lost|fine [DIR]\n", argv[0]);
        return 2;
    }
    ss_log_setup(SS_LOG_ERROR, rt->host, rt->rank);
    struct ss_watchdog_args args = {
        .rt = rt, .folder = argc > 2 ? argv[2] : NULL, .run_id = "test"};
    enum ss_status status = ss_watchdog_start(&args, &dog);
    if (status == SS_OK) {
        status = run(rt, dog, argv[1]);
        ss_watchdog_stop(dog);
    }
    ss_rt_close(rt);
    return ss_status_exit_code(status);
}
