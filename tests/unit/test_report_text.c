/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text report: the golden page, the width for any input, missing numbers,
 * empty results, and hostile bytes from a file. SS_UPDATE_GOLDEN=1 rewrites
 * the golden page (then read the diff).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/report.h"
#include "support/golden.h"
#include "support/report_case.h"
#include "support/torture.h"

enum { WIDTH = 100, CEILING = 1 << 20 };

static void render(const struct report_case *c, enum ss_report_ranks ranks,
                   struct ss_buf *out)
{
    ss_buf_init(out, CEILING);
    assert_int_equal(ss_report_render(&c->result, SS_FORMAT_TEXT, ranks, out),
                     SS_OK);
}

static void check_width(const char *text)
{
    while (*text) {
        size_t len = strcspn(text, "\n");
        if (len > WIDTH)
            fail_msg("%zu columns: %.*s", len, (int)len, text);
        if (len > 0)
            assert_int_not_equal(text[len - 1], ' ');
        text += len + (text[len] == '\n');
    }
}

static void test_golden(void **state)
{
    struct report_case c;
    struct ss_buf out;
    (void)state;
    report_case_fill(&c);
    render(&c, SS_RANKS_WORST, &out);
    golden_check("tests/fixtures/report/text.txt", ss_buf_text(&out));
    check_width(ss_buf_text(&out));
    ss_buf_free(&out);
}

static void test_first_line_is_the_sentence(void **state)
{
    struct report_case c;
    struct ss_buf out;
    size_t len;
    (void)state;
    report_case_fill(&c);
    render(&c, SS_RANKS_NONE, &out);
    len = strlen(c.result.sentence);
    assert_memory_equal(ss_buf_text(&out), c.result.sentence, len);
    assert_int_equal(ss_buf_text(&out)[len], '\n');
    assert_null(strstr(ss_buf_text(&out), "excess ms"));
    ss_buf_free(&out);
}

/* A size below the world says so when it ran without neighbours. */
static void test_alone_is_said_where_it_was_a_choice(void **state)
{
    struct report_case c;
    struct ss_buf out;
    (void)state;
    report_case_fill(&c);
    ss_copy(c.meta[1].load, sizeof c.meta[1].load, "alone");
    c.meta[1].group_count = 1;
    render(&c, SS_RANKS_NONE, &out);
    assert_non_null(strstr(ss_buf_text(&out), "weak 2 alone: too few"));
    assert_null(strstr(ss_buf_text(&out), "weak 4 alone"));
    ss_buf_free(&out);
}

/* whole and compute-only are told apart no better than +-0.6 ms: no share of
 * the step is claimed, and the parts still add up. */
static void test_interference_within_noise(void **state)
{
    struct report_case c;
    struct ss_point_result *p = &c.point[2];
    struct ss_buf out;
    (void)state;
    report_case_fill(&c);
    assert_false(ss_interference_is_noise(p));
    p->interference_ms = -0.6;
    p->compute_only_half = 0.03;
    assert_true(ss_interference_is_noise(p));
    render(&c, SS_RANKS_NONE, &out);
    assert_non_null(strstr(ss_buf_text(&out), "   84.6  noise"));
    ss_buf_free(&out);
    p->compute_only_half = INFINITY; /* no interval: the number stands */
    assert_true(ss_interference_is_noise(p)); /* but none below 0 */
    p->interference_ms = 0.6;
    assert_false(ss_interference_is_noise(p));
}

/* Texts as long as they can be, numbers of every size: still 100 columns. */
static void stretch(struct report_case *c)
{
    struct ss_run_data *run = &c->run;
    memset(run->model, 'm', sizeof run->model - 1);
    memset(c->result.transports, 't', sizeof c->result.transports - 1);
    memset(run->version, 'v', sizeof run->version - 1);
    memset(run->run_id, 'r', sizeof run->run_id - 1);
    memset(run->end_reason, 'e', sizeof run->end_reason - 1);
    memset(c->result.sentence, 's', sizeof c->result.sentence - 1);
    c->result.complete = 0;
    for (int i = 0; i < CASE_NODES; i++)
        memset(c->node[i].name, 'n', sizeof c->node[i].name - 1);
    for (int i = 0; i < CASE_RANKS; i++)
        memset(c->rank[i].device, 'd', sizeof c->rank[i].device - 1);
    for (int i = 0; i < CASE_FINDINGS; i++) {
        memset(c->finding[i].node, 'n', sizeof c->finding[i].node - 1);
        memset(c->finding[i].value, 'v', sizeof c->finding[i].value - 1);
        memset(c->finding[i].evidence, 'e', sizeof c->finding[i].evidence - 1);
        memset(c->finding[i].advice, 'a', sizeof c->finding[i].advice - 1);
    }
    memset(c->meta[3].reason, 'w', sizeof c->meta[3].reason - 1);
    memset(c->result.verdict.reason[0], 'v', 255);
}

static void test_width_with_long_texts_and_numbers(void **state)
{
    static const double factors[] = {1e-5, 1, 1e3, 123456};
    (void)state;
    for (size_t f = 0; f < SS_COUNT_OF(factors); f++) {
        struct report_case c;
        struct ss_buf out;
        report_case_fill(&c);
        stretch(&c);
        for (int i = 0; i < CASE_POINTS; i++) {
            c.meta[i].size = 100000;
            c.meta[i].nodes = 12500;
            c.meta[i].group_count = 12500;
            c.point[i].mfu = 0.5;
            c.point[i].step.median *= factors[f];
            c.point[i].step.lo *= factors[f];
            c.point[i].step.hi *= factors[f];
            c.point[i].efficiency.value *= 10;
            c.point[i].efficiency.hi *= 10;
            c.point[i].efficiency.lo *= 10;
        }
        render(&c, SS_RANKS_ALL, &out);
        check_width(ss_buf_text(&out));
        ss_buf_free(&out);
    }
}

