/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts of all ranks into rows: who holds which value of what. One pass, one
 * hash look-up a line, rank lists built as the ranks come by, because 16,384
 * ranks hold a million lines. Pure: it must not know where texts come from.
 */
#include "store/provenance.h"

#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "base/mem.h"

#define uthash_malloc(bytes) ss_alloc(1, bytes, "a table of variables")
#define uthash_free(memory, bytes) ss_free(memory)
#define HASH_NONFATAL_OOM 1
#define uthash_nonfatal_oom(element) ((element)->lost = true)
#define HASH_FUNCTION(key, len, hash) ((hash) = (unsigned)XXH64(key, len, 0))
#include <uthash.h>

/* "0-3,7", grown rank by rank; what does not fit is cut with "...". */
struct rank_list {
    int first, last; /* the open range; last < 0: none yet */
    int count;
    struct ss_buf text;
};

struct value {
    const char *line; /* "NAME=value" within a rank's text */
    size_t len;
    struct variable *of;
    struct rank_list ranks;
    struct value *next; /* of the same name */
    bool lost;
    UT_hash_handle hh;
};

struct variable {
    const char *name;
    size_t len;
    struct value *values; /* newest first */
    int n_values;
    int seen; /* ranks up to here are accounted for */
    struct rank_list unset;
    bool lost;
    UT_hash_handle hh;
};

struct diff {
    struct ss_arena *arena;
    struct variable *variables;
    struct value *values;
    int n_rows;
};

#define LIST_MAX ((size_t)4096)

static void close_range(struct rank_list *list)
{
    if (list->last < 0 ||
        list->text.len > sizeof(((struct ss_variable_row *)0)->ranks))
        return;
    ss_buf_printf(&list->text, "%s%d", list->text.len ? "," : "", list->first);
    if (list->last > list->first)
        ss_buf_printf(&list->text, "-%d", list->last);
}

static void add_ranks(struct rank_list *list, int first, int last)
{
    if (last < first || (list->count && last <= list->last))
        return; /* a name twice in one environment */
    list->count += last - first + 1;
    if (list->count > last - first + 1 && list->last == first - 1) {
        list->last = last;
        return;
    }
    if (list->count > last - first + 1)
        close_range(list);
    list->first = first;
    list->last = last;
}

static void init_list(struct rank_list *list)
{
    *list = (struct rank_list){.last = -1};
    ss_buf_init(&list->text, LIST_MAX);
}

static struct variable *find_variable(struct diff *d, const char *name,
                                      size_t len)
{
    struct variable *variable = NULL;
    HASH_FIND(hh, d->variables, name, len, variable);
    if (variable)
        return variable;
    variable = ss_arena_alloc(d->arena, 1, sizeof *variable);
    if (!variable)
        return NULL;
    variable->name = name;
    variable->len = len;
    init_list(&variable->unset);
    HASH_ADD_KEYPTR(hh, d->variables, variable->name, variable->len, variable);
    return variable->lost ? NULL : variable;
}

static struct value *add_value(struct diff *d, const char *line, size_t len)
{
    const char *equals = memchr(line, '=', len);
    size_t name_len = equals ? (size_t)(equals - line) : len;
    struct variable *variable = find_variable(d, line, name_len);
    struct value *value =
        variable ? ss_arena_alloc(d->arena, 1, sizeof *value) : NULL;
    if (!value)
        return NULL;
    value->line = line;
    value->len = len;
    value->of = variable;
    init_list(&value->ranks);
    HASH_ADD_KEYPTR(hh, d->values, value->line, value->len, value);
    if (value->lost)
        return NULL;
    value->next = variable->values;
    variable->values = value;
    variable->n_values++;
    return value;
}

static enum ss_status take_line(struct diff *d, const char *line, size_t len,
                                int rank)
{
    struct value *value = NULL;
    HASH_FIND(hh, d->values, line, len, value);
    if (!value)
        value = add_value(d, line, len);
    if (!value)
        return SS_ERR_NO_MEMORY;
    add_ranks(&value->ranks, rank, rank);
    add_ranks(&value->of->unset, value->of->seen, rank - 1);
    value->of->seen = rank + 1;
    return SS_OK;
}

static enum ss_status take_text(struct diff *d, const char *text, int rank)
{
    while (*text) {
        const char *end = strchr(text, '\n');
        size_t len = end ? (size_t)(end - text) : strlen(text);
        if (len > 0)
            SS_TRY(take_line(d, text, len, rank));
        text += len + (end != NULL);
    }
    return SS_OK;
}

