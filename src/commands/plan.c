/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `stepscale plan`: one rank's step program, and the sums over all ranks of
 * its group, for any number of ranks, without MPI or a device.
 */
#include "plan/plan.h"

#include <stdio.h>

#include "base/units.h"
#include "commands/cli.h"
#include "commands/commands.h"

static void print_totals(const struct ss_plan_totals *totals)
{
    char text[24];

    printf("\n%s%s, in %s of equal ranks\n", totals->ranks == 1 ? "" : "all ",
           ss_counted(totals->ranks, "rank").text,
           ss_counted(totals->classes, "class").text);
    printf("  %-12s %14s %14s\n", "phase", "TFLOP", "bytes");
    for (int p = 0; p < SS_PHASES; p++)
        if (totals->phase_flops[p] > 0 || totals->phase_bytes[p] > 0)
            printf("  %-12s %14.6g %14s\n", ss_phase_name((enum ss_phase)p),
                   totals->phase_flops[p] / 1e12,
                   ss_format_bytes(totals->phase_bytes[p], text, sizeof(text)));
    for (int d = 0; d < SS_DIMS; d++)
        if (totals->comm_bytes[d] > 0)
            printf("  %s messages %s\n", ss_dim_name((enum ss_dim)d),
                   ss_format_bytes(totals->comm_bytes[d], text, sizeof(text)));
    printf("  per step %.6g TFLOP (%.6g of the model), memory of a rank %s\n",
           totals->flops / 1e12, totals->model_flops / 1e12,
           ss_format_bytes(totals->memory_max, text, sizeof(text)));
}

static enum ss_status fill_args(const struct ss_cli *cli,
                                const struct ss_config *config,
                                struct ss_model *model,
                                struct ss_plan_args *args)
{
    int size = cli->n_ranks > 0 ? (int)cli->n_ranks : ss_layout_unit(config);
    const char *engine = cli->engine ? cli->engine : "cuda";
    char skip[160] = "";

    if (cli->n_ranks == 0 && config->layout_dp > 0)
        size = (int)(config->layout_dp * config->layout_tp * config->layout_pp *
                     config->layout_ep * config->layout_cp);
    if (cli->rank >= size)
        return ss_fail(SS_ERR_CONFIG, "--rank %ld: the group has %s", cli->rank,
                       ss_counted(size, "rank").text);
    SS_TRY(ss_model_resolve(config, model));
    SS_TRY(ss_layout_make(config, size, &args->layout));
    SS_TRY(ss_plan_tokens(config, model, false, 0, &args->layout, &args->tokens,
                          skip, sizeof(skip)));
    if (args->tokens == 0)
        return ss_fail(SS_ERR_CONFIG, "%s", skip);
    args->model = model;
    args->bucket_bytes = config->plan_bucket;
    ss_plan_precision(config, engine, &args->precision, &args->grad_dtype);
    ss_layout_coords(&args->layout, (int)cli->rank, &args->coords);
    return SS_OK;
}

static enum ss_status print_plan(const struct ss_cli *cli,
                                 const struct ss_config *config)
{
    struct ss_model model;
    struct ss_plan_args args = {0};
    struct ss_plan plan;
    struct ss_plan_totals totals;
    struct ss_buf text;
    enum ss_status status;

    SS_TRY(fill_args(cli, config, &model, &args));
    SS_TRY(ss_plan_build(&args, &plan));
    ss_buf_init(&text, (size_t)64 << 20);
    SS_TRY_GOTO(ss_plan_print(&plan, &text), status, out);
    SS_TRY_GOTO(ss_plan_totals(&args, &totals), status, out);
    fputs(ss_buf_text(&text), stdout);
    print_totals(&totals);
out:
    ss_buf_free(&text);
    ss_plan_free(&plan);
    return status;
}

int ss_command_plan(int argc, char **argv)
{
    static struct ss_cli cli;
    struct ss_config config;
    enum ss_status status = ss_cli_parse(
        "plan", SS_CLI_CONFIG | SS_CLI_PLAN | SS_CLI_STEP | SS_CLI_ENGINE, argc,
        argv, true, &cli);

    if (status == SS_OK && cli.help)
        return 0;
    if (status == SS_OK)
        status = ss_cli_config_all(&cli, NULL, &config);
    if (status == SS_OK)
        status = print_plan(&cli, &config);
    if (status != SS_OK)
        ss_cli_complain(ss_error_text());
    return ss_status_exit_code(status);
}
