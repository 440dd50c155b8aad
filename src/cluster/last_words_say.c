/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One rank's last words, from where it is: what the measuring thread left in
 * struct ss_progress, in names that a person knows. Must not write files or
 * wait: the watchdog decides when, and to whom.
 */
#include <string.h>

#include "base/log.h"
#include "base/str.h"
#include "cluster/watchdog.h"

static int64_t get(_Atomic int64_t *value)
{
    return atomic_load_explicit(value, memory_order_relaxed);
}

static void name_op(const struct ss_watchdog_args *args,
                    struct ss_last_words *out)
{
    char name[sizeof(out->op_name)] = "";
    int64_t op = out->in_collective ? out->collective : out->op;
    if (op >= 0 && args->op_name)
        (void)ss_copy(out->op_name, sizeof(out->op_name),
                      args->op_name(args->op_arg, op, name, sizeof(name)));
    else if (op >= 0)
        (void)ss_format(out->op_name, sizeof(out->op_name), "op %lld",
                        (long long)op);
}

void ss_last_words_fill(const struct ss_watchdog_args *args,
                        struct ss_progress *at, struct ss_last_words *out)
{
    *out = (struct ss_last_words){.rank = args->rt->rank,
                                  .point = get(&at->point),
                                  .block = get(&at->block),
                                  .step = get(&at->step),
                                  .op = get(&at->op),
                                  .last_op = get(&at->last_op),
                                  .collective = get(&at->collective),
                                  .nth = get(&at->nth)};
    out->in_collective = out->collective >= 0;
    (void)ss_copy(out->host, sizeof(out->host), args->rt->host);
    (void)ss_copy(out->run_id, sizeof(out->run_id),
                  args->run_id ? args->run_id : "");
    name_op(args, out);
}

void ss_last_words_log(const struct ss_last_words *words, bool gave_up)
{
    const char *at = words->op_name[0] ? words->op_name : words->phase;
    ss_log(gave_up ? SS_LOG_ERROR : SS_LOG_DEBUG, "cluster",
           "last words of rank %d on %s: %s in %s, %s %s, call %lld, point "
           "%lld block %lld step %lld%s%s",
           words->rank, words->host, words->why, words->phase,
           words->in_collective ? "waiting in" : "computing", at,
           (long long)words->nth, (long long)words->point,
           (long long)words->block, (long long)words->step,
           words->down[0] ? "; link down: " : "", words->down);
}
