/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lane over the runtime's point-to-point messages: real MPI in a job,
 * threads in tests. Must not know what is measured.
 */
#include "base/mem.h"
#include "probe/lane.h"

enum { TAG_TELL = 700, TAG_DATA = 701 };

struct mpi_lane {
    struct ss_rt *world;
    char *out[SS_LANE_SLOTS], *in[SS_LANE_SLOTS];
    struct ss_request sends[SS_LANE_SLOTS], recvs[SS_LANE_SLOTS];
};

static enum ss_status mpi_connect(struct ss_lane *lane, int peer)
{
    lane->peer = peer;
    return SS_OK;
}

static enum ss_status mpi_send(struct ss_lane *lane, size_t bytes, int slot)
{
    struct mpi_lane *m = lane->state;

    return m->world->ops->isend(m->world, m->out[slot], bytes, lane->peer,
                                TAG_DATA, &m->sends[slot]);
}

static enum ss_status mpi_recv(struct ss_lane *lane, size_t bytes, int slot)
{
    struct mpi_lane *m = lane->state;

    return m->world->ops->irecv(m->world, m->in[slot], bytes, lane->peer,
                                TAG_DATA, &m->recvs[slot]);
}

static enum ss_status mpi_wait_send(struct ss_lane *lane, int slot)
{
    struct mpi_lane *m = lane->state;

    return m->world->ops->wait(m->world, &m->sends[slot]);
}

static enum ss_status mpi_wait_recv(struct ss_lane *lane, int slot)
{
    struct mpi_lane *m = lane->state;

    return m->world->ops->wait(m->world, &m->recvs[slot]);
}

static enum ss_status mpi_flush(struct ss_lane *lane)
{
    (void)lane; /* a completed send says nothing of the peer: it answers */
    return SS_OK;
}

static enum ss_status mpi_tell(struct ss_lane *lane, const void *text,
                               size_t bytes)
{
    struct mpi_lane *m = lane->state;

    return m->world->ops->send(m->world, text, bytes, lane->peer, TAG_TELL);
}

static enum ss_status mpi_hear(struct ss_lane *lane, void *text, size_t bytes)
{
    struct mpi_lane *m = lane->state;

    return m->world->ops->recv(m->world, text, bytes, lane->peer, TAG_TELL);
}

static void mpi_disconnect(struct ss_lane *lane)
{
    lane->peer = -1;
}

static void mpi_close(struct ss_lane *lane)
{
    struct mpi_lane *m = lane->state;

    for (int i = 0; m && i < SS_LANE_SLOTS; i++) {
        ss_free(m->out[i]);
        ss_free(m->in[i]);
    }
    ss_free(m);
    *lane = (struct ss_lane){.peer = -1};
}

enum ss_status ss_lane_mpi_open(struct ss_rt *world, size_t slot_bytes,
                                struct ss_lane *out)
{
    static const struct ss_lane_ops ops = {
        .library = "mpi",
        .connect = mpi_connect,
        .send = mpi_send,
        .recv = mpi_recv,
        .wait_send = mpi_wait_send,
        .wait_recv = mpi_wait_recv,
        .flush = mpi_flush,
        .tell = mpi_tell,
        .hear = mpi_hear,
        .disconnect = mpi_disconnect,
        .close = mpi_close,
    };
    struct mpi_lane *m = ss_alloc(1, sizeof(*m), "a lane");

    *out = (struct ss_lane){&ops, -1, slot_bytes, m};
    if (!m)
        return SS_ERR_NO_MEMORY;
    m->world = world;
    for (int i = 0; i < SS_LANE_SLOTS; i++) {
        m->out[i] = ss_alloc(1, slot_bytes, "messages");
        m->in[i] = ss_alloc(1, slot_bytes, "messages");
        if (!m->out[i] || !m->in[i]) {
            mpi_close(out);
            return SS_ERR_NO_MEMORY;
        }
    }
    return SS_OK;
}
