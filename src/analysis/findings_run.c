/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Faults that the run recorded itself: ranks that hang, checks that failed,
 * environments that differ, cores that ranks have to share. Must not judge
 * times.
 */
#include <string.h>

#include "analysis/findings.h"
#include "base/str.h"
#include "base/units.h"

void ss_find_hang(struct ss_findings *list, const struct ss_analysis_args *args)
{
    const char *sentence = args->hang_sentence ? args->hang_sentence : "";
    enum ss_finding_kind kind = args->hang_lost ? SS_LOST_RANK : SS_HANG;
    int n = args->n_hang_ranks;

    if (n == 0 && sentence[0] == '\0')
        return;
    for (int i = 0; i < (n > 0 ? n : 1); i++) {
        struct ss_finding *f = ss_findings_add(list, kind, SS_ERROR);
        if (!f)
            return;
        if (n > 0)
            ss_finding_at(list->run, args->hang_ranks[i], f);
        f->confidence = 1;
        ss_copy(f->evidence, sizeof(f->evidence), sentence);
        ss_copy(f->advice, sizeof(f->advice),
                args->hang_lost
                    ? "see why the rank ended: its log, dmesg (out of memory, "
                      "device errors), the launcher's last lines"
                    : "look at that rank first: the others wait for it; "
                      "stack of its process, device and link state");
    }
}

/** The finding of this rank and check, or NULL. */
static struct ss_finding *known_corruption(struct ss_findings *list, int rank,
                                           const char *check)
{
    for (int i = 0; i < list->n; i++)
        if (list->v[i].kind == SS_CORRUPTION && list->v[i].rank == rank &&
            strcmp(list->v[i].setting, check) == 0)
            return &list->v[i];
    return NULL;
}

static void add_corruption(struct ss_findings *list,
                           const struct ss_point_row *meta,
                           const struct ss_check_row *check)
{
    if (known_corruption(list, check->rank, check->check))
        return;
    struct ss_finding *f = ss_findings_add(list, SS_CORRUPTION, SS_ERROR);
    if (!f)
        return;
    ss_finding_at(list->run, check->rank, f);
    f->confidence = 1;
    ss_copy(f->setting, sizeof(f->setting), check->check);
    ss_copy(f->value, sizeof(f->value), check->detail);
    ss_format(f->evidence, sizeof(f->evidence),
              "check %s failed %s the point of %s (%s): %s", check->check,
              check->when, ss_counted(meta->size, "rank").text, meta->mode,
              check->detail);
    ss_copy(f->advice, sizeof(f->advice),
            "take the device out of service and run its vendor's memory and "
            "compute tests; no number of this point counts");
}

void ss_find_corruption(struct ss_findings *list)
{
    const struct ss_run_data *run = list->run;

    for (int p = 0; p < run->n_points; p++)
        for (int c = 0; c < run->point[p].n_checks; c++)
            if (!run->point[p].check[c].ok)
                add_corruption(list, &run->point[p].meta,
                               &run->point[p].check[c]);
}

static bool starts(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/** Differences that change what runs; others are worth a line only. */
static enum ss_severity drift_severity(const char *name, bool library)
{
    if (library || starts(name, "NCCL_") || starts(name, "UCX_") ||
        starts(name, "(file)") || starts(name, "(library)") ||
        strcmp(name, "(binary)") == 0 || strcmp(name, "LD_LIBRARY_PATH") == 0)
        return SS_WARNING;
    return SS_INFO;
}

/** Every rank has cores and a device of its own where things are as they
 * should be. */
static bool is_normal(const char *name)
{
    static const char *const own[] = {"(cpuset)", "cpuset",
                                      "CUDA_VISIBLE_DEVICES"};

    for (size_t i = 0; i < SS_COUNT_OF(own); i++)
        if (strcmp(name, own[i]) == 0)
            return true;
    return false;
}

static bool seen_before(const struct ss_variable_row *rows, int i)
{
    for (int j = 0; j < i; j++)
        if (strcmp(rows[j].name, rows[i].name) == 0)
            return true;
    return false;
}

/** One finding a name; its value lists who has what. */
static void drift_of(struct ss_findings *list,
                     const struct ss_variable_row *rows, int n, bool library)
{
    for (int i = 0; i < n; i++) {
        const char *name = rows[i].name;
        size_t at = 0;
        if (!rows[i].differs || is_normal(name) || seen_before(rows, i))
            continue;
        struct ss_finding *f =
            ss_findings_add(list, SS_ENV_DRIFT, drift_severity(name, library));
        if (!f)
            return;
        f->confidence = 1;
        ss_copy(f->setting, sizeof(f->setting), name);
        for (int j = i; j < n && at < sizeof(f->value) - 1; j++)
            if (strcmp(rows[j].name, name) == 0) {
                ss_format(f->value + at, sizeof(f->value) - at,
                          "%s%.80s (ranks %s)", at ? "; " : "", rows[j].value,
                          rows[j].ranks);
                at += strlen(f->value + at);
            }
        ss_format(f->evidence, sizeof(f->evidence),
                  "%s is not equal on all ranks: %s", name, f->value);
        ss_format(f->advice, sizeof(f->advice),
                  "set %s alike on all ranks, or know why it differs", name);
    }
}

void ss_find_drift(struct ss_findings *list)
{
    drift_of(list, list->run->versions, list->run->n_versions, true);
    drift_of(list, list->run->variable, list->run->n_variables, false);
}

static bool shares_cores(const struct ss_rank_row *row)
{
    return row->sharers > 1 && row->sharers > row->cores;
}

bool ss_ranks_share_cores(const struct ss_run_data *run)
{
    for (int r = 0; r < run->n_ranks; r++)
        if (shares_cores(&run->rank[r]))
            return true;
    return false;
}

void ss_find_shared_cores(struct ss_findings *list)
{
    const struct ss_run_data *run = list->run;
    int told = -1; /* ranks of a node stand together */

    for (int r = 0; r < run->n_ranks; r++) {
        const struct ss_rank_row *row = &run->rank[r];
        if (!shares_cores(row) || row->node == told)
            continue;
        told = row->node;
        struct ss_finding *f = ss_findings_add(list, SS_SHARED_CORES, SS_INFO);
        if (!f)
            return;
        ss_finding_at(run, r, f);
        f->rank = -1;
        f->device[0] = f->uuid[0] = '\0';
        f->confidence = 1;
        ss_copy(f->setting, sizeof(f->setting), "cores");
        ss_format(f->value, sizeof(f->value), "%s on %s",
                  ss_counted(row->sharers, "rank").text,
                  ss_counted(row->cores, "core").text);
        ss_format(f->evidence, sizeof(f->evidence),
                  "%s of %s share %s: they take turns, and their times say "
                  "more about the scheduler than about the machine",
                  ss_counted(row->sharers, "rank").text, f->node,
                  ss_counted(row->cores, "core").text);
        ss_copy(f->advice, sizeof(f->advice),
                "start at most one rank per core for numbers that count");
    }
}
