/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One measured point as JSON: the keys of DESIGN section 8, each once. CSV is
 * made from the same object, so the two cannot drift apart. Keys are a
 * contract: adding one is fine, renaming one raises "schema".
 */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "report/json_put.h"

static json_t *layout_of(const struct ss_point_row *m)
{
    struct ss_json json;
    ss_json_open(&json);
    ss_json_int(&json, "dp", m->dp);
    ss_json_int(&json, "tp", m->tp);
    ss_json_int(&json, "pp", m->pp);
    ss_json_int(&json, "ep", m->ep);
    ss_json_int(&json, "cp", m->cp);
    ss_json_int(&json, "zero", m->zero);
    ss_json_tristate(&json, "sp", m->sp != 0);
    return ss_json_close(&json);
}

static json_t *groups_of(const struct ss_point_result *p)
{
    struct ss_json json;
    ss_json_open(&json);
    ss_json_int(&json, "count", p->meta->group_count);
    ss_json_text(&json, "mode", p->meta->load);
    if (p->slowest_group >= 0)
        ss_json_int(&json, "slowest", p->slowest_group);
    else
        ss_json_put(&json, "slowest", json_null());
    ss_json_number(&json, "slowest_efficiency", p->slowest_efficiency);
    return ss_json_close(&json);
}

static json_t *step_of(const struct ss_point_result *p)
{
    struct ss_json json;
    ss_json_open(&json);
    ss_json_number(&json, "median", p->step.median);
    ss_json_number(&json, "lo", p->step.lo);
    ss_json_number(&json, "hi", p->step.hi);
    ss_json_int(&json, "n", (int64_t)p->step.n);
    ss_json_number(&json, "min", p->step_min_ms);
    ss_json_number(&json, "max", p->step_max_ms);
    return ss_json_close(&json);
}

static json_t *efficiency_of(const struct ss_point_result *p)
{
    struct ss_json json;
    ss_json_open(&json);
    ss_json_number(&json, "value", p->efficiency.value);
    ss_json_number(&json, "lo", p->efficiency.lo);
    ss_json_number(&json, "hi", p->efficiency.hi);
    ss_json_number(&json, "devices", p->e_devices);
    ss_json_number(&json, "comm", p->e_comm);
    ss_json_int(&json, "base_size", p->meta->base_size);
    ss_json_number(&json, "base_ms", p->base_ms);
    ss_json_text(&json, "held_constant", p->meta->held_constant);
    return ss_json_close(&json);
}

static json_t *transfer_of(const struct ss_point_result *p)
{
    struct ss_json json;
    ss_json_open(&json);
    for (int dim = 0; dim < SS_DIMS; dim++)
        ss_json_number(&json, ss_dim_name((enum ss_dim)dim),
                       p->transfer_by[dim]);
    return ss_json_close(&json);
}

static json_t *wait_of(const struct ss_point_result *p)
{
    struct ss_json json;
    ss_json_open(&json);
    ss_json_number(&json, "persistent_ms", p->wait_persistent_ms);
    ss_json_number(&json, "jitter_ms", p->wait_jitter_ms);
    return ss_json_close(&json);
}

static json_t *phases_of(const struct ss_point_result *p)
{
    struct ss_json json;
    ss_json_open(&json);
    for (int phase = 0; phase < SS_PHASES; phase++)
        ss_json_number(&json, ss_phase_name((enum ss_phase)phase),
                       p->phases_ms[phase]);
    return ss_json_close(&json);
}

static json_t *flags_of(const struct ss_point_result *p)
{
    static const struct {
        unsigned bit;
        const char *name;
    } names[] = {{SS_FLAG_PERTURBED, "perturbed"},
                 {SS_FLAG_CLOCK_SHIFTED, "clock_shifted"},
                 {SS_FLAG_AUTOCORRELATED, "autocorrelated"},
                 {SS_FLAG_SHARED_DEVICES, "shared_devices"},
                 {SS_FLAG_OVERLAP_NOT_MEASURABLE, "overlap_not_measurable"}};
    json_t *list = json_array();
    for (size_t i = 0; i < SS_COUNT_OF(names); i++) {
        if (p->flags & names[i].bit)
            json_array_append_new(list, json_string(names[i].name));
    }
    return list;
}

