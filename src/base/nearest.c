/* SPDX-License-Identifier: Apache-2.0 */
/*
 * "did you mean": the nearest of a list of names, for options, subcommands
 * and choices. Case is ignored and a swap of neighbours counts once, because
 * those are the commonest slips. Rows live on the stack: a message about bad
 * input must not need memory. It must not know what the names stand for.
 */
#include "base/str.h"

#include <ctype.h>
#include <string.h>

#define WORD_MAX 96

static int lower(char c)
{
    return tolower((unsigned char)c);
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Optimal string alignment; both lengths are at most WORD_MAX. */
static size_t distance(const char *a, size_t na, const char *b, size_t nb)
{
    size_t rows[3][WORD_MAX + 1];
    for (size_t j = 0; j <= nb; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= na; i++) {
        size_t *now = rows[i % 3];
        const size_t *up = rows[(i + 2) % 3];
        const size_t *up2 = rows[(i + 1) % 3];
        now[0] = i;
        for (size_t j = 1; j <= nb; j++) {
            bool same = lower(a[i - 1]) == lower(b[j - 1]);
            now[j] = smaller(up[j] + 1, now[j - 1] + 1);
            now[j] = smaller(now[j], up[j - 1] + (same ? 0 : 1));
            if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
                lower(a[i - 2]) == lower(b[j - 1]))
                now[j] = smaller(now[j], up2[j - 2] + 1);
        }
    }
    return rows[na % 3][nb];
}

const char *ss_nearest(const char *word, const char *const *names)
{
    const char *best = NULL;
    size_t len = strnlen(word, WORD_MAX + 1);
    size_t limit = len < 6 ? 1 : len / 3;
    if (len > WORD_MAX)
        return NULL;
    for (; *names; names++) {
        size_t n = strlen(*names);
        size_t d;
        if (n > WORD_MAX)
            continue;
        d = distance(word, len, *names, n);
        if (d < limit || (d == limit && !best)) {
            best = *names;
            limit = d;
        }
    }
    return best;
}
