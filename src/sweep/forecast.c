/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the run will do, said before it does it: points, variants, minutes,
 * memory, file size (rank 0). Times of points are not known yet, so minutes
 * come from the budget; sizes come from the plans.
 */
#include <math.h>

#include "base/units.h"
#include "sweep/context.h"

static const char *load_words(const struct ss_sweep_point *point,
                              const struct ss_context *context)
{
    if (point->alone)
        return context->world->size == point->size ? "all ranks" : "alone";
    return point->pass ? "beside, shifted" : "beside others";
}

static void point_line(const struct ss_context *context,
                       const struct ss_sweep_point *point, struct ss_buf *out)
{
    const struct ss_layout *l = &point->layout;

    ss_buf_printf(out, "  %3d  %-6s %6d  dp %d tp %d", point->index,
                  point->strong ? "strong" : "weak", point->size,
                  l->dim[SS_DIM_DP], l->dim[SS_DIM_TP]);
    if (l->micro_batches > 1)
        ss_buf_printf(out, " x %d micro-batches", l->micro_batches);
    if (point->tokens == 0)
        ss_buf_printf(out, "  skipped: %s\n", point->skip);
    else
        ss_buf_printf(out, "  %lld tokens per rank, %s%s\n",
                      (long long)point->tokens, load_words(point, context),
                      point->optional ? ", if the budget allows" : "");
}

/** Largest memory of any point, and bytes of the file at the most blocks that
 * a share of the budget can hold. */
static enum ss_status sizes_of(const struct ss_context *context, double *memory,
                               double *file)
{
    const struct ss_config *config = context->config;
    int blocks = (int)(3 * config->measure_min_blocks);

    *memory = *file = 0;
    for (int i = 0; i < context->sweep.n; i++) {
        const struct ss_sweep_point *point = &context->sweep.point[i];
        struct ss_plan plan;
        if (point->tokens == 0)
            continue;
        SS_TRY(ss_point_plan(context, point, 0, &plan));
        *memory = fmax(*memory, ss_plan_memory(&plan));
        ss_plan_free(&plan);
        *file +=
            ss_point_bytes(context->world->size, blocks, (int64_t)blocks * 10,
                           (int64_t)context->world->size * 40);
    }
    return SS_OK;
}

enum ss_status ss_forecast(struct ss_context *context, struct ss_buf *out)
{
    const struct ss_topology *topology = &context->topology;
    double memory, file;
    char text[2][24];
    int skipped = 0;

    SS_TRY(sizes_of(context, &memory, &file));
    for (int i = 0; i < context->sweep.n; i++)
        skipped += context->sweep.point[i].tokens == 0;
    ss_buf_printf(
        out,
        "%s engine, %s on %s, model %s\n"
        "%s (%d skipped), variants whole, compute-only, "
        "comm-only; at most %s\n",
        context->engine->ops->name, ss_counted(topology->ranks, "rank").text,
        ss_counted(topology->nodes, "node").text, context->model.name,
        ss_counted(context->sweep.n, "point").text, skipped,
        ss_format_time((double)context->budget_ns, text[0], sizeof(text[0])));
    if (context->engine->ops->caps & SS_CAP_DATA)
        ss_buf_printf(out, "memory per rank up to %s",
                      ss_format_bytes(memory, text[0], sizeof(text[0])));
    else
        ss_buf_printf(out, "no data (planted times)");
    ss_buf_printf(out, ", result file about %s\n",
                  ss_format_bytes(file, text[1], sizeof(text[1])));
    for (int i = 0; i < context->sweep.n; i++)
        point_line(context, &context->sweep.point[i], out);
    return ss_buf_status(out);
}
