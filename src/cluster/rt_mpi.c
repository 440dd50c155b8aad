/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The runtime over real MPI (only rt_mpi*.c include mpi.h): MPI-3.1 calls,
 * every one checked, errors returned with the library's own words. Any MPI
 * error ends the job, so nothing here tries to recover. Must not know what
 * travels: layouts, plans and topology stay above.
 */
#include <limits.h>
#include <mpi.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "cluster/hostid.h"
#include "cluster/rt.h"
#include "cluster/rt_mpi_coll.h"
#include "cluster/rt_mpi_int.h"

/* MPI-3.1 counts are ints: longer data travels in pieces of this many. */
#define PIECE ((size_t)1 << 30)

struct mpi_rt {
    struct ss_rt base;
    MPI_Comm comm;
    bool world; /* closing it finalises MPI */
    char version[96];
};

_Static_assert(sizeof(MPI_Request) <= sizeof(((struct ss_request *)0)->word),
               "an MPI_Request must fit into ss_request.word");

static MPI_Comm comm_of(struct ss_rt *rt)
{
    return ((struct mpi_rt *)rt)->comm;
}

static enum ss_status check(int code, const char *call)
{
    if (code == MPI_SUCCESS)
        return SS_OK;
    char text[MPI_MAX_ERROR_STRING] = "";
    int len = 0;
    (void)MPI_Error_string(code, text, &len);
    return ss_fail(SS_ERR_TRANSPORT, "%s failed: %s", call, text);
}

#define CALL(name, ...) check(name(__VA_ARGS__), #name)

static enum ss_status count_of(size_t count, int *out)
{
    if (count > INT_MAX)
        return ss_fail(SS_ERR_TRANSPORT,
                       "%zu elements do not fit into one MPI message", count);
    *out = (int)count;
    return SS_OK;
}

static int piece(size_t left)
{
    return (int)(left < PIECE ? left : PIECE);
}

static MPI_Datatype type_of(enum ss_dtype dtype)
{
    const MPI_Datatype types[] = {
        [SS_DT_BYTE] = MPI_BYTE,     [SS_DT_I32] = MPI_INT32_T,
        [SS_DT_I64] = MPI_INT64_T,   [SS_DT_U64] = MPI_UINT64_T,
        [SS_DT_F32] = MPI_FLOAT,     [SS_DT_F64] = MPI_DOUBLE,
        [SS_DT_BF16] = MPI_UINT16_T, [SS_DT_FP16] = MPI_UINT16_T,
        [SS_DT_FP8] = MPI_BYTE,
    };
    return types[dtype];
}

static MPI_Op op_of(enum ss_red red)
{
    return red == SS_RED_SUM ? MPI_SUM : red == SS_RED_MIN ? MPI_MIN : MPI_MAX;
}

static enum ss_status check_reducible(enum ss_dtype dtype)
{
    if (dtype >= SS_DT_I32 && dtype <= SS_DT_F64)
        return SS_OK;
    return ss_fail(SS_ERR_INTERNAL, "a runtime cannot reduce %s",
                   ss_dtype_name(dtype));
}

static enum ss_status mpi_barrier_all(struct ss_rt *rt)
{
    return CALL(MPI_Barrier, comm_of(rt));
}

static enum ss_status mpi_allreduce_all(struct ss_rt *rt, void *data,
                                        size_t count, enum ss_dtype dtype,
                                        enum ss_red red)
{
    SS_TRY(check_reducible(dtype));
    for (size_t done = 0; done < count; done += PIECE) {
        char *at = (char *)data + done * ss_dtype_size(dtype);
        int n = piece(count - done);
        SS_TRY(CALL(MPI_Allreduce, MPI_IN_PLACE, at, n, type_of(dtype),
                    op_of(red), comm_of(rt)));
    }
    return SS_OK;
}

static enum ss_status mpi_bcast_all(struct ss_rt *rt, void *data, size_t len,
                                    int root)
{
    for (size_t done = 0; done < len; done += PIECE)
        SS_TRY(CALL(MPI_Bcast, (char *)data + done, piece(len - done), MPI_BYTE,
                    root, comm_of(rt)));
    return SS_OK;
}

static enum ss_status mpi_gather_all(struct ss_rt *rt, const void *send,
                                     size_t len, void *recv, int root)
{
    int n = 0;
    SS_TRY(count_of(len, &n));
    return CALL(MPI_Gather, send, n, MPI_BYTE, recv, n, MPI_BYTE, root,
                comm_of(rt));
}

static enum ss_status mpi_allgather_all(struct ss_rt *rt, const void *send,
                                        size_t len, void *recv)
{
    int n = 0;
    SS_TRY(count_of(len, &n));
    return CALL(MPI_Allgather, send, n, MPI_BYTE, recv, n, MPI_BYTE,
                comm_of(rt));
}

/* Fills a handle that was allocated before the collective call, so that want
 * of memory on one rank cannot keep the others waiting in it. */
