/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run that never was, with every kind of thing a report has to show: groups
 * side by side, a skipped point, a persistent straggler, flags, missing
 * numbers. The numbers are consistent (terms add up to the step), so that
 * the page also reads as an example.
 */
#include "support/report_case.h"

#include <math.h>
#include <string.h>

#include "base/str.h"

void report_case_blank(struct ss_point_result *p)
{
    double *const numbers[] = {&p->slowest_efficiency,
                               &p->step.median,
                               &p->step.lo,
                               &p->step.hi,
                               &p->step.min,
                               &p->step.max,
                               &p->step_min_ms,
                               &p->step_max_ms,
                               &p->efficiency.value,
                               &p->efficiency.lo,
                               &p->efficiency.hi,
                               &p->e_devices,
                               &p->e_comm,
                               &p->base_ms,
                               &p->parallel_efficiency,
                               &p->shape_efficiency,
                               &p->compute_only_ms,
                               &p->comm_only_ms,
                               &p->exposed_ms,
                               &p->hidden_share,
                               &p->interference_ms,
                               &p->sampled_ms,
                               &p->busy_ms,
                               &p->transfer_ms,
                               &p->wait_persistent_ms,
                               &p->wait_jitter_ms,
                               &p->unsplit_ms,
                               &p->bubble_ms,
                               &p->input_ms,
                               &p->launch_ms,
                               &p->other_ms,
                               &p->mfu,
                               &p->hfu,
                               &p->tokens_per_s,
                               &p->tokens_per_s_per_device,
                               &p->tflops_per_device,
                               &p->clock_mhz,
                               &p->power_w,
                               &p->capped_share,
                               &p->clock_bound_us,
                               &p->comm_create_ms,
                               &p->first_step_ms,
                               &p->perturbed_share};
    for (size_t i = 0; i < SS_COUNT_OF(numbers); i++)
        *numbers[i] = NAN;
    for (int i = 0; i < SS_DIMS; i++)
        p->transfer_by[i] = NAN;
    for (int i = 0; i < SS_PHASES; i++)
        p->phases_ms[i] = NAN;
    p->slowest_group = -1;
}

static void fill_run(struct report_case *c)
{
    static const char *const versions[][2] = {
        {"Open MPI", "4.1.4"}, {"OpenBLAS", "0.3.21"}, {"OpenBLAS", "0.3.20"}};
    struct ss_run_data *run = &c->run;
    run->start_ns = INT64_C(1788264000) * 1000000000; /* 2026-09-01 */
    ss_copy(run->run_id, sizeof run->run_id,
            "00112233-4455-6677-8899-aabbccddeeff");
    ss_copy(run->version, sizeof run->version, "0.1.0");
    ss_copy(run->engine, sizeof run->engine, "host");
    ss_copy(run->model, sizeof run->model, "gpt2-124m");
    ss_copy(run->precision, sizeof run->precision, "fp32");
    ss_copy(run->grad_dtype, sizeof run->grad_dtype, "fp32");
    ss_copy(c->result.transports, sizeof c->result.transports,
            "Open MPI: ob1, tcp");
    run->skeleton = 1;
    run->skeleton_share = 0.87;
    run->peak_flops = NAN;
    run->n_ranks = CASE_RANKS;
    run->n_nodes = CASE_NODES;
    run->rank = c->rank_row;
    run->node = c->node;
    run->n_versions = 3;
    run->versions = c->version;
    for (int i = 0; i < CASE_NODES; i++)
        ss_format(c->node[i].name, sizeof c->node[i].name, "node%02d", i + 1);
    for (int i = 0; i < 3; i++) {
        ss_copy(c->version[i].name, sizeof c->version[i].name, versions[i][0]);
        ss_copy(c->version[i].value, sizeof c->version[i].value,
                versions[i][1]);
    }
}

