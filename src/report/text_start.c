/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What starting cost, at the smallest and at the largest size, and how far it
 * came. One line each among the notes; nothing where nothing was timed.
 */
#include <math.h>

#include "report/parts.h"

/* Of the points of one size, the slowest. */
struct start {
    int size;
    double create_ms, first_ms;
};

static void take(const struct ss_point_result *p, struct start *to)
{
    if (p->meta->size != to->size)
        *to = (struct start){p->meta->size, NAN, NAN};
    to->create_ms = fmax(to->create_ms, p->comm_create_ms);
    to->first_ms = fmax(to->first_ms, p->first_step_ms);
}

static void put_times(const struct start *least, const struct start *most,
                      struct ss_buf *notes)
{
    char text[256];
    if (least->size == most->size)
        ss_format(text, sizeof text,
                  "start: communicators took %.3g ms at size %d, the first "
                  "step after them %.3g ms",
                  most->create_ms, most->size, most->first_ms);
    else
        ss_format(text, sizeof text,
                  "start: communicators took %.3g ms at size %d and %.3g ms at "
                  "size %d, the first step after them %.3g ms and %.3g ms",
                  least->create_ms, least->size, most->create_ms, most->size,
                  least->first_ms, most->first_ms);
    ss_wrap(notes, "  - ", text);
}

void ss_text_start(const struct ss_result *result, struct ss_buf *notes)
{
    struct start least = {0}, most = {0};
    char text[128];
    for (int i = 0; i < result->n_points; i++) {
        const struct ss_point_result *p = &result->point[i];
        if (!isfinite(p->first_step_ms) || !isfinite(p->comm_create_ms))
            continue;
        if (least.size == 0 || p->meta->size <= least.size)
            take(p, &least);
        if (p->meta->size >= most.size)
            take(p, &most);
    }
    if (least.size > 0)
        put_times(&least, &most, notes);
    if (result->not_started == 0)
        return;
    ss_format(text, sizeof text,
              "the largest size that started is %d; size %d was tried and did "
              "not start",
              result->largest_started, result->not_started);
    ss_wrap(notes, "  - ", text);
}
