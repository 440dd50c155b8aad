/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread_job RANKS OUT [section.key=value...]: the sweep of `stepscale run`
 * with the null engine over the threads runtime, then the merge: a job of many
 * points in one process without a launcher, so that the crash proof can kill it
 * at every instant and the thread sanitizer can watch it.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "config/config.h"
#include "store/store.h"
#include "sweep/sweep.h"

struct job {
    struct ss_config config;
    struct ss_run_outcome outcome; /* of rank 0 */
};

static enum ss_status rank_main(struct ss_rt *rt, void *arg)
{
    struct job *job = arg;
    struct ss_run_outcome outcome = {0};
    struct ss_run_args args = {
        .config = &job->config,
        .engine = "null",
        .command_line = "thread_job",
        .version = "test",
        .log_level = SS_LOG_ERROR,
        .net_root = "/nonexistent",
    };
    enum ss_status status = ss_sweep_run_all(rt, &args, &outcome);
    if (status == SS_OK)
        status = outcome.end;
    if (rt->rank == 0)
        job->outcome = outcome;
    ss_run_outcome_free(&outcome);
    return status;
}

static enum ss_status resolve(int n, char **settings, struct ss_config *out)
{
    struct ss_config_sources sources = {
        .settings = (const char *const *)settings, .n_settings = (size_t)n};
    struct ss_buf problems;
    ss_buf_init(&problems, 1 << 16);
    enum ss_status status = ss_config_resolve(&sources, out, &problems);
    ss_buf_free(&problems);
    return status;
}

static enum ss_status merge(const struct ss_run_outcome *outcome)
{
    const char *input = outcome->out;
    struct ss_run_end end = {.verdict_code = 0};
    return ss_merge(outcome->out, &input, 1, &end);
}

int main(int argc, char **argv)
{
    static struct job job;
    if (argc < 3) {
        fprintf(stderr, "usage: thread_job RANKS OUT [section.key=value...]\n");
        return 2;
    }
    ss_log_setup(SS_LOG_ERROR, "thread", 0);
    int ranks = (int)strtol(argv[1], NULL, 10);
    enum ss_status status = resolve(argc - 3, argv + 3, &job.config);
    if (status == SS_OK &&
        !ss_copy(job.config.out_file, sizeof(job.config.out_file), argv[2]))
        status = ss_fail(SS_ERR_CONFIG, "the path is too long");
    if (status == SS_OK)
        status = ss_rt_threads_run(ranks, 1, rank_main, &job);
    if (status == SS_OK)
        status = merge(&job.outcome);
    if (status != SS_OK)
        fprintf(stderr, "thread_job: %s\n", ss_error_text());
    return ss_status_exit_code(status);
}
