/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Log lines and the progress line, both on stderr. A line is one write(2) so
 * that the lines of many ranks, merged by the launcher, do not interleave.
 * The sink is the program's one global: it is set once at the start, before
 * any thread. It must not use the heap (it reports its exhaustion) or stdout.
 */
#include "base/log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/status.h"
#include "base/str.h"

#define LINE_MAX_BYTES 1024
#define ERASE_LINE "\r\033[K"
#define PLAIN_FIRST_NS (5 * SS_NS_PER_S)
#define PLAIN_PERIOD_NS (10 * SS_NS_PER_S)

static struct {
    enum ss_log_level level;
    int rank;
    char host[64];
    atomic_bool progress; /* a progress line stands on the terminal */
    int64_t plain_ns;     /* when progress is a line of its own; 0: not yet */
} sink = {.level = SS_LOG_INFO, .rank = -1};

static const char *const level_names[] = {"error", "warn", "info", "debug",
                                          "trace"};

void ss_log_setup(enum ss_log_level level, const char *host, int rank)
{
    sink.level = level;
    sink.rank = rank;
    ss_copy(sink.host, sizeof sink.host, host ? host : "");
}

bool ss_log_parse_level(const char *text, enum ss_log_level *out)
{
    for (size_t i = 0; i < SS_COUNT_OF(level_names); i++) {
        if (strcmp(text, level_names[i]) == 0) {
            *out = (enum ss_log_level)i;
            return true;
        }
    }
    return false;
}

bool ss_log_enabled(enum ss_log_level level)
{
    return level <= sink.level;
}

/* Log output that cannot be written has nowhere to be reported. */
static void put(const char *text, size_t len)
{
    ssize_t written = write(STDERR_FILENO, text, len);
    (void)written;
}

static size_t put_head(char *line, size_t size, enum ss_log_level level,
                       const char *room)
{
    int64_t now = ss_clock_wall_ns();
    time_t seconds = (time_t)(now / SS_NS_PER_S);
    int millis = (int)(now % SS_NS_PER_S / SS_NS_PER_MS);
    struct tm tm = {0};
    char rank[16] = "-";
    localtime_r(&seconds, &tm);
    if (sink.rank >= 0)
        ss_format(rank, sizeof rank, "%d", sink.rank);
    ss_format(line, size, "%s%02d:%02d:%02d.%03d %s:%s %s %s ",
              atomic_load(&sink.progress) ? ERASE_LINE : "", tm.tm_hour,
              tm.tm_min, tm.tm_sec, millis, sink.host, rank, room,
              level_names[level]);
    return strlen(line);
}

void ss_log(enum ss_log_level level, const char *room, const char *format, ...)
{
    char line[LINE_MAX_BYTES];
    size_t len;
    va_list args;
    if (!ss_log_enabled(level))
        return;
    len = put_head(line, sizeof line - 1, level, room);
    va_start(args, format);
    vsnprintf(line + len, sizeof line - 1 - len, format, args);
    va_end(args);
    len = strlen(line);
    line[len] = '\n';
    put(line, len + 1);
}

/* A launcher's pipe and a log file show life too, but not at every step. The
 * first call only starts the clock: what is short needs no line. */
static bool plain_is_due(void)
{
    int64_t now = ss_clock_ns();
    if (sink.plain_ns == 0)
        sink.plain_ns = now + PLAIN_FIRST_NS;
    if (now < sink.plain_ns)
        return false;
    sink.plain_ns = now + PLAIN_PERIOD_NS;
    return ss_log_enabled(SS_LOG_WARN);
}

void ss_progress(const char *format, ...)
{
    bool terminal = isatty(STDERR_FILENO);
    char line[256] = ERASE_LINE;
    size_t len = terminal ? strlen(line) : 0;
    va_list args;
    if (!terminal && !plain_is_due())
        return;
    va_start(args, format);
    vsnprintf(line + len, sizeof line - len - 1, format, args);
    va_end(args);
    atomic_store(&sink.progress, terminal);
    len = strlen(line);
    line[len] = '\n';
    put(line, len + !terminal);
}

void ss_progress_end(void)
{
    if (atomic_exchange(&sink.progress, false))
        put(ERASE_LINE, strlen(ERASE_LINE));
}
