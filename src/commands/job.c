/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `run`, `probe` and `validate` share: all ranks come here, parse and
 * agree, work, and rank 0 speaks. The report is printed, the file renamed and
 * stdout flushed before the last barrier; after it only rank 0 returns the
 * verdict's code (a rank that returns non-zero early makes mpirun kill rank 0
 * in mid-report). Must not know what the work is.
 */
#include "commands/job.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/units.h"
#include "cluster/agree.h"
#include "commands/commands.h"
#include "health/record.h"
#include "store/store.h"

void ss_job_announce(const char *text)
{
    fputs(text, stderr);
}

/** One start of the program. */
struct job {
    const struct ss_job_kind *kind;
    int argc;
    char **argv;
    struct ss_start_guard *guard;
    int code[SS_JOB_STAGES]; /* rank 0: of each stage that ran */
    int done;                /* stages that ran, the last one perhaps in part */
};

/** "all", "none" or a list: does this rank log at the asked level? */
static bool rank_logs(const char *list, int rank)
{
    char copy[SS_TEXT_MAX], *rest = copy, *word, own[16];

    if (!list)
        return rank == 0;
    if (strcmp(list, "all") == 0 || strcmp(list, "none") == 0)
        return list[0] == 'a';
    ss_copy(copy, sizeof(copy), list);
    ss_format(own, sizeof(own), "%d", rank);
    while ((word = strsep(&rest, ",")) != NULL)
        if (strcmp(word, own) == 0)
            return true;
    return false;
}

/** The command line as typed, for the file. */
static void join_words(const struct job *job, struct ss_buf *out)
{
    ss_buf_printf(out, "stepscale %s", job->kind->name);
    for (int i = 1; i < job->argc; i++)
        ss_buf_printf(out, " %s", job->argv[i]);
}

/** FNV-1a, with an end mark so that "a","b" is not "ab". */
static uint64_t add_word(uint64_t hash, const char *word)
{
    for (; word && *word; word++)
        hash = (hash ^ (unsigned char)*word) * 0x100000001b3u;
    return (hash ^ 0xffu) * 0x100000001b3u;
}

/** Options that decide which collective steps come next; settings are
 * compared later, as the configuration that they make. */
static enum ss_status agree_options_all(struct ss_rt *rt,
                                        const struct ss_cli *cli)
{
    uint64_t hash = 0xcbf29ce484222325u;

    hash = add_word(hash, cli->config_file);
    hash = add_word(hash, cli->engine);
    hash = add_word(hash, cli->resume);
    hash = add_word(hash, cli->dry_run ? "dry" : "");
    hash = add_word(hash, cli->help ? "help" : "");
    return ss_agree_word_all(rt, hash,
                             "--config, --engine, --dry-run, --resume or "
                             "--help");
}

/** It writes where it wrote before. */
static enum ss_status refuse_out(const struct ss_cli *cli)
{
    for (size_t i = 0; i < cli->n_settings; i++)
        if (strncmp(cli->setting[i], "out.file=", 9) == 0)
            return ss_fail(SS_ERR_CONFIG,
                           "--resume goes on in %s itself: leave --out away",
                           cli->resume);
    return SS_OK;
}

/** What the earlier run was asked for holds again: rank 0 reads it. */
static enum ss_status resume_all(struct ss_rt *rt, struct ss_cli *cli,
                                 struct ss_run_data *before)
{
    static char engine[sizeof(before->engine)];
    enum ss_status status = SS_OK;

    if (!cli->resume)
        return SS_OK;
    status = refuse_out(cli);
    if (status == SS_OK && rt->rank == 0)
        status = ss_run_read(cli->resume, SS_READ_META, before, NULL);
    /* sizes of the earlier run may not even fit this world */
    if (status == SS_OK && rt->rank == 0 && before->n_ranks != rt->size)
        status = ss_fail(SS_ERR_CONFIG,
                         "cannot resume: the number of ranks is %d now and "
                         "was %d",
                         rt->size, before->n_ranks);
    SS_TRY(ss_agree_all(rt, status));
    ss_copy(engine, sizeof(engine), before->engine);
    SS_TRY(ss_bcast_all(rt, engine, sizeof(engine), 0));
    if (!cli->engine)
        cli->engine = engine;
    cli->yaml = before->config_yaml ? before->config_yaml : "";
    return SS_OK;
}

