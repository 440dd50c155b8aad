/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engines of this build, and the check of their tables (after fio's
 * check_engine_ops): what a table lacks is said here, before any work starts,
 * and not by a jump to NULL in the middle of a run. Must not know what any
 * engine does.
 */
#include "engine/engine.h"

#include <string.h>

static const struct ss_engine_ops *const engines[] = {
#ifdef SS_HAVE_CUDA
    &ss_engine_cuda,
#endif
    &ss_engine_host,
    &ss_engine_null,
    NULL,
};

/* Engines that exist, though not in every build. */
static const char *const optional[] = {"cuda", NULL};

/* One required member: every member is a pointer, tested as such. */
#define MISSING(ops, member)                                                   \
    do {                                                                       \
        if (!(ops)->member)                                                    \
            return "has no " #member;                                          \
    } while (0)

static const char *check_life(const struct ss_engine_ops *ops)
{
    MISSING(ops, open);
    MISSING(ops, close);
    MISSING(ops, describe);
    MISSING(ops, peak_flops);
    MISSING(ops, connect_all);
    MISSING(ops, disconnect);
    MISSING(ops, load);
    MISSING(ops, unload);
    MISSING(ops, reset);
    MISSING(ops, now);
    return NULL;
}

static const char *check_block(const struct ss_engine_ops *ops)
{
    MISSING(ops, meet_all);
    MISSING(ops, block_begin);
    MISSING(ops, enqueue);
    MISSING(ops, mark);
    MISSING(ops, drain);
    MISSING(ops, block_end);
    MISSING(ops, check_all);
    MISSING(ops, overlap_measurable);
    return NULL;
}

const char *ss_engine_check_ops(const struct ss_engine_ops *ops)
{
    if (!ops->name || !*ops->name)
        return "has no name";
    if (ops->version != SS_ENGINE_VERSION)
        return "is of another version of the table";
    if ((ops->caps & SS_CAP_VIRTUAL) && (ops->caps & SS_CAP_DEVICE))
        return "has a virtual clock and a device";
    if ((ops->caps & SS_CAP_DEVICE) && !ops->abort)
        return "drives a device and has no abort";
    const char *wrong = check_life(ops);
    return wrong ? wrong : check_block(ops);
}

const struct ss_engine_ops *const *ss_engine_list(void)
{
    for (size_t i = 0; engines[i]; i++)
        SS_ASSERT(!ss_engine_check_ops(engines[i]));
    return engines;
}

static enum ss_status unknown(const char *name)
{
    const char *names[SS_COUNT_OF(engines) + SS_COUNT_OF(optional)];
    size_t n = 0;
    for (size_t i = 0; engines[i]; i++)
        names[n++] = engines[i]->name;
    for (size_t i = 0; optional[i]; i++)
        names[n++] = optional[i];
    names[n] = NULL;
    const char *near = ss_nearest(name, names);
    if (near)
        return ss_fail(SS_ERR_CONFIG, "unknown engine %s; did you mean %s?",
                       name, near);
    return ss_fail(SS_ERR_CONFIG,
                   "unknown engine %s; there are cuda, host and null", name);
}

enum ss_status ss_engine_find(const char *name,
                              const struct ss_engine_ops **out)
{
    const struct ss_engine_ops *const *list = ss_engine_list();
    for (size_t i = 0; list[i]; i++) {
        if (strcmp(list[i]->name, name) == 0) {
            *out = list[i];
            return SS_OK;
        }
    }
    for (size_t i = 0; optional[i]; i++) {
        if (strcmp(optional[i], name) == 0)
            return ss_fail(SS_ERR_ENV,
                           "engine %s is not built in: build it where CMake "
                           "finds its libraries, or use --engine host",
                           name);
    }
    return unknown(name);
}
