/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Choosing a runtime before MPI_Init. A program built with MPI but started by
 * a launcher that does not speak its PMI comes up as n worlds of one rank,
 * each of which would report a perfect result: that must be seen here. Knows
 * environment variables only; nothing of how a runtime works.
 */
#include "cluster/rt.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "base/units.h"

static const char *lookup(char *const *environment, const char *name)
{
    size_t len = strlen(name);
    for (; environment && *environment; environment++) {
        const char *entry = *environment;
        if (strncmp(entry, name, len) == 0 && entry[len] == '=')
            return entry + len + 1;
    }
    return NULL;
}

static int64_t number(char *const *environment, const char *name)
{
    const char *text = lookup(environment, name);
    int64_t value = 0;
    return text && ss_parse_int(text, &value) == SS_OK ? value : 0;
}

/* Tasks that the launcher says it started with us, and who it is. The count
 * of a batch job (SLURM_NTASKS without a step) says nothing about us. */
static int64_t launcher_tasks(char *const *environment, const char **who)
{
    static const struct {
        const char *size, *who;
    } sources[] = {
        {"OMPI_COMM_WORLD_SIZE", "mpirun"},
        {"PMI_SIZE", "a PMI launcher"},
        {"SLURM_STEP_NUM_TASKS", "srun"},
    };
    for (size_t i = 0; i < SS_COUNT_OF(sources); i++) {
        *who = sources[i].who;
        if (lookup(environment, sources[i].size))
            return number(environment, sources[i].size);
    }
    if (lookup(environment, "SLURM_STEP_ID"))
        return number(environment, "SLURM_NTASKS");
    *who = "none";
    return 0;
}

static const char *const rank_names[] = {"PMIX_RANK", "PMI_RANK",
                                         "OMPI_COMM_WORLD_RANK"};

int ss_rt_detect(char *const *environment, char *launcher, size_t size)
{
    const char *who;
    int64_t tasks = launcher_tasks(environment, &who);
    bool ranked = false;
    for (size_t i = 0; i < SS_COUNT_OF(rank_names); i++)
        ranked = ranked || lookup(environment, rank_names[i]);
    if (ranked && strcmp(who, "none") == 0)
        who = "a PMIx launcher";
    if (launcher)
        (void)ss_copy(launcher, size, who);
    if (ranked)
        return 1;
    return tasks > 1 ? -1 : 0;
}

/* Of these, the first that is a number over 0; else 0. */
static int first_number(char *const *environment, const char *const *names,
                        size_t n)
{
    int64_t value = 0;
    for (size_t i = 0; i < n && value <= 0; i++)
        value = number(environment, names[i]);
    return value > 0 && value <= INT_MAX ? (int)value : 0;
}

void ss_rt_launched(char *const *environment, struct ss_launched *out)
{
    static const char *const nodes[] = {"SLURM_STEP_NUM_NODES", "SLURM_NNODES"};
    static const char *const local[] = {"OMPI_COMM_WORLD_LOCAL_SIZE",
                                        "MPI_LOCALNRANKS"};
    const char *who;
    int64_t tasks = launcher_tasks(environment, &who);
    out->rank = first_number(environment, rank_names, SS_COUNT_OF(rank_names));
    out->ranks = tasks > 1 && tasks <= INT_MAX ? (int)tasks : 1;
    out->nodes = first_number(environment, nodes, SS_COUNT_OF(nodes));
    if (out->nodes == 0) {
        int share = first_number(environment, local, SS_COUNT_OF(local));
        out->nodes = out->ranks / (share > 0 ? share : 1);
    }
}

static enum ss_status no_pmi(const char *who, int64_t tasks)
{
    return ss_fail(SS_ERR_ENV,
                   "%s started %lld tasks, but MPI cannot find its peers: "
                   "start with `srun --mpi=pmix` or with this MPI's mpirun",
                   who, (long long)tasks);
}

/* A launcher with another PMI than our MPI's leaves every rank alone. */
static enum ss_status check_world(struct ss_rt *rt)
{
    const char *who;
    int64_t tasks = launcher_tasks(environ, &who);
    if (rt->size > 1 || tasks <= 1)
        return SS_OK;
    return no_pmi(who, tasks);
}

enum ss_status ss_rt_open_all(int *argc, char ***argv, struct ss_rt **out)
{
    const char *who;
    int found = ss_rt_detect(environ, NULL, 0);
    if (found < 0) {
        int64_t tasks = launcher_tasks(environ, &who);
        return no_pmi(who, tasks);
    }
    if (found == 0)
        return ss_rt_solo_open(out);
    struct ss_rt *rt;
    SS_TRY(ss_rt_mpi_open_all(argc, argv, &rt));
    enum ss_status status = check_world(rt);
    if (status != SS_OK)
        ss_rt_close(rt);
    else
        *out = rt;
    return status;
}

void ss_rt_close(struct ss_rt *rt)
{
    if (rt)
        rt->ops->close(rt);
}
