/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every parser of units on any text. What is accepted must be finite and not
 * negative where the type has no sign, and what is refused must have a text.
 */
#include <math.h>
#include <stdint.h>

#include "base/str.h"
#include "base/units.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_refused(enum ss_status status)
{
    SS_ASSERT(status == SS_ERR_CONFIG);
    SS_ASSERT(ss_error_text()[0] != '\0');
}

static void check_doubles(const char *text)
{
    double value = -1;
    enum ss_status status = ss_parse_double(text, &value);
    SS_ASSERT(status != SS_OK || isfinite(value));
    if (status != SS_OK)
        check_refused(status);
    status = ss_parse_rate(text, &value);
    SS_ASSERT(status != SS_OK || value >= 0);
    if (status != SS_OK)
        check_refused(status);
}

/* An accepted whole number is its own canonical text. */
static void check_int(const char *text)
{
    int64_t value = 0;
    char back[32];
    enum ss_status status = ss_parse_int(text, &value);
    if (status != SS_OK) {
        check_refused(status);
        return;
    }
    ss_format(back, sizeof back, "%lld", (long long)value);
    for (size_t i = 0; i <= sizeof back && text[i]; i++)
        SS_ASSERT(text[i] == back[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ss_buf buf;
    int64_t ns = -1;
    uint64_t bytes;
    int truth = -1;
    enum ss_status status;
    ss_buf_init(&buf, size + 1);
    ss_buf_append(&buf, data, size);
    check_int(ss_buf_text(&buf));
    check_doubles(ss_buf_text(&buf));
    status = ss_parse_bytes(ss_buf_text(&buf), &bytes);
    if (status != SS_OK)
        check_refused(status);
    status = ss_parse_time(ss_buf_text(&buf), &ns);
    SS_ASSERT(status != SS_OK || ns >= 0);
    status = ss_parse_bool(ss_buf_text(&buf), &truth);
    SS_ASSERT(status != SS_OK || truth == 0 || truth == 1);
    ss_buf_free(&buf);
    return 0;
}
