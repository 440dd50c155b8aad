/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who is to blame for a hang, from the last words alone. Pure. A rank without
 * words is lost; a rank that computes while half of the others wait for it is
 * late; among waiting ranks those at an earlier call hold up the rest. Where
 * nothing of this holds, nobody is accused.
 */
#include "cluster/judge.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/units.h"

void ss_trial_accuse(struct ss_trial *trial, int rank,
                     const struct ss_last_words *words)
{
    struct ss_judgement *out = trial->out;
    if (out->n < (int)SS_COUNT_OF(out->culprit))
        out->culprit[out->n++] = rank;
    if (trial->blamed++ == 0)
        trial->first = words;
}

/* "rank 2 on node07", "ranks 2, 3, 5, 7 and 12 more". */
void ss_trial_name(const struct ss_trial *trial, char *out, size_t size)
{
    int shown = trial->blamed < 4 ? trial->blamed : 4;
    struct ss_buf buf;
    ss_buf_init(&buf, 512);
    ss_buf_printf(&buf, trial->blamed > 1 ? "ranks" : "rank");
    for (int i = 0; i < shown; i++)
        ss_buf_printf(&buf, "%s%d", i ? ", " : " ", trial->out->culprit[i]);
    if (trial->blamed > shown)
        ss_buf_printf(&buf, " and %d more", trial->blamed - shown);
    if (trial->blamed == 1 && trial->first)
        ss_buf_printf(&buf, " on %s", trial->first->host);
    ss_buf_printf(&buf, trial->blamed > 1 ? " are" : " is");
    (void)ss_copy(out, size, ss_buf_text(&buf));
    ss_buf_free(&buf);
}

static const char *place_of(const struct ss_last_words *words)
{
    return words->op_name[0] ? words->op_name : words->phase;
}

/* "allreduce_3, call 7 of point 4" */
void ss_trial_name_call(const struct ss_last_words *words, char *out,
                        size_t size)
{
    (void)ss_format(out, size, "%s, call %lld of point %lld", place_of(words),
                    (long long)words->nth, (long long)words->point);
}

/* Ranks of [first, end) without words; *at: the first words not passed yet. */
static void find_lost_of(struct ss_trial *trial, int first, int end, int *at)
{
    for (int rank = first; rank < end; rank++) {
        while (*at < trial->n && trial->words[*at].rank < rank)
            (*at)++;
        if (*at == trial->n || trial->words[*at].rank != rank)
            ss_trial_accuse(trial, rank, NULL);
    }
}

bool ss_last_words_asked(const struct ss_last_words *words)
{
    return strcmp(words->why, SS_WHY_ASKED) == 0;
}

/* It gave up in a meeting of the world. */
static bool asks_all(const struct ss_last_words *words)
{
    return !ss_last_words_asked(words) && words->peer_count <= 0;
}

/* Does a rank that gave up wait for this one? */
static bool is_awaited(const struct ss_last_words *all, int n, int rank)
{
    for (int i = 0; i < n; i++) {
        const struct ss_last_words *by = &all[i];
        if (ss_last_words_asked(by))
            continue;
        if (by->peer_count <= 0 ||
            (rank >= by->peer_first && rank - by->peer_first < by->peer_count))
            return true;
    }
    return false;
}

/* The words that count, in order; returns how many. */
static int keep_awaited(const struct ss_last_words *all, int n,
                        struct ss_last_words *out)
{
    int kept = 0;
    for (int i = 0; i < n; i++)
        if (!ss_last_words_asked(&all[i]) || is_awaited(all, n, all[i].rank))
            out[kept++] = all[i];
    return kept;
}

/* Groups wait for themselves: only peers of those that spoke are expected.
 * Groups are disjoint and in rank order, as the words are. */
