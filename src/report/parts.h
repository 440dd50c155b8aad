/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_REPORT_PARTS_H
#define SS_REPORT_PARTS_H

#include <stdbool.h>

#include "report/report.h"

/*
 * What the files of this room say to each other. Nobody outside includes it.
 * Text parts append to a buffer whose errors are sticky: ss_report_render
 * looks at it once, at the end.
 */

enum {
    SS_REPORT_WIDTH = 100, /**< columns; no line is longer */
    SS_REPORT_WORST = 10   /**< ranks shown by SS_RANKS_WORST */
};

/* worst.c */
/**
 * Indices into point->rank, worst first (excess, then own compute time), or
 * in order of rank for SS_RANKS_ALL; *n of them. Owned by the caller; NULL
 * with the error text when memory is out.
 */
int *ss_report_pick_ranks(const struct ss_point_result *point,
                          enum ss_report_ranks ranks, int *n);

/* words.c: a number for a person; "-" for NaN */
struct ss_word {
    char text[48];
};
struct ss_word ss_word_ms(double ms);               /**< "20.31", four digits */
struct ss_word ss_word_range(double lo, double hi); /**< "20.25-20.40" */
struct ss_word ss_word_percent(double share);       /**< 0.812 -> "81.2" */
struct ss_word ss_word_percents(double lo, double hi); /**< "80.9-81.6" */
struct ss_word ss_word_count(double count);            /**< "12.3 k" */
struct ss_word ss_word_load(const struct ss_point_row *meta);
/** Names a point in running text: "weak 4"; "weak 2 alone" where that size
 * could have had neighbours. */
struct ss_word ss_word_point(const struct ss_result *result,
                             const struct ss_point_row *meta);
/** UTC, ISO 8601, of ns since 1970; "" for 0. */
struct ss_word ss_word_time(int64_t wall_ns);
/** Appends text broken at blanks to fit the width; `first` opens the first
 * line, later ones are indented by as many blanks. Control characters become
 * '?', so that no file can steer a terminal. */
void ss_wrap(struct ss_buf *out, const char *first, const char *text);

/* text_*.c */
bool ss_point_measured(const struct ss_point_result *point);
bool ss_point_has_notes(const struct ss_point_result *point);
void ss_text_head(const struct ss_result *result, struct ss_buf *out);
enum ss_status ss_text_curves(const struct ss_result *result,
                              struct ss_buf *out);
enum ss_status ss_text_ranks(const struct ss_result *result,
                             enum ss_report_ranks ranks, struct ss_buf *out);
/** Pairs, where some were measured: heat map, worst pairs. */
enum ss_status ss_text_pairs(const struct ss_result *result,
                             struct ss_buf *out);
enum ss_status ss_text_colls(const struct ss_result *result,
                             struct ss_buf *out);
void ss_text_findings(const struct ss_result *result, struct ss_buf *out);
void ss_text_verdict(const struct ss_result *result, struct ss_buf *out);
void ss_text_notes(const struct ss_result *result, struct ss_buf *out);
/* text_start.c: lines among the notes */
void ss_text_start(const struct ss_result *result, struct ss_buf *notes);
enum ss_status ss_text_render(const struct ss_result *result,
                              enum ss_report_ranks ranks, struct ss_buf *out);

/* json.c, csv.c */
enum ss_status ss_json_render(const struct ss_result *result,
                              enum ss_report_ranks ranks, struct ss_buf *out);
enum ss_status ss_csv_render(const struct ss_result *result,
                             struct ss_buf *out);

#endif
