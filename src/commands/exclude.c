/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bad nodes in the form that schedulers take. Must not judge: an error finding
 * that names a node does.
 */
#include "commands/exclude.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"

struct names {
    const char **v;
    int n;
};

/** In natural order, each once. */
static void add(struct names *names, const char *name)
{
    int at = names->n;

    while (at > 0 && ss_natural_compare(names->v[at - 1], name) > 0)
        at--;
    if (at > 0 && strcmp(names->v[at - 1], name) == 0)
        return;
    memmove(&names->v[at + 1], &names->v[at],
            (size_t)(names->n - at) * sizeof(*names->v));
    names->v[at] = name;
    names->n++;
}

/** Where the number at the end of a name begins; long ones are no numbers. */
static size_t number_at(const char *name)
{
    size_t len = strlen(name), at = len;

    while (at > 0 && name[at - 1] >= '0' && name[at - 1] <= '9')
        at--;
    return len - at > 9 || at == 0 ? len : at;
}

static long value_of(const char *digits)
{
    long value = 0;

    for (; *digits; digits++)
        value = 10 * value + (*digits - '0');
    return value;
}

/** Same words before numbers of equal width: one bracket holds both. */
static bool together(const char *a, const char *b)
{
    size_t at = number_at(a), other = number_at(b);

    return at == other && a[at] && b[other] && strncmp(a, b, at) == 0 &&
           (strlen(a) == strlen(b) || (a[at] != '0' && b[at] != '0'));
}

/** Names [0, n) share a bracket. */
static void put_bracket(const char *const *v, int n, struct ss_buf *out)
{
    size_t at = number_at(v[0]);

    ss_buf_printf(out, "%.*s[", (int)at, v[0]);
    for (int i = 0, end; i < n; i = end) {
        for (end = i + 1;
             end < n && value_of(v[end] + at) == value_of(v[end - 1] + at) + 1;)
            end++;
        ss_buf_printf(out, "%s%s", i ? "," : "", v[i] + at);
        if (end - i > 1)
            ss_buf_printf(out, "-%s", v[end - 1] + at);
    }
    ss_buf_printf(out, "]");
}

static void put_all(const struct names *names, struct ss_buf *out)
{
    for (int i = 0, end; i < names->n; i = end) {
        for (end = i + 1;
             end < names->n && together(names->v[i], names->v[end]);)
            end++;
        ss_buf_printf(out, "%s", i ? "," : "");
        if (end - i == 1)
            ss_buf_printf(out, "%s", names->v[i]);
        else
            put_bracket(&names->v[i], end - i, out);
    }
}

enum ss_status ss_exclude_list(const struct ss_result *result,
                               struct ss_buf *out)
{
    struct names names = {.n = 0};

    names.v = ss_alloc((size_t)result->n_findings + 1, sizeof(*names.v),
                       "names of nodes");
    if (!names.v)
        return SS_ERR_NO_MEMORY;
    for (int i = 0; i < result->n_findings; i++)
        if (result->finding[i].severity == SS_ERROR &&
            result->finding[i].node[0])
            add(&names, result->finding[i].node);
    put_all(&names, out);
    ss_free(names.v);
    return ss_buf_status(out);
}

enum ss_status ss_exclude_write(const char *path,
                                const struct ss_result *result)
{
    struct ss_buf list, beside;
    enum ss_status status;

    ss_buf_init(&list, 1 << 22);
    ss_buf_init(&beside, 1 << 16);
    ss_buf_printf(&beside, "%s.tmp", path);
    status = ss_exclude_list(result, &list);
    if (status == SS_OK && list.len > 0)
        ss_buf_printf(&list, "\n");
    if (status == SS_OK)
        status = ss_buf_status(&beside);
    FILE *file = status == SS_OK ? fopen(ss_buf_text(&beside), "we") : NULL;
    if (file) {
        bool bad = fwrite(ss_buf_text(&list), 1, list.len, file) != list.len;
        bad = fclose(file) != 0 || bad;
        if (bad || rename(ss_buf_text(&beside), path) != 0)
            status = SS_ERR_IO;
    }
    if (status == SS_ERR_IO || (status == SS_OK && !file))
        status = ss_fail(SS_ERR_IO,
                         "cannot write the list of bad nodes to "
                         "%s: %m",
                         path);
    ss_buf_free(&beside);
    ss_buf_free(&list);
    return status;
}
