/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a member becomes a text again: the largest unit that is exact, the
 * shortest number that reads back to the same bits. The dump, the hash, the
 * help and the messages all use it. No heap: a hash must not fail.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "config/config_internal.h"

struct unit {
    const char *name;
    uint64_t scale;
};

/* units: largest first, the last has scale 1. */
static void put_scaled(uint64_t value, const struct unit *units, char *out,
                       size_t size)
{
    while (units->scale > 1 && (value % units->scale != 0 || value == 0))
        units++;
    ss_format(out, size, "%" PRIu64 "%s", value / units->scale, units->name);
}

static void put_time(int64_t ns, char *out, size_t size)
{
    static const struct unit units[] = {{"h", UINT64_C(3600000000000)},
                                        {"min", UINT64_C(60000000000)},
                                        {"s", UINT64_C(1000000000)},
                                        {"ms", 1000000},
                                        {"us", 1000},
                                        {"ns", 1}};
    if (ns == 0)
        ss_copy(out, size, "0s");
    else
        put_scaled((uint64_t)ns, units, out, size);
}

static void put_bytes(uint64_t bytes, char *out, size_t size)
{
    static const struct unit units[] = {{"T", UINT64_C(1) << 40},
                                        {"G", UINT64_C(1) << 30},
                                        {"M", UINT64_C(1) << 20},
                                        {"k", UINT64_C(1) << 10},
                                        {"B", 1}};
    put_scaled(bytes, units, out, size);
}

static void put_rate(double bits, char *out, size_t size)
{
    static const struct unit units[] = {{"tbit", UINT64_C(1000000000000)},
                                        {"gbit", UINT64_C(1000000000)},
                                        {"mbit", 1000000},
                                        {"kbit", 1000},
                                        {"bit", 1}};
    if (bits == 0)
        ss_copy(out, size, "0");
    else
        put_scaled((uint64_t)bits, units, out, size);
}

static void put_double(double value, char *out, size_t size)
{
    double back;
    for (int digits = 15; digits <= 17; digits++) {
        ss_format(out, size, "%.*g", digits, value);
        if (ss_parse_double(out, &back) == SS_OK && back == value)
            return;
    }
}

static void put_choice(const char *choices, int index, char *out, size_t size)
{
    size_t n;
    while (index-- > 0)
        choices += strcspn(choices, "|") + 1;
    n = strcspn(choices, "|");
    ss_format(out, size, "%.*s", (int)n, choices);
}

void ss_field_plain(const struct ss_field *field,
                    const struct ss_config *config, char out[SS_VALUE_MAX])
{
    const void *member = (const char *)config + field->offset;
    switch (field->type) {
    case SS_FIELD_INT:
        ss_format(out, SS_VALUE_MAX, "%" PRId64, *(const int64_t *)member);
        break;
    case SS_FIELD_TIME:
        put_time(*(const int64_t *)member, out, SS_VALUE_MAX);
        break;
    case SS_FIELD_BYTES:
        put_bytes(*(const uint64_t *)member, out, SS_VALUE_MAX);
        break;
    case SS_FIELD_DBL:
        put_double(*(const double *)member, out, SS_VALUE_MAX);
        break;
    case SS_FIELD_RATE:
        put_rate(*(const double *)member, out, SS_VALUE_MAX);
        break;
    case SS_FIELD_BOOL:
        ss_copy(out, SS_VALUE_MAX, *(const int *)member ? "true" : "false");
        break;
    case SS_FIELD_ENUM:
        put_choice(field->choices, *(const int *)member, out, SS_VALUE_MAX);
        break;
    case SS_FIELD_TEXT:
        ss_copy(out, SS_VALUE_MAX, member);
        break;
    }
}

void ss_field_yaml(const struct ss_field *field, const struct ss_config *config,
                   char out[SS_VALUE_MAX])
{
    const char *text = (const char *)config + field->offset;
    size_t n = 0;
    if (field->type != SS_FIELD_TEXT) {
        ss_field_plain(field, config, out);
        return;
    }
    out[n++] = '"';
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            out[n++] = '\\';
        out[n++] = *text;
    }
    out[n++] = '"';
    out[n] = '\0';
}

void ss_field_range(const struct ss_field *field, char *out, size_t size)
{
    char lo[32];
    char hi[32];
    switch (field->type) {
    case SS_FIELD_INT:
        ss_format(out, size, "%" PRId64 " to %" PRId64, field->lo, field->hi);
        break;
    case SS_FIELD_TIME:
        put_time(field->lo, lo, sizeof lo);
        put_time(field->hi, hi, sizeof hi);
        ss_format(out, size, "%s to %s", lo, hi);
        break;
    case SS_FIELD_BYTES:
        put_bytes((uint64_t)field->lo, lo, sizeof lo);
        put_bytes((uint64_t)field->hi, hi, sizeof hi);
        ss_format(out, size, "%s to %s", lo, hi);
        break;
    case SS_FIELD_DBL:
        ss_format(out, size, "%g to %g", field->dlo, field->dhi);
        break;
    case SS_FIELD_RATE:
        ss_copy(out, size, "a rate, 0: unknown");
        break;
    case SS_FIELD_BOOL:
        ss_copy(out, size, "true or false");
        break;
    case SS_FIELD_ENUM:
        ss_copy(out, size, field->choices);
        break;
    case SS_FIELD_TEXT:
        ss_copy(out, size, "text");
        break;
    }
}
