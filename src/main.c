/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The subcommand table's caller. Maps a word to its function and its result to
 * the exit code, and sees to it that what was said arrived; knows nothing else.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "commands/commands.h"
#include "engine/engine.h"

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

/** An option of the whole program where it looks like one, else a command. */
static int unknown(const char *word)
{
    static const char *const options[] = {"--help", "--usage", "--version",
                                          NULL};
    const char *names[32];
    bool option = word[0] == '-';
    size_t n = 0;

    for (const struct ss_command *c = ss_command_table(); c->name; c++)
        names[n++] = c->name;
    names[n++] = "help";
    names[n] = NULL;
    const char *near = ss_nearest(word, option ? options : names);
    if (is_other_rank())
        return 0;
    fprintf(stderr,
            "stepscale: unknown %s \"%s\"%s%s%s `stepscale --help` lists all\n",
            option ? "option" : "command", word,
            near ? "; did you mean \"" : ";", near ? near : "",
            near ? "\"?" : "");
    return 2;
}

/** `stepscale help WORD`: what WORD --help says. */
static int help(int argc, char **argv)
{
    static char option[] = "--help";
    char *words[] = {argv[0], option, NULL};
    const struct ss_command *command;

    if (argc < 2 || strcmp(argv[1], "help") == 0) {
        ss_print_help();
        return 0;
    }
    words[0] = argv[1];
    command = ss_command_find(argv[1]);
    return command ? command->run(2, words) : unknown(argv[1]);
}

static bool is_one_of(const char *word, const char *a, const char *b)
{
    return strcmp(word, a) == 0 || strcmp(word, b) == 0;
}

/** A result file must never be opened as descriptor 1 or 2 and find a report
 * or a log line inside. What stands in for a closed one refuses to be used, as
 * the closed one did. */
static void hold_standard_files(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
            (void)open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

/** Output that did not arrive is a failure, also of a command that did its
 * work; one that failed has said why. */
static int arrived(int code)
{
    errno = 0;
    if ((fflush(stdout) == 0 && !ferror(stdout)) || code != 0)
        return code;
    if (errno)
        fprintf(stderr, "stepscale: cannot write to stdout: %s\n",
                strerror(errno));
    else
        fputs("stepscale: cannot write to stdout\n", stderr);
    return 12;
}

static int run_word(int argc, char **argv)
{
    const struct ss_command *command;

    ss_engine_prepare();
    if (argc < 2) {
        ss_print_help();
        return 2;
    }
    if (strcmp(argv[1], "help") == 0)
        return help(argc - 1, argv + 1);
    if (is_one_of(argv[1], "--help", "-h")) {
        ss_print_help();
        return 0;
    }
    if (strcmp(argv[1], "--usage") == 0) {
        ss_print_usage();
        return 0;
    }
    if (is_one_of(argv[1], "--version", "-V")) {
        ss_print_version();
        return 0;
    }
    command = ss_command_find(argv[1]);
    return command ? command->run(argc - 1, argv + 1) : unknown(argv[1]);
}

int main(int argc, char **argv)
{
    hold_standard_files();
    (void)signal(SIGXFSZ, SIG_IGN); /* a limit on files: an error of a write */
    return arrived(run_word(argc, argv));
}
