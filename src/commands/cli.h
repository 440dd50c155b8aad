/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_COMMANDS_CLI_H
#define SS_COMMANDS_CLI_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/log.h"
#include "base/str.h"
#include "cluster/rt.h"
#include "config/config.h"
#include "report/report.h"

#define SS_CLI_WORDS_MAX 256
#define SS_CLI_RANKS_MAX (1 << 20) /**< of `plan` */

/** What the options of all subcommands can say. */
struct ss_cli {
    const char *config_file;
    const char *setting[SS_CLI_WORDS_MAX]; /**< "key=value", in order */
    size_t n_settings;
    char alias[32][SS_TEXT_MAX]; /**< room for --model X as model.preset=X */
    size_t n_aliases;
    const char *engine; /**< NULL: auto */
    const char *resume; /**< run: path of the earlier run, NULL: a new one */
    const char *yaml;   /**< rank 0: its configuration; NULL: config_file's */
    bool dry_run, check, local;
    bool help, usage; /**< help: it was asked for and printed, in either form */
    enum ss_log_level log_level;
    const char *log_ranks;
    const char *exclude_file; /**< probe: where to write bad nodes, or NULL */
    enum ss_report_format format;
    bool format_given;
    enum ss_report_ranks ranks;
    long n_ranks, rank;                 /**< plan: --ranks N, --rank R */
    const char *word[SS_CLI_WORDS_MAX]; /**< positional */
    size_t n_words;
};

/** Which options a subcommand takes. */
enum ss_cli_options {
    SS_CLI_CONFIG = 1,   /**< --config, --set, key=value */
    SS_CLI_RUN = 2,      /**< --out, --dry-run, logs */
    SS_CLI_REPORT = 4,   /**< --format, --ranks */
    SS_CLI_PLAN = 8,     /**< --ranks N, --rank R */
    SS_CLI_OUT = 16,     /**< positional words */
    SS_CLI_EXCLUDE = 32, /**< --exclude-file */
    SS_CLI_RESUME = 64,  /**< --resume */
    SS_CLI_STEP = 128,   /**< --model, --tp ...: what a step is */
    SS_CLI_SIZES = 4096, /**< --sizes */
    SS_CLI_BUDGET = 256, /**< --budget */
    SS_CLI_ENGINE = 512, /**< --engine */
    SS_CLI_CHECK = 1024, /**< --check */
    SS_CLI_LOCAL = 2048  /**< --local */
};

/**
 * Parses. Prints help to stdout when `speak` (SS_OK, cli->help). SS_ERR_CONFIG
 * for anything not understood, with one sentence as the error text.
 */
enum ss_status ss_cli_parse(const char *command, unsigned options, int argc,
                            char **argv, bool speak, struct ss_cli *out);

/**
 * The configuration of this process: YAML file (read by rank 0 and broadcast
 * as bytes when rt is not NULL), environment, settings. Several problems are
 * printed to stderr by rank 0, a line each; one is in the status alone.
 */
enum ss_status ss_cli_config_all(const struct ss_cli *cli, struct ss_rt *rt,
                                 struct ss_config *out);

/** The format that --format, else out.format asks for. */
enum ss_report_format ss_cli_format(const struct ss_cli *cli,
                                    const struct ss_config *config);

/** Prints "stepscale: text" to stderr unless text is "". */
void ss_cli_complain(const char *text);

/** Reads a result, analyses it and judges: owns everything it needs. */
struct ss_story;
enum ss_status ss_story_open(const char *path, const struct ss_rules *rules,
                             struct ss_story **out);
/** As ss_story_open, for the run that just ended in this process: with its end
 * in place of what the parts alone can tell. */
struct ss_run_outcome;
enum ss_status ss_story_open_run(const struct ss_run_outcome *outcome,
                                 const struct ss_rules *rules,
                                 struct ss_story **out);
/** Its verdict is the stored one, unless there are rules or the file has none.
 */
const struct ss_result *ss_story_result(const struct ss_story *story);
void ss_story_close(struct ss_story *story);
/** Rules of a config: the file's, and min_effect. */
enum ss_status ss_story_rules(const struct ss_config *config,
                              struct ss_rules *out);
/** Renders and writes to stdout. */
enum ss_status ss_story_print(const struct ss_story *story,
                              enum ss_report_format format,
                              enum ss_report_ranks ranks);

#endif
