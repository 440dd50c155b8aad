/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Planted data for the store's tests and tools. Fields are filled through
 * schema.def, so that a new column is tested without a word here, with noise
 * that compresses as real times do. Equality looks at fields, not at padding.
 */
#include "support/store_sample.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/random.h"
#include "base/str.h"

static uint64_t noise(uint64_t a, uint64_t b, uint64_t c)
{
    const uint64_t words[3] = {a, b, c};
    return ss_mix_words(words, 3);
}

static void *need(size_t n, size_t size)
{
    void *memory = ss_alloc(n, size, "a sample");
    if (!memory)
        abort();
    return memory;
}

/* Fills the columns of one row from a seed. */
#define I32(name, text) row->name = (int32_t)(noise(seed, column++, 1) % 1000);
#define I64(name, text) row->name = (int64_t)(noise(seed, column++, 2) >> 24);
#define U64(name, text) row->name = noise(seed, column++, 3);
#define F64(name, text) row->name = (double)(noise(seed, column++, 4) >> 11);
#define F32(name, text) row->name = (float)(noise(seed, column++, 5) >> 40);
#define STR(bytes, name, text)                                                 \
    memset(row->name, 'x', sizeof row->name);                                  \
    ss_format(row->name, sizeof row->name, "%.5s %.7s %d", #name, text,        \
              (int)(noise(seed, column++, 6) % 10));
static void fill_point(struct ss_point_row *row, uint64_t seed)
{
    uint64_t column = 0;
#define SS_TABLE_POINT
#include "store/schema.def"
#undef SS_TABLE_POINT
}
static void fill_point_rank(struct ss_point_rank_row *row, uint64_t seed)
{
    uint64_t column = 100;
#define SS_TABLE_POINT_RANK
#include "store/schema.def"
#undef SS_TABLE_POINT_RANK
}
static void fill_block_rank(struct ss_block_rank_row *row, uint64_t seed)
{
    uint64_t column = 200;
#define SS_TABLE_BLOCK_RANK
#include "store/schema.def"
#undef SS_TABLE_BLOCK_RANK
}
static void fill_terms(struct ss_terms_row *row, uint64_t seed)
{
    uint64_t column = 300;
#define SS_TABLE_TERMS
#include "store/schema.def"
#undef SS_TABLE_TERMS
}
static void fill_net(struct ss_net_row *row, uint64_t seed)
{
    uint64_t column = 400;
#define SS_TABLE_NET
#include "store/schema.def"
#undef SS_TABLE_NET
}
static void fill_path(struct ss_path_row *row, uint64_t seed)
{
    uint64_t column = 400;
#define SS_TABLE_PATH
#include "store/schema.def"
#undef SS_TABLE_PATH
}
static void fill_pair(struct ss_pair_row *row, uint64_t seed)
{
    uint64_t column = 450;
#define SS_TABLE_PAIR
#include "store/schema.def"
#undef SS_TABLE_PAIR
}
static void fill_coll(struct ss_coll_row *row, uint64_t seed)
{
    uint64_t column = 470;
#define SS_TABLE_COLL
#include "store/schema.def"
#undef SS_TABLE_COLL
}
static void fill_port(struct ss_port_row *row, uint64_t seed)
{
    uint64_t column = 490;
#define SS_TABLE_PORT
#include "store/schema.def"
#undef SS_TABLE_PORT
}
static void fill_check(struct ss_check_row *row, uint64_t seed)
{
    uint64_t column = 500;
#define SS_TABLE_CHECK
#include "store/schema.def"
#undef SS_TABLE_CHECK
}
static void fill_rank(struct ss_rank_row *row, uint64_t seed)
{
    uint64_t column = 600;
#define SS_TABLE_RANK
#include "store/schema.def"
#undef SS_TABLE_RANK
}
static void fill_node(struct ss_node_row *row, uint64_t seed)
{
    uint64_t column = 700;
#define SS_TABLE_NODE
#include "store/schema.def"
#undef SS_TABLE_NODE
}
static void fill_variable(struct ss_variable_row *row, uint64_t seed)
{
    uint64_t column = 800;
#define SS_TABLE_VARIABLE
#include "store/schema.def"
#undef SS_TABLE_VARIABLE
}
#undef I32
#undef I64
#undef U64
#undef F64
#undef F32
#undef STR

