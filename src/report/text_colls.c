/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collectives for people: one line a collective and kind of group, of the
 * slowest group of the kind. JSON and CSV have every group and size. It must
 * not judge.
 */
#include <math.h>
#include <string.h>

#include "base/units.h"
#include "report/grid.h"
#include "report/parts.h"

/* Results of one fit stand together, in its order of sizes. */
struct line {
    const struct ss_fit_result *fit;
    const struct ss_coll_result *first, *last;
};

static bool same_kind(const struct ss_coll_row *a, const struct ss_coll_row *b)
{
    return strcmp(a->library, b->library) == 0 && strcmp(a->op, b->op) == 0 &&
           strcmp(a->group, b->group) == 0;
}

static bool slower(const struct line *a, const struct line *b)
{
    double x = a->last->time_us.median / (double)a->last->row->bytes;
    double y = b->last->time_us.median / (double)b->last->row->bytes;
    return x > y;
}

static void number(double value, const char *format, struct ss_grid *grid)
{
    char text[32] = "-";
    if (!isnan(value) && strcmp(format, "%") == 0)
        ss_format(text, sizeof text, "%.1f", 100 * value);
    else if (!isnan(value))
        ss_format(text, sizeof text, "%.4g", value);
    ss_grid_cell(grid, text);
}

static void put_line(struct ss_grid *grid, const struct line *line, int groups)
{
    const struct ss_coll_row *row = line->fit->row;
    char text[64];
    ss_grid_row(grid);
    ss_grid_cell(grid, row->op);
    if (groups > 1)
        ss_format(text, sizeof text, "%s x %d", row->group, groups);
    else
        ss_copy(text, sizeof text, row->group);
    ss_grid_cell(grid, text);
    ss_grid_cell_int(grid, row->ranks);
    number(line->first->time_us.median, "", grid);
    ss_grid_cell(grid, ss_format_bytes((double)line->last->row->bytes, text,
                                       sizeof text));
    number(line->last->busbw_gbs, "", grid);
    number(line->last->busbw_gbs / line->last->expected_gbs, "%", grid);
    number(line->last->p95_us / line->last->time_us.median, "", grid);
    number(line->fit->alpha_us, "", grid);
    number(line->fit->beta_gbs, "", grid);
    number(line->fit->residual, "%", grid);
    ss_grid_cell(grid, line->last->row->verified ? "yes" : "NO");
}

/* In place only where there is nothing else. */
static bool shown(const struct ss_coll_row *row)
{
    return !row->in_place || strcmp(row->op, "broadcast") == 0;
}

static void put_lines(struct ss_grid *grid, const struct ss_result *result)
{
    const struct ss_coll_result *coll = result->coll;
    struct line worst = {0};
    int groups = 0;
    for (int i = 0; i < result->n_fits; i++) {
        const struct ss_fit_result *fit = &result->fit[i];
        struct line line = {fit, coll, coll + fit->sizes - 1};
        coll += fit->sizes;
        if (!shown(fit->row))
            continue;
        if (worst.fit && !same_kind(worst.fit->row, fit->row)) {
            put_line(grid, &worst, groups);
            worst.fit = NULL;
            groups = 0;
        }
        groups++;
        if (!worst.fit || slower(&line, &worst))
            worst = line;
    }
    if (worst.fit)
        put_line(grid, &worst, groups);
}

static void put_creation(const struct ss_result *result, struct ss_buf *out)
{
    char text[160] = "";
    size_t at = 0;
    for (int i = 0; i < result->n_fits; i++) {
        const struct ss_coll_row *row = result->fit[i].row;
        if (strcmp(row->op, result->fit[0].row->op) != 0 ||
            (i > 0 && strcmp(row->group, result->fit[i - 1].row->group) == 0))
            continue;
        ss_format(text + at, sizeof text - at, "%s%s of %d %.3g ms",
                  at ? ", " : "", row->group, (int)row->ranks,
                  (double)row->create_ns / 1e6);
        at += strlen(text + at);
    }
    ss_wrap(out, "  creating the communicators: ", text);
}

enum ss_status ss_text_colls(const struct ss_result *result, struct ss_buf *out)
{
    const struct ss_run_data *run = result->run;
    struct ss_grid grid;
    ss_buf_printf(out, "\nCollectives (%s)\n",
                  strcmp(result->coll[0].row->library, "mpi") == 0
                      ? "MPI, host buffers"
                      : "NCCL, device buffers");
    ss_grid_open(&grid);
    ss_grid_column(&grid, "op", SS_LEFT);
    ss_grid_column(&grid, "group", SS_LEFT);
    ss_grid_column(&grid, "ranks", SS_RIGHT);
    ss_grid_column(&grid, "us", SS_RIGHT);
    ss_grid_column(&grid, "up to", SS_RIGHT);
    ss_grid_column(&grid, "busbw", SS_RIGHT);
    ss_grid_column(&grid, "% exp", SS_RIGHT);
    ss_grid_column(&grid, "p95/med", SS_RIGHT);
    ss_grid_column(&grid, "alpha", SS_RIGHT);
    ss_grid_column(&grid, "beta", SS_RIGHT);
    ss_grid_column(&grid, "off %", SS_RIGHT);
    ss_grid_column(&grid, "right", SS_LEFT);
    put_lines(&grid, result);
    SS_TRY(ss_grid_print(&grid, out));
    ss_wrap(
        out, "  ",
        "us: a call of the smallest size, back to back; busbw: GB/s of the "
        "largest size, as nccl-tests defines it; % exp: of what the "
        "hardware should reach; p95/med: single calls over the median; "
        "alpha (us) and beta (GB/s of busbw): fitted over all sizes, off %: "
        "what the fit misses; right: exact data came out. Of several "
        "groups the slowest.");
    put_creation(result, out);
    for (int i = 0; i < run->n_points; i++)
        if (strcmp(run->point[i].meta.mode, SS_MODE_COLLS) == 0 &&
            run->point[i].meta.reason[0])
            ss_wrap(out, "  ", run->point[i].meta.reason);
    return SS_OK;
}
