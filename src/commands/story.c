/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a path to a judged result: read, last words, analyse. `run` uses the
 * same way as `report`, so that what is printed at the end of a run is what
 * anyone can print later from the file.
 */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "cluster/watchdog.h"
#include "commands/cli.h"
#include "store/store.h"
#include "sweep/sweep.h"

struct ss_story {
    struct ss_run_data run;
    struct ss_result result;
    struct ss_buf notes;
    struct ss_judgement hang;
};

enum ss_status ss_story_rules(const struct ss_config *config,
                              struct ss_rules *out)
{
    struct ss_buf text, problems;
    enum ss_status status;

    *out = (struct ss_rules){.min_effect = config->rules_min_effect,
                             .min_effect_link = config->rules_min_effect_link};
    if (!config->rules_file[0])
        return SS_OK;
    ss_buf_init(&text, SS_CONFIG_FILE_MAX);
    ss_buf_init(&problems, 1 << 20);
    status = ss_read_named_file(config->rules_file, SS_CONFIG_FILE_MAX, &text);
    if (status == SS_OK) {
        status = ss_rules_parse(ss_buf_text(&text), text.len,
                                config->rules_file, out, &problems);
        fputs(ss_buf_text(&problems), stderr);
    }
    out->min_effect = config->rules_min_effect;
    out->min_effect_link = config->rules_min_effect_link;
    ss_buf_free(&problems);
    ss_buf_free(&text);
    return status;
}

/** The run was ended on request, in mid-step: no hang. */
static void note_stop(struct ss_run_data *run, const char *more)
{
    ss_format(run->end_reason, sizeof(run->end_reason),
              "stopped by SIGTERM in mid-step, after %d of %lld points%s%s",
              run->n_points, (long long)run->planned_points,
              more[0] ? "; " : "", more);
}

static void fill_culprits(struct ss_story *story,
                          const struct ss_last_words *words, int n,
                          struct ss_analysis_args *args)
{
    const struct ss_judgement *judgement = &story->hang;

    args->n_hang_ranks = judgement->n;
    args->hang_ranks = judgement->culprit;
    args->hang_sentence = judgement->sentence;
    args->hang_lost = judgement->lost;
    for (int i = 0; i < n; i++)
        if (!ss_last_words_asked(&words[i]))
            args->hang_size = words[i].peer_count > 0 ? words[i].peer_count
                                                      : story->run.n_ranks;
}

/** Which node a rank is on, by rank. */
static enum ss_status nodes_of(const struct ss_run_data *run, int32_t **out)
{
    int32_t *node = ss_alloc((size_t)run->n_ranks, sizeof(*node), "nodes");

    if (!node)
        return SS_ERR_NO_MEMORY;
    for (int i = 0; i < run->n_ranks; i++) {
        int32_t index = run->rank[i].node;
        node[i] = index >= 0 && index < run->n_ranks ? index : 0;
    }
    *out = node;
    return SS_OK;
}

/** Fills args with who is to blame when ranks left last words. */
static enum ss_status read_words(struct ss_story *story,
                                 struct ss_analysis_args *args)
{
    struct ss_last_words *words = NULL;
    struct ss_judgement *judgement = &story->hang;
    int32_t *node = NULL;
    enum ss_status status;
    int n = 0;

    if (!story->run.last_words)
        return SS_OK;
    SS_TRY(ss_last_words_parse(story->run.last_words, &words, &n));
    SS_TRY_GOTO(nodes_of(&story->run, &node), status, out);
    const struct ss_evidence evidence = {words, n, story->run.n_ranks, node};
    if (n > 0)
        ss_last_words_judge(&evidence, judgement);
    if (judgement->stopped)
        note_stop(&story->run, judgement->sentence);
    else if (n > 0)
        fill_culprits(story, words, n, args);
out:
    ss_free(node);
    ss_free(words);
    return status;
}

/** end: what ended the run, or NULL to take what the file says. */
static enum ss_status open_story(const char *path, const char *end,
                                 const struct ss_rules *rules,
                                 struct ss_story **out)
{
    struct ss_story *story = ss_alloc(1, sizeof(*story), "report");
    struct ss_analysis_args args = {.rules = rules, .hang_sentence = ""};
    enum ss_status status;

    if (!story)
        return SS_ERR_NO_MEMORY;
    ss_buf_init(&story->notes, 1 << 16);
    SS_TRY_GOTO(ss_run_read(path, SS_READ_ALL, &story->run, &story->notes),
                status, fail);
    if (story->notes.len > 0)
        fputs(ss_buf_text(&story->notes), stderr);
    if (end)
        ss_copy(story->run.end_reason, sizeof(story->run.end_reason), end);
    args.run = &story->run;
    SS_TRY_GOTO(read_words(story, &args), status, fail);
    SS_TRY_GOTO(ss_analyse(&args, &story->result), status, fail);
    /* without new limits the verdict is the one that was given then */
    if (!end && rules->n == 0 && story->run.verdict_json)
        (void)ss_report_verdict_read(story->run.verdict_json,
                                     &story->result.verdict);
    *out = story;
    return SS_OK;
fail:
    ss_story_close(story);
    return status;
}

enum ss_status ss_story_open(const char *path, const struct ss_rules *rules,
                             struct ss_story **out)
{
    return open_story(path, NULL, rules, out);
}

enum ss_status ss_story_open_run(const struct ss_run_outcome *outcome,
                                 const struct ss_rules *rules,
                                 struct ss_story **out)
{
    return open_story(outcome->out, outcome->end_reason, rules, out);
}

const struct ss_result *ss_story_result(const struct ss_story *story)
{
    return &story->result;
}

void ss_story_close(struct ss_story *story)
{
    if (!story)
        return;
    ss_result_free(&story->result);
    ss_run_data_free(&story->run);
    ss_buf_free(&story->notes);
    ss_free(story);
}

enum ss_status ss_story_print(const struct ss_story *story,
                              enum ss_report_format format,
                              enum ss_report_ranks ranks)
{
    struct ss_buf text;
    enum ss_status status;

    ss_buf_init(&text, (size_t)1 << 30);
    status = ss_report_render(&story->result, format, ranks, &text);
    if (status == SS_OK) {
        size_t written = fwrite(ss_buf_text(&text), 1, text.len, stdout);
        if (written != text.len || fflush(stdout) != 0)
            status = ss_fail(SS_ERR_IO, "cannot write the report: %m");
    }
    ss_buf_free(&text);
    return status;
}