static enum ss_status adopt(const struct ss_rt *parent, MPI_Comm comm,
                            struct mpi_rt *child)
{
    child->base = *parent;
    child->comm = comm;
    child->world = false;
    memcpy(child->version, ((const struct mpi_rt *)parent)->version,
           sizeof(child->version));
    SS_TRY(CALL(MPI_Comm_set_errhandler, comm, MPI_ERRORS_RETURN));
    SS_TRY(CALL(MPI_Comm_rank, comm, &child->base.rank));
    return CALL(MPI_Comm_size, comm, &child->base.size);
}

static enum ss_status mpi_split_all(struct ss_rt *rt, int color, int key,
                                    struct ss_rt **out)
{
    struct mpi_rt *child = ss_alloc(1, sizeof(*child), "a communicator");
    MPI_Comm comm = MPI_COMM_NULL;
    enum ss_status status = CALL(MPI_Comm_split, comm_of(rt),
                                 color < 0 ? MPI_UNDEFINED : color, key, &comm);
    bool member = comm != MPI_COMM_NULL;
    if (status == SS_OK)
        status = !child   ? SS_ERR_NO_MEMORY
                 : member ? adopt(rt, comm, child)
                          : SS_OK;
    if (status == SS_OK)
        *out = member ? &child->base : NULL;
    if (status == SS_OK && member)
        return SS_OK;
    if (member)
        (void)MPI_Comm_free(&comm);
    ss_free(child);
    return status;
}

/* Open MPI groups by what it believes of shared memory; virtual hosts on one
 * kernel are told apart by name, boot id and time namespace. */
static enum ss_status mpi_split_host_all(struct ss_rt *rt, struct ss_rt **out)
{
    struct mpi_rt shared;
    MPI_Comm comm;
    SS_TRY(CALL(MPI_Comm_split_type, comm_of(rt), MPI_COMM_TYPE_SHARED,
                rt->rank, MPI_INFO_NULL, &comm));
    struct ss_host_id id;
    ss_host_identify(&id);
    enum ss_status status = adopt(rt, comm, &shared);
    int color = (int)(ss_host_word(&id) & INT_MAX);
    if (status == SS_OK)
        status = mpi_split_all(&shared.base, color, rt->rank, out);
    (void)MPI_Comm_free(&comm);
    return status;
}

static enum ss_status mpi_send(struct ss_rt *rt, const void *data, size_t len,
                               int to, int tag)
{
    for (size_t done = 0; done == 0 || done < len; done += PIECE)
        SS_TRY(CALL(MPI_Send, (const char *)data + done, piece(len - done),
                    MPI_BYTE, to, tag, comm_of(rt)));
    return SS_OK;
}

static enum ss_status mpi_recv(struct ss_rt *rt, void *data, size_t len,
                               int from, int tag)
{
    for (size_t done = 0; done == 0 || done < len; done += PIECE)
        SS_TRY(CALL(MPI_Recv, (char *)data + done, piece(len - done), MPI_BYTE,
                    from, tag, comm_of(rt), MPI_STATUS_IGNORE));
    return SS_OK;
}

/* From here to the end of the non-blocking calls: requests outlive the function
 * that starts them, and argument lists are MPI's.
 * NOLINTBEGIN(clang-analyzer-optin.mpi.MPI-Checker,readability-function-size)
 */

static enum ss_status begun(int code, const char *call,
                            const MPI_Request *handle,
                            struct ss_request *request)
{
    SS_TRY(check(code, call));
    memcpy(request->word, handle, sizeof(MPI_Request));
    request->active = 1;
    return SS_OK;
}

static enum ss_status mpi_isend(struct ss_rt *rt, const void *data, size_t len,
                                int to, int tag, struct ss_request *request)
{
    int n = 0;
    MPI_Request handle;
    SS_TRY(count_of(len, &n));
    int code = MPI_Isend(data, n, MPI_BYTE, to, tag, comm_of(rt), &handle);
    return begun(code, "MPI_Isend", &handle, request);
}

static enum ss_status mpi_irecv(struct ss_rt *rt, void *data, size_t len,
                                int from, int tag, struct ss_request *request)
{
    int n = 0;
    MPI_Request handle;
    SS_TRY(count_of(len, &n));
    int code = MPI_Irecv(data, n, MPI_BYTE, from, tag, comm_of(rt), &handle);
    return begun(code, "MPI_Irecv", &handle, request);
}

static enum ss_status mpi_icollective(struct ss_rt *rt, enum ss_coll kind,
                                      const void *send, void *recv,
                                      size_t count, enum ss_dtype dtype,
                                      enum ss_red red, int root,
                                      struct ss_request *request)
{
    int n = 0;
    MPI_Request handle;
    if (kind == SS_COLL_ALL_REDUCE || kind == SS_COLL_REDUCE_SCATTER ||
        kind == SS_COLL_REDUCE)
        SS_TRY(check_reducible(dtype));
    SS_TRY(count_of(count, &n));
    const struct ss_mpi_coll call = {kind, send,           recv,
                                     n,    type_of(dtype), op_of(red),
                                     root, comm_of(rt),    rt->rank};
    int code = ss_mpi_coll_start(&call, &handle);
    return begun(code, "a non-blocking MPI collective", &handle, request);
}

