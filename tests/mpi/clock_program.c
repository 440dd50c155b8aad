/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clock alignment between hosts whose clocks really differ, for
 * cluster/clocks.sh. Virtual hosts share one kernel, so the truth is known:
 * /proc/self/timens_offsets says by how much each clock is ahead, and the
 * error of an aligned time can be computed instead of believed. Besides, an
 * answer must not arrive before its question. clock_program [HOSTS]
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cluster/agree.h"
#include "cluster/clocksync.h"

/* What a rank reports; equal size for a gather. */
struct report {
    char host[64];
    int64_t ahead_ns, offset_ns, bound_ns, error_ns, early_ns;
};

static enum ss_status read_ahead(int64_t *out)
{
    FILE *file = fopen("/proc/self/timens_offsets", "r");
    char line[128], *rest;
    *out = 0;
    if (!file)
        return ss_fail(SS_ERR_ENV, "this kernel has no time namespaces");
    while (fgets(line, sizeof(line), file))
        if (strncmp(line, "monotonic", 9) == 0) {
            *out = strtoll(line + 9, &rest, 10) * SS_NS_PER_S;
            *out += strtoll(rest, NULL, 10);
        }
    fclose(file);
    return SS_OK;
}

/* Rank 0 asks each rank in turn. By how much did anything arrive before it
 * was sent, in aligned time? Must stay within the bound. */
static enum ss_status ask(struct ss_rt *rt, const struct ss_clock_map *map,
                          int64_t *early)
{
    int64_t asked, answered;
    *early = INT64_MIN;
    for (int peer = 1; peer < rt->size; peer++)
        for (int i = 0; i < 50 && (rt->rank == 0 || rt->rank == peer); i++) {
            if (rt->rank == 0) {
                asked = ss_clock_ns();
                SS_TRY(rt->ops->send(rt, &asked, sizeof(asked), peer, 1));
                SS_TRY(rt->ops->recv(rt, &answered, sizeof(answered), peer, 2));
                continue;
            }
            SS_TRY(rt->ops->recv(rt, &asked, sizeof(asked), 0, 1));
            answered = ss_clock_align(map, ss_clock_ns());
            SS_TRY(rt->ops->send(rt, &answered, sizeof(answered), 0, 2));
            if (asked - answered > *early)
                *early = asked - answered;
        }
    return SS_OK;
}

static enum ss_status measure(struct ss_rt *rt, struct report *out)
{
    struct ss_clock_map map;
    int64_t first = 0;
    *out = (struct report){.host = ""};
    memcpy(out->host, rt->host, sizeof(out->host));
    SS_TRY(ss_agree_all(rt, read_ahead(&out->ahead_ns)));
    first = out->ahead_ns;
    SS_TRY(ss_bcast_all(rt, &first, sizeof(first), 0));
    SS_TRY(ss_clock_sync_all(rt, 64, &map.before));
    int64_t local = ss_clock_ns() + 200 * SS_NS_PER_MS;
    ss_clock_sleep_until(local);
    SS_TRY(ss_clock_sync_all(rt, 64, &map.after));
    SS_TRY(ask(rt, &map, &out->early_ns));
    out->offset_ns = ss_clock_align(&map, local) - local;
    out->bound_ns = ss_clock_bound(&map);
    out->error_ns = out->offset_ns - (first - out->ahead_ns);
    return SS_OK;
}

static int judge(const struct report *reports, int n, int hosts)
{
    int wrong = 0, clocks = 0;
    printf("%-8s %16s %16s %10s %10s\n", "host", "ahead ns", "offset ns",
           "bound ns", "error ns");
    for (int i = 0; i < n; i++) {
        const struct report *one = &reports[i];
        printf("%-8s %16" PRId64 " %16" PRId64 " %10" PRId64 " %10" PRId64 "\n",
               one->host, one->ahead_ns, one->offset_ns, one->bound_ns,
               one->error_ns);
        bool same = one->ahead_ns == reports[0].ahead_ns;
        clocks += i == 0 || one->ahead_ns != reports[i - 1].ahead_ns;
        wrong += llabs(one->error_ns) > one->bound_ns;
        wrong += one->early_ns > one->bound_ns;
        /* A clock of its own cannot be known exactly. */
        wrong += !same && one->bound_ns == 0;
    }
    if (clocks != hosts)
        printf("%d clocks where %d were expected\n", clocks, hosts);
    printf("%d of %d ranks are outside of their bound\n", wrong, n);
    return wrong > 0 || clocks != hosts;
}

int main(int argc, char **argv)
{
    struct ss_rt *rt;
    struct report mine, all[64];
    int code = 1;
    if (ss_rt_open_all(&argc, &argv, &rt) != SS_OK || rt->size > 64) {
        fprintf(stderr, "cannot start: %s\n", ss_error_text());
        return 1;
    }
    enum ss_status status = measure(rt, &mine);
    if (status == SS_OK)
        status = ss_gather_all(rt, &mine, sizeof(mine), all, 0);
    if (status != SS_OK)
        fprintf(stderr, "rank %d: %s\n", rt->rank, ss_error_text());
    else
        code = rt->rank == 0
                   ? judge(all, rt->size,
                           argc > 1 ? (int)strtol(argv[1], NULL, 10) : 1)
                   : 0;
    (void)fflush(stdout);
    ss_rt_close(rt);
    return code;
}
