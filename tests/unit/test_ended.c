/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks that ended before the job did, from the words of the others. */
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

static struct ss_last_words told(int rank, const char *gone)
{
    struct ss_last_words out = waiting(rank, 4, 7);
    memset(out.why, 0, sizeof(out.why));
    (void)ss_copy(out.why, sizeof(out.why), "SIGTERM");
    (void)ss_copy(out.gone, sizeof(out.gone), gone);
    return out;
}

/* Of four ranks 2 was killed; 0 was slow to speak and saw 3 killed as well,
 * which had left its words. */
static void a_process_that_ended(void **state)
{
    (void)state;
    const struct ss_last_words words[] = {told(0, "2-3"), told(1, "2"),
                                          told(3, "2")};
    expect(words, 3, 4,
           "rank 2 is lost: the process had ended while 3 other ranks stopped "
           "in allreduce_4, call 7 of point 4",
           2);
    assert_true(judge(words, 3, 4).lost);
    const struct ss_last_words odd[] = {told(0, "x,3"), told(1, "2-1"),
                                        told(3, "9999999999,-4,1-")};
    assert_true(judge(odd, 3, 4).stopped);
    assert_int_equal(judge(odd, 3, 4).n, 0);
    const struct ss_last_words two[] = {told(1, "0,2"), told(3, "2,0")};
    struct ss_judgement both = judge(two, 2, 4);
    assert_int_equal(both.n, 2);
    assert_int_equal(both.culprit[0], 0);
    assert_int_equal(both.culprit[1], 2);
}

/* Two ranks a node, and everybody was told to stop. */
static void silence_under_an_order(void **state)
{
    (void)state;
    static const int32_t node[] = {0, 0, 1, 1, 2, 2};
    const struct ss_last_words words[] = {told(0, ""), told(1, ""), told(4, ""),
                                          told(5, "")};
    struct ss_evidence evidence = {words, 4, 6, node};
    struct ss_judgement got;
    ss_last_words_judge(&evidence, &got); /* node 1 is silent */
    assert_true(got.lost);
    assert_int_equal(got.n, 2);
    assert_int_equal(got.culprit[0], 2);
    assert_string_equal(got.sentence,
                        "ranks 2, 3 are lost: no word from any rank of the "
                        "node, while 4 other ranks said where they were when "
                        "told to stop");
    evidence.n = 3; /* 5 too, of a node where 4 spoke */
    evidence.node = NULL;
    ss_last_words_judge(&evidence, &got);
    assert_true(got.stopped);
    assert_false(got.lost);
    assert_string_equal(got.sentence, "3 ranks left no words");
}

/* Nobody asked for the end, as the one who watched the launcher says. */
static void a_host_that_is_cut_off(void **state)
{
    (void)state;
    struct ss_last_words words[] = {waiting(0, 4, 1), waiting(1, 4, 1),
                                    waiting(2, 4, 1)};
    (void)ss_copy(words[1].down, sizeof(words[1].down), "eth0,mlx5_0/1");
    expect(words, 3, 3,
           "rank 1 on n1 is cut off: port eth0,mlx5_0/1 lost its link during "
           "the run",
           1);
    assert_false(judge(words, 3, 3).lost); /* it is there, and hangs */
    /* told to stop by a launcher that lost sight of it */
    for (int i = 0; i < 3; i++)
        (void)ss_copy(words[i].why, sizeof(words[i].why), "SIGTERM");
    expect(words, 3, 3,
           "rank 1 on n1 is cut off: port eth0,mlx5_0/1 lost its link during "
           "the run",
           1);
    assert_false(judge(words, 3, 3).stopped);
}

static void a_launcher_that_ended(void **state)
{
    (void)state;
    struct ss_last_words words[] = {
        {.rank = -1, .why = SS_WHY_LAUNCHER, .phase = "mpirun ended with 137"},
        told(0, ""),
        told(1, "")};
    expect(words, 3, 3,
           "a rank was lost: mpirun ended with 137; rank 2 is without last "
           "words",
           2);
    assert_true(judge(words, 3, 3).lost);
    expect(words, 3, 2,
           "a rank was lost: mpirun ended with 137, and nobody can say which",
           -1);
    expect(words, 1, 2,
           "a rank was lost: mpirun ended with 137, and nobody can say which",
           -1);
    assert_true(judge(words, 1, 2).lost);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_process_that_ended),
        cmocka_unit_test(silence_under_an_order),
        cmocka_unit_test(a_host_that_is_cut_off),
        cmocka_unit_test(a_launcher_that_ended),
    };
    return cmocka_run_group_tests_name("ended", tests, NULL, NULL);
}
