/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds run data in memory (see run_case.h).
 */
#include "support/run_case.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

static void *need(size_t count, size_t size)
{
    void *p = ss_alloc(count, size, "a test's run data");
    SS_ASSERT(p != NULL);
    return p;
}

void ss_case_open(struct ss_run_data *run, int ranks, int per_node, int points)
{
    *run = (struct ss_run_data){.schema = SS_SCHEMA,
                                .peak_flops = NAN,
                                .seed = 1,
                                .verdict_code = -1,
                                .planned_points = points,
                                .n_ranks = ranks,
                                .n_nodes = (ranks + per_node - 1) / per_node};
    ss_copy(run->engine, sizeof(run->engine), "null");
    run->rank = need((size_t)ranks, sizeof(*run->rank));
    run->node = need((size_t)run->n_nodes, sizeof(*run->node));
    run->point = need((size_t)points, sizeof(*run->point));
    for (int r = 0; r < ranks; r++) {
        struct ss_rank_row *row = &run->rank[r];
        *row = (struct ss_rank_row){.rank = r,
                                    .mpi_rank = ranks - 1 - r,
                                    .node = r / per_node,
                                    .local_rank = r % per_node,
                                    .device = -1,
                                    .cores = 1,
                                    .sharers = 1};
        ss_format(row->cpuset, sizeof(row->cpuset), "%d", r % per_node);
        ss_format(row->uuid, sizeof(row->uuid), "uuid-%d", r);
    }
    for (int n = 0; n < run->n_nodes; n++)
        ss_format(run->node[n].name, sizeof(run->node[n].name), "node%d", n);
}

void ss_case_close(struct ss_run_data *run)
{
    for (int p = 0; p < run->n_points; p++) {
        struct ss_point_data *point = &run->point[p];
        ss_free(point->rank);
        ss_free(point->block);
        ss_free(point->block_rank);
        ss_free(point->step_ns);
        ss_free(point->terms);
        ss_free(point->check);
    }
    ss_free(run->point);
    ss_free(run->rank);
    ss_free(run->node);
    ss_free(run->variable);
    ss_free(run->versions);
    *run = (struct ss_run_data){0};
}

static void fill_meta(struct ss_run_data *run, const struct ss_case_point *spec,
                      struct ss_point_row *meta)
{
    *meta = (struct ss_point_row){.index = run->n_points + 1,
                                  .size = spec->size,
                                  .base_size = spec->base_size,
                                  .dp = spec->size,
                                  .tp = 1,
                                  .verified = 1,
                                  .overlap_measurable = 1,
                                  .clock_bound_ns = 1500,
                                  .comm_create_ns = 2000000,
                                  .first_step_ns = 5000000,
                                  .group_count = spec->groups};
    ss_copy(meta->curve, sizeof(meta->curve), "mlp dp");
    ss_copy(meta->axis, sizeof(meta->axis), "dp");
    ss_copy(meta->mode, sizeof(meta->mode), spec->mode);
    ss_copy(meta->load, sizeof(meta->load), spec->load);
    ss_copy(meta->status, sizeof(meta->status), "ok");
}

/** One block: its row, marks and steps. */
static void add_block(struct ss_point_data *p, const struct ss_case_point *spec,
                      struct ss_case_step at, int64_t *clock)
{
    int b = p->n_blocks++;
    struct ss_block_row *row = &p->block[b];
    uint32_t *step = p->step_ns;
    int64_t latest = *clock;

    *row = (struct ss_block_row){.variant = (int32_t)at.variant,
                                 .sampled = at.sampled,
                                 .steps = spec->steps,
                                 .first = (int64_t)b * spec->steps};
    for (int r = 0; r < p->n_ranks; r++) {
        struct ss_block_rank_row *br =
            &p->block_rank[(int64_t)b * p->n_ranks + r];
        int64_t end = *clock + 1000000 + r * spec->skew_ns;
        *br = (struct ss_block_rank_row){.mark0_ns = end,
                                         .clock_mhz = NAN,
                                         .energy_j = NAN,
                                         .power_capped_s = NAN,
                                         .thermal_capped_s = NAN};
        for (int k = 0; p->rank[r].group >= 0 && k < spec->steps; k++) {
            at.rank = r;
            at.step = k;
            int64_t ns = llround(spec->ms(&at, spec->arg) * 1e6);
            step[(int64_t)r * p->n_steps + row->first + k] = (uint32_t)ns;
            end += ns;
        }
        latest = end > latest ? end : latest;
    }
    *clock = latest;
}

struct ss_point_data *ss_case_add(struct ss_run_data *run,
                                  const struct ss_case_point *spec)
{
    struct ss_point_data *p = &run->point[run->n_points];
    int blocks = SS_VARIANTS * spec->blocks + 2 * spec->sampled;
    int groups = spec->groups ? spec->groups : run->n_ranks / spec->size;
    int64_t clock = 1000000000;

    *p = (struct ss_point_data){.n_ranks = run->n_ranks};
    fill_meta(run, spec, &p->meta);
    p->meta.group_count = groups;
    run->n_points++;
    p->n_steps = (int64_t)blocks * spec->steps;
    p->rank = need((size_t)p->n_ranks, sizeof(*p->rank));
    p->block = need((size_t)blocks, sizeof(*p->block));
    p->block_rank =
        need((size_t)blocks * (size_t)p->n_ranks, sizeof(*p->block_rank));
    p->step_ns =
        need((size_t)p->n_ranks * (size_t)p->n_steps, sizeof(uint32_t));
    for (int r = 0; r < p->n_ranks; r++)
        p->rank[r] = (struct ss_point_rank_row){
            .rank = r,
            .group = r / spec->size < groups ? r / spec->size : -1,
            .member = r % spec->size,
            .verified = 1};
    for (int b = 0; b < spec->blocks; b++)
        for (int v = 0; v < SS_VARIANTS; v++)
            add_block(p, spec,
                      (struct ss_case_step){.meta = &p->meta,
                                            .variant = (enum ss_variant)v,
                                            .block = b},
                      &clock);
    for (int b = 0; b < spec->sampled; b++)
        for (int v = SS_WHOLE; v <= SS_COMPUTE_ONLY; v++)
            add_block(p, spec,
                      (struct ss_case_step){.meta = &p->meta,
                                            .variant = (enum ss_variant)v,
                                            .block = b,
                                            .sampled = 1},
                      &clock);
    return p;
}

void ss_case_add_terms(struct ss_point_data *point, ss_case_terms *fill,
                       void *arg)
{
    int64_t most = point->n_steps * point->n_ranks;

    point->terms = need((size_t)most, sizeof(*point->terms));
    for (int b = 0; b < point->n_blocks; b++)
        for (int r = 0; r < point->n_ranks && point->block[b].sampled; r++)
            for (int k = 0;
                 point->rank[r].group >= 0 && k < point->block[b].steps; k++) {
                struct ss_terms_row *row = &point->terms[point->n_terms++];
                *row = (struct ss_terms_row){.rank = r, .block = b, .step = k};
                fill(row, (enum ss_variant)point->block[b].variant, arg);
            }
}
