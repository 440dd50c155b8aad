/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One rank without a launcher: every collective is a copy, there is nobody to
 * send to. Keeps a laptop run, and the benchmarks of the harness, free of MPI.
 */
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "cluster/hostid.h"
#include "cluster/rt.h"

static enum ss_status solo_barrier_all(struct ss_rt *rt)
{
    (void)rt;
    return SS_OK;
}

static enum ss_status solo_allreduce_all(struct ss_rt *rt, void *data,
                                         size_t count, enum ss_dtype type,
                                         enum ss_red red)
{
    (void)rt, (void)data, (void)count, (void)type, (void)red;
    return SS_OK;
}

static enum ss_status solo_bcast_all(struct ss_rt *rt, void *data, size_t len,
                                     int root)
{
    (void)rt, (void)data, (void)len, (void)root;
    return SS_OK;
}

static enum ss_status solo_gather_all(struct ss_rt *rt, const void *send,
                                      size_t len, void *recv, int root)
{
    (void)rt, (void)root;
    if (len > 0)
        memmove(recv, send, len);
    return SS_OK;
}

static enum ss_status solo_allgather_all(struct ss_rt *rt, const void *send,
                                         size_t len, void *recv)
{
    return solo_gather_all(rt, send, len, recv, 0);
}

static enum ss_status solo_copy(const struct ss_rt *from, struct ss_rt **out)
{
    struct ss_rt *rt = ss_alloc(1, sizeof(*rt), "a communicator");
    if (!rt)
        return SS_ERR_NO_MEMORY;
    *rt = *from;
    *out = rt;
    return SS_OK;
}

static enum ss_status solo_split_all(struct ss_rt *rt, int color, int key,
                                     struct ss_rt **out)
{
    (void)key;
    if (color >= 0)
        return solo_copy(rt, out);
    *out = NULL;
    return SS_OK;
}

static enum ss_status solo_split_host_all(struct ss_rt *rt, struct ss_rt **out)
{
    return solo_copy(rt, out);
}

static enum ss_status nobody(void)
{
    return ss_fail(SS_ERR_TRANSPORT, "a single rank has nobody to send to or "
                                     "receive from");
}

static enum ss_status solo_send(struct ss_rt *rt, const void *data, size_t len,
                                int to, int tag)
{
    (void)rt, (void)data, (void)len, (void)to, (void)tag;
    return nobody();
}

static enum ss_status solo_recv(struct ss_rt *rt, void *data, size_t len,
                                int from, int tag)
{
    (void)rt, (void)data, (void)len, (void)from, (void)tag;
    return nobody();
}

static enum ss_status solo_isend(struct ss_rt *rt, const void *data, size_t len,
                                 int to, int tag, struct ss_request *request)
{
    (void)rt, (void)data, (void)len, (void)to, (void)tag, (void)request;
    return nobody();
}

static enum ss_status solo_irecv(struct ss_rt *rt, void *data, size_t len,
                                 int from, int tag, struct ss_request *request)
{
    (void)rt, (void)data, (void)len, (void)from, (void)tag, (void)request;
    return nobody();
}

/* The table's signature. NOLINTNEXTLINE(readability-function-size) */
static enum ss_status solo_icollective(struct ss_rt *rt, enum ss_coll kind,
                                       const void *send, void *recv,
                                       size_t count, enum ss_dtype type,
                                       enum ss_red red, int root,
                                       struct ss_request *request)
{
    (void)rt, (void)kind, (void)red, (void)root;
    if (send && recv && send != recv && count > 0)
        memmove(recv, send, count * ss_dtype_size(type));
    request->active = 0;
    return SS_OK;
}

static enum ss_status solo_test(struct ss_rt *rt, struct ss_request *request,
                                int *done)
{
    (void)rt, (void)request;
    *done = 1;
    return SS_OK;
}

static enum ss_status solo_wait(struct ss_rt *rt, struct ss_request *request)
{
    (void)rt, (void)request;
    return SS_OK;
}

static void solo_progress(struct ss_rt *rt)
{
    (void)rt;
}

static void solo_abort(struct ss_rt *rt, int code)
{
    (void)rt;
    _exit(code);
}

static void solo_close(struct ss_rt *rt)
{
    ss_free(rt);
}

static void solo_carriers(struct ss_rt *rt, char *out, size_t size)
{
    (void)rt;
    (void)ss_copy(out, size, "");
}

static const char *solo_version(struct ss_rt *rt)
{
    (void)rt;
    return "no MPI (single rank)";
}

static const struct ss_rt_ops solo_ops = {
    .name = "solo",
    .barrier_all = solo_barrier_all,
    .allreduce_all = solo_allreduce_all,
    .bcast_all = solo_bcast_all,
    .gather_all = solo_gather_all,
    .allgather_all = solo_allgather_all,
    .split_all = solo_split_all,
    .split_host_all = solo_split_host_all,
    .send = solo_send,
    .recv = solo_recv,
    .isend = solo_isend,
    .irecv = solo_irecv,
    .icollective = solo_icollective,
    .test = solo_test,
    .wait = solo_wait,
    .progress = solo_progress,
    .abort = solo_abort,
    .close = solo_close,
    .version = solo_version,
    .carriers = solo_carriers,
};

enum ss_status ss_rt_solo_open(struct ss_rt **out)
{
    struct ss_host_id id;
    ss_host_identify(&id);
    struct ss_rt world = {.ops = &solo_ops, .size = 1};
    (void)ss_copy(world.host, sizeof(world.host), id.name);
    return solo_copy(&world, out);
}
