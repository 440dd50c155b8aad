/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The subcommand table's caller. Maps a word to its function and its result to
 * the exit code; knows nothing else.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "commands/commands.h"

/** Started by a launcher as another rank than the first: it has nothing to
 * say that rank 0 does not, and its code could end rank 0 before it spoke. */
static bool is_other_rank(void)
{
    static const char *const ranks[] = {"PMIX_RANK", "OMPI_COMM_WORLD_RANK",
                                        "PMI_RANK", "SLURM_PROCID"};

    for (size_t i = 0; i < SS_COUNT_OF(ranks); i++) {
        const char *rank = getenv(ranks[i]);
        if (rank)
            return strcmp(rank, "0") != 0;
    }
    return false;
}

static int unknown(const char *word)
{
    const char *names[16];
    size_t n = 0;

    for (const struct ss_command *c = ss_command_table(); c->name; c++)
        names[n++] = c->name;
    names[n] = NULL;
    const char *near = ss_nearest(word, names);
    if (is_other_rank())
        return 0;
    if (near)
        fprintf(stderr,
                "stepscale: unknown command \"%s\"; did you mean \"%s\"? "
                "`stepscale --help` lists all\n",
                word, near);
    else
        fprintf(stderr,
                "stepscale: unknown command \"%s\"; `stepscale --help` lists "
                "all\n",
                word);
    return 2;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        ss_print_help();
        return 2;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        strcmp(argv[1], "help") == 0) {
        ss_print_help();
        return 0;
    }
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
        ss_print_version();
        return 0;
    }
    for (const struct ss_command *c = ss_command_table(); c->name; c++)
        if (strcmp(argv[1], c->name) == 0)
            return c->run(argc - 1, argv + 1);
    return unknown(argv[1]);
}
