/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any text as last words: what is taken is in rank order, the judge accuses
 * ranks of this world only, and says a sentence whenever it accuses.
 */
#include <stdint.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "cluster/watchdog.h"

#define WORLD 6

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void judge(const struct ss_last_words *words, int n, bool nodes_known)
{
    static const int32_t node[WORLD] = {0, 0, 1, 1, 2, 2};
    const struct ss_evidence evidence = {.words = words,
                                         .n = n,
                                         .world = WORLD,
                                         .node = nodes_known ? node : NULL};
    struct ss_judgement out;
    memset(&out, 'x', sizeof out);
    ss_last_words_judge(&evidence, &out);
    SS_ASSERT(memchr(out.sentence, '\0', sizeof out.sentence));
    SS_ASSERT(out.n >= 0 && out.n <= (int)SS_COUNT_OF(out.culprit));
    SS_ASSERT(out.n == 0 || out.sentence[0]);
    for (int i = 0; i < out.n; i++)
        SS_ASSERT(out.culprit[i] >= 0 && out.culprit[i] < WORLD);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ss_last_words *words = NULL;
    struct ss_buf text;
    long live = ss_mem_live();
    int n = 0;
    ss_log_setup(SS_LOG_ERROR, "", 0);
    ss_buf_init(&text, size + 1);
    ss_buf_append(&text, data, size);
    SS_ASSERT(ss_last_words_parse(ss_buf_text(&text), &words, &n) == SS_OK);
    for (int i = 1; i < n; i++)
        SS_ASSERT(words[i - 1].rank <= words[i].rank);
    judge(words, n, true);
    judge(words, n, false);
    ss_free(words);
    ss_buf_free(&text);
    SS_ASSERT(ss_mem_live() == live);
    return 0;
}
