/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers and sentences as a reader sees them: four digits of a time, one
 * decimal of a share, paragraphs that fit the page. A missing number is a
 * dash, never 0. It must not know where a number comes from.
 */
#include <math.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/units.h"
#include "report/parts.h"

static struct ss_word dash(void)
{
    return (struct ss_word){"-"};
}

/* Decimals that leave four significant digits, at most five. */
static int decimals_of(double value)
{
    double size = fabs(value);
    if (size >= 999.95)
        return 0;
    if (size >= 99.995)
        return 1;
    if (size >= 9.9995)
        return 2;
    if (size >= 0.99995)
        return 3;
    return size >= 0.099995 ? 4 : 5;
}

struct ss_word ss_word_ms(double ms)
{
    struct ss_word word;
    if (!isfinite(ms))
        return dash();
    if (ms == 0)
        return (struct ss_word){"0"};
    ss_format(word.text, sizeof word.text, "%.*f", decimals_of(ms), ms);
    return word;
}

struct ss_word ss_word_range(double lo, double hi)
{
    struct ss_word word;
    if (!isfinite(lo) || !isfinite(hi))
        return dash();
    ss_format(word.text, sizeof word.text, "%s-%s", ss_word_ms(lo).text,
              ss_word_ms(hi).text);
    return word;
}

struct ss_word ss_word_percent(double share)
{
    struct ss_word word;
    if (!isfinite(share))
        return dash();
    ss_format(word.text, sizeof word.text, "%.1f", share * 100 + 0.0);
    if (strcmp(word.text, "-0.0") == 0)
        ss_copy(word.text, sizeof word.text, "0.0");
    return word;
}

struct ss_word ss_word_percents(double lo, double hi)
{
    struct ss_word word;
    if (!isfinite(lo) || !isfinite(hi))
        return dash();
    ss_format(word.text, sizeof word.text, "%s-%s", ss_word_percent(lo).text,
              ss_word_percent(hi).text);
    return word;
}

struct ss_word ss_word_count(double count)
{
    struct ss_word word;
    if (!isfinite(count))
        return dash();
    ss_format_count(count, word.text, sizeof word.text);
    return word;
}

struct ss_word ss_word_load(const struct ss_point_row *meta)
{
    struct ss_word word;
    int others = meta->group_count - 1 + (meta->filler_size > 0);
    if (others <= 0)
        return (struct ss_word){"alone"};
    ss_format(word.text, sizeof word.text, "+%d", others);
    return word;
}

struct ss_word ss_word_point(const struct ss_result *result,
                             const struct ss_point_row *meta)
{
    struct ss_word word;
    bool alone =
        strcmp(meta->load, "alone") == 0 && meta->size < result->run->n_ranks;
    ss_format(word.text, sizeof word.text, "%s %d%s%s", meta->mode,
              (int)meta->size, alone ? " alone" : "",
              meta->pass > 0 ? " second pass" : "");
    return word;
}

struct ss_word ss_word_time(int64_t wall_ns)
{
    struct ss_word word = {""};
    time_t seconds = (time_t)(wall_ns / SS_NS_PER_S);
    struct tm utc;
    if (wall_ns > 0 && gmtime_r(&seconds, &utc))
        strftime(word.text, sizeof word.text, "%Y-%m-%dT%H:%M:%SZ", &utc);
    return word;
}

/* Appends printable bytes; bytes of UTF-8 pass, controls become '?'. */
static void append_safe(struct ss_buf *out, const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];
        char safe = c < 0x20 || c == 0x7f ? '?' : text[i];
        ss_buf_append(out, &safe, 1);
    }
}

/* How many bytes of `text` go on a line with room for `room` bytes. */
static size_t line_length(const char *text, size_t room)
{
    size_t len = strlen(text);
    size_t cut = room;
    if (len <= room)
        return len;
    while (cut > 0 && text[cut] != ' ')
        cut--;
    if (cut > 0)
        return cut;
    cut = room; /* one long word: cut it, but never inside a character */
    while (cut > 1 && ((unsigned char)text[cut] & 0xc0) == 0x80)
        cut--;
    return cut;
}

void ss_wrap(struct ss_buf *out, const char *first, const char *text)
{
    size_t indent = strlen(first);
    ss_buf_printf(out, "%s", first);
    for (;;) {
        size_t len = line_length(text, SS_REPORT_WIDTH - indent);
        append_safe(out, text, len);
        ss_buf_append(out, "\n", 1);
        text += len;
        while (*text == ' ')
            text++;
        if (!*text)
            return;
        ss_buf_printf(out, "%*s", (int)indent, "");
    }
}
