/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_BASE_STATUS_H
#define SS_BASE_STATUS_H

#include <stddef.h>

/**
 * Every status of the program, once: name, exit code (DESIGN section 5),
 * words. Local functions return one of these; outputs are set only on
 * success. Higher values win when ranks agree (cluster/agree.h), so the list
 * is ordered by what the user must hear first.
 */
#define SS_STATUS_MAP(X)                                                       \
    X(SS_OK, 0, "success")                                                     \
    X(SS_ERR_STOPPED, 11, "stopped on request")                                \
    X(SS_ERR_VERIFY, 10, "verification failed")                                \
    X(SS_ERR_IO, 12, "input or output failed")                                 \
    X(SS_ERR_FORMAT, 2, "file is damaged or not ours")                         \
    X(SS_ERR_NO_MEMORY, 12, "out of memory")                                   \
    X(SS_ERR_ENV, 12, "the environment cannot run this")                       \
    X(SS_ERR_DEVICE, 12, "device error")                                       \
    X(SS_ERR_CONFIG, 2, "configuration error")                                 \
    X(SS_ERR_TRANSPORT, 13, "communication failed")                            \
    X(SS_ERR_TIMEOUT, 13, "deadline passed")                                   \
    X(SS_ERR_INTERNAL, 12, "internal error")

enum ss_status {
#define X(name, code, text) name,
    SS_STATUS_MAP(X)
#undef X
        SS_STATUS_COUNT
};

/** The words for a status; never NULL. */
const char *ss_status_text(enum ss_status status);
/** The process exit code that a status maps to (DESIGN section 5). */
int ss_status_exit_code(enum ss_status status);
/** The symbolic name, for logs and tests. */
const char *ss_status_name(enum ss_status status);

#define SS_ERROR_TEXT_MAX 512

/**
 * Records the detail of an error for this thread and returns `status`. Called
 * once, by the function that decides the error; callers pass the status up
 * silently. The text is one sentence with cause and remedy, without rank and
 * host (agreement adds them). Long texts are cut at SS_ERROR_TEXT_MAX - 1;
 * control characters but newlines and tabs become '?'.
 */
enum ss_status ss_fail(enum ss_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3), warn_unused_result));
/** The last text recorded by this thread; "" if none. */
const char *ss_error_text(void);
/** Replaces this thread's text (agreement uses it); text may be NULL. */
void ss_error_set(const char *text);

#define SS_TRY(expr)                                                           \
    do {                                                                       \
        enum ss_status ss_try_ = (expr);                                       \
        if (ss_try_ != SS_OK)                                                  \
            return ss_try_;                                                    \
    } while (0)

/** As SS_TRY, but leaves through a cleanup label; `status` is the caller's. */
#define SS_TRY_GOTO(expr, status, label)                                       \
    do {                                                                       \
        (status) = (expr);                                                     \
        if ((status) != SS_OK)                                                 \
            goto label;                                                        \
    } while (0)

/** An invariant; on in release builds. Prints place and aborts the process. */
#define SS_ASSERT(cond)                                                        \
    do {                                                                       \
        if (!(cond))                                                           \
            ss_assert_failed(#cond, __FILE__, __LINE__);                       \
    } while (0)
void ss_assert_failed(const char *cond, const char *file, int line)
    __attribute__((noreturn));

#define SS_COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

#endif
