/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One row of `collectives` and one of `fits`, for JSON and CSV. Keys as in
 * DESIGN section 8. It must not reduce: the analysis did.
 */
#include <math.h>

#include "report/json_put.h"

static json_t *time_of(const struct ss_coll_result *coll)
{
    const struct ss_estimate *t = &coll->time_us;
    struct ss_json json;
    ss_json_open(&json);
    ss_json_number(&json, "median", t->median);
    ss_json_number(&json, "lo", t->lo);
    ss_json_number(&json, "hi", t->hi);
    ss_json_number(&json, "p5", coll->p5_us);
    ss_json_number(&json, "p95", coll->p95_us);
    ss_json_int(&json, "n", (int64_t)t->n);
    return ss_json_close(&json);
}

static void put_group(struct ss_json *json, const struct ss_coll_row *row)
{
    ss_json_text(json, "op", row->op);
    ss_json_text(json, "library", row->library);
    ss_json_text(json, "group", row->group);
    ss_json_int(json, "first_rank", row->first_rank);
    ss_json_int(json, "ranks", row->ranks);
    ss_json_int(json, "nodes", row->nodes);
    ss_json_tristate(json, "in_place", row->in_place != 0);
}

json_t *ss_json_coll(const struct ss_coll_result *coll)
{
    const struct ss_coll_row *row = coll->row;
    struct ss_json json;
    ss_json_open(&json);
    put_group(&json, row);
    ss_json_int(&json, "bytes", row->bytes);
    ss_json_put(&json, "time_us", time_of(coll));
    ss_json_number(&json, "algbw_gbs", coll->algbw_gbs);
    ss_json_number(&json, "busbw_gbs", coll->busbw_gbs);
    ss_json_number(&json, "wire_share", coll->wire_share);
    ss_json_number(&json, "wire_flat_share", coll->wire_flat);
    ss_json_number(&json, "wire_tree_share", coll->wire_tree);
    ss_json_number(&json, "expected_gbs", coll->expected_gbs);
    ss_json_text(&json, "expected_from", coll->expected_from);
    ss_json_put(&json, "algorithm", json_null());
    ss_json_number(&json, "create_ms", (double)row->create_ns / 1e6);
    ss_json_tristate(&json, "verified", row->verified);
    return ss_json_close(&json);
}

json_t *ss_json_fit(const struct ss_fit_result *fit)
{
    struct ss_json json;
    ss_json_open(&json);
    put_group(&json, fit->row);
    ss_json_int(&json, "sizes", fit->sizes);
    ss_json_number(&json, "alpha_us", fit->alpha_us);
    ss_json_number(&json, "beta_gbs", fit->beta_gbs);
    ss_json_number(&json, "residual", fit->residual);
    ss_json_number(&json, "kink_bytes",
                   fit->kink_bytes ? (double)fit->kink_bytes : NAN);
    return ss_json_close(&json);
}