static enum ss_status prepare_all(const struct job *job, struct ss_rt *rt,
                                  struct ss_cli *cli, struct ss_config *config,
                                  struct ss_run_data *before)
{
    enum ss_status status =
        ss_cli_parse(job->kind->name, job->kind->options, job->argc, job->argv,
                     rt->rank == 0, cli);

    SS_TRY(ss_agree_all(rt, status));
    SS_TRY(agree_options_all(rt, cli));
    if (cli->help)
        return SS_OK;
    ss_log_setup(rank_logs(cli->log_ranks, rt->rank) ? cli->log_level
                                                     : SS_LOG_WARN,
                 rt->host, rt->rank);
    SS_TRY(resume_all(rt, cli, before));
    return ss_cli_config_all(cli, rt, config);
}

static enum ss_status read_rules_all(struct ss_rt *rt,
                                     const struct ss_config *config,
                                     struct ss_rules *rules)
{
    return ss_agree_all(rt,
                        rt->rank == 0 ? ss_story_rules(config, rules) : SS_OK);
}

/** Which of two stages' codes is the job's. */
static int worse(int a, int b)
{
    static const int order[] = {0, 11, 2, 12, 10, 13};
    size_t at[2] = {0, 0};

    for (size_t i = 0; i < SS_COUNT_OF(order); i++) {
        at[0] = order[i] == a ? i : at[0];
        at[1] = order[i] == b ? i : at[1];
    }
    return at[0] > at[1] ? a : b;
}

/** The next stage starts anew, and under a deadline too. */
static enum ss_status guard_stage(struct job *job, struct ss_job_task *task)
{
    int64_t limit = task->config->deadline_start;

    if (task->guard)
        ss_start_guard_limit(job->guard, limit);
    else
        SS_TRY(ss_start_guard_start(environ, limit, &job->guard));
    task->guard = job->guard;
    return SS_OK;
}

/** One stage: work, report, file; *more: there may be another after it. */
static enum ss_status run_stage_all(struct job *job, struct ss_rt *rt,
                                    const struct ss_job_stage *stage,
                                    struct ss_job_task *task,
                                    const struct ss_rules *rules, bool *more)
{
    static struct ss_config config; /* large, and one at a time */
    const struct ss_config *whole = task->config;
    struct ss_run_outcome outcome = {0};
    int code = 0;

    config = *whole;
    if (stage->adapt)
        stage->adapt(&config);
    SS_TRY(ss_agree_all(rt, guard_stage(job, task)));
    task->config = &config;
    enum ss_status status = stage->work(rt, task, &outcome);
    if (status == SS_OK && rt->rank == 0 && task->cli->dry_run)
        fputs(ss_buf_text(&outcome.forecast), stdout);
    else if (status == SS_OK && rt->rank == 0 && outcome.out[0])
        code = ss_job_finish(stage, task, rules, &outcome);
    if (outcome.end == SS_ERR_TRANSPORT || outcome.end == SS_ERR_TIMEOUT)
        status = outcome.end;
    if (status != SS_OK && code == 0)
        code = ss_status_exit_code(status);
    *more = status == SS_OK && outcome.end == SS_OK;
    ss_run_outcome_free(&outcome);
    task->config = whole;
    job->code[stage - job->kind->stage] = code;
    ss_start_guard_free(job->guard);
    task->guard = job->guard = NULL;
    return status;
}

static const char *word_of(int code)
{
    return code == 0    ? "pass"
           : code == 10 ? "fail"
           : code == 11 ? "inconclusive"
           : code == 13 ? "hang or lost rank"
                        : "could not run";
}

static int worst_code(const struct job *job)
{
    int code = 0;

    for (int i = 0; i < job->done; i++)
        code = worse(code, job->code[i]);
    return code;
}

/** One verdict of several stages; rank 0, after their reports. */
static void sum_up(const struct job *job, const struct ss_job_task *task)
{
    const struct ss_cli *cli = task->cli;
    bool is_text = ss_cli_format(cli, task->config) == SS_FORMAT_TEXT;
    FILE *file = is_text ? stdout : stderr;

    fprintf(file, "\n%s: %s (", job->kind->name, word_of(worst_code(job)));
    for (int i = 0; i < job->kind->n_stages; i++)
        fprintf(file, "%s%s: %s", i ? "; " : "", job->kind->stage[i].name,
                i < job->done ? word_of(job->code[i]) : "not begun");
    fprintf(file, "), run %s\n", task->run_id);
}

