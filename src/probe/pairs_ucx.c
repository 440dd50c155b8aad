/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lanes over UCX directly, in host memory: tagged messages, and puts into
 * the peer's memory. One worker a rank; addresses and keys of all ranks are
 * exchanged once, endpoints live for one meeting. Must not know what is
 * measured, nor which transport UCX picks.
 */
#include <sched.h>
#include <string.h>

#include <ucp/api/ucp.h>

#include "base/mem.h"
#include "cluster/agree.h"
#include "probe/lane.h"

enum { ADDRESS_MAX = 1024, KEY_MAX = 256 };
enum { TELL = 1, DATA = 2 };
#define KIND_SHIFT 32 /* a tag: kind, then the sender's rank */
#define ALL_BITS UINT64_MAX
/** Looks without news before the core is offered to others, who may be the
 * peer: some 50 us, far above a latency. */
#define IDLE_MOST 1000

/** What a rank tells all others. */
struct card {
    uint64_t address_bytes, key_bytes, memory;
    char address[ADDRESS_MAX], key[KEY_MAX];
};

/** Shared by both lanes. */
struct ucx {
    struct ss_rt *world;
    ucp_context_h context;
    ucp_worker_h worker;
    ucp_mem_h mapped;
    char *out, *in;    /**< SS_LANE_SLOTS slots each; `in` is UCX's */
    struct card *card; /**< [world] */
    ucp_ep_h ep;       /**< of the meeting, NULL: none */
    ucp_rkey_h key;
    void *sends[SS_LANE_SLOTS], *recvs[SS_LANE_SLOTS];
    size_t slot_bytes;
    int lanes; /**< open; the last one frees */
};

static enum ss_status failed(const char *what, ucs_status_t status)
{
    return ss_fail(SS_ERR_TRANSPORT, "UCX: %s: %s", what,
                   ucs_status_string(status));
}

static struct ucx *of(struct ss_lane *lane)
{
    return lane->state;
}

static enum ss_status finish(struct ucx *u, void *request, const char *what)
{
    ucs_status_t status;
    int idle = 0;

    if (!request)
        return SS_OK;
    if (UCS_PTR_IS_ERR(request))
        return failed(what, UCS_PTR_STATUS(request));
    while ((status = ucp_request_check_status(request)) == UCS_INPROGRESS)
        if (!ucp_worker_progress(u->worker) && ++idle > IDLE_MOST)
            sched_yield();
    ucp_request_free(request);
    return status == UCS_OK ? SS_OK : failed(what, status);
}

static uint64_t tag_of(int kind, int rank)
{
    return (uint64_t)kind << KIND_SHIFT | (uint32_t)rank;
}

static void *post_send(struct ucx *u, int kind, const void *from, size_t bytes)
{
    ucp_request_param_t param = {.op_attr_mask = 0};

    return ucp_tag_send_nbx(u->ep, from, bytes, tag_of(kind, u->world->rank),
                            &param);
}

static void *post_recv(struct ucx *u, int kind, int peer, void *to,
                       size_t bytes)
{
    ucp_request_param_t param = {.op_attr_mask = 0};

    return ucp_tag_recv_nbx(u->worker, to, bytes, tag_of(kind, peer), ALL_BITS,
                            &param);
}

static enum ss_status ucx_connect(struct ss_lane *lane, int peer)
{
    struct ucx *u = of(lane);
    const struct card *card = &u->card[peer];
    ucp_ep_params_t params = {
        .field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS,
        .address = (const ucp_address_t *)card->address,
    };
    ucs_status_t status = ucp_ep_create(u->worker, &params, &u->ep);

    if (status != UCS_OK) {
        u->ep = NULL;
        return failed("cannot reach a peer", status);
    }
    status = ucp_ep_rkey_unpack(u->ep, card->key, &u->key);
    if (status != UCS_OK) {
        u->key = NULL;
        return failed("cannot use a peer's memory key", status);
    }
    lane->peer = peer;
    return SS_OK;
}

static void ucx_disconnect(struct ss_lane *lane)
{
    struct ucx *u = of(lane);
    ucp_request_param_t param = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS,
                                 .flags = 0};

    if (u->key)
        ucp_rkey_destroy(u->key);
    u->key = NULL;
    if (u->ep)
        (void)finish(u, ucp_ep_close_nbx(u->ep, &param), "closing");
    u->ep = NULL;
    lane->peer = -1;
}

