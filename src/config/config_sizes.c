/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sizes of a curve from a text such as "1,8,2n,world". Pure: the world
 * comes in as numbers, so that ten thousand nodes can be planned on a laptop.
 * It must not know what is done at each size.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/units.h"
#include "config/config_internal.h"

struct world {
    int ranks;
    int nodes;
    int per_node;
    int domain;
    int unit;
};

#define ACCEPTED                                                               \
    "accepted: auto, or ranks, nodes and world such as 1,8,2n,4n,world"

/* One item, its blanks removed; 0 for "world", -n for n nodes. */
static enum ss_status parse_item(const char *item, int64_t *out)
{
    char number[32];
    size_t len = strlen(item);
    bool nodes = len > 1 && item[len - 1] == 'n';
    *out = 0;
    if (strcmp(item, "world") == 0)
        return SS_OK;
    ss_format(number, sizeof number, "%.*s", (int)(nodes ? len - 1 : len),
              item);
    if (len >= sizeof number || ss_parse_int(number, out) != SS_OK ||
        *out < 1 || *out > 1048576)
        return ss_fail(SS_ERR_CONFIG,
                       "scaling.sizes: \"%.30s\" is not a size; " ACCEPTED,
                       item);
    if (nodes)
        *out = -*out;
    return SS_OK;
}

enum ss_status ss_sizes_check_syntax(const char *text)
{
    const char *list = text;
    char item[64];
    int64_t size;
    if (strcmp(text, "auto") == 0)
        return SS_OK;
    while (ss_list_next(&list, item, sizeof item))
        SS_TRY(parse_item(item, &size));
    return SS_OK;
}

static int compare_ints(const void *a, const void *b)
{
    int x = *(const int *)a;
    int y = *(const int *)b;
    return (x > y) - (x < y);
}

static void sort_unique(struct ss_sizes *sizes)
{
    int kept = 0;
    qsort(sizes->size, (size_t)sizes->n, sizeof *sizes->size, compare_ints);
    for (int i = 0; i < sizes->n; i++) {
        if (kept == 0 || sizes->size[kept - 1] != sizes->size[i])
            sizes->size[kept++] = sizes->size[i];
    }
    sizes->n = kept;
}

/* Adds what is legal at or below `size`. */
static void add_auto(const struct world *world, int64_t size,
                     struct ss_sizes *out)
{
    int64_t legal = size - size % world->unit;
    if (legal >= world->unit && legal <= world->ranks)
        out->size[out->n++] = (int)legal;
}

static enum ss_status auto_sizes(const struct world *world,
                                 struct ss_sizes *out)
{
    out->size = ss_alloc(64, sizeof *out->size, "the list of sizes");
    if (!out->size)
        return SS_ERR_NO_MEMORY;
    add_auto(world, world->unit, out);
    for (int64_t nodes = 1; nodes <= world->nodes; nodes *= 2)
        add_auto(world, nodes * world->per_node, out);
    if (world->domain > world->per_node)
        add_auto(world, world->domain, out);
    add_auto(world, world->ranks, out);
    sort_unique(out);
    return SS_OK;
}

/* What is wrong with a size in this world, as a text; "" if nothing. */
static void judge(const struct world *world, const char *item, int64_t size,
                  char *out, size_t max)
{
    out[0] = '\0';
    if (size > world->ranks)
        ss_format(out, max, "%s (%lld ranks) is above the world of %d ranks",
                  item, (long long)size, world->ranks);
    else if (size % world->unit != 0)
        ss_format(out, max,
                  "%s (%lld ranks) is not a multiple of the layout's %d ranks",
                  item, (long long)size, world->unit);
}

/* All wrong items are named, as far as the error text holds. */
static enum ss_status listed_sizes(const char *text, const struct world *world,
                                   struct ss_sizes *out)
{
    char wrong[SS_ERROR_TEXT_MAX - 64] = "";
    const char *list = text;
    char item[64];
    int64_t size;
    out->size =
        ss_alloc(strlen(text) / 2 + 1, sizeof *out->size, "the list of sizes");
    if (!out->size)
        return SS_ERR_NO_MEMORY;
    while (ss_list_next(&list, item, sizeof item)) {
        char reason[160];
        SS_TRY(parse_item(item, &size));
        size = size == 0  ? world->ranks
               : size < 0 ? -size * world->per_node
                          : size;
        judge(world, item, size, reason, sizeof reason);
        if (reason[0]) {
            size_t used = strlen(wrong);
            ss_format(wrong + used, sizeof wrong - used, "%s%s",
                      used ? "; " : "", reason);
            continue;
        }
        out->size[out->n++] = (int)size;
    }
    if (wrong[0])
        return ss_fail(SS_ERR_CONFIG, "scaling.sizes: %s", wrong);
    sort_unique(out);
    return SS_OK;
}

/* NOLINTNEXTLINE(readability-function-size): six numbers say what a world is */
enum ss_status ss_config_sizes(const char *text, int world, int nodes,
                               int devices_per_node, int domain, int unit,
                               struct ss_sizes *out)
{
    const struct world w = {world, nodes, devices_per_node, domain, unit};
    struct ss_sizes sizes = {NULL, 0};
    enum ss_status status;
    SS_ASSERT(world > 0 && nodes > 0 && devices_per_node > 0 && unit > 0);
    if (unit > world)
        return ss_fail(SS_ERR_CONFIG,
                       "the layout needs %d ranks, the world has %d; start "
                       "more ranks or lower layout.tp",
                       unit, world);
    status = strcmp(text, "auto") == 0 ? auto_sizes(&w, &sizes)
                                       : listed_sizes(text, &w, &sizes);
    if (status != SS_OK) {
        ss_free(sizes.size);
        return status;
    }
    *out = sizes;
    return SS_OK;
}
