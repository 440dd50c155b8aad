/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One row of `pairs`, for JSON and CSV. Keys as in DESIGN section 8. It must
 * not reduce: the analysis did.
 */
#include <math.h>
#include <string.h>

#include "report/json_put.h"

static void put_end(struct ss_json *json, const char *key,
                    const struct ss_run_data *run, bool node, int which)
{
    char name[32];
    if (node && which >= 0 && which < run->n_nodes) {
        ss_json_text(json, key, run->node[which].name);
        return;
    }
    ss_format(name, sizeof name, "%d", which);
    ss_json_text(json, key, name);
}

json_t *ss_json_pair(const struct ss_run_data *run,
                     const struct ss_pair_result *pair)
{
    const struct ss_pair_row *row = pair->row;
    bool node = strcmp(row->level, "node") == 0;
    struct ss_json json;
    ss_json_open(&json);
    put_end(&json, "a", run, node, row->a);
    put_end(&json, "b", run, node, row->b);
    ss_json_text(&json, "level", row->level);
    ss_json_text(&json, "library", row->library);
    ss_json_put(&json, "rail", json_null());
    ss_json_text(&json, "direction", row->direction);
    ss_json_int(&json, "bytes", pair->bytes);
    ss_json_int(&json, "batches", pair->n);
    ss_json_number(&json, "latency_us", pair->latency_us);
    ss_json_number(&json, "gbs", pair->gbs);
    ss_json_text(&json, "transport", row->transport);
    return ss_json_close(&json);
}