static void find_lost(struct ss_trial *trial, int world)
{
    int at = 0, end = 0;
    for (int i = 0; i < trial->n; i++)
        if (asks_all(&trial->words[i])) {
            find_lost_of(trial, 0, world, &at);
            return;
        }
    for (int i = 0; i < trial->n; i++) {
        const struct ss_last_words *words = &trial->words[i];
        int first = words->peer_first, count = words->peer_count;
        if (ss_last_words_asked(words) || words->rank < end || first < end ||
            first >= world)
            continue;
        end = count < world - first ? first + count : world;
        find_lost_of(trial, first, end, &at);
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
void ss_trial_find_common(struct ss_trial *trial)
{
    const struct ss_last_words *call = &trial->words[0];
    int votes = 0;
    for (int i = 0; i < trial->n; i++) {
        const struct ss_last_words *at = &trial->words[i];
        if (!at->in_collective)
            continue;
        trial->waiting++;
        if (votes == 0)
            call = at;
        votes += compare_call(at, call) == 0 ? 1 : -1;
    }
    for (int i = 0; i < trial->n; i++)
        trial->in_common += trial->words[i].in_collective &&
                            compare_call(&trial->words[i], call) == 0;
    trial->common = call;
}

static void judge_lost(struct ss_trial *trial)
{
    char who[128], call[192];
    trial->out->lost = true;
    ss_trial_name(trial, who, sizeof(who));
    ss_trial_name_call(trial->common, call, sizeof(call));
    (void)ss_format(trial->out->sentence, sizeof(trial->out->sentence),
                    "%s lost: no last words, while %d other rank%s stopped in "
                    "%s",
                    who, trial->n, trial->n == 1 ? "" : "s", call);
}

/* A group of one: nobody waits for it but the rest of the job. */
static void judge_alone(struct ss_trial *trial)
{
    char who[128];
    ss_trial_accuse(trial, trial->words[0].rank, &trial->words[0]);
    ss_trial_name(trial, who, sizeof(who));
    (void)ss_format(trial->out->sentence, sizeof(trial->out->sentence),
                    "%s computing (%s, point %lld) and does not come to an end",
                    who, place_of(trial->first),
                    (long long)trial->first->point);
}

static void judge_computing(struct ss_trial *trial)
{
    char who[128], call[192];
    for (int i = 0; i < trial->n; i++)
        if (!trial->words[i].in_collective)
            ss_trial_accuse(trial, trial->words[i].rank, &trial->words[i]);
    ss_trial_name(trial, who, sizeof(who));
    ss_trial_name_call(trial->common, call, sizeof(call));
    (void)ss_format(trial->out->sentence, sizeof(trial->out->sentence),
                    "%s computing (%s) while %d of %d ranks wait in %s", who,
                    trial->first ? place_of(trial->first) : "?", trial->waiting,
                    trial->n, call);
}

/* All wait: those before the common call, else those beyond it. */
static void accuse_elsewhere(struct ss_trial *trial)
{
    for (int side = -1; side <= 1 && trial->blamed == 0; side += 2)
        for (int i = 0; i < trial->n; i++)
            if (compare_call(&trial->words[i], trial->common) == side)
                ss_trial_accuse(trial, trial->words[i].rank, &trial->words[i]);
}

static void judge_waiting(struct ss_trial *trial)
{
    char who[128], call[192], theirs[192];
    ss_trial_name_call(trial->common, call, sizeof(call));
    accuse_elsewhere(trial);
    if (!trial->first) {
        (void)ss_format(trial->out->sentence, sizeof(trial->out->sentence),
                        "%s%s %s in %s: the network or the communication "
                        "library stands still",
                        trial->n == 1 ? "the only " : "all ",
                        trial->n == 1 ? "rank"
                                      : ss_counted(trial->n, "rank").text,
                        trial->n == 1 ? "waits" : "wait", call);
        return;
    }
    ss_trial_name(trial, who, sizeof(who));
    ss_trial_name_call(trial->first, theirs, sizeof(theirs));
    (void)ss_format(trial->out->sentence, sizeof(trial->out->sentence),
                    "%s in %s while %d of %d ranks wait in %s", who, theirs,
                    trial->in_common, trial->n, call);
}

static void judge(struct ss_trial *trial, int world)
{
    const struct ss_last_words *words = trial->words;
    int n = trial->n;
    ss_trial_find_common(trial);
    find_lost(trial, world);
    if (trial->blamed > 0)
        judge_lost(trial);
    else if (trial->waiting == n)
        judge_waiting(trial);
    else if (n == 1)
        judge_alone(trial);
    else if (trial->waiting * 2 >= n)
        judge_computing(trial);
    else
        (void)ss_format(trial->out->sentence, sizeof(trial->out->sentence),
                        "%d of %d ranks were still computing (%s) at the %s",
                        n - trial->waiting, n, words[0].phase, words[0].why);
}

/* The words that count: of ranks, awaited ones first of all. */
static void hear(struct ss_trial *trial, const struct ss_evidence *evidence,
                 struct ss_last_words *kept)
{
    const struct ss_last_words *words = evidence->words;
    int n = evidence->n;
    while (n > 0 && words->rank < 0) {
        trial->launcher = words++;
        n--;
    }
    while (n > 0 && words[n - 1].rank >= evidence->world)
        n--; /* of another job, or damaged */
    trial->all = words;
    trial->n_all = n;
    trial->words = kept;
    trial->n = keep_awaited(words, n, kept);
}

void ss_last_words_judge(const struct ss_evidence *evidence,
                         struct ss_judgement *out)
{
    struct ss_trial trial = {
        .world = evidence->world, .node = evidence->node, .out = out};
    struct ss_last_words *kept =
        ss_alloc((size_t)evidence->n, sizeof(*kept), "words");
    *out = (struct ss_judgement){.n = 0};
    (void)ss_copy(out->sentence, sizeof(out->sentence),
                  "no rank left last words");
    if (kept && evidence->n > 0)
        hear(&trial, evidence, kept);
    if (!ss_trial_find_ended(&trial) && trial.n > 0)
        judge(&trial, evidence->world);
    ss_free(kept);
}
