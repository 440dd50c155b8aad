/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The words and exit codes of every status, and the error text of a thread.
 * The text is per thread because ranks may be threads of one process (tests)
 * and because the watchdog runs beside the main thread. It must not know
 * ranks, hosts or logging: agreement adds those, callers decide what to log.
 */
#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static _Thread_local char error_text[SS_ERROR_TEXT_MAX];

struct status_info {
    const char *name;
    int exit_code;
    const char *text;
};

static const struct status_info infos[] = {
#define X(name, code, text) {#name, code, text},
    SS_STATUS_MAP(X)
#undef X
};

static const struct status_info *info_of(enum ss_status status)
{
    if ((unsigned)status >= SS_STATUS_COUNT)
        status = SS_ERR_INTERNAL;
    return &infos[status];
}

const char *ss_status_text(enum ss_status status)
{
    return info_of(status)->text;
}

int ss_status_exit_code(enum ss_status status)
{
    return info_of(status)->exit_code;
}

const char *ss_status_name(enum ss_status status)
{
    return info_of(status)->name;
}

enum ss_status ss_fail(enum ss_status status, const char *format, ...)
{
    /* Arguments may point into error_text itself: format beside it. */
    char text[SS_ERROR_TEXT_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    /* Names come from files and environments: none may steer a terminal. */
    for (char *at = text; *at; at++) {
        if (((unsigned char)*at < 0x20 && *at != '\n' && *at != '\t') ||
            *at == 0x7f)
            *at = '?';
    }
    memcpy(error_text, text, sizeof text);
    return status;
}

const char *ss_error_text(void)
{
    return error_text;
}

void ss_error_set(const char *text)
{
    size_t len = text ? strnlen(text, sizeof error_text - 1) : 0;
    if (len > 0)
        memmove(error_text, text, len);
    error_text[len] = '\0';
}

void ss_assert_failed(const char *cond, const char *file, int line)
{
    char text[512];
    int len =
        snprintf(text, sizeof text, "%s:%d: internal error: %s does not hold\n",
                 file, line, cond);
    if (len >= (int)sizeof text)
        len = (int)sizeof text - 1;
    if (len > 0 && write(STDERR_FILENO, text, (size_t)len) < 0)
        abort();
    abort();
}
