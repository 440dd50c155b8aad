/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers for people: three significant digits and a unit. Files and JSON
 * hold plain numbers; nothing printed here is ever parsed again. A value that
 * rounds to 1000 of a unit is shown as 1 of the next.
 */
#include "base/units.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"

/* Three significant digits of a value in [0, 1000), without trailing zeros. */
static void three_digits(double value, char *out, size_t size)
{
    int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
    char *end;
    ss_format(out, size, "%.*f", decimals, value);
    if (!strchr(out, '.'))
        return;
    end = out + strlen(out);
    while (end[-1] == '0')
        *--end = '\0';
    if (end[-1] == '.')
        end[-1] = '\0';
}

/* units: names of 1, 1000, 1000^2 ...; an empty name leaves no blank. */
static char *format_si(double value, const char *const *units, int n, char *out,
                       size_t size)
{
    const char *sign = value < 0 ? "-" : "";
    char digits[32];
    int i = 0;
    if (!isfinite(value)) {
        ss_copy(out, size, "unknown");
        return out;
    }
    value = fabs(value);
    while (i < n - 1 && value >= 999.5) {
        value /= 1000;
        i++;
    }
    three_digits(value, digits, sizeof digits);
    ss_format(out, size, "%s%s%s%s", sign, digits, *units[i] ? " " : "",
              units[i]);
    return out;
}

char *ss_format_bytes(double bytes, char *out, size_t size)
{
    static const char *const units[] = {"B",  "kB", "MB", "GB",
                                        "TB", "PB", "EB"};
    return format_si(bytes, units, 7, out, size);
}

char *ss_format_count(double count, char *out, size_t size)
{
    static const char *const units[] = {"", "k", "M", "B", "T"};
    return format_si(count, units, 5, out, size);
}

char *ss_format_time(double ns, char *out, size_t size)
{
    static const char *const units[] = {"ns", "us", "ms", "s"};
    double seconds = fabs(ns) * 1e-9;
    const char *sign = ns < 0 ? "-" : "";
    long whole;
    if (!(seconds >= 59.95) || seconds > 3.6e9)
        return format_si(ns, units, 4, out, size);
    whole = lround(seconds);
    bool hours = whole >= 3600;
    long large = hours ? whole / 3600 : whole / 60;
    long small = hours ? whole % 3600 / 60 : whole % 60;
    if (small == 0)
        ss_format(out, size, "%s%ld %s", sign, large, hours ? "h" : "min");
    else
        ss_format(out, size, "%s%ld %s %ld %s", sign, large,
                  hours ? "h" : "min", small, hours ? "min" : "s");
    return out;
}

struct ss_counted ss_counted(int64_t n, const char *noun)
{
    struct ss_counted out;
    size_t len = strlen(noun);
    const char *ending = n == 1                            ? ""
                         : len > 0 && noun[len - 1] == 's' ? "es"
                                                           : "s";
    ss_format(out.text, sizeof out.text, "%" PRId64 " %s%s", n, noun, ending);
    return out;
}

char *ss_format_binary(uint64_t bytes, char *out, size_t size)
{
    static const char units[] = "BkMGT";
    int i = 0;
    while (i < 4 && bytes != 0 && bytes % 1024 == 0) {
        bytes /= 1024;
        i++;
    }
    ss_format(out, size, "%" PRIu64 "%c", bytes, units[i]);
    return out;
}
