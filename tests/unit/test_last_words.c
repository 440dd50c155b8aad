/* SPDX-License-Identifier: Apache-2.0 */
/* Last words: written and read back, and the judge. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "cluster/watchdog.h"

static char folder[64];

static int make_folder(void **state)
{
    (void)state;
    (void)ss_copy(folder, sizeof(folder), "/tmp/ss-words-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    char command[128];
    (void)ss_format(command, sizeof(command), "rm -rf '%s'", folder);
    return system(command);
}

static struct ss_last_words waiting(int rank, int64_t point, int64_t nth)
{
    struct ss_last_words out = {.rank = rank,
                                .why = "deadline",
                                .phase = "block",
                                .point = point,
                                .nth = nth,
                                .op = 4,
                                .last_op = 3,
                                .collective = 4,
                                .op_name = "allreduce_4",
                                .in_collective = 1};
    (void)ss_format(out.host, sizeof(out.host), "n%d", rank);
    return out;
}

static struct ss_last_words computing(int rank)
{
    struct ss_last_words out = waiting(rank, 1, 1);
    out.in_collective = 0;
    out.collective = -1;
    memset(out.op_name, 0, sizeof(out.op_name));
    (void)ss_copy(out.op_name, sizeof(out.op_name), "gemm_2");
    return out;
}

static void round_trip(void **state)
{
    (void)state;
    struct ss_last_words in[] = {waiting(10, 3, 77), computing(2)};
    struct ss_last_words *out;
    int n;
    memset(in[0].phase, 0, sizeof(in[0].phase));
    (void)ss_copy(in[0].phase, sizeof(in[0].phase), "a=b c");
    for (int i = 0; i < 2; i++)
        assert_int_equal(ss_last_words_write(folder, &in[i]), SS_OK);
    assert_int_equal(ss_last_words_read(folder, &out, &n), SS_OK);
    assert_int_equal(n, 2);
    assert_memory_equal(&out[0], &in[1], sizeof(in[1])); /* by rank */
    assert_memory_equal(&out[1], &in[0], sizeof(in[0]));
    ss_free(out);
}

