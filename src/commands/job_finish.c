/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rank 0 after the last point: the report from the parts on disk, one file of
 * them, and the exit code. Nothing here is collective; the others wait. Must
 * not know what was measured.
 */
#include <stdio.h>

#include "base/clock.h"
#include "commands/job.h"
#include "store/store.h"

/** Merging may take long on a slow disk; a stopped job has a second. On a disk
 * that just failed the finished parts are safer as they are. */
static bool may_merge(const struct ss_run_outcome *outcome)
{
    if (outcome->end == SS_ERR_IO)
        return false;
    return outcome->end != SS_ERR_STOPPED ||
           ss_merge_forecast_ns(outcome->out) < SS_NS_PER_S / 2;
}

static enum ss_status merge(const struct ss_run_outcome *outcome,
                            const struct ss_verdict *verdict)
{
    struct ss_run_end end = {.verdict_code = verdict->exit_code};
    struct ss_buf json;
    enum ss_status status;

    ss_copy(end.reason, sizeof(end.reason), outcome->end_reason);
    ss_buf_init(&json, 1 << 20);
    status = ss_report_verdict_json(verdict, &json);
    if (status == SS_OK) {
        const char *input = outcome->out;
        end.verdict_json = ss_buf_text(&json);
        status = ss_merge(outcome->out, &input, 1, &end);
    }
    ss_buf_free(&json);
    return status;
}

/**
 * The verdict speaks first where it found a fault or a hang; then what kept the
 * report or the sweep from its end. A stop on request is in the verdict.
 */
static int exit_code(int verdict, enum ss_status report, enum ss_status end)
{
    if (verdict == ss_status_exit_code(SS_ERR_VERIFY) ||
        verdict == ss_status_exit_code(SS_ERR_TIMEOUT))
        return verdict;
    if (report != SS_OK)
        return ss_status_exit_code(report);
    if (end != SS_OK && end != SS_ERR_STOPPED)
        return ss_status_exit_code(end);
    return verdict;
}

int ss_job_finish(const struct ss_job_stage *stage,
                  const struct ss_job_task *task, const struct ss_rules *rules,
                  const struct ss_run_outcome *outcome)
{
    const struct ss_cli *cli = task->cli;
    const struct ss_config *config = task->config;
    struct ss_story *story = NULL;
    enum ss_status status = ss_story_open_run(outcome, rules, &story);
    int code;

    if (status != SS_OK) {
        ss_cli_complain(ss_error_text());
        return ss_status_exit_code(status);
    }
    const struct ss_verdict *verdict = &ss_story_result(story)->verdict;
    code = verdict->exit_code;
    if (config->out_format != SS_OUT_NONE || cli->format_given)
        status = ss_story_print(story, ss_cli_format(cli, config), cli->ranks);
    if (status == SS_OK && stage->after)
        status = stage->after(cli, ss_story_result(story));
    if (status != SS_OK)
        ss_cli_complain(ss_error_text());
    /* nobody may be there to read a report; the file is wanted all the same */
    enum ss_status merged =
        may_merge(outcome) ? merge(outcome, verdict) : SS_OK;
    if (merged != SS_OK)
        ss_cli_complain(ss_error_text());
    fprintf(stderr, "result: %s%s\n", outcome->out,
            may_merge(outcome) && merged == SS_OK ? "" : ".part");
    status = status == SS_OK ? merged : status;
    ss_story_close(story);
    return exit_code(code, status, outcome->end);
}
