/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_REPORT_JSON_PUT_H
#define SS_REPORT_JSON_PUT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "report/parts.h"

/**
 * One JSON object being filled, in order. A failure is sticky; closing with
 * ss_json_close gives the object, or NULL when any step failed.
 */
struct ss_json {
    json_t *object;
    bool failed;
};

void ss_json_open(struct ss_json *json);
json_t *ss_json_close(struct ss_json *json);
/** Takes `value` over; NULL is a failure. */
void ss_json_put(struct ss_json *json, const char *key, json_t *value);
/** null for NaN and infinity. */
void ss_json_number(struct ss_json *json, const char *key, double value);
void ss_json_int(struct ss_json *json, const char *key, int64_t value);
/** null for -1 (unknown), else a boolean. */
void ss_json_tristate(struct ss_json *json, const char *key, int value);
/** null for NULL and "". */
void ss_json_text(struct ss_json *json, const char *key, const char *text);
/** A JSON string of any bytes: those that are not UTF-8 become '?'. */
json_t *ss_json_string(const char *text);

/** Appends the dump; takes `value` over. NULL is SS_ERR_NO_MEMORY. */
enum ss_status ss_json_dump(json_t *value, size_t flags, struct ss_buf *out);

/** One pair; `run` gives names. */
json_t *ss_json_pair(const struct ss_run_data *run,
                     const struct ss_pair_result *pair);
/** One collective of one size; one fit. */
json_t *ss_json_coll(const struct ss_coll_result *coll);
json_t *ss_json_fit(const struct ss_fit_result *fit);
/** One point; ranks are left out (as for CSV) when `with_ranks` is false. */
json_t *ss_json_point(const struct ss_point_result *point,
                      enum ss_report_ranks ranks, bool with_ranks);

#endif