static void test_every_part_of_the_split_is_shown(void **state)
{
    struct report_case c;
    struct ss_buf out;
    struct ss_point_result *p = &c.point[2];
    (void)state;
    report_case_fill(&c);
    p->unsplit_ms = p->bubble_ms = p->input_ms = p->launch_ms = 1;
    render(&c, SS_RANKS_NONE, &out);
    assert_non_null(strstr(ss_buf_text(&out), "unsplit"));
    assert_non_null(strstr(ss_buf_text(&out), "bubble"));
    assert_non_null(strstr(ss_buf_text(&out), "input"));
    assert_non_null(strstr(ss_buf_text(&out), "launch"));
    check_width(ss_buf_text(&out));
    ss_buf_free(&out);
}

static void test_missing_numbers_are_dashes(void **state)
{
    struct report_case c;
    struct ss_buf out;
    (void)state;
    report_case_fill(&c);
    for (int i = 0; i < CASE_POINTS; i++)
        report_case_blank(&c.point[i]);
    c.point[0].step.median = 20;
    c.rank[0].excess_ms = NAN;
    render(&c, SS_RANKS_ALL, &out);
    assert_null(strstr(ss_buf_text(&out), "nan"));
    assert_null(strstr(ss_buf_text(&out), " inf "));
    check_width(ss_buf_text(&out));
    ss_buf_free(&out);
}

static void test_no_points(void **state)
{
    struct report_case c;
    struct ss_buf out;
    (void)state;
    report_case_fill(&c);
    c.result.n_points = 0;
    c.result.n_findings = 0;
    c.result.complete = 0;
    c.result.verdict =
        (struct ss_verdict){.result = SS_INCONCLUSIVE, .exit_code = 11};
    render(&c, SS_RANKS_WORST, &out);
    assert_non_null(strstr(ss_buf_text(&out), "No point was finished."));
    assert_non_null(strstr(ss_buf_text(&out), "Findings: none"));
    assert_non_null(strstr(ss_buf_text(&out), "INCOMPLETE"));
    assert_non_null(strstr(ss_buf_text(&out), "inconclusive, exit code 11"));
    ss_buf_free(&out);
}

/* Bytes of a file must not reach the terminal as commands. */
static void test_control_bytes_are_not_printed(void **state)
{
    struct report_case c;
    struct ss_buf out;
    (void)state;
    report_case_fill(&c);
    ss_copy(c.node[1].name, sizeof c.node[1].name, "evil\033[2Jhost");
    ss_copy(c.result.sentence, sizeof c.result.sentence, "a\tb\033[31m\xff");
    ss_copy(c.meta[0].curve, sizeof c.meta[0].curve, "x\ny");
    ss_copy(c.finding[0].evidence, 8, "\x01\x02");
    render(&c, SS_RANKS_ALL, &out);
    assert_null(strchr(ss_buf_text(&out), '\033'));
    assert_null(strchr(ss_buf_text(&out), '\t'));
    assert_null(strchr(ss_buf_text(&out), '\x01'));
    ss_buf_free(&out);
}

static void test_worst_ranks_are_ordered_and_capped(void **state)
{
    enum { MANY = 300 };
    static struct ss_rank_result rank[MANY];
    struct report_case c;
    struct ss_buf out;
    const char *at;
    (void)state;
    report_case_fill(&c);
    for (int i = 0; i < MANY; i++) {
        rank[i] = c.rank[0];
        rank[i].rank = i;
        rank[i].excess_ms = i == 7 ? NAN : (double)((i * 37) % MANY);
    }
    c.point[2].rank = rank;
    c.point[2].n_ranks = MANY;
    render(&c, SS_RANKS_WORST, &out);
    assert_non_null(strstr(ss_buf_text(&out), "The 10 of 300 ranks"));
    at = strstr(ss_buf_text(&out), "excess ms");
    for (int k = 0; k < 10; k++) {
        char word[16];
        int want = 299 - k;
        snprintf(word, sizeof word, " %.1f ", (double)want);
        at = strstr(at, word);
        assert_non_null(at);
    }
    ss_buf_free(&out);
}

static enum ss_status render_all(void *arg)
{
    struct report_case *c = arg;
    struct ss_buf out;
    enum ss_status status;
    ss_buf_init(&out, CEILING);
    status = ss_report_render(&c->result, SS_FORMAT_TEXT, SS_RANKS_ALL, &out);
    ss_buf_free(&out);
    return status;
}

static void test_torture(void **state)
{
    struct report_case c;
    (void)state;
    report_case_fill(&c);
    assert_true(ss_torture(render_all, &c) > 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden),
        cmocka_unit_test(test_first_line_is_the_sentence),
        cmocka_unit_test(test_interference_within_noise),
        cmocka_unit_test(test_alone_is_said_where_it_was_a_choice),
        cmocka_unit_test(test_width_with_long_texts_and_numbers),
        cmocka_unit_test(test_every_part_of_the_split_is_shown),
        cmocka_unit_test(test_missing_numbers_are_dashes),
        cmocka_unit_test(test_no_points),
        cmocka_unit_test(test_control_bytes_are_not_printed),
        cmocka_unit_test(test_worst_ranks_are_ordered_and_capped),
        cmocka_unit_test(test_torture),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