static void sample_meta(int index, int ranks, struct ss_point_row *meta)
{
    fill_point(meta, (uint64_t)index);
    meta->index = index;
    meta->size = ranks;
    meta->group_first = 0;
    meta->group_count = 1;
    meta->filler_first = 0;
    meta->filler_size = 0;
    meta->verified = 1;
}

static void sample_blocks(struct sample_shape shape, struct ss_point_data *p)
{
    int n = 3 * shape.blocks_per_variant;
    p->n_blocks = n;
    p->n_steps = (int64_t)n * shape.steps;
    p->block = need((size_t)n, sizeof *p->block);
    p->block_rank =
        need((size_t)n * (size_t)shape.ranks, sizeof *p->block_rank);
    for (int b = 0; b < n; b++) {
        p->block[b] = (struct ss_block_row){.variant = b % 3,
                                            .sampled = b / 3 % 10 == 0,
                                            .steps = shape.steps,
                                            .round = b / 3,
                                            .first = (int64_t)b * shape.steps};
        for (int r = 0; r < shape.ranks; r++)
            fill_block_rank(
                &p->block_rank[(size_t)b * (size_t)shape.ranks + (size_t)r],
                noise((uint64_t)b, (uint64_t)r, 7));
    }
}

/* About 10 ms with 1 % noise; wide: 5 s. */
static void sample_steps(struct sample_shape shape, struct ss_point_data *p)
{
    size_t n = (size_t)shape.ranks * (size_t)p->n_steps;
    uint64_t base = shape.wide ? UINT64_C(5000000000) : UINT64_C(10000000);
    p->wide = shape.wide;
    p->step_ns = need(n, shape.wide ? 8 : 4);
    for (size_t i = 0; i < n; i++) {
        uint64_t value = base + noise(i, 0, 8) % 100000;
        if (shape.wide)
            ((uint64_t *)p->step_ns)[i] = value;
        else
            ((uint32_t *)p->step_ns)[i] = (uint32_t)value;
    }
}

static void sample_terms(struct sample_shape shape, struct ss_point_data *p)
{
    int64_t k = 0;
    for (int b = 0; b < p->n_blocks; b++)
        p->n_terms +=
            p->block[b].sampled ? (int64_t)p->block[b].steps * shape.ranks : 0;
    p->terms = need((size_t)p->n_terms, sizeof *p->terms);
    for (int b = 0; b < p->n_blocks; b++) {
        if (!p->block[b].sampled)
            continue;
        for (int i = 0; i < shape.steps * shape.ranks; i++) {
            struct ss_terms_row *t = &p->terms[k];
            fill_terms(t, (uint64_t)k++);
            t->rank = i % shape.ranks;
            t->block = b;
            t->step = i / shape.ranks;
        }
    }
}

