/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A step as one launch: its ops up to the optimizer, on all lanes and with
 * their waits, captured into a CUDA graph. Waits inside become edges, and a
 * sampled step's events become nodes of their own whose events are exchanged
 * before each launch, so that times are read as from any other block. The
 * optimizer, whose arguments change from step to step, and the step's mark
 * follow on the compute lane. A variant runs once before it is captured, as
 * NCCL wants it. Must not know what an op does.
 */
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "engine/cuda.h"

/* Does anything in it run in this variant? Comm-only of one rank does not. */
static bool any_runs(const struct ss_cuda *self)
{
    for (int i = 0; i < self->graph_ops; i++)
        if (self->op[i].runs)
            return true;
    return false;
}

/* Ops before the optimizer; comm-only has none that runs. */
static int captured_ops(const struct ss_plan *plan)
{
    int n = 0;
    while (n < plan->n_ops && plan->op[n].kind != SS_OP_OPTIMIZER)
        n++;
    return n;
}

bool ss_cuda_in_graph(const struct ss_cuda *self, int index)
{
    return self->graph_now && index < self->graph_ops;
}

static enum ss_status after(struct ss_cuda *self, int lane, cudaEvent_t event)
{
    return ss_cuda_said(self,
                        (int)cudaStreamWaitEvent(self->lane[lane], event, 0),
                        "capture a wait");
}

static enum ss_status record(struct ss_cuda *self, int lane, cudaEvent_t event,
                             unsigned flags)
{
    return ss_cuda_said(
        self, (int)cudaEventRecordWithFlags(event, self->lane[lane], flags),
        "capture an event");
}

/* A lane joins the capture behind the first event of the compute lane. */
static enum ss_status enter_lane(struct ss_cuda *self, int lane)
{
    if (self->lane_step[lane] == 0)
        return SS_OK;
    self->lane_step[lane] = 0;
    return lane == SS_LANE_COMPUTE ? SS_OK : after(self, lane, self->fork);
}

static enum ss_status capture_waits(struct ss_cuda *self, int index)
{
    const struct ss_op *op = &self->work.plan->op[index];
    int lane = (int)op->lane, last = self->last_comm;
    SS_TRY(enter_lane(self, lane));
    for (int i = 0; i < op->n_waits; i++)
        if (self->op[op->wait[i]].runs)
            SS_TRY(after(self, lane, self->op[op->wait[i]].done));
    if (!self->chains || !ss_op_is_comm(op))
        return SS_OK;
    self->last_comm = index;
    return last >= 0 ? after(self, lane, self->op[last].done) : SS_OK;
}

static enum ss_status capture_op(struct ss_cuda *self, int index)
{
    const struct ss_cuda_op *mine = &self->op[index];
    int lane = (int)self->work.plan->op[index].lane;
    bool sampled = self->spec.sampled;
    SS_TRY(capture_waits(self, index));
    if (sampled && mine->has_start)
        SS_TRY(record(self, lane, ss_cuda_start_event(self, index, 0),
                      cudaEventRecordExternal));
    SS_TRY(ss_cuda_issue(self, index));
    if (mine->awaited)
        SS_TRY(record(self, lane, mine->done, cudaEventRecordDefault));
    if (!sampled)
        return SS_OK;
    return record(self, lane, ss_cuda_end_event(self, index, 0),
                  cudaEventRecordExternal);
}

static enum ss_status capture_ops(struct ss_cuda *self)
{
    SS_TRY(record(self, SS_LANE_COMPUTE, self->fork, cudaEventRecordDefault));
    for (int i = 0; i < self->graph_ops; i++)
        if (self->op[i].runs)
            SS_TRY(capture_op(self, i));
    for (int lane = SS_LANE_COMPUTE + 1; lane < SS_LANES; lane++) {
        if (self->lane_step[lane] < 0)
            continue;
        SS_TRY(record(self, lane, self->tail[lane], cudaEventRecordDefault));
        SS_TRY(after(self, SS_LANE_COMPUTE, self->tail[lane]));
    }
    return SS_OK;
}

/* Which event of slot 0 a node records; per_slot: none of them. */
static int place_of(const struct ss_cuda *self, cudaGraphNode_t node)
{
    enum cudaGraphNodeType type;
    cudaEvent_t event = NULL;
    int at = 0;
    if (cudaGraphNodeGetType(node, &type) != cudaSuccess ||
        type != cudaGraphNodeTypeEventRecord ||
        cudaGraphEventRecordNodeGetEvent(node, &event) != cudaSuccess)
        return self->per_slot;
    while (at < self->per_slot && self->event[at] != event)
        at++;
    return at;
}

