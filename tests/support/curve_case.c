/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The run of curve_case.h. Costs are chosen so that every derived number can
 * be worked out by hand.
 */
#include "support/curve_case.h"

#include <math.h>
#include <string.h>

/* -6 .. 6 in an order without drift or correlation: medians are exact and the
 * interval, the 3rd to the 11th of 13, is +- 4. */
static const int wobble[CURVE_BLOCKS] = {0, 5,  -3, 2,  -6, 4, -1,
                                         6, -4, 1,  -5, 3,  -2};

/* Weak: T of the group by size and group, ms. */
static const double weak1[] = {100, 102, 104, 110};
static const double weak2[] = {110, 120};
/* Compute alone of each rank: the same at all sizes. */
static const double compute[] = {98, 100, 102, 108};

double curve_weak_ms(const struct ss_case_step *at, void *arg)
{
    int size = at->meta->size, group = at->rank / size;
    double ms = size == 1 ? weak1[group] : size == 2 ? weak2[group] : 130;
    (void)arg;
    if (at->sampled)
        return at->variant == SS_WHOLE ? 131 : compute[at->rank];
    if (at->variant == SS_COMPUTE_ONLY)
        ms = compute[at->rank];
    if (at->variant == SS_COMM_ONLY)
        ms = 20;
    return ms * (1 + 1e-4 * wobble[at->block]);
}

/* Strong: 100 ms on one device, 60 on two, 40 on four. */
static double strong_ms(const struct ss_case_step *at, void *arg)
{
    static const double t[] = {0, 100, 60, 0, 40};
    double ms = t[at->meta->size];
    (void)arg;
    if (at->variant == SS_COMPUTE_ONLY)
        ms = 96.0 / at->meta->size;
    if (at->variant == SS_COMM_ONLY)
        ms = 5;
    return ms * (1 + 1e-4 * wobble[at->block]);
}

static int64_t ns(double ms)
{
    return (int64_t)llround(ms * 1e6);
}

/* 131 = 105 - r busy + 8 transfer + 12 + r waiting + 1 + 2 + 0.5 + 1.5 + 1 */
static void terms(struct ss_terms_row *row, enum ss_variant variant, void *arg)
{
    (void)arg;
    if (variant == SS_COMPUTE_ONLY) {
        row->step_ns = row->busy_ns = ns(100 - row->rank);
        return;
    }
    row->step_ns = ns(131);
    row->busy_ns = ns(105 - row->rank);
    row->transfer_dp_ns = ns(7);
    row->transfer_tp_ns = ns(1);
    row->waiting_ns = ns(12 + row->rank);
    row->wait_persistent_ns = ns(9);
    row->unsplit_ns = ns(1);
    row->bubble_ns = ns(2);
    row->input_ns = ns(0.5);
    row->launch_ns = ns(1.5);
    row->other_ns = ns(1);
    row->comm_union_ns = ns(20);
    row->phase_forward_ns = ns(33);
    row->phase_dp_comm_ns = ns(25);
}

void curve_add(struct ss_run_data *run, const char *mode, int size)
{
    bool weak = strcmp(mode, "weak") == 0;
    struct ss_case_point spec = {.mode = mode,
                                 .load = size < 4 ? "beside" : "alone",
                                 .size = size,
                                 .base_size = 1,
                                 .blocks = CURVE_BLOCKS,
                                 .sampled = weak ? 2 : 0,
                                 .steps = CURVE_STEPS,
                                 .ms = weak ? curve_weak_ms : strong_ms};
    struct ss_point_data *p = ss_case_add(run, &spec);
    double scale = weak ? size : 1;
    p->meta.model_flops = 1e9 * scale;
    p->meta.flops = 1.1e9 * scale;
    p->meta.tokens = 1000;
    p->meta.global_tokens = (int64_t)(1000 * scale);
    for (int r = 0; r < p->n_ranks; r++) {
        p->rank[r].sampled_steps = weak ? 6 : 0;
        p->rank[r].collectives = 30;
        p->rank[r].last_arrivals = r;
        p->rank[r].excess_ns = 1e6 * r;
    }
    if (weak)
        ss_case_add_terms(p, terms, NULL);
}

void curve_open(struct ss_run_data *run)
{
    ss_case_open(run, 4, 2, 8);
    run->peak_flops = 1e11;
    curve_add(run, "strong", 4); /* any order comes out sorted */
    curve_add(run, "weak", 4);
    curve_add(run, "weak", 1);
    curve_add(run, "strong", 1);
    curve_add(run, "weak", 2);
    curve_add(run, "strong", 2);
    run->planned_points = run->n_points;
}
