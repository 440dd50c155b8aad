/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From planted rows of pairs to findings, verdict and report: what is said of
 * whom, in text, JSON and CSV, and who lands on the list of nodes to leave out.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "base/mem.h"
#include "base/random.h"
#include "base/str.h"
#include "commands/exclude.h"
#include "probe/tournament.h"
#include "report/report.h"

enum { NODES = 8, NODES_MOST = 512, CYCLES = 4, ROWS = 20000 };

struct plan {
    int sharers; /* ranks on the one core of each */
    int node;    /* slow whatever its partner, -1 */
    int a, b;    /* slow path, -1 */
    double factor, all, wire;
    int soak;  /* rounds; the node is slow in a tenth of them */
    int nodes; /* 0: NODES */
};

struct fixture {
    struct ss_run_data run;
    struct ss_node_row node[NODES_MOST];
    struct ss_rank_row rank[NODES_MOST];
    struct ss_point_data point[3];
    struct ss_pair_row row[3][ROWS];
    struct ss_rules rules;
    struct ss_result result;
};
static struct fixture the;
static struct ss_random noise;

static void put(int pass, int round, int a, int b, const struct plan *plan)
{
    struct ss_point_data *point = &the.point[pass];
    struct ss_pair_row *row = &the.row[pass][point->n_pairs++];
    bool slow = a == plan->node || b == plan->node ||
                (a == plan->a && b == plan->b) ||
                (a == plan->b && b == plan->a);
    double bytes_per_ns = 0.05 / plan->all;
    if (pass == 2)
        slow = slow && round % 50 < 5;
    else if (plan->soak)
        slow = false;
    *row = (struct ss_pair_row){.a = a,
                                .b = b,
                                .rank_a = a,
                                .rank_b = b,
                                .pass = pass,
                                .round = round,
                                .bytes = 1 << 20,
                                .messages = 4,
                                .wire_bits = plan->wire,
                                .decides = 1,
                                .start_ns = INT64_C(1000000000000) +
                                            INT64_C(100000000) * round};
    row->duration_ns = 4 * 1048576.0 / bytes_per_ns *
                       (1 + 0.001 * ss_random_normal(&noise)) *
                       (slow ? plan->factor : 1);
    ss_copy(row->level, sizeof row->level, "node");
    ss_copy(row->library, sizeof row->library, "mpi");
    ss_copy(row->direction, sizeof row->direction, "one_way");
    ss_copy(row->transport, sizeof row->transport, "eth0");
}

static int nodes_of(const struct plan *plan)
{
    return plan->nodes ? plan->nodes : NODES;
}

static void play(int pass, int round, const int *partner,
                 const struct plan *plan)
{
    for (int i = 0; i < nodes_of(plan); i++)
        if (partner[i] >= 0)
            put(pass, round, i, partner[i], plan);
}

static void fill(const struct plan *plan)
{
    int partner[NODES_MOST], n = nodes_of(plan);
    memset(&the, 0, sizeof the);
    ss_random_seed(&noise, 3);
    for (int p = 0; p < 3; p++) {
        the.point[p].pair = the.row[p];
        the.point[p].meta.index = p + 1;
        ss_copy(the.point[p].meta.mode, sizeof the.point[p].meta.mode,
                SS_MODE_PAIRS);
        ss_copy(the.point[p].meta.status, sizeof the.point[p].meta.status,
                "ok");
    }
    for (int i = 0; i < n; i++) {
        ss_format(the.node[i].name, sizeof the.node[i].name, "n%d", i + 1);
        the.rank[i].rank = the.rank[i].node = i;
        the.rank[i].device = -1;
        the.rank[i].sharers = plan->sharers;
        the.rank[i].cores = 1;
    }
    for (int r = 0; r < ss_tournament_rounds(n, 0); r++) {
        ss_tournament_match(n, r, partner);
        play(0, r, partner, plan);
    }
    for (int c = 0; c < CYCLES && plan->a >= 0; c++) {
        put(1, c, plan->a, plan->b, plan);
        put(1, c, plan->b, plan->a, plan);
    }
    for (int r = 0; r < plan->soak; r++) {
        ss_tournament_match(n, r, partner);
        play(2, r, partner, plan);
    }
    the.run = (struct ss_run_data){.n_ranks = n,
                                   .n_nodes = n,
                                   .rank = the.rank,
                                   .node = the.node,
                                   .verdict_code = -1,
                                   .planned_points = 3,
                                   .n_points = 3,
                                   .point = the.point,
                                   .peak_flops = NAN};
    ss_copy(the.run.engine, sizeof the.run.engine, "probe");
}

static void judge(const struct plan *plan)
{
    fill(plan);
    the.rules = (struct ss_rules){.min_effect = 0.02, .min_effect_link = 0.05};
    struct ss_analysis_args args = {
        .run = &the.run, .rules = &the.rules, .hang_sentence = ""};
    assert_int_equal(ss_analyse(&args, &the.result), SS_OK);
}

