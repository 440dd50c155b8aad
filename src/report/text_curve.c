/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The curves as tables, three for each curve and mode: how well it scales,
 * where the time of a step goes, and what the controls say. Every table ends
 * with the meaning of its columns. It must not compute more than a share of
 * two numbers that stand in the result.
 */
#include <math.h>
#include <string.h>

#include "report/grid.h"
#include "report/parts.h"

enum { BAR = 20 }; /* characters that stand for the whole step, at most */

/* The rows of one curve and mode: consecutive points of the result. */
struct rows {
    const struct ss_point_result *point;
    int n;
    const struct ss_result *result;
    bool first; /* the curve that explains the columns */
};

static void legend(const struct rows *rows, struct ss_buf *out,
                   const char *text)
{
    if (rows->first)
        ss_wrap(out, "  ", text);
}

bool ss_point_measured(const struct ss_point_result *point)
{
    return isfinite(point->step.median);
}

static void put_size(struct ss_grid *table, const struct ss_point_result *point)
{
    char text[24];
    ss_format(text, sizeof text, "%d%s", (int)point->meta->size,
              ss_point_has_notes(point) ? "*" : "");
    ss_grid_cell(table, text);
}

/* Its E is 100 % by definition: an interval would say nothing. */
static bool is_base(const struct ss_point_result *point)
{
    return point->meta->size == point->meta->base_size &&
           isfinite(point->efficiency.value);
}

static void scaling_row(struct ss_grid *table,
                        const struct ss_point_result *point)
{
    const struct ss_ratio *e = &point->efficiency;
    ss_grid_row(table);
    put_size(table, point);
    if (point->meta->nodes > 0)
        ss_grid_cell_int(table, point->meta->nodes);
    else
        ss_grid_cell(table, "-");
    ss_grid_cell(table, ss_word_load(point->meta).text);
    ss_grid_cell(table, ss_word_ms(point->step.median).text);
    ss_grid_cell(table, ss_word_range(point->step.lo, point->step.hi).text);
    ss_grid_cell(table, ss_word_percent(e->value).text);
    ss_grid_cell(table,
                 is_base(point) ? "base" : ss_word_percents(e->lo, e->hi).text);
    ss_grid_cell(table, ss_word_percent(point->e_devices).text);
    ss_grid_cell(table, ss_word_percent(point->e_comm).text);
    ss_grid_cell(table, ss_word_count(point->tokens_per_s_per_device).text);
    ss_grid_cell(table, ss_word_percent(point->mfu).text);
}

static enum ss_status scaling_table(const struct rows *rows, struct ss_buf *out)
{
    static const char *const right[] = {"step ms",   "95 %",    "E %",
                                        "95 %",      "E dev %", "E comm %",
                                        "tok/s/dev", "MFU %"};
    struct ss_grid table;
    ss_grid_open(&table);
    ss_grid_column(&table, "size", SS_RIGHT);
    ss_grid_column(&table, "nodes", SS_RIGHT);
    ss_grid_column(&table, "load", SS_LEFT);
    for (size_t i = 0; i < SS_COUNT_OF(right); i++)
        ss_grid_column(&table, right[i], SS_RIGHT);
    for (int i = 0; i < rows->n; i++)
        scaling_row(&table, &rows->point[i]);
    SS_TRY(ss_grid_print(&table, out));
    legend(rows, out,
           "size: devices that train together (*: see notes). load: +3, three "
           "other groups run at the same time. step ms: median time of a "
           "step, with its 95 % interval. E: efficiency against the base, "
           "100 % is ideal; it is E dev (the price of the slowest device) x E "
           "comm (the price of "
           "working together). tok/s/dev: tokens per second and device. MFU: "
           "share of the device's peak that the model's FLOPs reach.");
    return SS_OK;
}

/* The parts of a sampled step that a column can show. */
enum part {
    COMPUTE,
    INTERFERENCE,
    TRANSFER,
    PERSISTENT,
    JITTER,
    UNSPLIT,
    BUBBLE,
    INPUT,
    LAUNCH,
    OTHER,
    PARTS
};
static const struct {
    const char *name;
    char mark;   /* in the bar */
    bool always; /* shown although it is 0 everywhere */
    const char *meaning;
} parts[PARTS] = {
    [COMPUTE] = {"compute", '=', true, "the device computes"},
    [INTERFERENCE] = {"slowed", 'i', false,
                      "computing longer because communication runs beside it; "
                      "noise: no more than the intervals of the two"},
    [TRANSFER] = {"transfer", 't', true,
                  "blocked while data move that everyone has ready"},
    [PERSISTENT] = {"waiting", 'w', true,
                    "blocked because one and the same rank is late"},
    [JITTER] = {"jitter", 'j', true,
                "blocked because some rank, never the same, is late"},
    [UNSPLIT] = {"unsplit", 'u', false,
                 "blocked too briefly to tell waiting from transfer"},
    [BUBBLE] = {"bubble", 'b', false, "idle as the pipeline schedule has it"},
    [INPUT] = {"input", 'n', false, "blocked on input"},
    [LAUNCH] = {"launch", 'l', false, "idle because the host issues too late"},
    [OTHER] = {"other", 'o', true, "the rest"},
};

