/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who is to blame for a hang, from the last words alone. Pure. A rank without
 * words is lost; a rank that computes while half of the others wait for it is
 * late; among waiting ranks those at an earlier call hold up the rest. Where
 * nothing of this holds, nobody is accused.
 */
#include <string.h>

#include "base/str.h"
#include "cluster/watchdog.h"

struct verdict {
    int *culprits;
    int max, n;
    const struct ss_last_words *first; /* words of the first culprit */
};

static void accuse(struct verdict *verdict, int rank,
                   const struct ss_last_words *words)
{
    if (verdict->n < verdict->max)
        verdict->culprits[verdict->n] = rank;
    if (verdict->n++ == 0)
        verdict->first = words;
}

/* "rank 2 on node07", "ranks 2, 3, 5, 7 and 12 more". */
static void name_culprits(const struct verdict *verdict, char *out, size_t size)
{
    int shown = verdict->n < 4 ? verdict->n : 4;
    if (shown > verdict->max)
        shown = verdict->max;
    struct ss_buf buf;
    ss_buf_init(&buf, 512);
    ss_buf_printf(&buf, verdict->n > 1 ? "ranks" : "rank");
    for (int i = 0; i < shown; i++)
        ss_buf_printf(&buf, "%s%d", i ? ", " : " ", verdict->culprits[i]);
    if (verdict->n > shown)
        ss_buf_printf(&buf, " and %d more", verdict->n - shown);
    if (verdict->n == 1 && verdict->first)
        ss_buf_printf(&buf, " on %s", verdict->first->host);
    (void)ss_copy(out, size, ss_buf_text(&buf));
    ss_buf_free(&buf);
}

/* "allreduce_3, call 7 of point 4" */
static void name_call(const struct ss_last_words *words, char *out, size_t size)
{
    const char *name = words->op_name[0] ? words->op_name : words->phase;
    (void)ss_format(out, size, "%s, call %lld of point %lld", name,
                    (long long)words->nth, (long long)words->point);
}

/* Words are in rank order. */
static void find_lost(const struct ss_last_words *words, int n, int world,
                      struct verdict *verdict)
{
    int at = 0;
    for (int rank = 0; rank < world; rank++) {
        while (at < n && words[at].rank < rank)
            at++;
        if (at == n || words[at].rank != rank)
            accuse(verdict, rank, NULL);
    }
}

static int compare_call(const struct ss_last_words *a,
                        const struct ss_last_words *b)
{
    if (a->point != b->point)
        return a->point < b->point ? -1 : 1;
    return (a->nth > b->nth) - (a->nth < b->nth);
}

/* The call that most of the waiting ranks are in (Boyer-Moore, then counted:
 * without a majority it is still somebody's call, and good enough to name). */
static const struct ss_last_words *
common_call(const struct ss_last_words *words, int n, int *count)
{
    const struct ss_last_words *call = NULL;
    int votes = 0;
    for (int i = 0; i < n; i++) {
        if (!words[i].in_collective)
            continue;
        if (votes == 0)
            call = &words[i];
        votes += compare_call(&words[i], call) == 0 ? 1 : -1;
    }
    *count = 0;
    for (int i = 0; call && i < n; i++)
        *count += words[i].in_collective && compare_call(&words[i], call) == 0;
    return call;
}

static int count_waiting(const struct ss_last_words *words, int n)
{
    int waiting = 0;
    for (int i = 0; i < n; i++)
        waiting += words[i].in_collective != 0;
    return waiting;
}

static void judge_lost(const struct verdict *verdict, int n, const char *call,
                       char *out, size_t size)
{
    char who[128];
    name_culprits(verdict, who, sizeof(who));
    (void)ss_format(out, size,
                    "%s %s lost: no last words, while %d other rank%s stopped "
                    "in %s",
                    who, verdict->n == 1 ? "is" : "are", n, n == 1 ? "" : "s",
                    call);
}

static void judge_computing(const struct ss_last_words *words, int n,
                            int waiting, const char *call,
                            struct verdict *verdict, char *out, size_t size)
{
    char who[128];
    for (int i = 0; i < n; i++)
        if (!words[i].in_collective)
            accuse(verdict, words[i].rank, &words[i]);
    name_culprits(verdict, who, sizeof(who));
    const struct ss_last_words *first = verdict->first;
    (void)ss_format(
        out, size, "%s %s computing (%s) while %d of %d ranks wait in %s", who,
        verdict->n == 1 ? "is" : "are",
        first->op_name[0] ? first->op_name : first->phase, waiting, n, call);
}

static void judge_waiting(const struct ss_last_words *words, int n,
                          const struct ss_last_words *common, int count,
                          struct verdict *verdict, char *out, size_t size)
{
    char who[128], call[192], theirs[192];
    name_call(common, call, sizeof(call));
    for (int i = 0; i < n; i++)
        if (compare_call(&words[i], common) < 0)
            accuse(verdict, words[i].rank, &words[i]);
    for (int i = 0; verdict->n == 0 && i < n; i++)
        if (compare_call(&words[i], common) > 0)
            accuse(verdict, words[i].rank, &words[i]);
    if (verdict->n == 0) {
        (void)ss_format(out, size,
                        "all %d ranks wait in %s: the network or the "
                        "communication library stands still",
                        n, call);
        return;
    }
    name_culprits(verdict, who, sizeof(who));
    name_call(verdict->first, theirs, sizeof(theirs));
    (void)ss_format(out, size, "%s %s in %s while %d of %d ranks wait in %s",
                    who, verdict->n == 1 ? "is" : "are", theirs, count, n,
                    call);
}

int ss_last_words_judge(const struct ss_last_words *words, int n, int world,
                        int *culprits, int max, char *sentence, size_t size)
{
    struct verdict verdict = {.culprits = culprits, .max = max};
    char call[192] = "";
    int count, waiting = count_waiting(words, n);
    const struct ss_last_words *common = common_call(words, n, &count);
    if (n == 0) {
        (void)ss_format(sentence, size, "no rank left last words");
        return 0;
    }
    name_call(common ? common : &words[0], call, sizeof(call));
    find_lost(words, n, world, &verdict);
    if (verdict.n > 0)
        judge_lost(&verdict, n, call, sentence, size);
    else if (waiting == n)
        judge_waiting(words, n, common, count, &verdict, sentence, size);
    else if (waiting * 2 >= n)
        judge_computing(words, n, waiting, call, &verdict, sentence, size);
    else
        (void)ss_format(sentence, size,
                        "%d of %d ranks were still computing when the deadline "
                        "of %s passed: too slow, or the deadline too short",
                        n - waiting, n, words[0].phase);
    return verdict.n < max ? verdict.n : max;
}
