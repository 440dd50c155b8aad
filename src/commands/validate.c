/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `stepscale validate`: is this cluster fit for a training run? Facts of every
 * node, a short probe of the interconnect, then the sweep, as one job with one
 * verdict. A node that fails its check ends it: what would be measured on it
 * says nothing new. Must not know how any of the three works.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cluster/agree.h"
#include "commands/check.h"
#include "commands/commands.h"
#include "commands/job.h"

#define PROBE_SHARE 4 /* of the budget */
#define PROBE_BUDGET (30 * SS_NS_PER_S)

/** What stands out, a line each, as rank 0 will print it. */
static void list_rows(const struct ss_local *local, const char *host,
                      struct ss_buf *out)
{
    for (int i = 0; i < local->n; i++)
        if (local->row[i].level != SS_LEVEL_OK)
            ss_buf_printf(
                out, "  %s: %s%s\n", host,
                local->row[i].level == SS_LEVEL_CRITICAL ? "" : "(warning) ",
                local->row[i].text);
}

/** SS_ERR_VERIFY with the first critical thing. */
static enum ss_status judge_node(const struct ss_local *local)
{
    for (int i = 0; i < local->n; i++)
        if (local->row[i].level == SS_LEVEL_CRITICAL)
            return ss_fail(SS_ERR_VERIFY, "this node is not fit: %s",
                           local->row[i].text);
    return SS_OK;
}

/** Rank 0 prints what all nodes found, in their order. */
static enum ss_status print_all(struct ss_rt *rt, const struct ss_buf *mine,
                                int nodes)
{
    size_t *lens = ss_alloc((size_t)rt->size, sizeof(*lens), "lengths");
    void *texts = NULL;
    enum ss_status status = ss_agree_all(rt, lens ? SS_OK : SS_ERR_NO_MEMORY);
    size_t total = 0;

    if (status == SS_OK)
        status =
            ss_gatherv_all(rt, ss_buf_text(mine), mine->len, &texts, lens, 0);
    for (int i = 0; lens && status == SS_OK && rt->rank == 0 && i < rt->size;
         i++)
        total += lens[i];
    if (status == SS_OK && rt->rank == 0)
        fprintf(stderr, "check: %d node%s, %s\n%.*s", nodes,
                nodes == 1 ? "" : "s",
                total > 0 ? "of which" : "nothing stands out", (int)total,
                total > 0 ? (const char *)texts : "");
    ss_free(texts);
    ss_free(lens);
    return status;
}

static enum ss_status check_work(struct ss_rt *rt,
                                 const struct ss_job_task *task,
                                 struct ss_run_outcome *outcome)
{
    struct ss_local local = {0};
    struct ss_rt *host = NULL;
    struct ss_buf text;
    int64_t nodes = 0;
    enum ss_status status;

    (void)task;
    ss_buf_init(&outcome->forecast, 16);
    ss_buf_init(&text, 1 << 16);
    SS_TRY_GOTO(rt->ops->split_host_all(rt, &host), status, out);
    bool speaks = host->rank == 0;
    nodes = speaks;
    status = speaks ? ss_check_this_node(&local) : SS_OK;
    SS_TRY_GOTO(ss_agree_all(rt, status), status, out);
    list_rows(&local, rt->host, &text);
    SS_TRY_GOTO(ss_allreduce_all(rt, &nodes, 1, SS_DT_I64, SS_RED_SUM), status,
                out);
    SS_TRY_GOTO(print_all(rt, &text, (int)nodes), status, out);
    status = ss_agree_all(rt, judge_node(&local));
out:
    ss_rt_close(host);
    ss_local_free(&local);
    ss_buf_free(&text);
    return status;
}

/** One rank has no pairs. */
static enum ss_status probe_work(struct ss_rt *rt,
                                 const struct ss_job_task *task,
                                 struct ss_run_outcome *outcome)
{
    if (rt->size > 1)
        return ss_probe_work(rt, task, outcome);
    fprintf(stderr, "probe: left out, one rank has no pairs\n");
    ss_buf_init(&outcome->forecast, 16);
    return SS_OK;
}

/** "today.h5" -> "today-probe.h5" */
static void adapt_probe(struct ss_config *config)
{
    size_t len = strlen(config->out_file);
    char name[sizeof(config->out_file)];

    if (len > 3 && strcmp(config->out_file + len - 3, ".h5") == 0)
        len -= 3;
    if (ss_format(name, sizeof(name), "%.*s-probe.h5", (int)len,
                  config->out_file))
        (void)ss_copy(config->out_file, sizeof(config->out_file), name);
    config->measure_budget = config->measure_budget > 0
                                 ? config->measure_budget / PROBE_SHARE
                                 : PROBE_BUDGET;
}

static void adapt_run(struct ss_config *config)
{
    config->measure_budget -= config->measure_budget / PROBE_SHARE;
}

int ss_command_validate(int argc, char **argv)
{
    static const struct ss_job_stage stages[] = {
        {.name = "check", .work = check_work},
        {.name = "probe",
         .work = probe_work,
         .after = ss_probe_after,
         .adapt = adapt_probe},
        {.name = "run", .work = ss_run_work, .adapt = adapt_run},
    };
    static const struct ss_job_kind kind = {
        .name = "validate",
        .options = SS_CLI_CONFIG | SS_CLI_RUN | SS_CLI_REPORT | SS_CLI_STEP |
                   SS_CLI_SIZES | SS_CLI_BUDGET | SS_CLI_ENGINE |
                   SS_CLI_EXCLUDE,
        .stage = stages,
        .n_stages = (int)SS_COUNT_OF(stages),
    };

    return ss_job(&kind, argc, argv);
}
