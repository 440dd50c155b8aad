/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of subcommands, and what --help and --version say. A subcommand
 * that is not built stands nowhere.
 */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "cluster/rt.h"
#include "commands/build_info.h"
#include "commands/commands.h"
#include "engine/engine.h"
#include "engine/host_blas.h"
#include "store/provenance.h"

#define SETTINGS "[section.key=VALUE...]"
#define LISTED "`stepscale config --help` lists all settings."

static const struct ss_command commands[] = {
    {.name = "run",
     .operands = SETTINGS,
     .words = "training-step sweep: the main job (under mpirun or srun)",
     .example = "mpirun -np 8 stepscale run --budget 5min --tp 2",
     .more = LISTED,
     .run = ss_command_run},
    {.name = "probe",
     .operands = SETTINGS,
     .words = "interconnect: which node, link or path is slow (under mpirun "
              "or srun)",
     .example = "mpirun -np 64 --map-by node stepscale probe "
                "--exclude-file bad",
     .more = LISTED,
     .run = ss_command_probe},
    {.name = "validate",
     .operands = SETTINGS,
     .words = "check each node, a short probe, then run: one verdict",
     .example = "mpirun -np 64 --map-by node stepscale validate --budget 10min",
     .more =
         "The probe gets a quarter of the budget, and the file OUT-probe.h5 "
         "beside run's OUT.h5, under the same run id. The worst of the "
         "three verdicts is the exit code. " LISTED,
     .run = ss_command_validate},
    {.name = "check",
     .operands = NULL,
     .words = "this node alone: ports, lanes, GPUs, limits",
     .example = "stepscale check --local",
     .more = "Looks at ports of RDMA adapters, PCIe lanes, GPUs that do not "
             "answer, locked memory and /dev/shm. Prints a line that begins "
             "with OK, WARNING or CRITICAL, and one line a check. Exit codes: "
             "0 OK or warnings, 10 critical, 12 it could not look.",
     .run = ss_command_check},
    {.name = "plan",
     .operands = SETTINGS,
     .words = "print the step program, bytes and FLOPs of a layout",
     .example = "stepscale plan --ranks 64 --tp 8 --model llama-7b",
     .more = LISTED,
     .run = ss_command_plan},
    {.name = "report",
     .operands = "FILE",
     .words = "print the report of a result file or .part folder",
     .example = "stepscale report today.h5 --format json",
     .more = "With rules.file=FILE.yaml it judges again, by other limits; "
             "other settings have no effect on what was measured.",
     .run = ss_command_report},
    {.name = "merge",
     .operands = "OUT IN...",
     .words = "put the parts of a run into one file",
     .example = "stepscale merge today.h5 today.h5.part",
     .run = ss_command_merge},
    {.name = "config",
     .operands = SETTINGS,
     .words = "print the resolved configuration",
     .example = "stepscale config --tp 2 > job.yaml",
     .run = ss_command_config},
    {.name = NULL},
};

const struct ss_command *ss_command_table(void)
{
    return commands;
}

const struct ss_command *ss_command_find(const char *name)
{
    for (const struct ss_command *c = commands; c->name; c++)
        if (strcmp(c->name, name) == 0)
            return c;
    return NULL;
}

const char *ss_version(void)
{
    return SS_BUILD_VERSION;
}

void ss_print_usage(void)
{
    printf("Usage: stepscale COMMAND [OPTION...] " SETTINGS "\n");
}

void ss_print_help(void)
{
    ss_print_usage();
    printf("How well do training steps scale on this cluster, where does the "
           "lost time go,\nwhich node is at fault?\n\nCommands:\n");
    for (const struct ss_command *c = commands; c->name; c++)
        printf("  %-8s %s\n", c->name, c->words);
    printf("  help     the same as COMMAND --help\n\nExamples:\n");
    for (const struct ss_command *c = commands; c->name; c++)
        printf("  %s\n", c->example);
    printf("\n`stepscale COMMAND --help` lists a command's options, `stepscale "
           "config --help`\nall settings, `stepscale --version` what is built "
           "in.\n");
}

/** A library that this process holds has a row. */
static bool has_row(const struct ss_variable_row *rows, int n, const char *name)
{
    for (int i = 0; i < n; i++)
        if (strcmp(rows[i].name, name) == 0)
            return true;
    return false;
}

void ss_print_version(void)
{
    struct ss_variable_row *rows = NULL;
    struct ss_blas blas; /* not in the process until it is loaded */
    char library[64], mpi[160];
    int n = 0;

    printf("stepscale %s\n", SS_BUILD_VERSION);
    printf("  engines:");
    for (const struct ss_engine_ops *const *e = ss_engine_list(); *e; e++)
        printf(" %s", (*e)->name);
    printf("\n  cuda: %s\n  nccl: %s\n", SS_BUILD_CUDA, SS_BUILD_NCCL);
    ss_rt_library(library, sizeof(library));
    ss_format(mpi, sizeof(mpi), "%s (%s)", library, SS_BUILD_MPI);
    if (ss_blas_load(&blas) != SS_OK)
        printf("  openblas: not found, so the host engine cannot run\n");
    if (ss_versions_collect(mpi, &rows, &n) != SS_OK)
        n = 0;
    if (!has_row(rows, n, "ucx"))
        printf("  ucx: %s\n", SS_BUILD_UCX);
    for (int i = 0; i < n; i++)
        printf("  %s: %s\n", rows[i].name, rows[i].value);
    ss_free(rows);
    ss_blas_unload(&blas);
}