static const char *excluded(void)
{
    static char text[256];
    struct ss_buf list;
    ss_buf_init(&list, 1 << 16);
    assert_int_equal(ss_exclude_list(&the.result, &list), SS_OK);
    ss_copy(text, sizeof text, ss_buf_text(&list));
    ss_buf_free(&list);
    return text;
}

static void done(void)
{
    ss_result_free(&the.result);
    assert_int_equal(ss_mem_live(), 0);
}

static void a_slow_node_fails_and_is_excluded(void **state)
{
    const struct plan plan = {
        .node = 4, .a = -1, .b = -1, .factor = 5, .all = 1};
    (void)state;
    judge(&plan);
    assert_int_equal(the.result.n_findings, 1);
    const struct ss_finding *f = &the.result.finding[0];
    assert_int_equal(f->kind, SS_SLOW_LINK);
    assert_int_equal(f->severity, SS_ERROR);
    assert_string_equal(f->node, "n5");
    assert_string_equal(f->link, "eth0, both ways");
    assert_true(fabs(f->factor - 5) < 0.1 && f->confidence > 0.95);
    assert_non_null(strstr(f->evidence, "with 7 good partners"));
    assert_int_equal(the.result.verdict.exit_code, 10);
    assert_string_equal(excluded(), "n5");
    assert_non_null(
        strstr(the.result.sentence, "8 nodes, 28 pairs: 400 Mbit/s"));
    assert_non_null(strstr(the.result.sentence, "the link of n5 is 5"));
    done();
}

/* Ranks that take turns on a core: said, but it fails nothing. */
static void turns_on_a_core_are_no_error(void **state)
{
    const struct plan plan = {
        .sharers = 3, .node = 4, .a = -1, .b = -1, .factor = 5, .all = 1};
    (void)state;
    judge(&plan);
    int links = 0;
    for (int i = 0; i < the.result.n_findings; i++) {
        assert_int_not_equal(the.result.finding[i].severity, SS_ERROR);
        links += the.result.finding[i].kind == SS_SLOW_LINK;
    }
    assert_int_equal(links, 1);
    assert_int_equal(the.result.verdict.exit_code, 0);
    done();
}

static void a_slow_path_blames_no_node(void **state)
{
    const struct plan plan = {
        .node = -1, .a = 1, .b = 5, .factor = 4, .all = 1};
    (void)state;
    judge(&plan);
    assert_int_equal(the.result.n_findings, 1);
    assert_int_equal(the.result.finding[0].kind, SS_SLOW_PATH);
    assert_string_equal(the.result.finding[0].link, "n2 - n6");
    assert_string_equal(the.result.finding[0].node, "");
    assert_int_equal(the.result.verdict.exit_code, 10);
    assert_string_equal(excluded(), "");
    done();
}

static void a_slow_network_is_held_against_the_wire(void **state)
{
    struct plan plan = {
        .node = -1, .a = -1, .b = -1, .factor = 1, .all = 5, .wire = 400e6};
    (void)state;
    judge(&plan);
    assert_int_equal(the.result.n_findings, 1);
    assert_int_equal(the.result.finding[0].kind, SS_SLOW_UNIFORM);
    assert_string_equal(the.result.finding[0].value, "80 of 400 Mbit/s");
    assert_non_null(strstr(the.result.finding[0].evidence,
                           "slower than the wire: 80 of 400 Mbit/s, "
                           "headers included, all pairs alike"));
    assert_int_equal(the.result.verdict.exit_code, 10);
    done();
    plan.all = 1; /* at the wire's rate */
    judge(&plan);
    assert_int_equal(the.result.n_findings, 0);
    assert_int_equal(the.result.verdict.exit_code, 0);
    done();
    plan.all = 5;
    plan.wire = 0; /* nobody said what the wire is */
    judge(&plan);
    assert_int_equal(the.result.n_findings, 0);
    done();
}

static void slow_at_times_comes_with_its_times(void **state)
{
    const struct plan plan = {
        .node = 2, .a = -1, .b = -1, .factor = 6, .all = 1, .soak = 200};
    (void)state;
    judge(&plan);
    assert_int_equal(the.result.n_findings, 1);
    const struct ss_finding *f = &the.result.finding[0];
    assert_int_equal(f->kind, SS_INTERMITTENT_LINK);
    assert_string_equal(f->node, "n3");
    assert_true(f->confidence > 0.95);
    assert_non_null(strstr(f->evidence, "in 4 spells: 0.0-0.5 s, 5.0-5.5 s"));
    done();
}

/* The line of the report that begins so; where it ends. */
static const char *line_of(const struct ss_buf *out, const char *begin,
                           size_t *len)
{
    const char *at = strstr(ss_buf_text(out), begin);
    assert_non_null(at);
    *len = strcspn(at, "\n");
    return at;
}

