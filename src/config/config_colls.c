/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options of a probe's collectives: which of them, how large, and the fault
 * that a test plants. Names come from the list of collectives. Must not know
 * how they run.
 */
#include <limits.h>
#include <string.h>

#include "base/coll_rate.h"
#include "base/units.h"
#include "config/config_internal.h"

#define SIZE_MOST (UINT64_C(2) << 30)

enum ss_status ss_config_coll_sizes(const char *text, uint64_t *out, int max,
                                    int *n)
{
    char item[32];
    uint64_t last = 0;
    const char *list = text;

    *n = 0;
    while (ss_list_next(&list, item, sizeof(item))) {
        uint64_t bytes;
        if (ss_parse_bytes(item, &bytes) != SS_OK || bytes <= last ||
            bytes > SIZE_MOST || *n == max)
            return ss_fail(SS_ERR_CONFIG,
                           "probe.coll_sizes: \"%.100s\" is not a list of at "
                           "most %d growing sizes up to 2G, such as 8,64k,16M",
                           text, max);
        last = bytes;
        out[(*n)++] = bytes;
    }
    return SS_OK;
}

enum ss_status ss_config_coll_ops(const char *text, unsigned *out)
{
    char item[32];
    const char *list = text;

    *out = 0;
    if (strcmp(text, "none") == 0)
        return SS_OK;
    if (strcmp(text, "all") == 0) {
        *out = (1u << SS_COLL_OPS) - 1;
        return SS_OK;
    }
    while (ss_list_next(&list, item, sizeof(item))) {
        int op = ss_coll_find(item);
        const char *near = ss_nearest(item, ss_coll_names());
        if (op < 0)
            return ss_fail(
                SS_ERR_CONFIG, "probe.ops: \"%.40s\" is no collective; %s%s%s",
                item, near ? "did you mean " : "accepted: all, none",
                near ? near : ", all_reduce,sendrecv ...", near ? "?" : "");
        *out |= 1u << op;
    }
    return SS_OK;
}

enum ss_status ss_config_corrupt(const char *text,
                                 struct ss_planted_corruption *out)
{
    char part[3][32];
    const char *at = text;
    int64_t rank = -1;
    bool good = true;

    *out = (struct ss_planted_corruption){.rank = -1};
    if (!*text)
        return SS_OK;
    for (int i = 0; i < 3; i++) {
        size_t n = strcspn(at, ":");
        good = good && ss_format(part[i], sizeof(part[i]), "%.*s", (int)n, at);
        at += n + (at[n] == ':' && i < 2);
    }
    good = good && *at == '\0' && ss_parse_int(part[0], &rank) == SS_OK &&
           rank >= 0 && rank <= INT_MAX &&
           (out->op = ss_coll_find(part[1])) >= 0 &&
           ss_parse_int(part[2], &out->iteration) == SS_OK &&
           out->iteration >= 0;
    out->rank = good ? (int)rank : -1;
    if (good)
        return SS_OK;
    return ss_fail(SS_ERR_CONFIG,
                   "probe.corrupt: \"%.60s\" is not a place; accepted: "
                   "rank:op:iteration, e.g. 2:all_reduce:1",
                   text);
}

void ss_config_check_colls(struct ss_resolve *resolve)
{
    const struct ss_config *config = &resolve->config;
    uint64_t bytes[SS_COLL_SIZES_MAX];
    struct ss_planted_corruption corruption;
    unsigned ops;
    int n;

    if (ss_config_coll_sizes(config->probe_coll_sizes, bytes, SS_COLL_SIZES_MAX,
                             &n) != SS_OK)
        ss_problem(resolve, "%s", ss_error_text());
    if (ss_config_coll_ops(config->probe_ops, &ops) != SS_OK)
        ss_problem(resolve, "%s", ss_error_text());
    if (ss_config_corrupt(config->probe_corrupt, &corruption) != SS_OK)
        ss_problem(resolve, "%s", ss_error_text());
}
