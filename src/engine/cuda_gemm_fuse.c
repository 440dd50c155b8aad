/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which products may do the function after them in their epilogue. The plan
 * stays as it is: the engine does two of its ops in one launch where that is
 * faster, and the second op then takes no time. Pure; must not know cuBLASLt.
 */
#include "engine/cuda.h"

#define LOOK 3 /* ops: with tp, weight gradients stand between the two */

/* Elements of one buffer: [at, at + n). */
struct range {
    struct ss_ref ref;
    uint64_t n;
};

static bool overlap(struct range x, struct range y)
{
    return x.ref.buf >= 0 && x.ref.buf == y.ref.buf &&
           x.ref.at < y.ref.at + y.n && y.ref.at < x.ref.at + x.n;
}

static bool is_place(struct ss_ref a, struct ss_ref b)
{
    return a.buf == b.buf && a.at == b.at;
}

/* Does the map turn the product's result, and nothing else, into its own? */
static bool follows(const struct ss_op *map, const struct ss_op *gemm)
{
    bool backward = map->map == SS_MAP_GELU_BWD;
    return map->kind == SS_OP_ELEMENTWISE && map->n_waits == 0 &&
           (map->map == SS_MAP_GELU || backward) && is_place(map->a, gemm->c) &&
           map->count == (uint64_t)(gemm->m * gemm->n) &&
           is_place(map->c, gemm->c) == backward;
}

/* May the map run before this product, which stands before it now? */
static bool may_pass(const struct ss_op *other, const struct ss_op *gemm,
                     const struct ss_op *map)
{
    const struct range theirs[] = {
        {other->a, (uint64_t)(other->m * other->k)},
        {other->b, (uint64_t)(other->k * other->n)},
        {other->c, (uint64_t)(other->m * other->n)},
    };
    const struct range ours[] = {
        {gemm->c, map->count}, {map->b, map->count}, {map->c, map->count}};
    if (other->kind != SS_OP_GEMM || other->n_waits > 0)
        return false;
    for (size_t i = 0; i < SS_COUNT_OF(theirs); i++)
        for (size_t k = 0; k < SS_COUNT_OF(ours); k++)
            if (overlap(theirs[i], ours[k]))
                return false;
    return true;
}

/* The next op of the product's lane after `index`; n_ops: none. */
static int next_of_lane(const struct ss_plan *plan, int index)
{
    enum ss_lane lane = plan->op[index].lane;
    do
        index++;
    while (index < plan->n_ops && plan->op[index].lane != lane);
    return index;
}

int ss_cuda_fusable(const struct ss_plan *plan, int index)
{
    const struct ss_op *gemm = &plan->op[index];
    int map = index;
    if (gemm->kind != SS_OP_GEMM || gemm->accumulate)
        return -1;
    for (int look = 0; look < LOOK; look++) {
        map = next_of_lane(plan, map);
        if (map == plan->n_ops)
            return -1;
        if (follows(&plan->op[map], gemm))
            break;
    }
    if (!follows(&plan->op[map], gemm))
        return -1;
    for (int i = next_of_lane(plan, index); i < map; i = next_of_lane(plan, i))
        if (!may_pass(&plan->op[i], gemm, &plan->op[map]))
            return -1;
    return map;
}
