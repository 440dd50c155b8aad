/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who is looked at again: nodes and paths that the first pass shows slow,
 * whatever the chance. Pure; must not accuse anyone.
 */
#include "probe/second_pass.h"

#include "base/mem.h"

enum ss_status ss_second_pass_open(const struct ss_link_sample *sample, int n,
                                   const struct ss_localise_rule *rule,
                                   struct ss_suspects_list *out)
{
    struct ss_localise_rule lenient = *rule;
    struct ss_localised found;
    int most = 2 * rule->nodes;

    *out = (struct ss_suspects_list){.nodes = rule->nodes};
    lenient.suspects = true;
    lenient.resamples = 0;
    SS_TRY(ss_localise(sample, n, &lenient, &found));
    out->suspect =
        ss_alloc((size_t)rule->nodes, sizeof(*out->suspect), "suspects");
    out->path = ss_alloc((size_t)most, sizeof(*out->path), "suspects");
    if (!out->suspect || !out->path) {
        ss_localised_free(&found);
        ss_second_pass_close(out);
        return SS_ERR_NO_MEMORY;
    }
    for (int i = 0; i < found.n; i++) {
        const struct ss_link_fault *f = &found.fault[i];
        out->suspect[f->a] = true;
        if (f->b < 0 || out->n_paths == most)
            continue;
        out->suspect[f->b] = true;
        out->path[out->n_paths][0] = f->a;
        out->path[out->n_paths++][1] = f->b;
    }
    ss_localised_free(&found);
    return SS_OK;
}

void ss_second_pass_close(struct ss_suspects_list *list)
{
    ss_free(list->suspect);
    ss_free(list->path);
    *list = (struct ss_suspects_list){0};
}