static enum ss_status ucx_flush(struct ss_lane *lane)
{
    struct ucx *u = of(lane);
    ucp_request_param_t param = {.op_attr_mask = 0};

    return finish(u, ucp_ep_flush_nbx(u->ep, &param), "flush");
}

static enum ss_status ucx_tell(struct ss_lane *lane, const void *text,
                               size_t bytes)
{
    struct ucx *u = of(lane);

    return finish(u, post_send(u, TELL, text, bytes), "send");
}

static enum ss_status ucx_hear(struct ss_lane *lane, void *text, size_t bytes)
{
    struct ucx *u = of(lane);

    return finish(u, post_recv(u, TELL, lane->peer, text, bytes), "receive");
}

static enum ss_status ucx_wait_send(struct ss_lane *lane, int slot)
{
    struct ucx *u = of(lane);
    void *request = u->sends[slot];

    u->sends[slot] = NULL;
    return finish(u, request, "send");
}

static enum ss_status ucx_wait_recv(struct ss_lane *lane, int slot)
{
    struct ucx *u = of(lane);
    void *request = u->recvs[slot];

    u->recvs[slot] = NULL;
    return finish(u, request, "receive");
}

static enum ss_status tag_send(struct ss_lane *lane, size_t bytes, int slot)
{
    struct ucx *u = of(lane);

    u->sends[slot] =
        post_send(u, DATA, u->out + (size_t)slot * u->slot_bytes, bytes);
    return SS_OK;
}

static enum ss_status tag_recv(struct ss_lane *lane, size_t bytes, int slot)
{
    struct ucx *u = of(lane);

    u->recvs[slot] = post_recv(u, DATA, lane->peer,
                               u->in + (size_t)slot * u->slot_bytes, bytes);
    return SS_OK;
}

static enum ss_status put_send(struct ss_lane *lane, size_t bytes, int slot)
{
    struct ucx *u = of(lane);
    ucp_request_param_t param = {.op_attr_mask = 0};
    uint64_t at = (uint64_t)slot * u->slot_bytes;

    u->sends[slot] =
        ucp_put_nbx(u->ep, u->out + at, bytes, u->card[lane->peer].memory + at,
                    u->key, &param);
    return SS_OK;
}

/** A put needs nothing of its target but that it looks after the wire, which
 * it does while it waits for the sender's word. */
static enum ss_status put_recv(struct ss_lane *lane, size_t bytes, int slot)
{
    (void)bytes;
    of(lane)->recvs[slot] = NULL;
    return SS_OK;
}

static void ucx_free(struct ucx *u)
{
    if (u->mapped)
        ucp_mem_unmap(u->context, u->mapped);
    if (u->worker)
        ucp_worker_destroy(u->worker);
    if (u->context)
        ucp_cleanup(u->context);
    ss_free(u->out);
    ss_free(u->card);
    ss_free(u);
}

static void ucx_close(struct ss_lane *lane)
{
    struct ucx *u = of(lane);

    *lane = (struct ss_lane){.peer = -1};
    if (u && --u->lanes == 0)
        ucx_free(u);
}

static ucs_status_t open_worker(struct ucx *u)
{
    ucp_params_t params = {.field_mask = UCP_PARAM_FIELD_FEATURES,
                           .features = UCP_FEATURE_TAG | UCP_FEATURE_RMA};
    ucp_worker_params_t worker = {.field_mask =
                                      UCP_WORKER_PARAM_FIELD_THREAD_MODE,
                                  .thread_mode = UCS_THREAD_MODE_SINGLE};
    ucs_status_t status = ucp_init(&params, NULL, &u->context);

    if (status == UCS_OK)
        status = ucp_worker_create(u->context, &worker, &u->worker);
    return status;
}

/** What peers put into is UCX's own: within a host only memory that it shared
 * can be written directly, at ten times the rate. */
