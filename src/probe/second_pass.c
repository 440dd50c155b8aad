/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who is looked at again: nodes and paths that the first pass shows slow,
 * whatever the chance. Pure; must not accuse anyone.
 */
#include "probe/second_pass.h"

#include "base/mem.h"

enum ss_status ss_second_pass_blank(int nodes, struct ss_suspects_list *out)
{
    size_t n = (size_t)nodes;

    *out = (struct ss_suspects_list){.nodes = nodes};
    out->suspect = ss_alloc(n, sizeof(*out->suspect), "suspects");
    out->path = ss_alloc(2 * n, sizeof(*out->path), "suspects");
    if (out->suspect && out->path)
        return SS_OK;
    ss_second_pass_close(out);
    return SS_ERR_NO_MEMORY;
}

enum ss_status ss_second_pass_open(const struct ss_link_sample *sample, int n,
                                   const struct ss_localise_rule *rule,
                                   struct ss_suspects_list *out)
{
    struct ss_localise_rule lenient = *rule;
    struct ss_localised found;
    int most = 2 * rule->nodes;

    lenient.suspects = true;
    lenient.resamples = 0;
    SS_TRY(ss_second_pass_blank(rule->nodes, out));
    enum ss_status status = ss_localise(sample, n, &lenient, &found);
    if (status != SS_OK) {
        ss_second_pass_close(out);
        return status;
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
