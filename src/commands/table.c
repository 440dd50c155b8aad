/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of subcommands, and what --help and --version say. A subcommand
 * that is not built stands nowhere.
 */
#include <stdio.h>

#include "base/mem.h"
#include "commands/build_info.h"
#include "commands/commands.h"
#include "engine/engine.h"
#include "store/provenance.h"

static const struct ss_command commands[] = {
    {"run", "[--engine NAME] [key=value ...]",
     "training-step sweep: the main job (under mpirun or srun)",
     ss_command_run},
    {"probe", "[--exclude-file FILE] [probe.key=value ...]",
     "interconnect: which node, link or path is slow (under mpirun or srun)",
     ss_command_probe},
    {"check", "--local", "this node alone: ports, lanes, GPUs, limits",
     ss_command_check},
    {"plan", "[--ranks N] [key=value ...]",
     "print the step program, bytes and FLOPs of a layout", ss_command_plan},
    {"report", "FILE [--format text|json|csv] [--ranks worst|all|none]",
     "print the report of a result file or .part folder", ss_command_report},
    {"merge", "OUT IN...", "put the parts of a run into one file",
     ss_command_merge},
    {"config", "[--config FILE.yaml] [key=value ...]",
     "print the resolved configuration", ss_command_config},
    {NULL, NULL, NULL, NULL},
};

const struct ss_command *ss_command_table(void)
{
    return commands;
}

const char *ss_version(void)
{
    return SS_BUILD_VERSION;
}

void ss_print_help(void)
{
    printf("stepscale %s: how well do training steps scale on this cluster, "
           "where does the\nlost time go, which node is at fault?\n\n",
           SS_BUILD_VERSION);
    for (const struct ss_command *c = commands; c->name; c++)
        printf("  stepscale %-7s %s\n      %s\n", c->name, c->synopsis,
               c->words);
    printf("\n`stepscale COMMAND --help` lists a command's options; "
           "`stepscale config` all settings.\n"
           "Start it on a cluster with `mpirun -np N stepscale run` or "
           "`srun --mpi=pmix stepscale run`.\n");
}

void ss_print_version(void)
{
    struct ss_variable_row *rows = NULL;
    int n = 0;

    printf("stepscale %s\n", SS_BUILD_VERSION);
    printf("  engines:");
    for (const struct ss_engine_ops *const *e = ss_engine_list(); *e; e++)
        printf(" %s", (*e)->name);
    printf("\n  cuda: %s\n  nccl: %s\n  ucx: %s\n  mpi: %s\n", SS_BUILD_CUDA,
           SS_BUILD_NCCL, SS_BUILD_UCX, SS_BUILD_MPI);
    if (ss_versions_collect(SS_BUILD_MPI, &rows, &n) != SS_OK)
        return;
    for (int i = 0; i < n; i++)
        printf("  %s: %s\n", rows[i].name, rows[i].value);
    ss_free(rows);
}
