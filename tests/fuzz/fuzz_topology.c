/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any words as what ranks say of their place: host, scheduler topology, bus id.
 * The order must hold every rank once, nodes must stand together, and it must
 * not depend on the order in which the places come.
 */
#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "cluster/topology.h"

#define MAX_PLACES 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The next word of the input: up to a blank or a line's end. */
static void take(const char **text, char *out, size_t size)
{
    size_t len = strcspn(*text, " \n");
    size_t kept = len < size ? len : size - 1;
    memcpy(out, *text, kept);
    out[kept] = '\0';
    *text += len + ((*text)[len] == ' ');
}

/* One rank a line: "host block bus fabric". */
static int read_places(const char *text, struct ss_place *places)
{
    int n = 0;
    while (*text && n < MAX_PLACES) {
        char fabric[8] = "";
        struct ss_place *p = &places[n];
        *p = (struct ss_place){.mpi_rank = n, .device = -1};
        take(&text, p->host, sizeof p->host);
        take(&text, p->block, sizeof p->block);
        take(&text, p->bus_id, sizeof p->bus_id);
        take(&text, fabric, sizeof fabric);
        p->fabric[0] = (uint64_t)strlen(fabric);
        text += strcspn(text, "\n");
        text += *text == '\n';
        n++;
    }
    return n;
}

static void check_order(const struct ss_topology *t, int n)
{
    bool seen[MAX_PLACES] = {false};
    SS_ASSERT(t->ranks == n && t->nodes <= n && t->domains <= n);
    for (int i = 0; i < n; i++) {
        const struct ss_place *p = &t->place[i];
        SS_ASSERT(!seen[p->mpi_rank]);
        seen[p->mpi_rank] = true;
        SS_ASSERT(p->node >= 0 && p->node < t->nodes);
        SS_ASSERT(p->domain >= 0 && p->domain < t->domains);
        SS_ASSERT(strcmp(t->node_name[p->node], p->host) == 0);
        if (i > 0)
            SS_ASSERT(p->domain >= p[-1].domain);
    }
}

static void check_same(const struct ss_topology *a, const struct ss_topology *b)
{
    SS_ASSERT(a->nodes == b->nodes && a->domains == b->domains);
    for (int i = 0; i < a->ranks; i++)
        SS_ASSERT(a->place[i].mpi_rank == b->place[i].mpi_rank);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ss_place places[MAX_PLACES], turned[MAX_PLACES];
    struct ss_topology first, second;
    struct ss_buf text;
    int n;
    ss_buf_init(&text, size + 1);
    ss_buf_append(&text, data, size);
    n = read_places(ss_buf_text(&text), places);
    ss_buf_free(&text);
    if (n == 0)
        return 0;
    for (int i = 0; i < n; i++)
        turned[i] = places[n - 1 - i];
    SS_ASSERT(ss_topology_order(places, n, 0, 0, &first) == SS_OK);
    SS_ASSERT(ss_topology_order(turned, n, 0, 0, &second) == SS_OK);
    check_order(&first, n);
    check_same(&first, &second);
    ss_topology_free(&second);
    ss_topology_free(&first);
    return 0;
}