static enum ss_status mpi_collective_all(struct ss_rt *rt, enum ss_coll kind,
                                         const void *send, void *recv,
                                         size_t count, enum ss_dtype dtype,
                                         enum ss_red red, int root)
{
    int n = 0;
    SS_TRY(count_of(count, &n));
    const struct ss_mpi_coll call = {kind, send,           recv,
                                     n,    type_of(dtype), op_of(red),
                                     root, comm_of(rt),    rt->rank};
    return check(ss_mpi_coll_run(&call), "an MPI collective");
}

static enum ss_status mpi_test(struct ss_rt *rt, struct ss_request *request,
                               int *done)
{
    (void)rt;
    *done = 1;
    if (!request->active)
        return SS_OK;
    MPI_Request handle;
    memcpy(&handle, request->word, sizeof(MPI_Request));
    SS_TRY(CALL(MPI_Test, &handle, done, MPI_STATUS_IGNORE));
    memcpy(request->word, &handle, sizeof(MPI_Request));
    request->active = !*done;
    return SS_OK;
}

static enum ss_status mpi_wait(struct ss_rt *rt, struct ss_request *request)
{
    (void)rt;
    if (!request->active)
        return SS_OK;
    MPI_Request handle;
    memcpy(&handle, request->word, sizeof(MPI_Request));
    request->active = 0;
    return CALL(MPI_Wait, &handle, MPI_STATUS_IGNORE);
}

/* NOLINTEND(clang-analyzer-optin.mpi.MPI-Checker,readability-function-size) */

static void mpi_progress(struct ss_rt *rt)
{
    int flag;
    (void)MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm_of(rt), &flag,
                     MPI_STATUS_IGNORE);
}

static void mpi_abort(struct ss_rt *rt, int code)
{
    (void)rt;
    (void)MPI_Abort(MPI_COMM_WORLD, code);
    _exit(code);
}

static void mpi_close(struct ss_rt *rt)
{
    struct mpi_rt *self = (struct mpi_rt *)rt;
    (void)MPI_Comm_free(&self->comm);
    if (self->world)
        (void)MPI_Finalize();
    ss_free(self);
}

static const char *mpi_version(struct ss_rt *rt)
{
    return ((struct mpi_rt *)rt)->version;
}

static const struct ss_rt_ops mpi_ops = {
    .name = "mpi",
    .barrier_all = mpi_barrier_all,
    .allreduce_all = mpi_allreduce_all,
    .bcast_all = mpi_bcast_all,
    .gather_all = mpi_gather_all,
    .allgather_all = mpi_allgather_all,
    .split_all = mpi_split_all,
    .split_host_all = mpi_split_host_all,
    .send = mpi_send,
    .recv = mpi_recv,
    .isend = mpi_isend,
    .irecv = mpi_irecv,
    .icollective = mpi_icollective,
    .collective_all = mpi_collective_all,
    .test = mpi_test,
    .wait = mpi_wait,
    .progress = mpi_progress,
    .abort = mpi_abort,
    .close = mpi_close,
    .version = mpi_version,
    .carriers = ss_mpi_carriers,
};

static enum ss_status open_world(struct mpi_rt *self)
{
    struct mpi_rt parent = {.base = {.ops = &mpi_ops}};
    struct ss_host_id id;
    MPI_Comm comm;
    ss_rt_library(parent.version, sizeof(parent.version));
    SS_TRY(CALL(MPI_Comm_dup, MPI_COMM_WORLD, &comm));
    SS_TRY(adopt(&parent.base, comm, self));
    ss_host_identify(&id);
    self->base.world_rank = self->base.rank;
    self->world = true;
    (void)ss_copy(self->base.host, sizeof(self->base.host), id.name);
    return SS_OK;
}

enum ss_status ss_rt_mpi_open_all(int *argc, char ***argv, struct ss_rt **out)
{
    int given = MPI_THREAD_SINGLE;
    SS_TRY(CALL(MPI_Init_thread, argc, argv, MPI_THREAD_MULTIPLE, &given));
    if (given < MPI_THREAD_MULTIPLE)
        ss_log(SS_LOG_WARN, "cluster",
               "MPI thread level %d of %d: a hang may not end by itself", given,
               MPI_THREAD_MULTIPLE);
    struct mpi_rt *self = ss_alloc(1, sizeof(*self), "the MPI world");
    enum ss_status status = self ? open_world(self) : SS_ERR_NO_MEMORY;
    if (status == SS_OK)
        *out = &self->base;
    else
        ss_free(self);
    return status;
}
