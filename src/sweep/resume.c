/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Going on with an earlier run: is this the same configuration on the same
 * hardware, and which points are missing? Points of two different jobs on one
 * curve would look like a fault of the cluster. Must not know how a part is
 * written (store) or read.
 */
#include "sweep/resume.h"

#include <string.h>

#include "base/mem.h"
#include "cluster/agree.h"
#include "sweep/context.h"

/** "section.key" of every option. */
static const char *const keys[] = {
#define INT(s, k, d, lo, hi, h) #s "." #k,
#define DBL(s, k, d, lo, hi, h) #s "." #k,
#define BOOL(s, k, d, h) #s "." #k,
#define TIME(s, k, d, lo, hi, h) #s "." #k,
#define BYTES(s, k, d, lo, hi, h) #s "." #k,
#define RATE(s, k, d, h) #s "." #k,
#define ENUM(s, k, d, choices, h) #s "." #k,
#define TEXT(s, k, d, h) #s "." #k,
#include "config/fields.def"
};

/** What changes no measured number of a point. */
static bool may_differ(const char *key)
{
    static const char *const free_ones[] = {"out.", "rules.", "deadline.",
                                            "probe.", "measure.budget"};

    for (size_t i = 0; i < SS_COUNT_OF(free_ones); i++)
        if (strncmp(key, free_ones[i], strlen(free_ones[i])) == 0)
            return true;
    return false;
}

/** Counts differences, and keeps the words of the first. */
struct difference {
    char first[256];
    int n;
};

static void differs(struct difference *to, const char *what, const char *now,
                    const char *then)
{
    if (strcmp(now, then) == 0)
        return;
    if (to->n++ == 0)
        ss_format(to->first, sizeof(to->first), "%s is %s now and was %s", what,
                  *now ? now : "empty", *then ? then : "empty");
}

static void differs_int(struct difference *to, const char *what, int64_t now,
                        int64_t then)
{
    char a[24], b[24];

    ss_format(a, sizeof(a), "%lld", (long long)now);
    ss_format(b, sizeof(b), "%lld", (long long)then);
    differs(to, what, a, b);
}

static void compare_key(const struct ss_config *now,
                        const struct ss_config *then, const char *key,
                        struct difference *to)
{
    struct ss_buf a, b;

    ss_buf_init(&a, (size_t)SS_TEXT_MAX * 4);
    ss_buf_init(&b, (size_t)SS_TEXT_MAX * 4);
    (void)ss_config_get(now, key, &a);
    (void)ss_config_get(then, key, &b);
    differs(to, key, ss_buf_text(&a), ss_buf_text(&b));
    ss_buf_free(&a);
    ss_buf_free(&b);
}

static enum ss_status compare_config(const struct ss_config *now,
                                     const struct ss_run_data *before,
                                     struct difference *to)
{
    struct ss_config *then = ss_alloc(1, sizeof(*then), "a configuration");
    struct ss_buf problems;
    enum ss_status status = then ? SS_OK : SS_ERR_NO_MEMORY;

    ss_buf_init(&problems, 1 << 16);
    struct ss_config_sources sources = {
        .yaml = before->config_yaml ? before->config_yaml : "",
        .yaml_len = before->config_yaml ? strlen(before->config_yaml) : 0,
        .yaml_name = "the earlier run's configuration"};
    if (status == SS_OK)
        status = ss_config_resolve(&sources, then, &problems);
    for (size_t i = 0; status == SS_OK && i < SS_COUNT_OF(keys); i++)
        if (!may_differ(keys[i]))
            compare_key(now, then, keys[i], to);
    ss_buf_free(&problems);
    ss_free(then);
    return status;
}

static void compare_rank(const struct ss_rank_row *now,
                         const struct ss_rank_row *then, struct difference *to)
{
    char what[64];

#define COMPARE(member, words)                                                 \
    ss_format(what, sizeof(what), "the " words " of rank %d", now->rank);      \
    differs(to, what, now->member, then->member)
    COMPARE(host, "node");
    COMPARE(uuid, "device");
    COMPARE(device_name, "kind of device");
    COMPARE(bus_id, "PCI address");
#undef COMPARE
    ss_format(what, sizeof(what), "the number of cores of rank %d", now->rank);
    differs_int(to, what, now->cores, then->cores);
}

