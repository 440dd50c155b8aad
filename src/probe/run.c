/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of a probe: tournament, second pass, collectives, soak; what ends
 * it early.
 * Must not know what the numbers mean.
 */
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "cluster/agree.h"
#include "probe/context.h"

static enum ss_status run_pass(struct ss_probe *probe, int pass)
{
    static enum ss_status (*const play[])(struct ss_probe *) = {
        ss_probe_first_pass_all, ss_probe_second_pass_all, ss_probe_soak_all,
        ss_probe_colls_all};
    int64_t started = ss_clock_ns();

    SS_TRY(ss_probe_meet_all(probe, true, ss_probe_pass_begin(probe)));
    enum ss_status status = play[pass](probe);
    if (status != SS_OK && status != SS_ERR_STOPPED)
        return status;
    /* what was measured before a stop is kept */
    char stopped[32] = "";
    if (status != SS_OK)
        ss_stop_words(ss_error_text(), stopped, sizeof(stopped));
    SS_TRY(ss_probe_pass_end_all(probe, pass, started, stopped));
    return status;
}

static void note_end(const struct ss_probe *probe, enum ss_status status,
                     int done, struct ss_probe_outcome *outcome)
{
    const char *pass = ss_probe_pass_name(probe->order[done]);
    const char *text = ss_error_text();
    size_t cause = strcspn(text, ";"); /* what follows is the remedy */
    char stopped[32];

    outcome->end = status;
    ss_stop_words(text, stopped, sizeof(stopped));
    if (status == SS_ERR_STOPPED)
        ss_format(outcome->end_reason, sizeof(outcome->end_reason),
                  "%s after %d of %d passes", stopped, done, probe->n_passes);
    else
        ss_format(outcome->end_reason, sizeof(outcome->end_reason),
                  "%.*s, in the %s, after %d of %d passes",
                  (int)(cause < 100 ? cause : 100), text, pass, done,
                  probe->n_passes);
}

static void run_passes(struct ss_probe *probe, struct ss_probe_outcome *outcome)
{
    int planned = probe->n_passes, done = 0;
    enum ss_status status = SS_OK;

    while (done < planned &&
           (status = run_pass(probe, probe->order[done])) == SS_OK)
        done++;
    if (probe->world->rank == 0)
        ss_progress_end();
    if (status == SS_OK)
        return;
    if (probe->world->rank == 0 && status != SS_ERR_STOPPED)
        ss_log(SS_LOG_ERROR, "probe", "%s", ss_error_text());
    note_end(probe, status, done, outcome);
}

static enum ss_status announce(struct ss_probe *probe,
                               struct ss_probe_outcome *outcome)
{
    if (probe->world->rank != 0)
        return SS_OK;
    SS_TRY(ss_probe_forecast(probe, &outcome->forecast));
    if (probe->args->announce)
        probe->args->announce(ss_buf_text(&outcome->forecast));
    return SS_OK;
}

enum ss_status ss_probe_run_all(struct ss_rt *rt,
                                const struct ss_probe_args *args,
                                struct ss_probe_outcome *outcome)
{
    struct ss_probe probe;
    enum ss_status status;

    *outcome = (struct ss_probe_outcome){.end = SS_OK};
    ss_buf_init(&outcome->forecast, 1 << 16);
    SS_TRY_GOTO(ss_probe_open_all(rt, args, &probe), status, out);
    SS_TRY_GOTO(ss_probe_meet_all(&probe, false, announce(&probe, outcome)),
                status, out);
    if (args->dry_run)
        goto out;
    SS_TRY_GOTO(ss_probe_begin_all(&probe), status, out);
    ss_copy(outcome->out, sizeof(outcome->out), probe.out);
    ss_copy(outcome->run_id, sizeof(outcome->run_id), probe.run.run_id);
    run_passes(&probe, outcome);
out:
    ss_probe_close(&probe);
    return status;
}

void ss_probe_outcome_free(struct ss_probe_outcome *outcome)
{
    ss_buf_free(&outcome->forecast);
}
