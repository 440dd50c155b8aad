/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a group is compared with: the base groups that lie inside it, so that a
 * slow device is paid for by E_devices and not blamed on communication. Must
 * not know how times were measured.
 */
#include <math.h>
#include <string.h>

#include "analysis/reduce.h"
#include "base/mem.h"

/** Base groups inside one group, of one load. */
struct pool {
    const struct ss_point_stat **point;
    const struct ss_group_stat **group;
    int n, cap, covered;
};

static bool is_base(const struct ss_point_row *of, const struct ss_point_row *q)
{
    return q->size == of->base_size && strcmp(q->curve, of->curve) == 0 &&
           strcmp(q->mode, of->mode) == 0;
}

static bool inside(const struct ss_group_stat *small, const char *in_group)
{
    for (int m = 0; m < small->n; m++)
        if (!in_group[small->member[m]])
            return false;
    return true;
}

static enum ss_status pool_add(struct pool *pool,
                               const struct ss_point_stat *point,
                               const struct ss_group_stat *group)
{
    if (pool->n == pool->cap) {
        size_t cap = pool->cap ? 2 * (size_t)pool->cap : 8;
        void *points =
            ss_realloc(pool->point, cap, sizeof(*pool->point), "base groups");
        if (!points)
            return SS_ERR_NO_MEMORY;
        pool->point = points;
        void *groups =
            ss_realloc(pool->group, cap, sizeof(*pool->group), "base groups");
        if (!groups)
            return SS_ERR_NO_MEMORY;
        pool->group = groups;
        pool->cap = (int)cap;
    }
    pool->point[pool->n] = point;
    pool->group[pool->n++] = group;
    pool->covered += group->n;
    return SS_OK;
}

static void pool_free(struct pool *pool)
{
    ss_free(pool->point);
    ss_free(pool->group);
}

/** Sorts the base groups inside into same load [0] and other loads [1]. */
static enum ss_status collect(const struct ss_point_stat *points, int n,
                              const struct ss_point_stat *of,
                              const char *in_group, struct pool *pool)
{
    for (int p = 0; p < n; p++) {
        const struct ss_point_stat *q = &points[p];
        if (q->n_groups == 0 || q->data->n_ranks != of->data->n_ranks ||
            !is_base(&of->data->meta, &q->data->meta))
            continue;
        bool other = strcmp(q->data->meta.load, of->data->meta.load) != 0;
        for (int g = 0; g < q->n_groups; g++)
            if (!isnan(q->group[g].whole.median) &&
                inside(&q->group[g], in_group))
                SS_TRY(pool_add(&pool[other], q, &q->group[g]));
    }
    return SS_OK;
}

static enum ss_status take(const struct pool *pool, struct ss_base_match *out)
{
    size_t n = (size_t)pool->n;
    double *t = ss_alloc(n, sizeof(*t), "base times");
    int *scratch = ss_alloc(n, sizeof(*scratch), "base times");
    enum ss_status status = SS_ERR_NO_MEMORY;

    if (t && scratch) {
        for (size_t i = 0; i < n; i++)
            t[i] = pool->group[i]->whole.median;
        size_t median = ss_median_group(t, n, scratch);
        *out = (struct ss_base_match){.n = pool->n,
                                      .median = t[median],
                                      .max = t[scratch[n - 1]],
                                      .point = pool->point[median],
                                      .group = pool->group[median]};
        status = SS_OK;
    }
    ss_free(t);
    ss_free(scratch);
    return status;
}

enum ss_status ss_base_find(const struct ss_point_stat *points, int n,
                            const struct ss_point_stat *of,
                            const struct ss_group_stat *group,
                            struct ss_base_match *out)
{
    char *in_group =
        ss_alloc((size_t)of->data->n_ranks, 1, "members of a group");
    struct pool pool[2] = {{0}, {0}};
    enum ss_status status = SS_ERR_NO_MEMORY;

    *out = (struct ss_base_match){.median = NAN, .max = NAN};
    if (!in_group)
        return status;
    for (int m = 0; m < group->n; m++)
        in_group[group->member[m]] = 1;
    SS_TRY_GOTO(collect(points, n, of, in_group, pool), status, out);
    /* a load of its own only where it covers as many of the ranks */
    const struct pool *best =
        pool[0].covered < group->n && pool[1].covered > pool[0].covered
            ? &pool[1]
            : &pool[0];
    if (best->n > 0)
        status = take(best, out);
out:
    pool_free(&pool[0]);
    pool_free(&pool[1]);
    ss_free(in_group);
    return status;
}