static void fill_meta(struct report_case *c, int i, const char *mode, int size)
{
    struct ss_point_row *m = &c->meta[i];
    m->index = i + 1;
    ss_copy(m->curve, sizeof m->curve, "gpt2-124m along dp");
    ss_copy(m->mode, sizeof m->mode, mode);
    ss_copy(m->axis, sizeof m->axis, "dp");
    ss_copy(m->load, sizeof m->load, "beside");
    ss_copy(m->held_constant, sizeof m->held_constant,
            strcmp(mode, "weak") == 0 ? "1024 tokens per device"
                                      : "2048 tokens per step");
    ss_copy(m->stop, sizeof m->stop, "precise");
    m->size = size;
    m->base_size = strcmp(mode, "weak") == 0 ? 1 : 2;
    m->nodes = size > 2 ? 2 : 1;
    m->group_count = CASE_RANKS / size;
    m->dp = size;
    m->tp = m->pp = m->ep = m->cp = m->micro_batches = 1;
    m->verified = 1;
    report_case_blank(&c->point[i]);
    c->point[i].meta = m;
    c->point[i].status = "ok";
}

static void fill_step(struct ss_point_result *p, double ms, double e)
{
    p->step.median = ms;
    p->step.lo = ms * 0.996;
    p->step.hi = ms * 1.005;
    p->step.n = 24;
    p->step_min_ms = ms;
    p->step_max_ms = ms * 1.02;
    p->slowest_group = 0;
    p->slowest_efficiency = e / 1.02;
    p->efficiency.value = e;
    p->efficiency.lo = e * 0.993;
    p->efficiency.hi = e * 1.007;
    p->e_devices = 1;
    p->e_comm = e;
    p->base_ms = p->meta->mode[0] == 'w' ? 20 : 20.25;
    p->sampled_ms = ms * 1.01;
    p->tokens_per_s_per_device = 1024e3 / ms;
    p->tokens_per_s = p->tokens_per_s_per_device * p->meta->size;
    p->tflops_per_device = 0.045;
    p->clock_bound_us = 1.25;
    p->comm_create_ms = 3.5;
    p->first_step_ms = 1.25 * ms;
    p->perturbed_share = 0.01;
}

/* busy + transfer + waits = sampled; the rest is 0. */
static void fill_terms(struct ss_point_result *p, double transfer,
                       double persistent, double jitter)
{
    double compute = p->meta->mode[0] == 'w' ? 20 : 10.5;
    p->compute_only_ms = compute;
    p->comm_only_ms = transfer * 0.9;
    p->transfer_ms = transfer;
    p->wait_persistent_ms = persistent;
    p->wait_jitter_ms = jitter;
    p->unsplit_ms = p->bubble_ms = p->input_ms = p->launch_ms = 0;
    p->other_ms = 0.01;
    p->busy_ms = p->sampled_ms - transfer - persistent - jitter - 0.01;
    p->interference_ms = transfer > 0 ? 0.6 : 0;
    p->exposed_ms = p->step.median - compute;
    p->hidden_share = transfer > 0 ? 0.625 : NAN;
    p->parallel_efficiency = compute / p->step.median;
    p->shape_efficiency = 1;
    for (int i = 0; i < SS_DIMS; i++)
        p->transfer_by[i] = i == SS_DIM_DP ? transfer : 0;
    for (int i = 0; i < SS_PHASES; i++)
        p->phases_ms[i] = i == SS_PHASE_forward    ? 6.5
                          : i == SS_PHASE_backward ? 13
                          : i == SS_PHASE_dp_comm  ? transfer / 0.375
                                                   : 0;
}