static double part_ms(const struct ss_point_result *p, int part)
{
    double slowed = isfinite(p->interference_ms) && !ss_interference_is_noise(p)
                        ? p->interference_ms
                        : 0;
    const double ms[PARTS] = {
        [COMPUTE] = p->busy_ms - slowed, [INTERFERENCE] = slowed,
        [TRANSFER] = p->transfer_ms,     [PERSISTENT] = p->wait_persistent_ms,
        [JITTER] = p->wait_jitter_ms,    [UNSPLIT] = p->unsplit_ms,
        [BUBBLE] = p->bubble_ms,         [INPUT] = p->input_ms,
        [LAUNCH] = p->launch_ms,         [OTHER] = p->other_ms};
    return ms[part];
}

/* Alike for all curves of a report, so that one legend serves them all. */
static bool part_shown(const struct ss_result *result, int part)
{
    if (parts[part].always)
        return true;
    for (int i = 0; i < result->n_points; i++) {
        const struct ss_point_result *p = &result->point[i];
        if (fabs(part_ms(p, part)) >= 0.0005 * p->sampled_ms)
            return true;
    }
    return false;
}

/* Room for the bar beside so many columns; 0: none. */
static int bar_width(const struct ss_result *result)
{
    int shown = 0;
    for (int part = 0; part < PARTS; part++)
        shown += part_shown(result, part);
    return shown <= 7 ? BAR : shown == 8 ? BAR * 2 / 3 : 0;
}

/* "==============iittww": rounding of the running sum, so it never overruns.
 * A negative part (noise) has no length, so the whole is what is left. */
static void put_bar(struct ss_grid *table, const struct ss_point_result *p,
                    int width)
{
    char bar[BAR + 1];
    double whole = 0;
    double sum = 0;
    long at = 0;
    for (int part = 0; part < PARTS; part++)
        whole += fmax(part_ms(p, part), 0);
    for (int part = 0; part < PARTS; part++) {
        long end;
        sum += fmax(part_ms(p, part), 0) / whole * width;
        if (!(sum < width))
            sum = width;
        for (end = lround(sum); at < end; at++)
            bar[at] = parts[part].mark;
    }
    bar[at] = '\0';
    ss_grid_cell(table, bar);
}

static void split_row(struct ss_grid *table, const struct rows *rows,
                      const struct ss_point_result *p)
{
    int width = bar_width(rows->result);
    ss_grid_row(table);
    put_size(table, p);
    ss_grid_cell(table, ss_word_load(p->meta).text);
    ss_grid_cell(table, ss_word_ms(p->sampled_ms).text);
    for (int part = 0; part < PARTS; part++) {
        double share = part_ms(p, part) / p->sampled_ms;
        if (part_shown(rows->result, part))
            ss_grid_cell(table,
                         part == INTERFERENCE && ss_interference_is_noise(p)
                             ? "noise"
                             : ss_word_percent(share).text);
    }
    if (width > 0 && isfinite(p->sampled_ms) && p->sampled_ms > 0)
        put_bar(table, p, width);
}

static void split_legend(const struct rows *rows, struct ss_buf *out)
{
    struct ss_buf text;
    ss_buf_init(&text, 4096);
    ss_buf_printf(&text, "In %% of the step (mean of the sampled steps and of "
                         "ranks); the parts add up to 100.");
    for (int part = 0; part < PARTS; part++) {
        if (part_shown(rows->result, part))
            ss_buf_printf(&text, " %s (%c): %s.", parts[part].name,
                          parts[part].mark, parts[part].meaning);
    }
    if (text.failed)
        out->failed = true;
    legend(rows, out, ss_buf_text(&text));
    ss_buf_free(&text);
}