static enum ss_status find_nodes(struct ss_cuda *self, struct ss_cuda_graph *g)
{
    size_t n = 0;
    SS_TRY(ss_cuda_said(self, (int)cudaGraphGetNodes(g->graph, NULL, &n),
                        "read a graph"));
    cudaGraphNode_t *all = ss_alloc(n, sizeof(*all), "nodes of a graph");
    g->node =
        ss_alloc((size_t)self->per_slot, sizeof(*g->node), "events of a graph");
    enum ss_status status = all && g->node ? SS_OK : SS_ERR_NO_MEMORY;
    if (status == SS_OK)
        status = ss_cuda_said(self, (int)cudaGraphGetNodes(g->graph, all, &n),
                              "read a graph");
    for (size_t i = 0; i < n && status == SS_OK; i++) {
        int at = place_of(self, all[i]);
        if (at < self->per_slot)
            g->node[at] = all[i];
    }
    ss_free(all);
    return status;
}

static void close_graph(struct ss_cuda_graph *g)
{
    if (g->exec)
        (void)cudaGraphExecDestroy(g->exec);
    if (g->graph)
        (void)cudaGraphDestroy(g->graph);
    ss_free(g->node);
    *g = (struct ss_cuda_graph){0};
}

/* Ends the capture whatever happened in it. */
static enum ss_status capture(struct ss_cuda *self, struct ss_cuda_graph *g)
{
    cudaStream_t stream = self->lane[SS_LANE_COMPUTE];
    SS_TRY(ss_cuda_said(
        self,
        (int)cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal),
        "begin a capture"));
    enum ss_status status = capture_ops(self);
    cudaError_t error = cudaStreamEndCapture(stream, &g->graph);
    SS_TRY(status);
    SS_TRY(ss_cuda_said(self, (int)error, "capture a step"));
    if (self->spec.sampled)
        SS_TRY(find_nodes(self, g));
    return ss_cuda_said(self, (int)cudaGraphInstantiate(&g->exec, g->graph, 0),
                        "make a graph of a step");
}

enum ss_status ss_cuda_graph_begin(struct ss_cuda *self)
{
    int variant = (int)self->spec.variant;
    struct ss_cuda_graph *g = &self->graph[variant][self->spec.sampled];
    self->graph_now = NULL;
    self->graph_step = -1;
    self->graph_ops = captured_ops(self->work.plan);
    if (!self->config->device_graph || self->graph_refused || !any_runs(self))
        return SS_OK;
    if (!self->has_run[variant]) {
        self->has_run[variant] = true;
        return SS_OK;
    }
    enum ss_status status = g->exec ? SS_OK : capture(self, g);
    for (int lane = 0; lane < SS_LANES; lane++)
        self->lane_step[lane] = -1;
    self->last_comm = -1;
    if (status == SS_OK) {
        self->graph_now = g;
        return SS_OK;
    }
    /* its peers need not know: the order of collectives is the same */
    ss_log(SS_LOG_WARN, "engine", "steps run without a CUDA graph: %s",
           ss_error_text());
    ss_error_set(NULL);
    (void)cudaGetLastError();
    close_graph(g);
    self->graph_refused = true;
    return SS_OK;
}

/* Times of this step go to the events of its slot. */
static enum ss_status point_events(struct ss_cuda *self,
                                   const struct ss_cuda_graph *g, int step)
{
    const cudaEvent_t *slot =
        &self->event[(int64_t)(step % self->slots) * self->per_slot];
    for (int i = 0; i < self->per_slot; i++)
        if (g->node[i])
            SS_TRY(ss_cuda_said(self,
                                (int)cudaGraphExecEventRecordNodeSetEvent(
                                    g->exec, g->node[i], slot[i]),
                                "exchange an event"));
    return SS_OK;
}

enum ss_status ss_cuda_graph_launch(struct ss_cuda *self, int step)
{
    const struct ss_cuda_graph *g = self->graph_now;
    if (self->graph_step == step)
        return SS_OK;
    self->graph_step = step;
    if (self->spec.sampled)
        SS_TRY(point_events(self, g, step));
    return ss_cuda_said(
        self, (int)cudaGraphLaunch(g->exec, self->lane[SS_LANE_COMPUTE]),
        "launch a step");
}

void ss_cuda_graphs_close(struct ss_cuda *self)
{
    for (int v = 0; v < SS_VARIANTS; v++) {
        close_graph(&self->graph[v][0]);
        close_graph(&self->graph[v][1]);
        self->has_run[v] = false;
    }
    self->graph_now = NULL;
    self->graph_refused = false;
}