static void sample_rest(struct sample_shape shape, struct ss_point_data *p)
{
    p->n_nets = 4;
    p->net = need(4, sizeof *p->net);
    p->n_checks = 2 * shape.ranks;
    p->check = need((size_t)p->n_checks, sizeof *p->check);
    p->n_colls = 2;
    p->coll = need(2, sizeof *p->coll);
    for (int i = 0; i < p->n_colls; i++) {
        fill_coll(&p->coll[i], (uint64_t)i);
        p->coll[i].ranks++;
        p->coll[i].bytes++;
        p->coll[i].calls++;
    }
    p->n_ports = 2;
    p->port = need(2, sizeof *p->port);
    for (int i = 0; i < p->n_ports; i++) {
        fill_port(&p->port[i], (uint64_t)i);
        p->port[i].node = 0;
    }
    p->n_paths = 2;
    p->path = need(2, sizeof *p->path);
    for (int i = 0; i < p->n_paths; i++)
        fill_path(&p->path[i], (uint64_t)i);
    p->n_pairs = 2;
    p->pair = need(2, sizeof *p->pair);
    for (int i = 0; i < p->n_pairs; i++) {
        fill_pair(&p->pair[i], (uint64_t)i);
        p->pair[i].a = i;
        p->pair[i].b = 1 - i;
        p->pair[i].pass = i;
        p->pair[i].bytes++;
        p->pair[i].messages++;
    }
    for (int i = 0; i < p->n_nets; i++) {
        fill_net(&p->net[i], (uint64_t)i);
        p->net[i].node = i % 2;
    }
    for (int i = 0; i < p->n_checks; i++) {
        fill_check(&p->check[i], (uint64_t)i);
        p->check[i].rank = i / 2;
    }
}

void sample_point(int index, struct sample_shape shape,
                  struct ss_point_data *out)
{
    struct ss_point_data p = {0};
    sample_meta(index, shape.ranks, &p.meta);
    p.n_ranks = shape.ranks;
    p.rank = need((size_t)shape.ranks, sizeof *p.rank);
    for (int r = 0; r < shape.ranks; r++) {
        fill_point_rank(&p.rank[r], noise((uint64_t)index, (uint64_t)r, 9));
        p.rank[r].rank = r;
        p.rank[r].group = 0;
        p.rank[r].member = r;
    }
    sample_blocks(shape, &p);
    sample_steps(shape, &p);
    sample_terms(shape, &p);
    sample_rest(shape, &p);
    *out = p;
}

static struct ss_variable_row *sample_variables(int n, uint64_t seed)
{
    struct ss_variable_row *rows = need((size_t)n, sizeof *rows);
    for (int i = 0; i < n; i++)
        fill_variable(&rows[i], seed + (uint64_t)i);
    return rows;
}

static void sample_texts(struct ss_run_data *run)
{
    ss_copy(run->version, sizeof run->version, "0.1.0");
    ss_copy(run->engine, sizeof run->engine, "null");
    ss_copy(run->model, sizeof run->model, "mlp");
    ss_copy(run->precision, sizeof run->precision, "fp32");
    ss_copy(run->grad_dtype, sizeof run->grad_dtype, "fp32");
    ss_copy(run->peak_source, sizeof run->peak_source, "none");
    ss_copy(run->transports, sizeof run->transports, "self, vader");
    run->config_yaml = ss_strdup("model:\n  preset: mlp # \xc2\xb5\n");
    run->command_line = ss_strdup("stepscale run --engine null");
    if (!run->config_yaml || !run->command_line)
        abort();
}

void sample_run(const char *run_id, int ranks, int points,
                struct ss_run_data *out)
{
    struct ss_run_data run = {.schema = SS_SCHEMA,
                              .start_ns = INT64_C(1700000000000000001),
                              .skeleton = 1,
                              .skeleton_share = 0.625,
                              .peak_flops = 1e15 / 3,
                              .share_devices = 1,
                              .planned_points = points,
                              .budget_ns = 120,
                              .seed = -7,
                              .config_hash = UINT64_C(0xfedcba9876543210),
                              .verdict_code = -1,
                              .n_ranks = ranks,
                              .n_nodes = 2,
                              .n_versions = 3,
                              .n_variables = 5};
    ss_copy(run.run_id, sizeof run.run_id, run_id);
    sample_texts(&run);
    run.rank = need((size_t)ranks, sizeof *run.rank);
    run.node = need(2, sizeof *run.node);
    for (int i = 0; i < ranks; i++) {
        fill_rank(&run.rank[i], (uint64_t)i);
        run.rank[i].rank = i;
        run.rank[i].node = i % 2;
    }
    fill_node(&run.node[0], 1);
    fill_node(&run.node[1], 2);
    run.versions = sample_variables(3, 10);
    run.variable = sample_variables(5, 20);
    *out = run;
}
