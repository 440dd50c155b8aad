/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `stepscale check --local`: this node alone, without a launcher. The first
 * line is a sentence that begins with OK, WARNING or CRITICAL, so that health
 * checks of schedulers and monitors can use it (slurm/health.sh).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "base/units.h"
#include "commands/check.h"
#include "commands/cli.h"
#include "commands/commands.h"
#include "health/local.h"

static const char *const level_name[] = {"OK", "WARNING", "CRITICAL"};

/** The worst things, in one line. */
static void print_summary(const struct ss_local *local, enum ss_level worst)
{
    int n = 0;

    printf("%s: ", level_name[worst]);
    for (int i = 0; i < local->n; i++)
        if (local->row[i].level == worst && worst != SS_LEVEL_OK)
            printf("%s%s", n++ ? "; " : "", local->row[i].text);
    if (n == 0)
        printf("%s, %s, nothing stands out",
               ss_counted(local->n_gpus, "GPU").text,
               ss_counted(local->n_ports, "RDMA port").text);
    putchar('\n');
}

enum ss_status ss_check_this_node(struct ss_local *out)
{
    struct ss_local_places places;
    const char *sys = getenv("STEPSCALE_SYS");

    ss_local_places(&places);
    if (sys && *sys)
        places.sys = sys;
    return ss_local_check(&places, out);
}

static int check_local(void)
{
    struct ss_local local;
    enum ss_status status = ss_check_this_node(&local);

    if (status != SS_OK) {
        ss_cli_complain(ss_error_text());
        return ss_status_exit_code(status);
    }
    enum ss_level worst = ss_local_level(&local);
    print_summary(&local, worst);
    for (int i = 0; i < local.n; i++)
        printf("  %-8s %-8s %s\n", level_name[local.row[i].level],
               local.row[i].what, local.row[i].text);
    ss_local_free(&local);
    return worst == SS_LEVEL_CRITICAL ? ss_status_exit_code(SS_ERR_VERIFY) : 0;
}

int ss_command_check(int argc, char **argv)
{
    static struct ss_cli cli;
    enum ss_status status =
        ss_cli_parse("check", SS_CLI_LOCAL, argc, argv, true, &cli);

    if (status == SS_OK && !cli.help && !cli.local)
        status = ss_fail(SS_ERR_CONFIG, "check wants --local: this node alone");
    if (status != SS_OK) {
        ss_cli_complain(ss_error_text());
        return ss_status_exit_code(status);
    }
    return cli.help ? 0 : check_local();
}
