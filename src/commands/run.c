/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `stepscale run`: the main job, a sweep over training steps. What it shares
 * with other measuring subcommands is in job.c.
 */
#include "commands/commands.h"
#include "commands/job.h"

extern char **environ;

enum ss_status ss_run_work(struct ss_rt *rt, const struct ss_job_task *task,
                           struct ss_run_outcome *outcome)
{
    struct ss_run_args args = {
        .config = task->config,
        .engine = task->cli->engine,
        .command_line = task->command_line,
        .version = ss_version(),
        .environment = &environ,
        .dry_run = task->cli->dry_run,
        .log_level = task->cli->log_level,
        .announce = task->cli->dry_run ? NULL : ss_job_announce,
        .net_root = "/sys",
        .guard = task->guard,
        .run_id = task->run_id,
        .resume = task->cli->resume,
        .before = task->before,
    };

    return ss_sweep_run_all(rt, &args, outcome);
}

int ss_command_run(int argc, char **argv)
{
    static const struct ss_job_stage stage = {.name = "run",
                                              .work = ss_run_work};
    static const struct ss_job_kind kind = {
        .name = "run",
        .options = SS_CLI_CONFIG | SS_CLI_RUN | SS_CLI_REPORT | SS_CLI_RESUME |
                   SS_CLI_STEP | SS_CLI_SIZES | SS_CLI_BUDGET | SS_CLI_ENGINE,
        .stage = &stage,
        .n_stages = 1,
    };

    return ss_job(&kind, argc, argv);
}