static ucs_status_t map_memory(struct ucx *u, size_t bytes)
{
    ucp_mem_map_params_t map = {.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS |
                                              UCP_MEM_MAP_PARAM_FIELD_LENGTH |
                                              UCP_MEM_MAP_PARAM_FIELD_FLAGS,
                                .address = NULL,
                                .length = bytes,
                                .flags = UCP_MEM_MAP_ALLOCATE};
    ucp_mem_attr_t got = {.field_mask = UCP_MEM_ATTR_FIELD_ADDRESS};
    ucs_status_t status = ucp_mem_map(u->context, &map, &u->mapped);

    if (status == UCS_OK)
        status = ucp_mem_query(u->mapped, &got);
    if (status != UCS_OK)
        return status;
    u->in = got.address;
    memset(u->in, 0, bytes); /* pages are there before anything is timed */
    return UCS_OK;
}

static ucs_status_t fill_card(struct ucx *u, struct card *card)
{
    ucp_address_t *address;
    size_t bytes;
    void *key;
    ucs_status_t status = ucp_worker_get_address(u->worker, &address, &bytes);

    if (status != UCS_OK)
        return status;
    card->address_bytes = bytes;
    if (bytes <= ADDRESS_MAX)
        memcpy(card->address, address, bytes);
    ucp_worker_release_address(u->worker, address);
    status = ucp_rkey_pack(u->context, u->mapped, &key, &bytes);
    if (status != UCS_OK)
        return status;
    card->key_bytes = bytes;
    if (bytes <= KEY_MAX)
        memcpy(card->key, key, bytes);
    ucp_rkey_buffer_release(key);
    card->memory = (uint64_t)(uintptr_t)u->in;
    return card->address_bytes <= ADDRESS_MAX && card->key_bytes <= KEY_MAX
               ? UCS_OK
               : UCS_ERR_BUFFER_TOO_SMALL;
}

static enum ss_status bring_up(struct ucx *u, struct card *mine)
{
    size_t bytes = SS_LANE_SLOTS * u->slot_bytes;

    u->out = ss_alloc(1, bytes, "messages");
    u->card = ss_alloc((size_t)u->world->size, sizeof(*u->card), "addresses");
    if (!u->out || !u->card)
        return SS_ERR_NO_MEMORY;
    ucs_status_t status = open_worker(u);
    if (status == UCS_OK)
        status = map_memory(u, bytes);
    if (status == UCS_OK)
        status = fill_card(u, mine);
    return status == UCS_OK
               ? SS_OK
               : ss_fail(SS_ERR_ENV, "UCX cannot be brought up: %s",
                         ucs_status_string(status));
}

bool ss_lane_has_ucx(void)
{
    return true;
}

/** Both lanes are one but for how data moves. */
static const struct ss_lane_ops tag_ops = {
    .library = "ucx_tag",
    .connect = ucx_connect,
    .send = tag_send,
    .recv = tag_recv,
    .wait_send = ucx_wait_send,
    .wait_recv = ucx_wait_recv,
    .flush = ucx_flush,
    .tell = ucx_tell,
    .hear = ucx_hear,
    .disconnect = ucx_disconnect,
    .close = ucx_close,
};
static const struct ss_lane_ops put_ops = {
    .library = "ucx_put",
    .one_sided = true,
    .connect = ucx_connect,
    .send = put_send,
    .recv = put_recv,
    .wait_send = ucx_wait_send,
    .wait_recv = ucx_wait_recv,
    .flush = ucx_flush,
    .tell = ucx_tell,
    .hear = ucx_hear,
    .disconnect = ucx_disconnect,
    .close = ucx_close,
};

enum ss_status ss_lane_ucx_open_all(struct ss_rt *world, size_t slot_bytes,
                                    struct ss_lane *tag, struct ss_lane *put)
{
    struct ucx *u = ss_alloc(1, sizeof(*u), "UCX");
    struct card *mine = ss_alloc(1, sizeof(*mine), "an address");
    enum ss_status status = u && mine ? SS_OK : SS_ERR_NO_MEMORY;

    if (status == SS_OK) {
        u->world = world;
        u->slot_bytes = slot_bytes;
        status = bring_up(u, mine);
    }
    status = ss_agree_all(world, status);
    if (status == SS_OK && u && mine)
        status = ss_allgather_all(world, mine, sizeof(*mine), u->card);
    ss_free(mine);
    if (status != SS_OK || !u) {
        if (u)
            ucx_free(u);
        return status;
    }
    u->lanes = 2;
    *tag = (struct ss_lane){&tag_ops, -1, slot_bytes, u};
    *put = (struct ss_lane){&put_ops, -1, slot_bytes, u};
    return SS_OK;
}