static json_t *rank_of(const struct ss_rank_result *r)
{
    struct ss_json json;
    ss_json_open(&json);
    ss_json_int(&json, "rank", r->rank);
    ss_json_int(&json, "mpi_rank", r->mpi_rank);
    ss_json_text(&json, "node", r->node);
    ss_json_text(&json, "device", r->device);
    ss_json_text(&json, "uuid", r->uuid);
    ss_json_number(&json, "step_ms", r->step_ms);
    ss_json_number(&json, "wait_ms", r->wait_ms);
    ss_json_int(&json, "last_arrivals", r->last_arrivals);
    ss_json_int(&json, "collectives", r->collectives);
    ss_json_number(&json, "excess_ms", r->excess_ms);
    return ss_json_close(&json);
}

static json_t *ranks_of(const struct ss_point_result *p,
                        enum ss_report_ranks ranks)
{
    int n;
    int *list = ss_report_pick_ranks(p, ranks, &n);
    json_t *array;
    bool failed = false;
    if (!list)
        return NULL;
    array = json_array();
    for (int i = 0; i < n; i++)
        failed |= json_array_append_new(array, rank_of(&p->rank[list[i]])) != 0;
    ss_free(list);
    if (failed) {
        json_decref(array);
        return NULL;
    }
    return array;
}

static void put_controls(struct ss_json *json, const struct ss_point_result *p)
{
    ss_json_number(json, "parallel_efficiency", p->parallel_efficiency);
    ss_json_number(json, "shape_efficiency", p->shape_efficiency);
    ss_json_number(json, "compute_only_ms", p->compute_only_ms);
    ss_json_number(json, "comm_only_ms", p->comm_only_ms);
    ss_json_number(json, "exposed_ms", p->exposed_ms);
    ss_json_number(json, "hidden_share", p->hidden_share);
    ss_json_number(json, "interference_ms", p->interference_ms);
}

static void put_terms(struct ss_json *json, const struct ss_point_result *p)
{
    ss_json_number(json, "sampled_ms", p->sampled_ms);
    ss_json_number(json, "busy_ms", p->busy_ms);
    ss_json_number(json, "transfer_ms", p->transfer_ms);
    ss_json_put(json, "transfer_by", transfer_of(p));
    ss_json_put(json, "wait", wait_of(p));
    ss_json_number(json, "unsplit_ms", p->unsplit_ms);
    ss_json_number(json, "bubble_ms", p->bubble_ms);
    ss_json_number(json, "input_ms", p->input_ms);
    ss_json_number(json, "launch_ms", p->launch_ms);
    ss_json_number(json, "other_ms", p->other_ms);
    ss_json_put(json, "phases_ms", phases_of(p));
}

static void put_rates(struct ss_json *json, const struct ss_point_result *p)
{
    ss_json_number(json, "mfu", p->mfu);
    ss_json_number(json, "hfu", p->hfu);
    ss_json_number(json, "tokens_per_s", p->tokens_per_s);
    ss_json_number(json, "tokens_per_s_per_device", p->tokens_per_s_per_device);
    ss_json_number(json, "tflops_per_device", p->tflops_per_device);
    ss_json_number(json, "clock_mhz", p->clock_mhz);
    ss_json_number(json, "power_w", p->power_w);
    ss_json_number(json, "capped_share", p->capped_share);
    ss_json_number(json, "clock_bound_us", p->clock_bound_us);
    ss_json_number(json, "comm_create_ms", p->comm_create_ms);
    ss_json_number(json, "first_step_ms", p->first_step_ms);
}

json_t *ss_json_point(const struct ss_point_result *p,
                      enum ss_report_ranks ranks, bool with_ranks)
{
    struct ss_json json;
    ss_json_open(&json);
    ss_json_text(&json, "curve", p->meta->curve);
    ss_json_int(&json, "size", p->meta->size);
    ss_json_int(&json, "nodes", p->meta->nodes);
    ss_json_text(&json, "mode", p->meta->mode);
    ss_json_put(&json, "layout", layout_of(p->meta));
    ss_json_put(&json, "groups", groups_of(p));
    ss_json_put(&json, "step_ms", step_of(p));
    ss_json_put(&json, "efficiency", efficiency_of(p));
    put_controls(&json, p);
    put_terms(&json, p);
    put_rates(&json, p);
    ss_json_tristate(&json, "verified", p->meta->verified);
    ss_json_text(&json, "status", p->status);
    ss_json_put(&json, "flags", flags_of(p));
    if (with_ranks)
        ss_json_put(&json, "ranks", ranks_of(p, ranks));
    return ss_json_close(&json);
}
