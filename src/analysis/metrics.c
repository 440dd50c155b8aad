/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The quantities that rules may limit, by the names of the JSON, each with the
 * interval that its parts have. Must not know any limit.
 */
#include <math.h>
#include <string.h>

#include "analysis/verdict.h"

enum metric {
    M_EFFICIENCY,
    M_E_DEVICES,
    M_E_COMM,
    M_PARALLEL_EFFICIENCY,
    M_SHAPE_EFFICIENCY,
    M_STEP_MS,
    M_COMPUTE_ONLY_MS,
    M_EXPOSED_SHARE,
    M_HIDDEN_SHARE,
    M_WAIT_SHARE,
    M_TRANSFER_SHARE,
    M_MFU,
    M_HFU,
    M_TOKENS_PER_S,
    M_TOKENS_PER_S_PER_DEVICE,
    M_TFLOPS_PER_DEVICE,
    M_METRICS
};

static const char *const names[M_METRICS + 1] = {
    [M_EFFICIENCY] = "efficiency",
    [M_E_DEVICES] = "e_devices",
    [M_E_COMM] = "e_comm",
    [M_PARALLEL_EFFICIENCY] = "parallel_efficiency",
    [M_SHAPE_EFFICIENCY] = "shape_efficiency",
    [M_STEP_MS] = "step_ms",
    [M_COMPUTE_ONLY_MS] = "compute_only_ms",
    [M_EXPOSED_SHARE] = "exposed_share",
    [M_HIDDEN_SHARE] = "hidden_share",
    [M_WAIT_SHARE] = "wait_share",
    [M_TRANSFER_SHARE] = "transfer_share",
    [M_MFU] = "mfu",
    [M_HFU] = "hfu",
    [M_TOKENS_PER_S] = "tokens_per_s",
    [M_TOKENS_PER_S_PER_DEVICE] = "tokens_per_s_per_device",
    [M_TFLOPS_PER_DEVICE] = "tflops_per_device",
};

int ss_metric_find(const char *name)
{
    for (int m = 0; m < M_METRICS; m++)
        if (strcmp(names[m], name) == 0)
            return m;
    return -1;
}

const char *const *ss_metric_names(void)
{
    return names;
}

/** value +- half x value; an infinite half-width gives NaN bounds. */
static struct ss_ratio with_half(double value, double half)
{
    if (isinf(half))
        half = NAN;
    return (struct ss_ratio){value, value * (1 - half), value * (1 + half)};
}

static struct ss_ratio exact(double value)
{
    return (struct ss_ratio){value, value, value};
}

static double efficiency_half(const struct ss_point_result *p)
{
    return (p->efficiency.hi - p->efficiency.lo) / 2 / p->efficiency.value;
}

static double controls_half(const struct ss_point_result *p)
{
    double whole = ss_half_width(&p->step);

    return sqrt(whole * whole + p->compute_only_half * p->compute_only_half);
}

/** exposed / T moves as T(compute-only) / T does. */
static struct ss_ratio exposed_share(const struct ss_point_result *p)
{
    double value = p->exposed_ms / p->step.median;
    struct ss_ratio r = with_half(p->parallel_efficiency, controls_half(p));
    double half = (r.hi - r.lo) / 2;

    return (struct ss_ratio){value, value - half, value + half};
}

static struct ss_ratio rate(const struct ss_point_result *p, int metric)
{
    double half = ss_half_width(&p->step);

    switch (metric) {
    case M_MFU:
        return with_half(p->mfu, half);
    case M_HFU:
        return with_half(p->hfu, half);
    case M_TOKENS_PER_S:
        return with_half(p->tokens_per_s, half);
    case M_TOKENS_PER_S_PER_DEVICE:
        return with_half(p->tokens_per_s_per_device, half);
    default:
        return with_half(p->tflops_per_device, half);
    }
}

struct ss_ratio ss_metric_value(const struct ss_point_result *p, int metric)
{
    double wait = p->wait_persistent_ms + p->wait_jitter_ms;

    switch (metric) {
    case M_EFFICIENCY:
        return p->efficiency;
    case M_E_DEVICES:
        return with_half(p->e_devices, efficiency_half(p));
    case M_E_COMM:
        return with_half(p->e_comm, efficiency_half(p));
    case M_PARALLEL_EFFICIENCY:
        return with_half(p->parallel_efficiency, controls_half(p));
    case M_SHAPE_EFFICIENCY:
        return with_half(p->shape_efficiency, p->compute_only_half);
    case M_STEP_MS:
        return (struct ss_ratio){p->step.median, p->step.lo, p->step.hi};
    case M_COMPUTE_ONLY_MS:
        return with_half(p->compute_only_ms, p->compute_only_half);
    case M_EXPOSED_SHARE:
        return exposed_share(p);
    case M_HIDDEN_SHARE:
        return exact(p->hidden_share);
    case M_WAIT_SHARE:
        return exact(wait / p->sampled_ms);
    case M_TRANSFER_SHARE:
        return exact(p->transfer_ms / p->sampled_ms);
    default:
        return rate(p, metric);
    }
}
