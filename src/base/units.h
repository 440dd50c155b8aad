/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_BASE_UNITS_H
#define SS_BASE_UNITS_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/*
 * Strict parsers: the whole text must be consumed, no leading zero ("010"),
 * no sign where the type has none, no locale, overflow is refused. All return
 * SS_ERR_CONFIG with a text that quotes the input and says what is accepted.
 */

/** Decimal integer: "42", "-3". Refuses "3.5", "010", "1e3", "". */
enum ss_status ss_parse_int(const char *text, int64_t *out);
/** Decimal floating point, finite. */
enum ss_status ss_parse_double(const char *text, double *out);
/** "true|false|yes|no|on|off|1|0". */
enum ss_status ss_parse_bool(const char *text, int *out);
/** Bytes: "256k", "64M", "2GiB", "100B"; binary multiples (k = 1024). */
enum ss_status ss_parse_bytes(const char *text, uint64_t *out);
/** Time to ns: "3s", "250ms", "10us", "2min", "1h"; a bare number is s. */
enum ss_status ss_parse_time(const char *text, int64_t *out_ns);
/** Rate to bit/s, decimal: "400mbit", "100gbit", "25Gb/s". */
enum ss_status ss_parse_rate(const char *text, double *out_bits);

/** "18.2 GB" (decimal). `out` holds at least 16 bytes. Returns out. */
char *ss_format_bytes(double bytes, char *out, size_t size);
/** Count with SI suffix: "355 M", "1.32 B" as models are written. */
char *ss_format_count(double count, char *out, size_t size);
/** "1 rank", "2 ranks", "3 classes": a count with its noun. */
struct ss_counted {
    char text[48];
};
struct ss_counted ss_counted(int64_t n, const char *noun);
/** As people type it, binary: "25M", "1536k", "100B". Returns out. */
char *ss_format_binary(uint64_t bytes, char *out, size_t size);
/** Human time: "812 ns", "3.2 ms", "2 min 5 s". */
char *ss_format_time(double ns, char *out, size_t size);

#endif
