/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `stepscale probe`: the interconnect, pair by pair. What it shares with `run`
 * is in job.c; its own are the words of its outcome and --exclude-file.
 */
#include "probe/probe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands/commands.h"
#include "commands/exclude.h"
#include "commands/job.h"

extern char **environ;

enum ss_status ss_probe_work(struct ss_rt *rt, const struct ss_job_task *task,
                             struct ss_run_outcome *outcome)
{
    const char *sys = getenv("STEPSCALE_SYS"); /* tests plant trees */
    struct ss_probe_args args = {
        .config = task->config,
        .command_line = task->command_line,
        .version = ss_version(),
        .environment = environ,
        .dry_run = task->cli->dry_run,
        .log_level = task->cli->log_level,
        .announce = task->cli->dry_run ? NULL : ss_job_announce,
        .net_root = sys && *sys ? sys : "/sys",
        .guard = task->guard,
        .run_id = task->run_id,
    };
    struct ss_probe_outcome probe;

    enum ss_status status = ss_probe_run_all(rt, &args, &probe);

    *outcome =
        (struct ss_run_outcome){.end = probe.end, .forecast = probe.forecast};
    ss_copy(outcome->out, sizeof(outcome->out), probe.out);
    ss_copy(outcome->run_id, sizeof(outcome->run_id), probe.run_id);
    ss_copy(outcome->end_reason, sizeof(outcome->end_reason), probe.end_reason);
    return status;
}

enum ss_status ss_probe_after(const struct ss_cli *cli,
                              const struct ss_result *result)
{
    return cli->exclude_file ? ss_exclude_write(cli->exclude_file, result)
                             : SS_OK;
}

int ss_command_probe(int argc, char **argv)
{
    static const struct ss_job_stage stage = {
        .name = "probe", .work = ss_probe_work, .after = ss_probe_after};
    static const struct ss_job_kind kind = {
        .name = "probe",
        .options = SS_CLI_CONFIG | SS_CLI_RUN | SS_CLI_REPORT | SS_CLI_EXCLUDE |
                   SS_CLI_BUDGET,
        .stage = &stage,
        .n_stages = 1,
    };

    return ss_job(&kind, argc, argv);
}
