/* SPDX-License-Identifier: Apache-2.0 */
/* A probe from its settings to its judged file, over any runtime. */
#include "support/probe_cases.h"

#include <math.h>
#include <string.h>

#include "analysis/result.h"
#include "probe/probe.h"
#include "store/store.h"

static enum ss_status resolve(const char *out, const char *const *settings,
                              struct ss_config *config)
{
    struct ss_config_sources sources = {.settings = settings};
    struct ss_buf problems;

    while (settings[sources.n_settings])
        sources.n_settings++;
    ss_buf_init(&problems, 1 << 16);
    enum ss_status status = ss_config_resolve(&sources, config, &problems);
    ss_buf_free(&problems);
    ss_copy(config->out_file, sizeof(config->out_file), out);
    return status;
}

enum ss_status probe_case_all(struct ss_rt *rt, const char *out,
                              const char *const *settings)
{
    static _Thread_local struct ss_config config;
    struct ss_probe_outcome outcome;

    SS_TRY(resolve(out, settings, &config));
    struct ss_probe_args args = {.config = &config,
                                 .command_line = "probe_case",
                                 .version = "test",
                                 .log_level = SS_LOG_ERROR,
                                 .net_root = "/nonexistent"};
    enum ss_status status = ss_probe_run_all(rt, &args, &outcome);
    if (status == SS_OK)
        status = outcome.end;
    ss_probe_outcome_free(&outcome);
    return status;
}

static const char *check_row(const struct ss_pair_row *row)
{
    if (!(row->duration_ns > 0) || row->bytes < 1 || row->messages < 1)
        return "a row without time or bytes";
    if (row->rank_a == row->rank_b || row->a == row->b)
        return "a pair of one";
    return "";
}

static const char *check_result(const struct ss_result *result,
                                const char *level, int n,
                                const char *const *libraries)
{
    for (int p = 0; p < result->run->n_points; p++)
        for (int64_t i = 0; i < result->run->point[p].n_pairs; i++) {
            const char *wrong = check_row(&result->run->point[p].pair[i]);
            if (wrong[0])
                return wrong;
        }
    for (; *libraries; libraries++) {
        int ways = 0;
        for (int64_t i = 0; i < result->n_pairs; i++) {
            const struct ss_pair_row *row = result->pair[i].row;
            if (strcmp(row->level, level) != 0)
                return "another level";
            ways += row->decides && result->pair[i].gbs > 0 &&
                    strcmp(row->library, *libraries) == 0;
        }
        if (ways != n * (n - 1))
            return "not every pair was measured both ways";
    }
    if (!result->complete || result->n_points != 0)
        return "not complete, or with points of steps";
    return strstr(result->sentence, " pairs: ") ? "" : "no sentence";
}

const char *probe_case_check(const char *out, const char *level, int n,
                             const char *const *libraries)
{
    struct ss_run_data run = {0};
    struct ss_rules rules = {.min_effect = 0.02, .min_effect_link = 0.05};
    struct ss_result result;
    const char *wrong = "cannot be read";

    if (ss_run_read(out, SS_READ_ALL, &run, NULL) != SS_OK)
        return ss_error_text();
    struct ss_analysis_args args = {
        .run = &run, .rules = &rules, .hang_sentence = ""};
    if (ss_analyse(&args, &result) == SS_OK) {
        wrong = check_result(&result, level, n, libraries);
        ss_result_free(&result);
    }
    ss_run_data_free(&run);
    return wrong;
}
