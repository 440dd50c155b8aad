/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How far the job came in starting: the largest size that ran a step, and the
 * next one that was tried and did not. Clusters that work at 17 nodes and hang
 * at 18 are found by this pair. It must not judge why.
 */
#include <string.h>

#include "analysis/reduce.h"

static bool is_any(const char *status, const char *a, const char *b,
                   const char *c)
{
    return strcmp(status, a) == 0 || strcmp(status, b) == 0 ||
           strcmp(status, c) == 0;
}

void ss_startup_find(const struct ss_analysis_args *args,
                     struct ss_result *result)
{
    const struct ss_run_data *run = args->run;
    int tried = args->hang_size;

    for (int i = 0; i < run->n_points; i++) {
        const struct ss_point_row *meta = &run->point[i].meta;
        if (is_any(meta->status, "ok", "too_few_samples", "no_steady_state") &&
            meta->size > result->largest_started)
            result->largest_started = meta->size;
    }
    for (int i = 0; i < run->n_points; i++) {
        const struct ss_point_row *meta = &run->point[i].meta;
        if (is_any(meta->status, "failed", "hung", "hung") &&
            meta->size > result->largest_started &&
            (tried <= result->largest_started || meta->size < tried))
            tried = meta->size;
    }
    if (tried > result->largest_started)
        result->not_started = tried;
}
