/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What ranks that give up do together, through the folder alone: a marker asks
 * the others where they are, and the lowest rank that gave up judges. Must not
 * use the runtime: nothing that returns from it can be trusted by then.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "cluster/watchdog.h"

#define MARKER "last-call.tmp"
#define OVER "last-call-over.tmp"
#define ASKED "last-call-asked.tmp"
#define ANSWER_MAX ((size_t)16 * 1024)
#define ANSWER_LOGGED 40 /* lines */

/* False where the file was there, or could not be made. */
static bool make(const char *folder, const char *name)
{
    char path[4200];
    int fd;
    if (!ss_format(path, sizeof(path), "%s/%s", folder, name))
        return false;
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

static bool is_there(const char *folder, const char *name)
{
    char path[4200];
    return ss_format(path, sizeof(path), "%s/%s", folder, name) &&
           access(path, F_OK) == 0;
}

void ss_last_call_make(const char *folder)
{
    (void)make(folder, MARKER);
}

bool ss_last_call_heard(const char *folder)
{
    return is_there(folder, MARKER);
}

bool ss_last_call_over(const char *folder)
{
    return is_there(folder, OVER);
}

/* A line of the answer is a line of the words, and of the log. */
static void add_answer(const char *folder, int rank, const char *text)
{
    char path[4200];
    FILE *file = NULL;
    if (ss_format(path, sizeof(path), "%s/last-%d.txt", folder, rank) &&
        access(path, W_OK) == 0)
        file = fopen(path, "ae");
    for (int i = 0; *text; i++) {
        int len = (int)strcspn(text, "\n");
        if (file)
            (void)fprintf(file, "library=%.*s\n", len, text);
        if (i < ANSWER_LOGGED && len > 0)
            ss_log(SS_LOG_ERROR, "cluster", "the library says: %.*s", len,
                   text);
        text += len + (text[len] == '\n');
    }
    if (file)
        (void)fclose(file);
}

void ss_last_call_explain(const char *folder,
                          const struct ss_watchdog_args *args)
{
    struct ss_buf text;
    if (!args->explain || !make(folder, ASKED))
        return;
    ss_buf_init(&text, ANSWER_MAX);
    args->explain(args->abort_arg, &text);
    add_answer(folder, args->rt->rank, ss_buf_text(&text));
    ss_buf_free(&text);
}

/* After the judgement nobody is asked any more, or heard: a stopped rank that
 * the launcher wakes to end it would speak too late, and look alive. */
static void end_call(const char *folder)
{
    char path[4200];
    (void)make(folder, OVER);
    if (ss_format(path, sizeof(path), "%s/" MARKER, folder))
        (void)unlink(path);
}

/* Words of this run only, in place; returns how many. */
static int keep_ours(const char *run_id, struct ss_last_words *words, int n)
{
    int kept = 0;
    for (int i = 0; i < n; i++)
        if (strncmp(words[i].run_id, run_id, sizeof(words[i].run_id) - 1) == 0)
            words[kept++] = words[i];
    return kept;
}

static void judge(const struct ss_last_words *words, int n, int world)
{
    const struct ss_evidence evidence = {words, n, world, NULL};
    struct ss_judgement judgement;
    ss_last_words_judge(&evidence, &judgement);
    ss_log(SS_LOG_ERROR, "cluster", "the job hangs: %s", judgement.sentence);
}

/* Ranks that were only asked go on, and judge nobody. */
static int lowest_judge(const struct ss_last_words *words, int n)
{
    for (int i = 0; i < n; i++)
        if (!ss_last_words_asked(&words[i]))
            return words[i].rank;
    return 0;
}

bool ss_last_call_conclude(const char *folder, const char *run_id, int rank,
                           int world)
{
    struct ss_last_words *words = NULL;
    int n = 0;
    if (folder[0] && ss_last_call_over(folder))
        return false;
    if (folder[0] && ss_last_words_read(folder, &words, &n) == SS_OK)
        n = keep_ours(run_id, words, n);
    bool lowest = lowest_judge(words, n) >= rank;
    if (lowest && n > 0)
        judge(words, n, world);
    if (lowest && folder[0])
        end_call(folder);
    ss_free(words);
    return lowest;
}
