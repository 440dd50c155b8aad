/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What may differ between ranks without anybody meaning it: environment,
 * binary, cpuset. Each rank writes lines; one rank turns all texts into rows
 * that say who differs. One pass over hashed lines, because 16,384 ranks hold
 * a million of them. It must not know files: rows are stored elsewhere.
 */
#include "store/provenance.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <xxhash.h>

#include "base/mem.h"

#define PIECE_BYTES ((size_t)64 * 1024)

static const char *const wanted[] = {"NCCL_", "UCX_",      "OMPI_",
                                     "CUDA_", "OMP_",      "SLURM_",
                                     "SS_",   "OPENBLAS_", "LD_LIBRARY_PATH="};

/* Endings of a launcher's names for the rank, its process, its node or its
 * folder: different by their nature. */
static const char *const personal[] = {
    "_rank",          "_vpid",     "_pid",      "_ess_name",
    "_file_location", "_procid",   "_gtids",    "_localid",
    "_session_dir",   "_uri",      "_nodeid",   "_addr",
    "_ipaddr",        "_nodename", "_hostname", "_app_num"};
static const char *const launchers[] = {"OMPI_", "SLURM_"};

static bool is_wanted(const char *entry)
{
    for (size_t i = 0; i < SS_COUNT_OF(wanted); i++) {
        if (strncmp(entry, wanted[i], strlen(wanted[i])) == 0)
            return true;
    }
    return false;
}

static bool is_of_launcher(const char *entry)
{
    for (size_t i = 0; i < SS_COUNT_OF(launchers); i++) {
        if (strncmp(entry, launchers[i], strlen(launchers[i])) == 0)
            return true;
    }
    return false;
}

static bool is_personal(const char *entry)
{
    size_t name = strcspn(entry, "=");
    for (size_t i = 0; is_of_launcher(entry) && i < SS_COUNT_OF(personal);
         i++) {
        size_t len = strlen(personal[i]);
        if (name >= len &&
            strncasecmp(entry + name - len, personal[i], len) == 0)
            return true;
    }
    return false;
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* A value may hold newlines (exported functions): one line each all the same.
 */
static void append_line(struct ss_buf *out, const char *entry)
{
    for (const char *p = entry; *p; p++)
        ss_buf_append(out, *p == '\n' ? " " : p, 1);
    ss_buf_append(out, "\n", 1);
}

static enum ss_status append_environment(char *const *environment,
                                         struct ss_buf *out)
{
    size_t n = 0;
    size_t kept = 0;
    const char **entries;
    while (environment && environment[n])
        n++;
    entries = ss_alloc(n, sizeof *entries, "the environment");
    if (!entries)
        return SS_ERR_NO_MEMORY;
    for (size_t i = 0; i < n; i++) {
        if (is_wanted(environment[i]) && !is_personal(environment[i]) &&
            strchr(environment[i], '='))
            entries[kept++] = environment[i];
    }
    if (kept > 0)
        qsort(entries, kept, sizeof *entries, compare_texts);
    for (size_t i = 0; i < kept; i++)
        append_line(out, entries[i]);
    ss_free(entries);
    return SS_OK;
}

static bool hash_stream(FILE *file, XXH64_state_t *state, char *piece)
{
    size_t got;
    while ((got = fread(piece, 1, PIECE_BYTES, file)) > 0)
        XXH64_update(state, piece, got);
    return !ferror(file);
}

/* Two ranks with different binaries are the quietest of faults. */
static enum ss_status append_binary(struct ss_buf *out)
{
    XXH64_state_t *state = XXH64_createState();
    char *piece = ss_alloc(PIECE_BYTES, 1, "reading the binary");
    FILE *file = fopen("/proc/self/exe", "rbe");
    bool ok = false;
    if (state && piece && file) {
        XXH64_reset(state, 0);
        ok = hash_stream(file, state, piece);
    }
    if (ok)
        ss_buf_printf(out, "(binary)=xxh64 %016llx\n",
                      (unsigned long long)XXH64_digest(state));
    if (file)
        fclose(file);
    XXH64_freeState(state);
    if (!piece)
        return SS_ERR_NO_MEMORY;
    ss_free(piece);
    return SS_OK;
}

static void append_cpuset(struct ss_buf *out)
{
    cpu_set_t set;
    const char *comma = "";
    if (sched_getaffinity(0, sizeof set, &set) < 0)
        return; /* over 1,024 CPUs; the ranks table holds hwloc's list */
    ss_buf_printf(out, "(cpuset)=");
    for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        size_t first = cpu;
        if (!CPU_ISSET(cpu, &set))
            continue;
        while (cpu + 1 < CPU_SETSIZE && CPU_ISSET(cpu + 1, &set))
            cpu++;
        ss_buf_printf(out, "%s%zu", comma, first);
        if (cpu > first)
            ss_buf_printf(out, "-%zu", cpu);
        comma = ",";
    }
    ss_buf_append(out, "\n", 1);
}

enum ss_status ss_variables_collect(char *const *environment,
                                    struct ss_buf *out)
{
    SS_TRY(append_binary(out));
    append_cpuset(out);
    SS_TRY(append_environment(environment, out));
    return ss_buf_status(out);
}