static void a_map_fits_on_a_screen(const struct plan *plan, const char *row,
                                   int places)
{
    struct ss_buf out;
    size_t len;
    judge(plan);
    ss_buf_init(&out, 1 << 20);
    assert_int_equal(
        ss_report_render(&the.result, SS_FORMAT_TEXT, SS_RANKS_WORST, &out),
        SS_OK);
    const char *line = line_of(&out, row, &len);
    assert_int_equal(len, 21 + places);
    int slow = 0, good = 0;
    for (size_t i = 21; i < len; i++) {
        slow += line[i] == '2';
        good += line[i] == '.';
    }
    /* a bad node is a row; among its neighbours, those of its partners */
    assert_true(slow >= 7 && (places < nodes_of(plan) || good == 0));
    line_of(&out, "from \\ to", &len);
    assert_int_equal(len, 21 + places);
    const char *map = strstr(ss_buf_text(&out), "Pairs of nodes");
    for (int i = 0; i < places + 2; i++, map += strcspn(map, "\n") + 1)
        assert_true(strcspn(map, "\n") <= 100);
    ss_buf_free(&out);
    done();
}

static void maps_fit_on_a_screen_at_any_size(void **state)
{
    const struct plan eight = {
        .node = 4, .a = -1, .b = -1, .factor = 4, .all = 1, .nodes = 8};
    struct plan plan = eight;
    (void)state;
    a_map_fits_on_a_screen(&plan, "n5      ", 8);
    plan.nodes = 64;
    plan.node = 32;
    a_map_fits_on_a_screen(&plan, "n33     ", 64);
    plan.nodes = 512;
    plan.node = 300;
    a_map_fits_on_a_screen(&plan, "n297..n304 ", 64);
}

static void reports_show_the_pairs(void **state)
{
    const struct plan plan = {
        .node = 4, .a = -1, .b = -1, .factor = 4, .all = 1};
    struct ss_buf out;
    (void)state;
    judge(&plan);
    ss_buf_init(&out, 1 << 20);
    assert_int_equal(
        ss_report_render(&the.result, SS_FORMAT_TEXT, SS_RANKS_WORST, &out),
        SS_OK);
    assert_non_null(
        strstr(ss_buf_text(&out), "n1                   \\...2..."));
    assert_non_null(
        strstr(ss_buf_text(&out), "n5                   2222\\222"));
    out.len = 0;
    assert_int_equal(
        ss_report_render(&the.result, SS_FORMAT_JSON, SS_RANKS_WORST, &out),
        SS_OK);
    json_t *json = json_loads(ss_buf_text(&out), 0, NULL);
    json_t *pairs = json_object_get(json, "pairs");
    assert_int_equal(json_array_size(pairs), 56);
    json_t *pair = json_array_get(pairs, 0);
    assert_string_equal(json_string_value(json_object_get(pair, "b")), "n2");
    double gbs = json_real_value(json_object_get(pair, "gbs"));
    assert_true(fabs(gbs - 0.05) < 0.003);
    assert_true(json_is_null(json_object_get(pair, "latency_us")));
    json_decref(json);
    out.len = 0;
    assert_int_equal(
        ss_report_render(&the.result, SS_FORMAT_CSV, SS_RANKS_WORST, &out),
        SS_OK);
    assert_int_equal(strncmp(ss_buf_text(&out), "a,b,level,library,rail,", 23),
                     0);
    ss_buf_free(&out);
    done();
}

static void check_list(const char *const *names, int n, const char *want)
{
    struct ss_finding finding[8];
    for (int i = 0; i < n; i++) {
        finding[i] = (struct ss_finding){.severity = SS_ERROR};
        ss_copy(finding[i].node, sizeof finding[i].node, names[i]);
    }
    the.result = (struct ss_result){.n_findings = n, .finding = finding};
    assert_string_equal(excluded(), want);
    the.result = (struct ss_result){0};
}

static void lists_are_as_schedulers_write_them(void **state)
{
    (void)state;
    check_list((const char *[]){"n10", "n2", "n9", "n2", "login"}, 5,
               "login,n[2,9-10]");
    check_list((const char *[]){"node007", "node008", "node010"}, 3,
               "node[007-008,010]");
    check_list((const char *[]){"a1", "b1", "node9", "node010"}, 4,
               "a1,b1,node9,node010");
    check_list((const char *[]){"10", "11", "rack1-x"}, 3, "10,11,rack1-x");
    check_list(NULL, 0, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_slow_node_fails_and_is_excluded),
        cmocka_unit_test(turns_on_a_core_are_no_error),
        cmocka_unit_test(a_slow_path_blames_no_node),
        cmocka_unit_test(a_slow_network_is_held_against_the_wire),
        cmocka_unit_test(slow_at_times_comes_with_its_times),
        cmocka_unit_test(maps_fit_on_a_screen_at_any_size),
        cmocka_unit_test(reports_show_the_pairs),
        cmocka_unit_test(lists_are_as_schedulers_write_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
