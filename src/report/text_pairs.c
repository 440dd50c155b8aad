/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pairs for people: every pair as one character against the healthy rate, so
 * that a bad node is a row and a column, a bad path a dot; then the worst pairs
 * in numbers, and what each library reached. It must not name the guilty.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "report/grid.h"
#include "report/parts.h"

enum { MAP_MOST = 72, WORST = 8, NAME_MOST = 20 };

/* "." within 5 %, a digit for tenths, "#" under a tenth. */
static char symbol(double share)
{
    if (isnan(share))
        return ' ';
    if (share >= 0.95)
        return '.';
    int tenths = (int)(share * 10);
    return tenths < 1 ? '#' : (char)('0' + tenths);
}

static bool decides(const struct ss_pair_result *pair)
{
    return pair->row->decides && strcmp(pair->row->library, "mpi") == 0;
}

static bool of_nodes(const struct ss_result *result)
{
    return strcmp(result->pair[0].row->level, "node") == 0;
}

static void name_of(const struct ss_result *result, int which, char *out,
                    size_t size)
{
    if (of_nodes(result) && which < result->run->n_nodes)
        ss_format(out, size, "%.*s", NAME_MOST, result->run->node[which].name);
    else
        ss_format(out, size, "rank %d", which);
}

/* A map of more places than fit: each stands for `of_one` neighbours. */
struct map {
    int n, places, of_one;
    double *cell; /* [places][places] share of the healthy rate, row sends */
};

static void label(const struct ss_result *result, const struct map *map,
                  int place, char *out, size_t size)
{
    int first = place * map->of_one, last = first + map->of_one - 1;
    char a[NAME_MOST + 1], b[NAME_MOST + 1];
    int half = NAME_MOST / 2 - 1;

    if (last >= map->n)
        last = map->n - 1;
    name_of(result, first, a, sizeof a);
    if (first == last) {
        ss_copy(out, size, a);
        return;
    }
    name_of(result, last, b, sizeof b);
    /* the ends of long names tell them apart */
    size_t skip_a = strlen(a) > (size_t)half ? strlen(a) - (size_t)half : 0;
    size_t skip_b = strlen(b) > (size_t)half ? strlen(b) - (size_t)half : 0;
    ss_format(out, size, "%s..%s", a + skip_a, b + skip_b);
}

static void print_map(const struct ss_result *result, const struct map *map,
                      struct ss_buf *out)
{
    char name[NAME_MOST + 1];
    ss_buf_printf(out, "%-*s ", NAME_MOST, "from \\ to");
    for (int i = 0; i < map->places; i++)
        ss_buf_printf(out, "%c", i % 10 == 0 ? '0' + (i / 10) % 10 : '-');
    ss_buf_printf(out, "\n");
    for (int i = 0; i < map->places; i++) {
        const double *row = map->cell + (size_t)i * (size_t)map->places;
        label(result, map, i, name, sizeof name);
        ss_buf_printf(out, "%-*s ", NAME_MOST, name);
        for (int k = 0; k < map->places; k++)
            ss_buf_printf(out, "%c",
                          i == k && isnan(row[k]) ? '\\' : symbol(row[k]));
        ss_buf_printf(out, "\n");
    }
    ss_wrap(out, "  ",
            ". within 5 % of the healthy rate (median of pairs that nobody "
            "slows); 9 to 1: tenths of it; # under a tenth; blank: not paired. "
            "A bad node is a row and a column, a bad path a single place.");
}

static enum ss_status put_map(const struct ss_result *result,
                              struct ss_buf *out)
{
    int n = of_nodes(result) ? result->run->n_nodes : result->run->n_ranks;
    struct map map = {.n = n, .of_one = (n + MAP_MOST - 1) / MAP_MOST};
    char note[96];

    map.places = (n + map.of_one - 1) / map.of_one;
    size_t cells = (size_t)map.places * (size_t)map.places;
    map.cell = ss_alloc(cells, sizeof *map.cell, "a map of pairs");
    if (!map.cell)
        return SS_ERR_NO_MEMORY;
    for (size_t i = 0; i < cells; i++)
        map.cell[i] = NAN;
    for (int64_t i = 0; i < result->n_pairs; i++) {
        const struct ss_pair_row *row = result->pair[i].row;
        if (!decides(&result->pair[i]) || row->a >= n || row->b >= n)
            continue;
        double *cell =
            &map.cell[(size_t)(row->a / map.of_one) * (size_t)map.places +
                      (size_t)(row->b / map.of_one)];
        *cell = fmin(*cell, result->pair[i].gbs / result->pairs_healthy_gbs);
    }
    print_map(result, &map, out);
    ss_free(map.cell);
    if (map.of_one > 1) {
        ss_format(note, sizeof note,
                  "Each place is the worst pair of %d by %d; --format csv has "
                  "every pair.",
                  map.of_one, map.of_one);
        ss_wrap(out, "  ", note);
    }
    return SS_OK;
}

static void rate(double gbs, char *out, size_t size)
{
    if (isnan(gbs))
        ss_copy(out, size, "-");
    else
        ss_format(out, size, "%.4g", gbs);
}

