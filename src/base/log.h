/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_BASE_LOG_H
#define SS_BASE_LOG_H

#include <stdbool.h>

/**
 * Logs go to stderr; results to stdout (never from here). A line is "time
 * host:rank room level text", written by one write(2). Wording: lower case,
 * exact cause, "device %s" rather than "device=%s". Nothing above debug in a
 * timed region. The sink is the one global of the program.
 */
enum ss_log_level {
    SS_LOG_ERROR,
    SS_LOG_WARN,
    SS_LOG_INFO,
    SS_LOG_DEBUG,
    SS_LOG_TRACE
};

/** Level shown by this process, and who speaks. host is copied. */
void ss_log_setup(enum ss_log_level level, const char *host, int rank);
/** Parses "error|warn|info|debug|trace"; false if unknown. */
bool ss_log_parse_level(const char *text, enum ss_log_level *out);
bool ss_log_enabled(enum ss_log_level level);
void ss_log(enum ss_log_level level, const char *room, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/** One line that renews itself on a terminal; else a line each 10 s. */
void ss_progress(const char *format, ...) __attribute__((format(printf, 1, 2)));
/** Ends the progress line (before other output). */
void ss_progress_end(void);

#endif