static enum ss_status split_table(const struct rows *rows, struct ss_buf *out)
{
    struct ss_grid table;
    ss_grid_open(&table);
    ss_grid_column(&table, "size", SS_RIGHT);
    ss_grid_column(&table, "load", SS_LEFT);
    ss_grid_column(&table, "step ms", SS_RIGHT);
    for (int part = 0; part < PARTS; part++) {
        if (part_shown(rows->result, part))
            ss_grid_column(&table, parts[part].name, SS_RIGHT);
    }
    if (bar_width(rows->result) > 0)
        ss_grid_column(&table, "the step", SS_LEFT_CUT);
    for (int i = 0; i < rows->n; i++)
        split_row(&table, rows, &rows->point[i]);
    SS_TRY(ss_grid_print(&table, out));
    split_legend(rows, out);
    return SS_OK;
}

static void control_row(struct ss_grid *table, const struct ss_point_result *p)
{
    ss_grid_row(table);
    put_size(table, p);
    ss_grid_cell(table, ss_word_load(p->meta).text);
    ss_grid_cell(table, ss_word_ms(p->step.median).text);
    ss_grid_cell(table, ss_word_ms(p->compute_only_ms).text);
    ss_grid_cell(table, ss_word_ms(p->comm_only_ms).text);
    ss_grid_cell(table, ss_word_ms(p->exposed_ms).text);
    ss_grid_cell(table, ss_word_percent(p->hidden_share).text);
    ss_grid_cell(table, ss_word_percent(p->parallel_efficiency).text);
    ss_grid_cell(table, ss_word_percent(p->shape_efficiency).text);
}

static enum ss_status control_table(const struct rows *rows, struct ss_buf *out)
{
    static const char *const right[] = {
        "step ms",  "compute-only", "comm-only", "exposed ms",
        "hidden %", "parallel E %", "shape E %"};
    struct ss_grid table;
    ss_grid_open(&table);
    ss_grid_column(&table, "size", SS_RIGHT);
    ss_grid_column(&table, "load", SS_LEFT);
    for (size_t i = 0; i < SS_COUNT_OF(right); i++)
        ss_grid_column(&table, right[i], SS_RIGHT);
    for (int i = 0; i < rows->n; i++)
        control_row(&table, &rows->point[i]);
    SS_TRY(ss_grid_print(&table, out));
    legend(rows, out,
           "The same step without communication (compute-only) and without "
           "computing (comm-only), in ms. exposed: what communication adds to "
           "a rank's step. hidden: share of communication that runs behind "
           "computing. parallel E: compute-only over the whole step. shape E: "
           "speed of computing against that of the smallest size.");
    return SS_OK;
}

static void put_title(const struct ss_point_row *meta, struct ss_buf *out)
{
    char text[256];
    ss_format(text, sizeof text, "%s scaling of %s: %s",
              strcmp(meta->mode, "strong") == 0 ? "Strong" : "Weak",
              meta->curve, meta->held_constant);
    ss_buf_printf(out, "\n");
    ss_wrap(out, "", text);
}

static bool any_measured(const struct rows *rows)
{
    bool any = false;
    for (int i = 0; i < rows->n; i++)
        any |= ss_point_measured(&rows->point[i]);
    return any;
}

/* Axes other than dp have no base that means much: the controls lead. */
static enum ss_status put_curve(const struct rows *rows, struct ss_buf *out)
{
    enum ss_status (*const order[2][3])(const struct rows *,
                                        struct ss_buf *) = {
        {scaling_table, split_table, control_table},
        {control_table, split_table, scaling_table}};
    static const char *const captions[] = {"Efficiency", "Where the time goes",
                                           "Controls"};
    bool dp = strcmp(rows->point->meta->axis, "dp") == 0;
    put_title(rows->point->meta, out);
    if (!any_measured(rows)) {
        ss_wrap(out, "  ", "No point of this curve was measured; see notes.");
        return SS_OK;
    }
    for (int i = 0; i < 3; i++) {
        ss_buf_printf(out, "\n%s\n", captions[dp ? i : 2 - i]);
        SS_TRY(order[dp ? 0 : 1][i](rows, out));
    }
    return SS_OK;
}

enum ss_status ss_text_curves(const struct ss_result *result,
                              struct ss_buf *out)
{
    int first = 0;
    while (first < result->n_points) {
        struct rows rows = {&result->point[first], 0, result, first == 0};
        const struct ss_point_row *head = rows.point->meta;
        while (first + rows.n < result->n_points) {
            const struct ss_point_row *meta = rows.point[rows.n].meta;
            if (strcmp(meta->curve, head->curve) != 0 ||
                strcmp(meta->mode, head->mode) != 0)
                break;
            rows.n++;
        }
        SS_TRY(put_curve(&rows, out));
        first += rows.n;
    }
    if (result->n_points == 0)
        ss_buf_printf(out, "\nNo point was finished.\n");
    return SS_OK;
}
