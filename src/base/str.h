/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_BASE_STR_H
#define SS_BASE_STR_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

/** A growing text with a ceiling. Always NUL-terminated once appended to. */
struct ss_buf {
    char *data; /**< owned; NULL when nothing was appended */
    size_t len;
    size_t cap;
    size_t max;  /**< ceiling in bytes */
    bool failed; /**< an append failed (memory or ceiling): sticky */
};

void ss_buf_init(struct ss_buf *buf, size_t max);
void ss_buf_free(struct ss_buf *buf);
/** Appends; errors are sticky and reported by ss_buf_status at the end. */
void ss_buf_append(struct ss_buf *buf, const void *bytes, size_t len);
void ss_buf_printf(struct ss_buf *buf, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/** SS_OK, or SS_ERR_NO_MEMORY when any append failed. */
enum ss_status ss_buf_status(const struct ss_buf *buf);
/** The text, "" when empty. */
const char *ss_buf_text(const struct ss_buf *buf);

/** snprintf that always terminates; true when it all fit. */
bool ss_format(char *out, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/** Copies with truncation; true when it all fit. */
bool ss_copy(char *out, size_t size, const char *text);
/** Natural order: "node9" < "node10". <0, 0, >0. */
int ss_natural_compare(const char *a, const char *b);
/**
 * "did you mean": the candidate nearest to `word` by edit distance (at most a
 * third of its length, at least 1), or NULL. `names` ends with NULL.
 */
const char *ss_nearest(const char *word, const char *const *names);
/**
 * Reads a whole file of at most `max` bytes into `out`, which it initialises
 * (empty on failure). SS_ERR_IO with path and cause; SS_ERR_CONFIG when larger
 * than max.
 */
enum ss_status ss_read_file(const char *path, size_t max, struct ss_buf *out);
/** The same for a file that the user named: one that cannot be read is a wrong
 * configuration, SS_ERR_CONFIG. */
enum ss_status ss_read_named_file(const char *path, size_t max,
                                  struct ss_buf *out);

#endif