static void compare_hardware(const struct ss_run_data *now,
                             const struct ss_run_data *before,
                             struct difference *to)
{
    differs(to, "the engine", now->engine, before->engine);
    differs(to, "the version of stepscale", now->version, before->version);
    differs_int(to, "the number of ranks", now->n_ranks, before->n_ranks);
    differs_int(to, "the number of nodes", now->n_nodes, before->n_nodes);
    for (int i = 0; now->n_ranks == before->n_ranks && i < now->n_ranks; i++)
        compare_rank(&now->rank[i], &before->rank[i], to);
    differs(to, "the precision", now->precision, before->precision);
    differs(to, "the gradients' precision", now->grad_dtype,
            before->grad_dtype);
    differs_int(to, "the number of points", now->planned_points,
                before->planned_points);
}

enum ss_status ss_resume_compare(const struct ss_config *config,
                                 const struct ss_run_data *now,
                                 const struct ss_run_data *before)
{
    struct difference difference = {.n = 0};
    char more[32] = "";

    SS_TRY(compare_config(config, before, &difference));
    compare_hardware(now, before, &difference);
    if (difference.n == 0)
        return SS_OK;
    if (difference.n > 1)
        ss_format(more, sizeof(more), " (and %d more)", difference.n - 1);
    return ss_fail(SS_ERR_CONFIG,
                   "cannot resume: %s%s; points of both would not belong on "
                   "one curve",
                   difference.first, more);
}

/** Points that only time or a fault kept from being measured are run again. */
static bool is_measured(const struct ss_point_row *point)
{
    return strcmp(point->status, "skipped") != 0 &&
           strcmp(point->status, "failed") != 0 &&
           strcmp(point->status, "hung") != 0;
}

int ss_resume_mark(const struct ss_run_data *before, struct ss_sweep *sweep)
{
    int missing = 0;

    for (int p = 0; p < before->n_points; p++) {
        const struct ss_point_row *row = &before->point[p].meta;
        for (int i = 0; i < sweep->n; i++)
            if (sweep->point[i].index == row->index)
                sweep->point[i].done =
                    is_measured(row) || sweep->point[i].tokens == 0;
    }
    for (int i = 0; i < sweep->n; i++)
        missing += !sweep->point[i].done;
    return missing;
}

/** Rank 0: is this the earlier run's job, and what is missing of it? */
static enum ss_status compare_runs(struct ss_context *context)
{
    const struct ss_run_data *before = context->args->before;
    char text[96];

    SS_TRY(ss_resume_compare(context->config, &context->run, before));
    int missing = ss_resume_mark(before, &context->sweep);
    if (missing == 0 && before->end_reason[0] == '\0' &&
        before->verdict_code >= 0)
        return ss_fail(SS_ERR_CONFIG, "%s is complete: nothing to resume",
                       context->args->resume);
    ss_copy(context->run.run_id, sizeof(context->run.run_id), before->run_id);
    ss_format(text, sizeof(text), "resuming: %d of %d points are missing\n",
              missing, context->sweep.n);
    if (context->args->announce)
        context->args->announce(text);
    return SS_OK;
}

enum ss_status ss_resume_all(struct ss_context *context)
{
    struct ss_rt *world = context->world;
    struct ss_sweep *sweep = &context->sweep;
    size_t bytes = (size_t)sweep->n * sizeof(*sweep->point);
    enum ss_status status = SS_OK;

    if (!context->args->resume)
        return SS_OK;
    if (world->rank == 0)
        status = compare_runs(context);
    SS_TRY(ss_agree_all(world, status));
    SS_TRY(ss_bcast_all(world, context->run.run_id, sizeof(context->run.run_id),
                        0));
    return ss_bcast_all(world, sweep->point, bytes, 0);
}
