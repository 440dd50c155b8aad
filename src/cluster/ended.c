/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranks that ended before the job did. Their siblings' look at the process is
 * proof. Without it, silence is a sign only where everybody was told to stop
 * at once: of a whole node, or where a launcher gave that order by itself.
 * Silence of some ranks in a stop that somebody asked for accuses nobody: a
 * second is short. Pure.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "cluster/judge.h"

#define GONE_RANKS 4096 /* of one host, believed in a file */

static int by_rank(const void *key, const void *words)
{
    int rank = *(const int *)key;
    int other = ((const struct ss_last_words *)words)->rank;
    return (rank > other) - (rank < other);
}

static bool has_words(const struct ss_trial *trial, int rank)
{
    return bsearch(&rank, trial->all, (size_t)trial->n_all, sizeof(*trial->all),
                   by_rank) != NULL;
}

static bool is_known(const struct ss_judgement *out, int rank)
{
    for (int i = 0; i < out->n; i++)
        if (out->culprit[i] == rank)
            return true;
    return false;
}

/* The next range of "2,5-7"; false at the end or where it makes no sense. */
static bool next_range(const char **text, int *first, int *last)
{
    char *end;
    long a = strtol(*text, &end, 10), b = a;
    if (end == *text)
        return false;
    if (*end == '-')
        b = strtol(end + 1, &end, 10);
    *text = *end == ',' ? end + 1 : end;
    if (a < 0 || b < a || b - a > GONE_RANKS || b > INT32_MAX / 2)
        return false;
    *first = (int)a;
    *last = (int)b;
    return true;
}

/* A rank that spoke was ended after it spoke. */
static void accuse_gone(struct ss_trial *trial,
                        const struct ss_last_words *words)
{
    const char *at = words->gone;
    int first, last;
    while (next_range(&at, &first, &last))
        for (int rank = first; rank <= last && rank < trial->world; rank++)
            if (!has_words(trial, rank) && !is_known(trial->out, rank))
                ss_trial_accuse(trial, rank, NULL);
}

static void accuse_cut_off(struct ss_trial *trial)
{
    for (int i = 0; i < trial->n_all; i++)
        if (trial->all[i].down[0])
            ss_trial_accuse(trial, trial->all[i].rank, &trial->all[i]);
}

static void say_cut_off(struct ss_trial *trial)
{
    struct ss_judgement *out = trial->out;
    char who[128];
    ss_trial_name(trial, who, sizeof(who));
    (void)ss_format(out->sentence, sizeof(out->sentence),
                    "%s cut off: port %s lost its link during the run", who,
                    trial->first->down);
}

static void say_ended(struct ss_trial *trial)
{
    struct ss_judgement *out = trial->out;
    char who[128], call[192];
    bool one = trial->blamed == 1;
    trial->words = trial->all;
    trial->n = trial->n_all;
    ss_trial_find_common(trial);
    ss_trial_name(trial, who, sizeof(who));
    ss_trial_name_call(trial->common, call, sizeof(call));
    (void)ss_format(out->sentence, sizeof(out->sentence),
                    "%s lost: the process%s had ended while %d other rank%s "
                    "stopped in %s",
                    who, one ? "" : "es", trial->n_all,
                    trial->n_all == 1 ? "" : "s", call);
}

/* Everybody was told to stop, and nobody gave up before. */
static bool all_told(const struct ss_trial *trial)
{
    for (int i = 0; i < trial->n_all; i++)
        if (strncmp(trial->all[i].why, "SIG", 3) != 0)
            return false;
    return trial->n_all > 0;
}

/* Without memory for it nobody is accused. */
static void accuse_silent_nodes(struct ss_trial *trial)
{
    size_t n = (size_t)trial->world;
    bool *spoke = trial->node ? ss_alloc(n, sizeof(*spoke), "nodes") : NULL;
    if (!spoke)
        return;
    for (int i = 0; i < trial->n_all; i++)
        if (trial->all[i].rank < trial->world)
            spoke[trial->node[trial->all[i].rank]] = true;
    for (int rank = 0; rank < trial->world; rank++)
        if (!spoke[trial->node[rank]])
            ss_trial_accuse(trial, rank, NULL);
    ss_free(spoke);
}

static void accuse_silent_ranks(struct ss_trial *trial)
{
    for (int rank = 0; rank < trial->world; rank++)
        if (!has_words(trial, rank))
            ss_trial_accuse(trial, rank, NULL);
}

static void say_silent_nodes(struct ss_trial *trial)
{
    struct ss_judgement *out = trial->out;
    char who[128];
    ss_trial_name(trial, who, sizeof(who));
    (void)ss_format(out->sentence, sizeof(out->sentence),
                    "%s lost: no word from any rank of the node, while %d "
                    "other rank%s said where they were when told to stop",
                    who, trial->n_all, trial->n_all == 1 ? "" : "s");
}

/* The launcher's own end says that a rank was lost, not which. */
static void say_launcher(struct ss_trial *trial)
{
    struct ss_judgement *out = trial->out;
    char who[128];
    const char *how = trial->launcher->phase;
    ss_trial_name(trial, who, sizeof(who));
    if (trial->blamed == 0)
        (void)ss_format(out->sentence, sizeof(out->sentence),
                        "a rank was lost: %s, and nobody can say which", how);
    else
        (void)ss_format(out->sentence, sizeof(out->sentence),
                        "a rank was lost: %s; %s without last words", how, who);
}

static void say_stopped(struct ss_trial *trial)
{
    int silent = trial->world - trial->n_all;
    trial->out->stopped = true;
    trial->out->sentence[0] = '\0';
    if (silent > 0)
        (void)ss_format(trial->out->sentence, sizeof(trial->out->sentence),
                        "%d rank%s left no words", silent,
                        silent == 1 ? "" : "s");
}

bool ss_trial_find_ended(struct ss_trial *trial)
{
    for (int i = 0; i < trial->n_all; i++)
        accuse_gone(trial, &trial->all[i]);
    trial->out->lost = trial->blamed > 0;
    if (trial->blamed > 0) {
        say_ended(trial);
        return true;
    }
    accuse_cut_off(trial);
    if (trial->blamed > 0) {
        say_cut_off(trial);
        return true;
    }
    if (trial->n_all > 0 && !all_told(trial))
        return false;
    if (all_told(trial))
        accuse_silent_nodes(trial);
    trial->out->lost = trial->blamed > 0 || trial->launcher;
    if (trial->blamed > 0) {
        say_silent_nodes(trial);
    } else if (trial->launcher) {
        if (all_told(trial))
            accuse_silent_ranks(trial);
        say_launcher(trial);
    } else if (all_told(trial)) {
        say_stopped(trial);
    }
    return trial->out->lost || trial->out->stopped;
}
