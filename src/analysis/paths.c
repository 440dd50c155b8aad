/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What carried communication, from many ranks' rows to one sentence. It must
 * not know who wrote the rows, nor judge them: that is socket_fallback.c.
 */
#include "analysis/paths.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

static bool is_alike(const struct ss_path_row *a, const struct ss_path_row *b)
{
    return strcmp(a->library, b->library) == 0 &&
           strcmp(a->carrier, b->carrier) == 0 &&
           strcmp(a->network, b->network) == 0;
}

static bool is_listed(const char *list, const char *name, size_t len)
{
    for (;;) {
        size_t word = strcspn(list, ",");
        if (word == len && memcmp(list, name, len) == 0)
            return true;
        if (!list[word])
            return false;
        list += word + 1;
    }
}

/* "mlx5_0,mlx5_1" and "mlx5_1,mlx5_2"; what does not fit is left out. */
static void join(char *list, size_t size, const char *more)
{
    while (*more) {
        size_t used = strlen(list), len = strcspn(more, ",");
        if (!is_listed(list, more, len) && used + len + 1 < size)
            (void)ss_format(list + used, size - used, "%s%.*s", used ? "," : "",
                            (int)len, more);
        more += len + (more[len] == ',');
    }
}

/* Ranks of a point add up; over points the largest stands for all. */
static void take(const struct ss_path_row *row, bool add,
                 struct ss_path_row *into)
{
    if (add) {
        into->connections += row->connections;
        into->ranks += row->ranks;
    }
    if (row->connections > into->connections)
        into->connections = row->connections;
    if (row->ranks > into->ranks)
        into->ranks = row->ranks;
    join(into->devices, sizeof(into->devices), row->devices);
}

static int merge(struct ss_path_row *rows, int n, bool add)
{
    int kept = 0;
    for (int i = 0; i < n; i++) {
        int at = 0;
        while (at < kept && !is_alike(&rows[at], &rows[i]))
            at++;
        if (at == kept) {
            rows[kept++] = rows[i];
            continue;
        }
        take(&rows[i], add, &rows[at]);
    }
    return kept;
}

int ss_paths_merge(struct ss_path_row *rows, int n)
{
    return merge(rows, n, true);
}

int ss_paths_of_run(const struct ss_run_data *run, struct ss_path_row *rows)
{
    int n = 0;
    for (int p = 0; p < run->n_points; p++)
        for (int i = 0; i < run->point[p].n_paths; i++) {
            if (n == SS_PATHS_MAX)
                n = merge(rows, n, false);
            if (n < SS_PATHS_MAX)
                rows[n++] = run->point[p].path[i];
        }
    return merge(rows, n, false);
}

static int count_devices(const char *list)
{
    int n = *list != '\0';
    for (; *list; list++)
        n += *list == ',';
    return n;
}

static const char *in_node(const struct ss_path_row *row)
{
    if (strcmp(row->carrier, SS_PATH_MEMORY) == 0)
        return "host memory";
    if (strcmp(row->carrier, SS_PATH_P2P) != 0)
        return NULL;
    return row->network[0] ? row->network : "PCIe peer to peer";
}

/* "IB x 8 with GPUDirect", "sockets over eth0" */
static bool between(const struct ss_path_row *row, char *out, size_t size)
{
    bool direct = strcmp(row->carrier, SS_PATH_GPUDIRECT) == 0;
    bool rdma = direct || strcmp(row->carrier, SS_PATH_RDMA) == 0;
    const char *network = row->network[0] ? row->network : "RDMA";
    if (strcmp(row->carrier, SS_PATH_SOCKETS) == 0)
        return ss_format(out, size, "sockets%s%s",
                         row->devices[0] ? " over " : "", row->devices);
    if (strcmp(row->carrier, SS_PATH_OTHER) == 0)
        return ss_copy(out, size, "transports of an unknown kind");
    if (!rdma)
        return false;
    int devices = count_devices(row->devices);
    if (devices > 1)
        (void)ss_format(out, size, "%s x %d %s GPUDirect", network, devices,
                        direct ? "with" : "without");
    else
        (void)ss_format(out, size, "%s %s GPUDirect", network,
                        direct ? "with" : "without");
    return true;
}

static void add(struct ss_buf *list, const char *word)
{
    ss_buf_printf(list, "%s%s", list->len ? " and " : "", word);
}

/* Two lists, of those of NCCL. */
static void nccl_words(const struct ss_run_data *run,
                       const struct ss_path_row *rows, int n,
                       struct ss_buf *out)
{
    struct ss_buf inside, outside;
    bool unknown = false;
    ss_buf_init(&inside, 256);
    ss_buf_init(&outside, 256);
    for (int i = 0; i < n; i++) {
        char words[160];
        const char *in = in_node(&rows[i]);
        if (strcmp(rows[i].library, "nccl") != 0)
            continue;
        unknown |= strcmp(rows[i].carrier, SS_PATH_UNKNOWN) == 0;
        if (in)
            add(&inside, in);
        else if (between(&rows[i], words, sizeof(words)))
            add(&outside, words);
    }
    if (inside.len + outside.len > 0)
        ss_buf_printf(out, "NCCL: %s%s%s%s%s", ss_buf_text(&inside),
                      inside.len ? " in the node" : "",
                      inside.len && outside.len ? ", " : "",
                      ss_buf_text(&outside),
                      outside.len && run->n_nodes > 1 ? " between" : "");
    else if (unknown)
        ss_buf_printf(out, "NCCL: path not known, since NCCL_DEBUG or "
                           "NCCL_DEBUG_FILE is set");
    ss_buf_free(&inside);
    ss_buf_free(&outside);
}

static void mpi_words(const struct ss_run_data *run,
                      const struct ss_path_row *rows, int n, struct ss_buf *out)
{
    bool said = false;
    for (int i = 0; i < n; i++) {
        bool known = strcmp(rows[i].carrier, SS_PATH_UNKNOWN) != 0;
        if (strcmp(rows[i].library, "mpi") != 0)
            continue;
        if (!said)
            ss_buf_printf(out,
                          "%s: ", run->transports[0] ? run->transports : "MPI");
        ss_buf_printf(out, "%s%s", said ? "; " : "",
                      known ? rows[i].carrier : "path not known");
        said = true;
    }
}

void ss_paths_words(const struct ss_run_data *run, char *out, size_t size)
{
    struct ss_path_row rows[SS_PATHS_MAX];
    struct ss_buf words;
    int n = ss_paths_of_run(run, rows);
    ss_buf_init(&words, 1024);
    nccl_words(run, rows, n, &words);
    mpi_words(run, rows, n, &words);
    (void)ss_copy(out, size,
                  words.len > 0 ? ss_buf_text(&words) : run->transports);
    ss_buf_free(&words);
}
