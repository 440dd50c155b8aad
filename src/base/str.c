/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts that grow, and the few string helpers that the C library lacks or
 * makes easy to misuse. A buffer has a ceiling so that no input, however
 * hostile, can make the program grow without end; its errors are sticky so
 * that a page of appends needs one check. It must not know what is written.
 */
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

void ss_buf_init(struct ss_buf *buf, size_t max)
{
    *buf = (struct ss_buf){.max = max};
}

void ss_buf_free(struct ss_buf *buf)
{
    ss_free(buf->data);
    *buf = (struct ss_buf){.max = buf->max};
}

/* Room for `extra` more bytes and the NUL; false (and sticky) if not. */
static bool reserve(struct ss_buf *buf, size_t extra)
{
    size_t cap = buf->cap ? buf->cap : 64;
    char *data;
    if (buf->failed || extra > buf->max - buf->len)
        goto fail;
    if (buf->len + extra < buf->cap)
        return true;
    while (cap <= buf->len + extra)
        cap *= 2;
    data = ss_realloc(buf->data, cap, 1, "a text");
    if (!data)
        goto fail;
    data[buf->len] = '\0';
    buf->data = data;
    buf->cap = cap;
    return true;
fail:
    buf->failed = true;
    return false;
}

void ss_buf_append(struct ss_buf *buf, const void *bytes, size_t len)
{
    if (!reserve(buf, len))
        return;
    if (len > 0)
        memcpy(buf->data + buf->len, bytes, len);
    buf->len += len;
    buf->data[buf->len] = '\0';
}

void ss_buf_printf(struct ss_buf *buf, const char *format, ...)
{
    va_list args;
    int len;
    va_start(args, format);
    len = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (len < 0) {
        buf->failed = true;
        return;
    }
    if (!reserve(buf, (size_t)len))
        return;
    va_start(args, format);
    vsnprintf(buf->data + buf->len, (size_t)len + 1, format, args);
    va_end(args);
    buf->len += (size_t)len;
}

enum ss_status ss_buf_status(const struct ss_buf *buf)
{
    if (!buf->failed)
        return SS_OK;
    return ss_fail(SS_ERR_NO_MEMORY,
                   "cannot grow a text of %zu bytes: out of memory, or above "
                   "its limit of %zu bytes",
                   buf->len, buf->max);
}

const char *ss_buf_text(const struct ss_buf *buf)
{
    return buf->data ? buf->data : "";
}

bool ss_format(char *out, size_t size, const char *format, ...)
{
    va_list args;
    int len;
    if (size == 0)
        return false;
    va_start(args, format);
    len = vsnprintf(out, size, format, args);
    va_end(args);
    if (len < 0)
        out[0] = '\0';
    return len >= 0 && (size_t)len < size;
}

bool ss_copy(char *out, size_t size, const char *text)
{
    size_t len;
    if (size == 0)
        return false;
    len = strnlen(text, size);
    memmove(out, text, len < size ? len : size - 1);
    out[len < size ? len : size - 1] = '\0';
    return len < size;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Compares two runs of digits by value, and moves both past their run. */
static int compare_digits(const char **a, const char **b)
{
    size_t na = 0;
    size_t nb = 0;
    int order;
    while (**a == '0')
        (*a)++;
    while (**b == '0')
        (*b)++;
    while (is_digit((*a)[na]))
        na++;
    while (is_digit((*b)[nb]))
        nb++;
    if (na != nb)
        return na < nb ? -1 : 1;
    order = memcmp(*a, *b, na);
    *a += na;
    *b += nb;
    return order;
}

int ss_natural_compare(const char *a, const char *b)
{
    const char *x = a;
    const char *y = b;
    while (*x && *y) {
        if (is_digit(*x) && is_digit(*y)) {
            int order = compare_digits(&x, &y);
            if (order != 0)
                return order;
            continue;
        }
        if (*x != *y)
            return (unsigned char)*x < (unsigned char)*y ? -1 : 1;
        x++;
        y++;
    }
    if (*x || *y)
        return *x ? 1 : -1;
    return strcmp(a, b); /* "node01" and "node1": still a total order */
}

static enum ss_status read_all(int fd, const char *path, size_t max,
                               struct ss_buf *out)
{
    char piece[16384];
    for (;;) {
        ssize_t got = read(fd, piece, sizeof piece);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return ss_fail(SS_ERR_IO, "cannot read %s: %s", path,
                           strerror(errno));
        if (got == 0)
            return ss_buf_status(out);
        if ((size_t)got > max - out->len)
            return ss_fail(SS_ERR_CONFIG,
                           "%s is larger than %zu bytes: not a file of the "
                           "expected kind",
                           path, max);
        ss_buf_append(out, piece, (size_t)got);
        SS_TRY(ss_buf_status(out));
    }
}

enum ss_status ss_read_file(const char *path, size_t max, struct ss_buf *out)
{
    enum ss_status status;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ss_buf_init(out, max);
    if (fd < 0)
        return ss_fail(SS_ERR_IO, "cannot open %s: %s", path, strerror(errno));
    status = read_all(fd, path, max, out);
    close(fd);
    if (status != SS_OK)
        ss_buf_free(out);
    return status;
}

enum ss_status ss_read_named_file(const char *path, size_t max,
                                  struct ss_buf *out)
{
    enum ss_status status = ss_read_file(path, max, out);
    char text[SS_ERROR_TEXT_MAX];

    if (status != SS_ERR_IO)
        return status;
    ss_copy(text, sizeof(text), ss_error_text());
    return ss_fail(SS_ERR_CONFIG, "%s", text);
}