/** One name for all that the stages leave. */
static enum ss_status share_name_all(struct ss_rt *rt, struct ss_config *config,
                                     struct ss_job_task *task)
{
    if (rt->rank == 0) {
        ss_record_run_id(NULL, task->run_id);
        ss_out_choose(config->out_file, task->run_id, task->out,
                      sizeof(task->out));
    }
    SS_TRY(ss_bcast_all(rt, task->out, sizeof(task->out), 0));
    if (!ss_copy(config->out_file, sizeof(config->out_file), task->out))
        return ss_fail(SS_ERR_CONFIG,
                       "the name of the result file is too "
                       "long: %s",
                       task->out);
    return SS_OK;
}

static enum ss_status run_all(struct job *job, struct ss_rt *rt)
{
    static struct ss_cli cli; /* large, and one per process */
    static struct ss_config config;
    static struct ss_rules rules;
    struct ss_run_data before = {0};
    struct ss_buf words;
    enum ss_status status;
    bool more = true;

    ss_buf_init(&words, 1 << 16);
    join_words(job, &words);
    SS_TRY_GOTO(prepare_all(job, rt, &cli, &config, &before), status, out);
    if (cli.help)
        goto out;
    SS_TRY_GOTO(read_rules_all(rt, &config, &rules), status, out);
    struct ss_job_task task = {.cli = &cli,
                               .config = &config,
                               .command_line = ss_buf_text(&words),
                               .before = &before,
                               .guard = job->guard};
    if (job->kind->n_stages > 1)
        SS_TRY_GOTO(share_name_all(rt, &config, &task), status, out);
    ss_stop_install();
    for (int i = 0; i < job->kind->n_stages && more; i++) {
        status =
            run_stage_all(job, rt, &job->kind->stage[i], &task, &rules, &more);
        job->done = i + 1;
    }
    if (rt->rank == 0 && job->kind->n_stages > 1 && !cli.dry_run)
        sum_up(job, &task);
out:
    ss_run_data_free(&before);
    ss_buf_free(&words);
    return status;
}

/** deadline.start, where it can be known before MPI_Init: a configuration file
 * is rank 0's to read. What is wrong with it is said later. */
static int64_t start_limit(const struct job *job)
{
    static const char key[] = "deadline.start=";
    const char *text = getenv("SS_DEADLINE_START");
    int64_t limit = 0;

    for (int i = 1; i < job->argc; i++) {
        const char *word = strstr(job->argv[i], key);
        if (word)
            text = word + strlen(key);
    }
    if (!text || ss_parse_time(text, &limit) != SS_OK)
        ss_error_set(NULL);
    return limit;
}

int ss_job(const struct ss_job_kind *kind, int argc, char **argv)
{
    struct job job = {.kind = kind, .argc = argc, .argv = argv};
    struct ss_rt *rt = NULL;
    enum ss_status status =
        ss_start_guard_start(environ, start_limit(&job), &job.guard);
    int code, rank;

    /* a reader of our output that went away, and a launcher's daemon, is an
     * error of the write that it fails, not the end of the job */
    (void)signal(SIGPIPE, SIG_IGN);
    ss_start_guard_enter(job.guard, "MPI_Init");
    if (status == SS_OK)
        status = ss_rt_open_all(&job.argc, &job.argv, &rt);
    if (status != SS_OK) {
        ss_cli_complain(ss_error_text());
        ss_start_guard_free(job.guard);
        return ss_status_exit_code(status);
    }
    rank = rt->rank;
    ss_start_guard_enter(job.guard, "the start of the job");
    status = run_all(&job, rt);
    ss_start_guard_free(job.guard);
    code = worst_code(&job);
    if (status != SS_OK && rank == 0) {
        ss_cli_complain(ss_error_text());
        if (code == 0)
            code = ss_status_exit_code(status);
    }
    fflush(stdout);
    if (status == SS_ERR_TRANSPORT || status == SS_ERR_TIMEOUT)
        rt->ops->abort(rt, 13);
    ss_rt_close(rt);
    return rank == 0 ? code : 0;
}
