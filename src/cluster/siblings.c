/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which ranks of this host have ended? A killed rank leaves nothing behind,
 * and a launcher that then ends the others leaves them a second: their own
 * look at /proc is the only witness. The start time tells a process from one
 * that got its number later. Must not know why anybody ends.
 */
#include "cluster/siblings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"

#define STAT_MAX ((size_t)4096)
#define START_FIELD 22 /* of /proc/PID/stat, from 1 */

struct ss_siblings {
    int n;
    struct sibling {
        int rank;
        struct ss_process process;
    } * v; /* [n], by rank; owned */
};

/* State and start; the name before them may hold blanks and brackets. */
static bool parse_stat(const char *text, char *state, uint64_t *start)
{
    const char *at = strrchr(text, ')');
    if (!at || at[1] != ' ')
        return false;
    at += 2;
    *state = *at;
    for (int field = 3; field < START_FIELD; field++) {
        at = strchr(at, ' ');
        if (!at)
            return false;
        at++;
    }
    *start = strtoull(at, NULL, 10);
    return *start > 0;
}

static bool read_stat(int64_t pid, char *state, uint64_t *start)
{
    char path[64];
    struct ss_buf text;
    (void)ss_format(path, sizeof(path), "/proc/%lld/stat", (long long)pid);
    bool ok = ss_read_file(path, STAT_MAX, &text) == SS_OK &&
              parse_stat(ss_buf_text(&text), state, start);
    ss_buf_free(&text);
    return ok;
}

static uint64_t own_space(void)
{
    struct stat info;
    return stat("/proc/self/ns/pid", &info) == 0 ? info.st_ino : 0;
}

void ss_process_identify(struct ss_process *out)
{
    char state;
    *out = (struct ss_process){.pid = getpid(), .space = own_space()};
    if (out->space == 0 || !read_stat(out->pid, &state, &out->start))
        *out = (struct ss_process){.pid = 0};
    ss_error_set(NULL); /* not to know is no error */
}

bool ss_process_ended(const struct ss_process *process)
{
    char path[64], state = '?';
    uint64_t start = 0;
    if (process->pid <= 0)
        return false;
    if (read_stat(process->pid, &state, &start))
        return start != process->start || state == 'Z' || state == 'X';
    ss_error_set(NULL);
    /* unreadable for another reason (no more files) proves nothing */
    (void)ss_format(path, sizeof(path), "/proc/%lld", (long long)process->pid);
    return access("/proc/self/stat", R_OK) == 0 && access(path, F_OK) != 0;
}

static bool is_beside(const struct ss_place *mine, const struct ss_place *place)
{
    return place->process.pid > 0 &&
           place->process.pid != mine->process.pid && /* ranks as threads */
           place->process.space == mine->process.space &&
           strcmp(place->host, mine->host) == 0 &&
           strcmp(place->boot_id, mine->boot_id) == 0;
}

enum ss_status ss_siblings_open(const struct ss_topology *topology, int rank,
                                struct ss_siblings **out)
{
    const struct ss_place *mine = &topology->place[rank];
    struct ss_siblings *siblings = ss_alloc(1, sizeof(*siblings), "siblings");
    int n = 0;
    if (!siblings)
        return SS_ERR_NO_MEMORY;
    for (int r = 0; r < topology->ranks; r++)
        n += is_beside(mine, &topology->place[r]);
    siblings->v = ss_alloc((size_t)n, sizeof(*siblings->v), "siblings");
    if (!siblings->v) {
        ss_free(siblings);
        return SS_ERR_NO_MEMORY;
    }
    for (int r = 0; r < topology->ranks; r++)
        if (is_beside(mine, &topology->place[r]))
            siblings->v[siblings->n++] =
                (struct sibling){r, topology->place[r].process};
    *out = siblings;
    return SS_OK;
}

void ss_siblings_gone(const struct ss_siblings *siblings, char *out,
                      size_t size)
{
    char piece[32];
    size_t used = 0;
    out[0] = '\0';
    for (int i = 0; siblings && i < siblings->n; i++) {
        int first = siblings->v[i].rank, last = first;
        if (!ss_process_ended(&siblings->v[i].process))
            continue;
        while (i + 1 < siblings->n && siblings->v[i + 1].rank == last + 1 &&
               ss_process_ended(&siblings->v[i + 1].process)) {
            last++;
            i++;
        }
        (void)ss_format(piece, sizeof(piece), last > first ? "%s%d-%d" : "%s%d",
                        used ? "," : "", first, last);
        if (used + strlen(piece) >= size)
            return;
        (void)ss_copy(out + used, size - used, piece);
        used += strlen(piece);
    }
}

void ss_siblings_close(struct ss_siblings *siblings)
{
    if (!siblings)
        return;
    ss_free(siblings->v);
    ss_free(siblings);
}