/* A value too long for its column keeps its start and gets its hash. */
static void put_value(char *out, size_t size, const char *value, size_t len)
{
    if (len < size)
        ss_format(out, size, "%.*s", (int)len, value);
    else
        ss_format(out, size, "%.*s... xxh64 %016llx", (int)size - 28, value,
                  (unsigned long long)XXH64(value, len, 0));
}

static void put_ranks(char *out, size_t size, struct rank_list *list, int n)
{
    if (list->count == n) {
        ss_copy(out, size, "all");
        return;
    }
    close_range(list);
    if (!ss_copy(out, size, ss_buf_text(&list->text))) {
        out[size - 4] = '\0';
        ss_format(out + size - 4, 4, "...");
    }
}

static void put_row(struct ss_variable_row *row, struct variable *variable,
                    struct value *value, int n)
{
    static const char unset[] = "(unset)";
    struct rank_list *list = value ? &value->ranks : &variable->unset;
    const char *text = unset;
    size_t len = sizeof unset - 1;
    if (value) {
        text = value->line + variable->len;
        len = value->len - variable->len;
        text += len > 0; /* behind the '=' */
        len -= len > 0;
    }
    ss_format(row->name, sizeof row->name, "%.*s", (int)variable->len,
              variable->name);
    put_value(row->value, sizeof row->value, text, len);
    put_ranks(row->ranks, sizeof row->ranks, list, n);
    row->differs = variable->n_values + (variable->unset.count > 0) > 1;
}

static int compare_variables(struct variable *a, struct variable *b)
{
    size_t len = a->len < b->len ? a->len : b->len;
    int order = memcmp(a->name, b->name, len);
    return order ? order : (a->len > b->len) - (a->len < b->len);
}

static struct value *oldest_first(struct value *values)
{
    struct value *reversed = NULL;
    while (values) {
        struct value *next = values->next;
        values->next = reversed;
        reversed = values;
        values = next;
    }
    return reversed;
}

static void put_rows(struct diff *d, int n, struct ss_variable_row *rows)
{
    struct variable *variable;
    HASH_SORT(d->variables, compare_variables);
    for (variable = d->variables; variable; variable = variable->hh.next) {
        variable->values = oldest_first(variable->values);
        for (struct value *v = variable->values; v; v = v->next)
            put_row(rows++, variable, v, n);
        if (variable->unset.count > 0)
            put_row(rows++, variable, NULL, n);
    }
}

static enum ss_status make_rows(struct diff *d, int n,
                                struct ss_variable_row **out, int *n_out)
{
    struct ss_variable_row *rows;
    int count = 0;
    for (struct variable *v = d->variables; v; v = v->hh.next) {
        add_ranks(&v->unset, v->seen, n - 1);
        count += v->n_values + (v->unset.count > 0);
    }
    rows = ss_alloc((size_t)count, sizeof *rows, "a table of variables");
    if (!rows)
        return SS_ERR_NO_MEMORY;
    put_rows(d, n, rows);
    *out = rows;
    *n_out = count;
    return SS_OK;
}

static enum ss_status lists_status(const struct diff *d)
{
    for (struct value *v = d->values; v; v = v->hh.next)
        SS_TRY(ss_buf_status(&v->ranks.text));
    for (struct variable *v = d->variables; v; v = v->hh.next)
        SS_TRY(ss_buf_status(&v->unset.text));
    return SS_OK;
}

static void free_diff(struct diff *d)
{
    for (struct value *v = d->values; v; v = v->hh.next)
        ss_buf_free(&v->ranks.text);
    for (struct variable *v = d->variables; v; v = v->hh.next)
        ss_buf_free(&v->unset.text);
    HASH_CLEAR(hh, d->values);
    HASH_CLEAR(hh, d->variables);
    ss_arena_close(d->arena);
}

enum ss_status ss_variables_diff(const char *const *texts, int n,
                                 struct ss_variable_row **out, int *n_out)
{
    struct diff d = {0};
    struct ss_variable_row *rows = NULL;
    enum ss_status status;
    int count = 0;
    SS_TRY(ss_arena_open(&d.arena));
    status = SS_OK;
    for (int rank = 0; status == SS_OK && rank < n; rank++)
        status = take_text(&d, texts[rank], rank);
    if (status == SS_OK)
        status = make_rows(&d, n, &rows, &count);
    if (status == SS_OK)
        status = lists_status(&d);
    free_diff(&d);
    if (status != SS_OK) {
        ss_free(rows);
        return status;
    }
    *out = rows;
    *n_out = count;
    return SS_OK;
}