static void put_file(const char *name, const char *text)
{
    char path[128];
    (void)ss_format(path, sizeof(path), "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    (void)fputs(text, file);
    (void)fclose(file);
}

/* Half files, foreign files, and a name that tries to add a line. */
static void odd_files(void **state)
{
    (void)state;
    struct ss_last_words in = waiting(1, 1, 1), *out;
    int n;
    (void)ss_copy(in.op_name, sizeof(in.op_name), "x\nrank=9");
    assert_int_equal(ss_last_words_write(folder, &in), SS_OK);
    put_file("last-2.txt", "host=n2\n");         /* no rank */
    put_file("last-3.txt", "rank=3\nnth=1e3\n"); /* no number */
    put_file("last-4.txt", "no equals sign\n");
    put_file("last-5.tmp", "rank=5\n");
    put_file("0001.h5", "rank=6\n");
    put_file("last-7.txt", "rank=7\nnew_key=1\nhost=n7");
    ss_log_setup(SS_LOG_ERROR, "test", 0);
    assert_int_equal(ss_last_words_read(folder, &out, &n), SS_OK);
    assert_int_equal(n, 2);
    assert_int_equal(out[0].rank, 1);
    assert_string_equal(out[0].op_name, "x?rank=9");
    assert_int_equal(out[1].rank, 7);
    assert_string_equal(out[1].host, "n7");
    ss_free(out);
}

static void no_words(void **state)
{
    (void)state;
    struct ss_last_words *out, in = waiting(1, 1, 1);
    int n;
    assert_int_equal(ss_last_words_read(folder, &out, &n), SS_OK);
    assert_int_equal(n, 0);
    ss_free(out);
    assert_int_equal(ss_last_words_read("/nonexistent", &out, &n), SS_ERR_IO);
    assert_int_equal(ss_last_words_write("/nonexistent", &in), SS_ERR_IO);
}

static struct ss_judgement judge(const struct ss_last_words *words, int n,
                                 int world)
{
    const struct ss_evidence evidence = {words, n, world, NULL};
    struct ss_judgement out;
    ss_last_words_judge(&evidence, &out);
    return out;
}

static void expect(const struct ss_last_words *words, int n, int world,
                   const char *sentence, int culprit)
{
    struct ss_judgement got = judge(words, n, world);
    assert_string_equal(got.sentence, sentence);
    assert_false(got.stopped);
    if (culprit < 0) {
        assert_int_equal(got.n, 0);
        return;
    }
    assert_int_equal(got.n, 1);
    assert_int_equal(got.culprit[0], culprit);
}

static void lost_rank(void **state)
{
    (void)state;
    const struct ss_last_words words[] = {waiting(0, 4, 7), waiting(1, 4, 7),
                                          waiting(3, 4, 7)};
    expect(words, 3, 4,
           "rank 2 is lost: no last words, while 3 other ranks stopped in "
           "allreduce_4, call 7 of point 4",
           2);
}

static void late_rank(void **state)
{
    (void)state;
    const struct ss_last_words words[] = {waiting(0, 4, 7), waiting(1, 4, 7),
                                          computing(2), waiting(3, 4, 7)};
    expect(words, 4, 4,
           "rank 2 on n2 is computing (gemm_2) while 3 of 4 ranks wait in "
           "allreduce_4, call 7 of point 4",
           2);
    const struct ss_last_words pair[] = {waiting(0, 4, 7), computing(1)};
    expect(pair, 2, 2,
           "rank 1 on n1 is computing (gemm_2) while 1 of 2 ranks wait in "
           "allreduce_4, call 7 of point 4",
           1);
}

static void earlier_call(void **state)
{
    (void)state;
    struct ss_last_words words[] = {waiting(0, 4, 7), waiting(1, 4, 6),
                                    waiting(2, 4, 7), waiting(3, 4, 7)};
    expect(words, 4, 4,
           "rank 1 on n1 is in allreduce_4, call 6 of point 4 while 3 of 4 "
           "ranks wait in allreduce_4, call 7 of point 4",
           1);
    words[1].nth = 8; /* ahead of all others: it left a call too early */
    expect(words, 4, 4,
           "rank 1 on n1 is in allreduce_4, call 8 of point 4 while 3 of 4 "
           "ranks wait in allreduce_4, call 7 of point 4",
           1);
}

static void nobody_to_blame(void **state)
{
    (void)state;
    const struct ss_last_words same[] = {waiting(0, 4, 7), waiting(1, 4, 7)};
    expect(same, 2, 2,
           "all 2 ranks wait in allreduce_4, call 7 of point 4: the network "
           "or the communication library stands still",
           -1);
    const struct ss_last_words busy[] = {computing(0), computing(1),
                                         waiting(2, 1, 1)};
    expect(busy, 3, 3,
           "2 of 3 ranks were still computing (block) at the deadline", -1);
    expect(NULL, 0, 3, "no rank left last words", -1);
}

static void only_peers_are_expected(void **state)
{
    (void)state;
    struct ss_last_words words[] = {computing(2), waiting(5, 4, 7),
                                    waiting(6, 4, 7)};
    words[0].peer_first = 2, words[0].peer_count = 1;
    expect(words, 1, 8,
           "rank 2 on n2 is computing (gemm_2, point 1) and does not come to "
           "an end",
           2);
    for (int i = 1; i < 3; i++)
        words[i].peer_first = 4, words[i].peer_count = 3;
    expect(words + 1, 2, 8,
           "rank 4 is lost: no last words, while 2 other ranks stopped in "
           "allreduce_4, call 7 of point 4",
           4);
    words[2].peer_first = words[2].peer_count = 0; /* a meeting of all */
    assert_int_equal(judge(words, 3, 8).n, 5);
    words[0].peer_first = INT32_MAX - 1; /* a damaged file */
    words[0].peer_count = INT32_MAX;
    words[2].peer_first = -7, words[2].peer_count = 3;
    (void)judge(words, 3, 8);
}

/* Rank 1 has not given up: it is no culprit where nobody waits for it, and
 * present where somebody does. */
static void asked_rank(void **state)
{
    (void)state;
    struct ss_last_words words[] = {waiting(0, 4, 7), computing(1),
                                    waiting(2, 4, 7)};
    (void)ss_copy(words[1].why, sizeof(words[1].why), SS_WHY_ASKED);
    expect(words, 3, 4,
           "rank 3 is lost: no last words, while 3 other ranks stopped in "
           "allreduce_4, call 7 of point 4",
           3);
    expect(words, 3, 3,
           "rank 1 on n1 is computing (gemm_2) while 2 of 3 ranks wait in "
           "allreduce_4, call 7 of point 4",
           1);
    for (int i = 0; i < 3; i += 2)
        words[i].peer_first = 2 * i, words[i].peer_count = 1;
    words[2].rank = 4; /* two groups of one that hang, and a healthy one */
    expect(words, 2, 8,
           "the only rank waits in allreduce_4, call 7 of point 4: the network "
           "or the communication library stands still",
           -1);
}

static void many_lost(void **state)
{
    (void)state;
    const struct ss_last_words one = waiting(5, 2, 1);
    struct ss_judgement got = judge(&one, 1, 100);
    assert_int_equal(got.n, 64);
    assert_true(got.lost);
    assert_non_null(
        strstr(got.sentence, "ranks 0, 1, 2, 3 and 95 more are lost"));
    assert_int_equal(got.culprit[7], 8);
}

/* As they stand in a merged file: one text, a heading before each record. */
static void records_of_one_text_come_back(void **state)
{
    (void)state;
    struct ss_last_words *words = NULL;
    int n = -1;
    const char *text = "last-10.txt:\nrank=10\nhost=b\nin_collective=1\n"
                       "last-2.txt:\nrank=2\nhost=a\nop_name=fc1: x\n"
                       "last-3.txt:\nhost=c\n"
                       "last-launcher.txt:\nrank=-1\nwhy=launcher\n";
    assert_int_equal(ss_last_words_parse(text, &words, &n), SS_OK);
    assert_int_equal(n, 3); /* the third says no rank */
    assert_int_equal(words[0].rank, -1);
    assert_int_equal(words[1].rank, 2);
    assert_string_equal(words[1].op_name, "fc1: x");
    assert_int_equal(words[2].rank, 10);
    assert_int_equal(words[2].in_collective, 1);
    ss_free(words);
    words = NULL;
    assert_int_equal(ss_last_words_parse("", &words, &n), SS_OK);
    assert_int_equal(n, 0);
    ss_free(words);
}

static void no_words_after_the_judgement(void **state)
{
    (void)state;
    struct ss_last_words first = waiting(1, 1, 1), late = waiting(0, 1, 1);
    struct ss_last_words *words;
    int n;
    assert_false(ss_last_call_over(folder));
    assert_int_equal(ss_last_words_write(folder, &first), SS_OK);
    assert_true(ss_last_call_conclude(folder, "", 1, 2));
    assert_true(ss_last_call_over(folder));
    assert_int_equal(ss_last_words_write(folder, &late), SS_OK);
    assert_false(ss_last_call_conclude(folder, "", 0, 2));
    assert_int_equal(ss_last_words_read(folder, &words, &n), SS_OK);
    assert_int_equal(n, 1);
    assert_int_equal(words[0].rank, 1);
    ss_free(words);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(no_words_after_the_judgement,
                                        make_folder, remove_folder),
        cmocka_unit_test(records_of_one_text_come_back),
        cmocka_unit_test_setup_teardown(round_trip, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(odd_files, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(no_words, make_folder, remove_folder),
        cmocka_unit_test(lost_rank),
        cmocka_unit_test(late_rank),
        cmocka_unit_test(earlier_call),
        cmocka_unit_test(nobody_to_blame),
        cmocka_unit_test(only_peers_are_expected),
        cmocka_unit_test(asked_rank),
        cmocka_unit_test(many_lost),
    };
    return cmocka_run_group_tests_name("last_words", tests, NULL, NULL);
}
