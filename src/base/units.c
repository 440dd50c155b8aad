/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Strict parsers of numbers with and without units. Everything that strtol
 * and friends let through (signs, blanks, octal, hex, rest of the text,
 * locale) is refused, and the message quotes the input and says what is
 * accepted. Scaled values are computed in integers, so that 0.1s is 100 ms
 * exactly and a dumped configuration parses back to the same bits.
 */
#include "base/units.h"

#include <ctype.h>
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/str.h"

#define QUOTE_MAX 64
/* Every whole number up to here is a double: a rate reads back exactly. */
#define RATE_MAX (UINT64_C(1) << 53)

/* Bad input may be long or binary: a short printable form of it. */
static const char *quote(const char *text, char out[QUOTE_MAX])
{
    size_t n = 0;
    while (*text && n < QUOTE_MAX - 4) {
        out[n++] = isprint((unsigned char)*text) ? *text : '?';
        text++;
    }
    out[n] = '\0';
    if (*text)
        ss_copy(out + n, QUOTE_MAX - n, "...");
    return out;
}

static enum ss_status refuse(const char *text, const char *accepted)
{
    char shown[QUOTE_MAX];
    return ss_fail(SS_ERR_CONFIG, "\"%s\" is not %s", quote(text, shown),
                   accepted);
}