static void put_pair_row(struct ss_grid *grid, const struct ss_result *result,
                         const struct ss_pair_result *pair)
{
    char text[48];
    ss_grid_row(grid);
    name_of(result, pair->row->a, text, sizeof text);
    ss_grid_cell(grid, text);
    name_of(result, pair->row->b, text, sizeof text);
    ss_grid_cell(grid, text);
    rate(pair->gbs, text, sizeof text);
    ss_grid_cell(grid, text);
    ss_grid_cell(grid,
                 ss_word_percent(pair->gbs / result->pairs_healthy_gbs).text);
    ss_grid_cell_int(grid, pair->bytes);
    ss_grid_cell_int(grid, pair->n);
    ss_grid_cell(grid, pair->row->transport);
}

static void keep_worst(const struct ss_pair_result **worst, int *n,
                       const struct ss_pair_result *pair)
{
    int at = *n;
    while (at > 0 && worst[at - 1]->gbs > pair->gbs) {
        if (at < WORST)
            worst[at] = worst[at - 1];
        at--;
    }
    if (at < WORST)
        worst[at] = pair;
    if (*n < WORST)
        ++*n;
}

static enum ss_status put_worst(const struct ss_result *result,
                                struct ss_buf *out)
{
    const struct ss_pair_result *worst[WORST];
    struct ss_grid grid;
    int n = 0;
    for (int64_t i = 0; i < result->n_pairs; i++)
        if (decides(&result->pair[i]) && !isnan(result->pair[i].gbs))
            keep_worst(worst, &n, &result->pair[i]);
    ss_buf_printf(out, "\nSlowest pairs (MPI, one way)\n");
    ss_grid_open(&grid);
    ss_grid_column(&grid, "from", SS_LEFT);
    ss_grid_column(&grid, "to", SS_LEFT);
    ss_grid_column(&grid, "GB/s", SS_RIGHT);
    ss_grid_column(&grid, "% of healthy", SS_RIGHT);
    ss_grid_column(&grid, "message", SS_RIGHT);
    ss_grid_column(&grid, "batches", SS_RIGHT);
    ss_grid_column(&grid, "carried by", SS_LEFT);
    for (int i = 0; i < n; i++)
        put_pair_row(&grid, result, worst[i]);
    SS_TRY(ss_grid_print(&grid, out));
    ss_wrap(
        out, "  ",
        "GB/s: decimal, median over rounds of the fastest batch; carried by: "
        "the interface "
        "whose counters saw the bytes leave.");
    return SS_OK;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Lines of one library and direction follow each other. */
static bool alike(const struct ss_pair_row *a, const struct ss_pair_row *b)
{
    return strcmp(a->library, b->library) == 0 &&
           strcmp(a->direction, b->direction) == 0;
}

static void put_span(struct ss_grid *grid, const struct ss_pair_row *row,
                     double *v, size_t n)
{
    bool latency = strcmp(row->direction, "latency") == 0;
    const size_t at[] = {0, n / 2, n - 1};
    char text[48];
    if (n == 0)
        return;
    qsort(v, n, sizeof *v, compare);
    ss_grid_row(grid);
    ss_grid_cell(grid, row->library);
    ss_format(text, sizeof text, "%s, %s",
              latency                                  ? "latency"
              : strcmp(row->direction, "one_way") == 0 ? "one way"
                                                       : "both ways",
              latency ? "us" : "GB/s");
    ss_grid_cell(grid, text);
    for (size_t i = 0; i < SS_COUNT_OF(at); i++) {
        rate(v[at[i]], text, sizeof text);
        ss_grid_cell(grid, text);
    }
}

static enum ss_status put_libraries(const struct ss_result *result,
                                    struct ss_buf *out)
{
    double *v =
        ss_alloc((size_t)result->n_pairs, sizeof *v, "a table of libraries");
    struct ss_grid grid;
    if (!v)
        return SS_ERR_NO_MEMORY;
    ss_buf_printf(out, "\nAll pairs\n");
    ss_grid_open(&grid);
    ss_grid_column(&grid, "library", SS_LEFT);
    ss_grid_column(&grid, "what", SS_LEFT);
    ss_grid_column(&grid, "lowest", SS_RIGHT);
    ss_grid_column(&grid, "median", SS_RIGHT);
    ss_grid_column(&grid, "highest", SS_RIGHT);
    for (int64_t i = 0, end; i < result->n_pairs; i = end) {
        const struct ss_pair_row *row = result->pair[i].row;
        bool latency = strcmp(row->direction, "latency") == 0;
        size_t n = 0;
        for (end = i;
             end < result->n_pairs && alike(row, result->pair[end].row); end++)
            if (latency || result->pair[end].row->decides ||
                strcmp(row->direction, "both_ways") == 0)
                v[n++] = latency ? result->pair[end].latency_us
                                 : result->pair[end].gbs;
        put_span(&grid, row, v, n);
    }
    ss_free(v);
    return ss_grid_print(&grid, out);
}

enum ss_status ss_text_pairs(const struct ss_result *result, struct ss_buf *out)
{
    const struct ss_run_data *run = result->run;
    ss_buf_printf(out, "\nPairs of %s\n", of_nodes(result) ? "nodes" : "ranks");
    SS_TRY(put_map(result, out));
    SS_TRY(put_worst(result, out));
    SS_TRY(put_libraries(result, out));
    for (int i = 0; i < run->n_points; i++)
        if (strcmp(run->point[i].meta.mode, SS_MODE_PAIRS) == 0 &&
            run->point[i].meta.reason[0])
            ss_wrap(out, "  ", run->point[i].meta.reason);
    return SS_OK;
}