static void fill_ranks(struct report_case *c, struct ss_point_result *p)
{
    for (int i = 0; i < CASE_RANKS; i++) {
        struct ss_rank_result *r = &c->rank[i];
        r->rank = i;
        r->mpi_rank = CASE_RANKS - 1 - i;
        r->node = c->node[i / 2].name;
        ss_copy(r->device, sizeof r->device, "cpu share");
        r->uuid = "";
        r->step_ms = p->step.median;
        r->compute_only_ms = i == 3 ? 22.4 : 20 + 0.01 * i;
        r->wait_ms = i == 3 ? 0 : 2.1 + 0.01 * i;
        r->excess_ms = i == 3 ? 2.2 : 0;
        r->last_arrivals = i == 3 ? 118 : i;
        r->collectives = 120;
    }
    p->rank = c->rank;
    p->n_ranks = CASE_RANKS;
}

static void fill_findings(struct report_case *c)
{
    struct ss_finding *f = c->finding;
    f[0] = (struct ss_finding){.kind = SS_STRAGGLER_RANK,
                               .severity = SS_ERROR,
                               .rank = 3,
                               .node = "node02",
                               .factor = 1.12,
                               .factor_lo = 1.1,
                               .factor_hi = 1.14,
                               .confidence = 1};
    ss_copy(f[0].evidence, sizeof f[0].evidence,
            "computes 22.4 ms where its peers take 20.0 ms, and was the last "
            "to reach 118 of 120 collectives");
    ss_copy(f[0].advice, sizeof f[0].advice,
            "look at clocks, cooling and other processes of node02");
    f[1] = (struct ss_finding){.kind = SS_ENV_DRIFT,
                               .severity = SS_INFO,
                               .rank = -1,
                               .setting = "OpenBLAS",
                               .value = "0.3.20",
                               .factor = NAN,
                               .factor_lo = NAN,
                               .factor_hi = NAN,
                               .confidence = NAN};
    ss_copy(f[1].evidence, sizeof f[1].evidence,
            "0.3.21 on ranks 0-2, 0.3.20 on rank 3");
}

static void fill_verdict(struct ss_verdict *v)
{
    v->result = SS_FAIL;
    v->exit_code = 10;
    v->n_reasons = 1;
    ss_copy(v->reason[0], sizeof v->reason[0],
            "error finding: straggler_rank, rank 3 on node02");
}

void report_case_fill(struct report_case *c)
{
    memset(c, 0, sizeof *c);
    fill_run(c);
    for (int i = 0; i < 3; i++)
        fill_meta(c, i, "weak", 1 << i);
    for (int i = 3; i < CASE_POINTS; i++)
        fill_meta(c, i, "strong", 2 << (i - 3));
    fill_step(&c->point[0], 20, 1);
    fill_terms(&c->point[0], 0, 0, 0);
    fill_step(&c->point[1], 21.25, 0.9411764706);
    fill_terms(&c->point[1], 0.9, 0, 0.2);
    fill_step(&c->point[2], 24.8, 0.8064516129);
    fill_terms(&c->point[2], 1.5, 2.1, 0.25);
    fill_ranks(c, &c->point[2]);
    ss_copy(c->meta[2].load, sizeof c->meta[2].load, "alone"); /* the world */
    c->point[1].status = "too_few_samples";
    c->point[2].flags = SS_FLAG_PERTURBED | SS_FLAG_OVERLAP_NOT_MEASURABLE;
    c->point[3].status = "skipped";
    c->meta[3].verified = -1;
    ss_copy(c->meta[3].reason, sizeof c->meta[3].reason,
            "256 tokens per rank, below scaling.min_tokens (512)");
    fill_step(&c->point[4], 13.5, 0.75);
    fill_terms(&c->point[4], 1.5, 0, 0.25);
    fill_findings(c);
    fill_verdict(&c->result.verdict);
    c->result.run = &c->run;
    c->result.complete = 1;
    c->result.n_points = CASE_POINTS;
    c->result.point = c->point;
    c->result.n_findings = CASE_FINDINGS;
    c->result.finding = c->finding;
    ss_copy(c->result.sentence, sizeof c->result.sentence,
            "4 devices: 81 % of ideal; 8 % waiting for rank 3 (node02), 6 % "
            "dp transfer, 2 % interference");
}
