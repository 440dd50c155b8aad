/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resample_pairs N FILE...: healthy probes, played again N times with meetings
 * drawn from the files, through the same second pass and the same analysis and
 * verdict as a probe. Prints how many were accused of what. Each meeting, with
 * both its ways and all its batches, is drawn as a whole, from any file and any
 * round in which the two met.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/pairs.h"
#include "analysis/result.h"
#include "base/mem.h"
#include "base/random.h"
#include "base/units.h"
#include "probe/second_pass.h"
#include "probe/tournament.h"
#include "store/store.h"

enum { NODES_MOST = 64, BATCHES_MOST = 16 };

/** Rows of one meeting, both ways. */
struct meeting {
    const struct ss_pair_row *row[BATCHES_MOST];
    int n, file;
};
struct pool {
    struct meeting *v;
    int n;
};
struct bed {
    struct ss_run_data *file;
    struct pool *pool; /* [nodes * nodes], low * nodes + high */
    int n_files, nodes, rounds;
    struct ss_pair_row *row[2]; /* drawn, by pass */
    int64_t n_rows[2];
    struct ss_random random;
};

static void must(enum ss_status status)
{
    if (status == SS_OK)
        return;
    fprintf(stderr, "resample_pairs: %s\n", ss_error_text());
    exit(2);
}

static bool counts(const struct ss_pair_row *row)
{
    return row->decides && row->pass < 2 && strcmp(row->library, "mpi") == 0 &&
           strcmp(row->direction, "one_way") == 0;
}

static void take_row(struct bed *bed, int file, const struct ss_pair_row *row)
{
    int low = row->a < row->b ? row->a : row->b;
    int high = row->a < row->b ? row->b : row->a;
    struct pool *pool = &bed->pool[low * bed->nodes + high];
    struct meeting *m = pool->n > 0 ? &pool->v[pool->n - 1] : NULL;

    if (!m || m->file != file || m->row[0]->pass != row->pass ||
        m->row[0]->round != row->round) {
        pool->v = ss_realloc(pool->v, (size_t)pool->n + 1, sizeof(*pool->v),
                             "a pool");
        if (!pool->v)
            must(SS_ERR_NO_MEMORY);
        m = &pool->v[pool->n++];
        m->n = 0;
        m->file = file;
    }
    if (m->n < BATCHES_MOST)
        m->row[m->n++] = row;
}

static void open_bed(struct bed *bed, int n, char **path)
{
    bed->file = ss_alloc((size_t)n, sizeof(*bed->file), "files");
    bed->n_files = n;
    for (int i = 0; i < n; i++)
        must(ss_run_read(path[i], SS_READ_ALL, &bed->file[i], NULL));
    bed->nodes = bed->file[0].n_nodes;
    if (bed->nodes > NODES_MOST)
        must(ss_fail(SS_ERR_CONFIG, "more than %d nodes", NODES_MOST));
    size_t cells = (size_t)bed->nodes * (size_t)bed->nodes;
    bed->pool = ss_alloc(cells, sizeof(*bed->pool), "pools");
    int64_t most = 0;
    for (int i = 0; i < n; i++)
        for (int p = 0; p < bed->file[i].n_points; p++) {
            const struct ss_point_data *point = &bed->file[i].point[p];
            most += point->n_pairs;
            for (int64_t k = 0; k < point->n_pairs; k++) {
                if (!counts(&point->pair[k]))
                    continue;
                take_row(bed, i, &point->pair[k]);
                if (point->pair[k].pass == 0 &&
                    point->pair[k].round >= bed->rounds)
                    bed->rounds = point->pair[k].round + 1;
            }
        }
    for (int p = 0; p < 2; p++)
        bed->row[p] =
            ss_alloc((size_t)most + 4096, sizeof(*bed->row[p]), "drawn rows");
    ss_random_seed(&bed->random, 1);
}

static void draw(struct bed *bed, int pass, int round, const int *partner)
{
    for (int a = 0; a < bed->nodes; a++) {
        int b = partner[a];
        if (b <= a)
            continue;
        const struct pool *pool = &bed->pool[a * bed->nodes + b];
        if (pool->n == 0)
            continue;
        const struct meeting *m =
            &pool->v[ss_random_below(&bed->random, (uint64_t)pool->n)];
        for (int i = 0; i < m->n; i++) {
            struct ss_pair_row *row = &bed->row[pass][bed->n_rows[pass]++];
            *row = *m->row[i];
            row->pass = pass;
            row->round = round;
        }
    }
}

static void play(struct bed *bed)
{
    const struct ss_localise_rule rule = {
        .nodes = bed->nodes, .min_effect = 0.05, .family = 0.01, .seed = 1};
    struct ss_link_sample *sample = NULL;
    struct ss_suspects_list list;
    int partner[NODES_MOST], n = 0;

    bed->n_rows[0] = bed->n_rows[1] = 0;
    for (int r = 0; r < bed->rounds; r++) {
        ss_tournament_match(bed->nodes, r, partner);
        draw(bed, 0, r, partner);
    }
    must(ss_pair_samples(bed->row[0], bed->n_rows[0], 0, 0, &sample, &n));
    must(ss_second_pass_open(sample, n, &rule, &list));
    ss_free(sample);
    for (int cycle = 0; cycle < SS_SECOND_CYCLES; cycle++)
        for (int part = 0; part <= SS_SECOND_PARTS; part++)
            if (ss_second_match(&list, cycle, part, partner))
                draw(bed, 1, cycle, partner);
    ss_second_pass_close(&list);
}

static bool is_link(enum ss_finding_kind kind)
{
    return kind == SS_SLOW_LINK || kind == SS_SLOW_NODE ||
           kind == SS_SLOW_PATH || kind == SS_SLOW_RAIL ||
           kind == SS_SLOW_UNIFORM || kind == SS_INTERMITTENT_LINK;
}

/** 1: someone is accused. */
static int judge(struct bed *bed, int *failed)
{
    const struct ss_rules rules = {.min_effect = 0.02, .min_effect_link = 0.05};
    struct ss_run_data run = bed->file[0];
    struct ss_point_data point[2];
    struct ss_result result;
    int accused = 0;

    for (int p = 0; p < 2; p++) {
        point[p] = (struct ss_point_data){.pair = bed->row[p],
                                          .n_pairs = bed->n_rows[p]};
        point[p].meta = bed->file[0].point[0].meta;
    }
    run.point = point;
    run.n_points = 2;
    run.planned_points = 2;
    struct ss_analysis_args args = {
        .run = &run, .rules = &rules, .hang_sentence = ""};
    must(ss_analyse(&args, &result));
    for (int i = 0; i < result.n_findings; i++)
        accused |= is_link(result.finding[i].kind);
    *failed += result.verdict.exit_code == 10;
    ss_result_free(&result);
    return accused;
}

int main(int argc, char **argv)
{
    struct bed bed = {.n_files = 0};
    int64_t times = 0;
    int accused = 0, failed = 0;

    if (argc < 3 || ss_parse_int(argv[1], &times) != SS_OK || times < 1) {
        fprintf(stderr, "usage: resample_pairs N FILE...\n");
        return 2;
    }
    open_bed(&bed, argc - 2, argv + 2);
    for (int64_t i = 0; i < times; i++) {
        play(&bed);
        accused += judge(&bed, &failed);
    }
    printf("files %d, nodes %d, rounds %d, matrices %lld, accused %d, "
           "failed %d\n",
           bed.n_files, bed.nodes, bed.rounds, (long long)times, accused,
           failed);
    return accused * 100 < times ? 0 : 1;
}