static enum ss_status too_large(const char *text)
{
    char shown[QUOTE_MAX];
    return ss_fail(SS_ERR_CONFIG, "\"%s\" is out of range: too large",
                   quote(text, shown));
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Moves past "0" or digits without a leading zero; false if neither. */
static bool skip_whole(const char **p)
{
    if (!is_digit(**p) || (**p == '0' && is_digit((*p)[1])))
        return false;
    while (is_digit(**p))
        (*p)++;
    return true;
}

/* Moves past an optional ".digits"; false for a point without digits. */
static bool skip_fraction(const char **p)
{
    if (**p != '.')
        return true;
    (*p)++;
    if (!is_digit(**p))
        return false;
    while (is_digit(**p))
        (*p)++;
    return true;
}

static bool skip_exponent(const char **p)
{
    if (**p != 'e' && **p != 'E')
        return true;
    (*p)++;
    if (**p == '+' || **p == '-')
        (*p)++;
    if (!is_digit(**p))
        return false;
    while (is_digit(**p))
        (*p)++;
    return true;
}

enum ss_status ss_parse_int(const char *text, int64_t *out)
{
    const char *p = text + (*text == '-');
    long long value;
    if (!skip_whole(&p) || *p ||
        (p[-1] == '0' && p - text == 2 && *text == '-'))
        return refuse(text, "a whole number; accepted: 42 or -3, without "
                            "point, exponent, leading zero or unit");
    errno = 0;
    value = strtoll(text, NULL, 10);
    if (errno == ERANGE)
        return too_large(text);
    *out = value;
    return SS_OK;
}

enum ss_status ss_parse_double(const char *text, double *out)
{
    const char *p = text + (*text == '-');
    locale_t c_locale;
    double value;
    if (!skip_whole(&p) || !skip_fraction(&p) || !skip_exponent(&p) || *p)
        return refuse(text, "a number; accepted: 2, 0.5, -1.25 or 1e-3");
    c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (c_locale == (locale_t)0)
        return ss_fail(SS_ERR_ENV, "the C locale is not available");
    errno = 0;
    value = strtod_l(text, NULL, c_locale);
    freelocale(c_locale);
    if (!isfinite(value) || (errno == ERANGE && value == 0.0))
        return ss_fail(SS_ERR_CONFIG, "\"%.40s\" is out of range", text);
    *out = value;
    return SS_OK;
}

enum ss_status ss_parse_bool(const char *text, int *out)
{
    static const char *const words[] = {"false", "true", "no", "yes",
                                        "off",   "on",   "0",  "1"};
    for (size_t i = 0; i < SS_COUNT_OF(words); i++) {
        if (strcmp(text, words[i]) == 0) {
            *out = (int)(i % 2);
            return SS_OK;
        }
    }
    return refuse(text, "true or false; accepted: true, false, yes, no, on, "
                        "off, 1, 0");
}

struct unit {
    const char *name;
    uint64_t scale;
};

static const struct unit *find_unit(const struct unit *units, const char *name)
{
    for (; units->name; units++) {
        if (strcmp(units->name, name) == 0)
            return units;
    }
    return NULL;
}

/*
 * number * scale in integers: SS_OK, or what is wrong as a text. `number`
 * is digits with at most one point, its end at `end`.
 */
static const char *scale_number(const char *number, const char *end,
                                uint64_t scale, uint64_t *out)
{
    /* 128 bits: 10^18 steps of a fraction times the largest scale fit. */
    unsigned __int128 value = 0;
    unsigned __int128 fraction = 0;
    unsigned __int128 power = 1;
    for (; number < end && *number != '.'; number++) {
        value = value * 10 + (unsigned)(*number - '0');
        if (value > UINT64_MAX)
            return "too large";
    }
    for (number++; number < end; number++) {
        if (power > UINT64_C(100000000000000000))
            return "too many digits after the point";
        fraction = fraction * 10 + (unsigned)(*number - '0');
        power *= 10;
    }
    if (fraction * scale % power != 0)
        return "not a whole number of the smallest unit";
    value = value * scale + fraction * scale / power;
    if (value > UINT64_MAX)
        return "too large";
    *out = (uint64_t)value;
    return NULL;
}

static enum ss_status parse_scaled(const char *text, const struct unit *units,
                                   const char *accepted, uint64_t *out)
{
    const char *end = text;
    const struct unit *unit;
    const char *wrong;
    char shown[QUOTE_MAX];
    if (!skip_whole(&end) || !skip_fraction(&end))
        return refuse(text, accepted);
    unit = find_unit(units, end);
    if (!unit)
        return refuse(text, accepted);
    wrong = scale_number(text, end, unit->scale, out);
    if (wrong)
        return ss_fail(SS_ERR_CONFIG, "\"%s\" is out of range: %s",
                       quote(text, shown), wrong);
    return SS_OK;
}

enum ss_status ss_parse_bytes(const char *text, uint64_t *out)
{
#define K UINT64_C(1024)
    static const struct unit units[] = {{"", 1},
                                        {"B", 1},
                                        {"k", K},
                                        {"K", K},
                                        {"kB", K},
                                        {"KB", K},
                                        {"kiB", K},
                                        {"KiB", K},
                                        {"m", K * K},
                                        {"M", K * K},
                                        {"MB", K * K},
                                        {"MiB", K * K},
                                        {"g", K * K * K},
                                        {"G", K * K * K},
                                        {"GB", K * K * K},
                                        {"GiB", K * K * K},
                                        {"t", K * K * K * K},
                                        {"T", K * K * K * K},
                                        {"TB", K * K * K * K},
                                        {"TiB", K * K * K * K},
                                        {NULL, 0}};
#undef K
    return parse_scaled(text, units,
                        "a number of bytes; accepted: 4096, 256k, 64M, 2GiB "
                        "(k = 1024)",
                        out);
}

enum ss_status ss_parse_time(const char *text, int64_t *out_ns)
{
    static const struct unit units[] = {{"", UINT64_C(1000000000)},
                                        {"ns", 1},
                                        {"us", 1000},
                                        {"ms", 1000000},
                                        {"s", UINT64_C(1000000000)},
                                        {"min", UINT64_C(60000000000)},
                                        {"h", UINT64_C(3600000000000)},
                                        {NULL, 0}};
    uint64_t ns = 0;
    SS_TRY(parse_scaled(text, units,
                        "a time; accepted: 3s, 250ms, 10us, 2min, 1h, or "
                        "seconds without unit",
                        &ns));
    if (ns > INT64_MAX)
        return too_large(text);
    *out_ns = (int64_t)ns;
    return SS_OK;
}

enum ss_status ss_parse_rate(const char *text, double *out_bits)
{
    static const char accepted[] =
        "a rate in bits per second; accepted: 400mbit, 100gbit, 25Gb/s";
    static const char *const tails[] = {"bit", "bit/s", "b/s", "bps"};
    static const char prefixes[] = "kmgt";
    const char *end = text;
    const char *prefix;
    uint64_t scale = 1;
    uint64_t bits = 0;
    if (strcmp(text, "0") == 0) {
        *out_bits = 0;
        return SS_OK;
    }
    if (!skip_whole(&end) || !skip_fraction(&end))
        return refuse(text, accepted);
    prefix = *end ? strchr(prefixes, tolower((unsigned char)*end)) : NULL;
    for (size_t i = 0; i < SS_COUNT_OF(tails); i++) {
        struct unit units[2] = {{end, 0}, {NULL, 0}};
        if (strcmp(end + (prefix != NULL), tails[i]) != 0)
            continue;
        for (const char *p = prefixes; prefix && p <= prefix; p++)
            scale *= 1000;
        units[0].scale = scale;
        SS_TRY(parse_scaled(text, units, accepted, &bits));
        if (bits > RATE_MAX)
            return too_large(text);
        *out_bits = (double)bits;
        return SS_OK;
    }
    return refuse(text, accepted);
}
