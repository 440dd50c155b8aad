/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Result files whose structure is valid and whose contents are not. A good
 * file is changed as support/h5_hostile.h says and read in this process, so
 * that a sanitizer sees our reader. What the reader lets pass goes all the way:
 * last words, analysis, every report. No crash, no leak, and a text for each
 * refusal.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/result.h"
#include "base/log.h"
#include "base/mem.h"
#include "cluster/watchdog.h"
#include "report/report.h"
#include "store/read_file.h"
#include "store/store.h"
#include "support/h5_hostile.h"
#include "support/store_folder.h"
#include "support/store_sample.h"

#define EDITS_BYTES ((size_t)16 * HOSTILE_EDIT_BYTES)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct sample_shape shape = {
    .ranks = 3, .blocks_per_variant = 2, .steps = 4};

static struct {
    void *folder;
    struct ss_buf bytes;
} image; /* made once, removed at exit */

static void must(int ok)
{
    if (!ok)
        abort();
}

static void remove_image(void)
{
    ss_buf_free(&image.bytes);
    folder_close(&image.folder);
}

static void make_image(void)
{
    struct ss_run_data run;
    struct ss_run_end end = {.verdict_code = 0, .verdict_json = "{}"};
    const char *out;
    must(folder_open(&image.folder) == 0);
    must(atexit(remove_image) == 0);
    ss_log_setup(SS_LOG_ERROR, "", 0);
    H5set_free_list_limits(-1, -1, -1, -1, -1, -1); /* 3 times as fast */
    out = folder_path(image.folder, "a.h5");
    sample_run("run-1", shape.ranks, 2, &run);
    must(ss_part_create(out) == SS_OK);
    must(ss_part_write_run(out, &run) == SS_OK);
    ss_run_data_free(&run);
    for (int i = 1; i <= 2; i++) {
        struct ss_point_data point;
        sample_point(i, shape, &point);
        must(ss_part_write_point(out, "run-1", &point) == SS_OK);
        ss_point_data_free(&point);
    }
    folder_put(image.folder, "a.h5.part/last-1.txt", "rank=1\nwhy=deadline\n",
               20);
    must(ss_merge(out, NULL, 0, &end) == SS_OK);
    must(ss_read_file(out, 1 << 24, &image.bytes) == SS_OK);
}

/* Who hangs, as `report` would have it; a run whose words say nothing: none. */
static void judge(const struct ss_run_data *run, struct ss_judgement *out)
{
    struct ss_evidence evidence = {.world = run->n_ranks};
    struct ss_last_words *words = NULL;
    *out = (struct ss_judgement){.n = 0};
    if (!run->last_words)
        return;
    must(ss_last_words_parse(run->last_words, &words, &evidence.n) == SS_OK);
    evidence.words = words;
    if (evidence.n > 0)
        ss_last_words_judge(&evidence, out);
    ss_free(words);
}

static void report(const struct ss_run_data *run)
{
    const struct ss_rules rules = {.min_effect = 0.02, .min_effect_link = 0.05};
    struct ss_judgement hang;
    struct ss_analysis_args args = {.run = run,
                                    .rules = &rules,
                                    .hang_sentence = hang.sentence,
                                    .hang_ranks = hang.culprit};
    struct ss_result result;
    judge(run, &hang);
    args.n_hang_ranks = hang.n;
    args.hang_lost = hang.lost;
    if (ss_analyse(&args, &result) != SS_OK) {
        must(ss_error_text()[0] != '\0');
        return;
    }
    if (run->verdict_json)
        (void)ss_report_verdict_read(run->verdict_json, &result.verdict);
    for (int format = SS_FORMAT_TEXT; format <= SS_FORMAT_CSV; format++) {
        struct ss_buf text;
        ss_buf_init(&text, (size_t)1 << 26);
        must(ss_report_render(&result, (enum ss_report_format)format,
                              SS_RANKS_ALL, &text) == SS_OK);
        must(text.len > 0);
        ss_buf_free(&text);
    }
    ss_result_free(&result);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ss_file_want want = {.depth = SS_READ_ALL, .keep = true};
    struct ss_file_content content;
    const char *path;
    long live;
    if (!image.folder)
        make_image();
    if (size > EDITS_BYTES)
        size = EDITS_BYTES;
    path = folder_path(image.folder, "b.h5");
    folder_put(image.folder, "b.h5", image.bytes.data, image.bytes.len);
    if (!hostile_edit(path, data, size))
        return 0;
    live = ss_mem_live();
    ss_error_set(NULL);
    if (ss_file_read(path, want, &content) == SS_OK) {
        if (content.kind == SS_FILE_RESULT) {
            content.run.last_words = content.last_words;
            report(&content.run);
            content.run.last_words = NULL;
        }
        ss_file_content_free(&content);
    } else {
        must(ss_error_text()[0] != '\0');
    }
    must(ss_mem_live() == live);
    return 0;
}
