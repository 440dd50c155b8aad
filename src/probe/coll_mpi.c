/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collectives of the runtime on host memory. A ring of send and receive stands
 * in for the one that MPI has no name for. Must not know what is measured, nor
 * what the data mean.
 */
#include <string.h>

#include "base/mem.h"
#include "probe/coll.h"

enum { TAG_RING = 901 };

struct coll_mpi {
    float *input, *result;
    uint64_t room;
};

static struct coll_mpi *state_of(const struct ss_coll_lib *lib)
{
    return lib->state;
}

static enum ss_status mpi_connect_all(struct ss_coll_lib *lib,
                                      struct ss_rt *group)
{
    lib->group = group;
    return SS_OK;
}

static void mpi_disconnect(struct ss_coll_lib *lib)
{
    lib->group = NULL;
}

static enum ss_status mpi_reserve(struct ss_coll_lib *lib, uint64_t elements)
{
    struct coll_mpi *m = state_of(lib);

    if (elements <= m->room)
        return SS_OK;
    ss_free(m->input);
    ss_free(m->result);
    m->room = 0;
    m->input = ss_alloc(elements, sizeof(*m->input), "collectives");
    m->result = ss_alloc(elements, sizeof(*m->result), "collectives");
    if (!m->input || !m->result)
        return SS_ERR_NO_MEMORY;
    m->room = elements;
    return SS_OK;
}

static float *input_of(const struct ss_coll_lib *lib,
                       const struct ss_coll_task *task)
{
    struct coll_mpi *m = state_of(lib);

    return task->in_place ? m->result + ss_coll_own_part(task, lib->group->rank)
                          : m->input;
}

static enum ss_status mpi_put(struct ss_coll_lib *lib,
                              const struct ss_coll_task *task, uint64_t at,
                              const float *v, uint64_t n)
{
    memcpy(input_of(lib, task) + at, v, n * sizeof(*v));
    return SS_OK;
}

static enum ss_status mpi_get(struct ss_coll_lib *lib,
                              const struct ss_coll_task *task, uint64_t at,
                              float *v, uint64_t n)
{
    (void)task;
    memcpy(v, state_of(lib)->result + at, n * sizeof(*v));
    return SS_OK;
}

static enum ss_status ring_all(struct ss_rt *group, const float *input,
                               float *result, uint64_t count)
{
    int next = (group->rank + 1) % group->size;
    int before = (group->rank + group->size - 1) % group->size;
    size_t bytes = count * sizeof(*input);
    struct ss_request arrive = {0}, leave = {0};

    SS_TRY(group->ops->irecv(group, result, bytes, before, TAG_RING, &arrive));
    SS_TRY(group->ops->isend(group, input, bytes, next, TAG_RING, &leave));
    SS_TRY(group->ops->wait(group, &arrive));
    return group->ops->wait(group, &leave);
}

static enum ss_status mpi_run_all(struct ss_coll_lib *lib,
                                  const struct ss_coll_task *task, long calls)
{
    static const enum ss_coll kind[SS_COLL_OPS] = {
        [SS_OP_COLL_ALL_REDUCE] = SS_COLL_ALL_REDUCE,
        [SS_OP_COLL_ALL_GATHER] = SS_COLL_ALL_GATHER,
        [SS_OP_COLL_REDUCE_SCATTER] = SS_COLL_REDUCE_SCATTER,
        [SS_OP_COLL_ALL_TO_ALL] = SS_COLL_ALL_TO_ALL,
        [SS_OP_COLL_BROADCAST] = SS_COLL_BROADCAST,
    };
    struct coll_mpi *m = state_of(lib);
    const float *send = task->in_place ? NULL : m->input;

    for (long i = 0; i < calls; i++)
        if (task->op == SS_OP_COLL_SENDRECV)
            SS_TRY(ring_all(lib->group, m->input, m->result, task->count));
        else
            SS_TRY(ss_collective_all(lib->group, kind[task->op], send,
                                     m->result, task->count));
    return SS_OK;
}

static void mpi_close(struct ss_coll_lib *lib)
{
    struct coll_mpi *m = state_of(lib);

    ss_free(m->input);
    ss_free(m->result);
    ss_free(m);
    *lib = (struct ss_coll_lib){0};
}

enum ss_status ss_coll_mpi_open(struct ss_coll_lib *out)
{
    static const struct ss_coll_lib_ops ops = {
        .library = "mpi",
        .runs = ss_coll_runs,
        .connect_all = mpi_connect_all,
        .disconnect = mpi_disconnect,
        .reserve = mpi_reserve,
        .put = mpi_put,
        .get = mpi_get,
        .run_all = mpi_run_all,
        .close = mpi_close,
    };

    *out = (struct ss_coll_lib){.ops = &ops};
    out->state = ss_alloc(1, sizeof(struct coll_mpi), "collectives");
    if (out->state)
        return SS_OK;
    out->ops = NULL;
    return SS_ERR_NO_MEMORY;
}
