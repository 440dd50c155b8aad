# SPDX-License-Identifier: Apache-2.0
"""What a run with planted costs must report: a second implementation of the
words of the design, written from those words and not from the program.

One step of the `mlp` model is a list of ops on lanes; ranks advance clocks of
their own; collectives end for all members at once. From the clocks follow the
step times, the efficiencies, and where each rank's time went. Times in ms.
"""
from statistics import median

DIMS = ("dp", "tp")


class Op:
    """One op: its lane ("compute", "dp", "tp"), what it waits for, and what a
    planted cost of its kind is multiplied by."""

    def __init__(self, name, kind, lane, phase, waits):
        self.name = name
        self.kind = kind
        self.lane = lane
        self.phase = phase
        self.waits = list(waits)
        self.scale = 1.0

    @property
    def comm(self):
        return self.lane != "compute"


class Shape:
    """A point as far as its op list goes: sizes of dp and tp, layers,
    micro-batches, and whether gradients go in one bucket or in one a layer."""

    def __init__(self, dp, tp, layers, micro, buckets, gemm_scale=1.0,
                 optimizer_scale=1.0):
        self.dp = dp
        self.tp = tp
        self.layers = layers
        self.micro = micro
        self.buckets = buckets
        self.gemm_scale = gemm_scale
        self.optimizer_scale = optimizer_scale

    @property
    def size(self):
        return self.dp * self.tp


class _Step:
    """Builds the op list of one step."""

    def __init__(self, shape):
        self.shape = shape
        self.ops = []

    def _add(self, *op):
        self.ops.append(Op(*op))
        return len(self.ops) - 1

    def gemm(self, name, phase, waits=()):
        i = self._add(name, "gemm", "compute", phase, waits)
        self.ops[i].scale = self.shape.gemm_scale
        return i

    def gelu(self, name, phase):
        i = self._add(name, "elementwise", "compute", phase, ())
        self.ops[i].scale = self.shape.gemm_scale
        return i

    def reduce(self, name, dim, after):
        return self._add(name, "collective", dim, dim + "_comm", [after])

    def forward(self, micro):
        """Linear, GELU, Linear; with tp the sum of the second's partial
        results, for which whatever reads it waits."""
        held = []
        for layer in range(self.shape.layers):
            where = "%d.%d" % (micro, layer)
            self.gemm("fc1.fwd " + where, "forward", held)
            self.gelu("fc1.gelu " + where, "forward")
            last = self.gemm("fc2.fwd " + where, "forward")
            held = []
            if self.shape.tp > 1:
                held = [self.reduce("fc2.y.ar " + where, "tp", last)]
        return held

    def backward(self, micro, held):
        """Layers in reverse. dp alone: a weight gradient first, so that its
        bucket leaves early, and no input gradient of the first layer; tp:
        the input gradient first, whose sum travels meanwhile."""
        shape = self.shape
        last_micro = micro == shape.micro - 1
        for layer in reversed(range(shape.layers)):
            where = "%d.%d" % (micro, layer)
            first, second = (("wgrad", "dgrad") if shape.tp == 1
                             else ("dgrad", "wgrad"))
            self.gemm("fc2.%s %s" % (first, where), "backward", held)
            self.gemm("fc2.%s %s" % (second, where), "backward")
            self.gelu("fc1.gelu.bwd " + where, "backward")
            held = []
            if shape.tp > 1:
                dx = self.gemm("fc1.dgrad " + where, "backward")
                held = [self.reduce("fc1.dx.ar " + where, "tp", dx)]
            grad = self.gemm("fc1.wgrad " + where, "backward")
            leaves = shape.buckets == "layer" or layer == 0
            if shape.dp > 1 and last_micro and leaves:
                self.reduce("bucket %d" % layer, "dp", grad)
            if shape.tp == 1 and layer > 0:
                self.gemm("fc1.dgrad " + where, "backward")

    def build(self):
        for micro in range(self.shape.micro):
            self.backward(micro, self.forward(micro))
        every = [i for i, op in enumerate(self.ops) if op.comm]
        i = self._add("adamw", "optimizer", "compute", "optimizer", every)
        self.ops[i].scale = self.shape.optimizer_scale
        return self.ops


def step_ops(shape):
    """The ops of one step, in issue order."""
    return _Step(shape).build()


def _comms(shape):
    """Ranks that share a communicator, by dimension; tp varies fastest."""
    tp = [list(range(d * shape.tp, (d + 1) * shape.tp))
          for d in range(shape.dp)]
    dp = [list(range(t, shape.size, shape.tp)) for t in range(shape.tp)]
    return {"dp": dp, "tp": tp}


class Group:
    """One group of ranks, simulated. `slow` is a member or None."""

    STEPS = 8

    def __init__(self, shape, planted, slow=None):
        self.shape = shape
        self.planted = planted
        self.slow = slow
        self.ops = step_ops(shape)
        self.comms = _comms(shape)
        self.whole = self._run(True, True)
        self.compute = self._run(True, False)
        self.comm = self._run(False, True)

    def cost(self, rank, op):
        cost = self.planted[op.kind]
        if op.comm:
            return cost
        if rank == self.slow:
            cost *= self.planted["slow_factor"]
        return cost * op.scale

    def _run(self, computes, communicates):
        """Steps back to back until they repeat. Each rank's last step, as
        begin, end, and (ready, start, end) of each op; None: it was skipped."""
        n = self.shape.size
        lanes = [dict.fromkeys(("compute",) + DIMS, 0.0) for _ in range(n)]
        begin = [0.0] * n
        marks = []
        for _ in range(self.STEPS):
            times = [[None] * len(self.ops) for _ in range(n)]
            for i, op in enumerate(self.ops):
                if op.comm and communicates:
                    self._collective(i, op, lanes, times, begin)
                elif not op.comm and computes:
                    self._compute(i, op, lanes, times, begin)
            if not computes:
                for lane in lanes:
                    lane["compute"] = max(lane.values())
            marks.append([lane["compute"] for lane in lanes])
            last_begin, begin = begin, marks[-1]
        return {"begin": last_begin, "end": begin, "times": times,
                "T": max(marks[-1]) - max(marks[-2]),
                "cadence": [b - a for a, b in zip(marks[-2], marks[-1])]}

    @staticmethod
    def _ready(op, times, begin):
        ends = [times[w][2] for w in op.waits if times[w]]
        return max([begin] + ends)

    def _compute(self, i, op, lanes, times, begin):
        for rank, lane in enumerate(lanes):
            ready = self._ready(op, times[rank], begin[rank])
            start = max(ready, lane["compute"])
            lane["compute"] = start + self.cost(rank, op)
            times[rank][i] = (ready, start, lane["compute"])

    def _collective(self, i, op, lanes, times, begin):
        for members in self.comms[op.lane]:
            ready = {r: self._ready(op, times[r], begin[r]) for r in members}
            start = {r: max(ready[r], lanes[r][op.lane]) for r in members}
            end = max(start.values()) + self.planted["collective"]
            for r in members:
                lanes[r][op.lane] = end
                times[r][i] = (ready[r], start[r], end)

    def _last_ready(self, i, rank):
        op = self.ops[i]
        members = next(m for m in self.comms[op.lane] if rank in m)
        return max(self.whole["times"][r][i][0] for r in members)

    def terms(self, rank):
        """Where the time of one rank's last step went."""
        times = self.whole["times"][rank]
        now = self.whole["begin"][rank]
        out = {"busy": 0.0, "waiting": 0.0, "dp": 0.0, "tp": 0.0}
        for i, op in enumerate(self.ops):
            if op.comm:
                continue
            _, start, end = times[i]
            if start > now:
                held = [w for w in op.waits if times[w][2] > now]
                latest = max(held, key=lambda w: self._last_ready(w, rank))
                ends = max(held, key=lambda w: times[w][2])
                assert self.ops[latest].lane == self.ops[ends].lane, \
                    "a case whose dimension the words leave open"
                split = min(max(self._last_ready(latest, rank), now), start)
                out["waiting"] += split - now
                out[self.ops[latest].lane] += start - split
            out["busy"] += end - start
            now = end
        out["transfer"] = out["dp"] + out["tp"]
        out["step"] = self.whole["cadence"][rank]
        out["union"] = self._union(rank)
        out["rest"] = out["step"] - out["busy"] - out["waiting"] \
            - out["transfer"]
        return out

    def _union(self, rank):
        """Length of the union of [last ready, end] over the collectives."""
        spans = sorted((self._last_ready(i, rank),
                        self.whole["times"][rank][i][2])
                       for i, op in enumerate(self.ops) if op.comm)
        total, reached = 0.0, float("-inf")
        for begin, end in spans:
            total += max(0.0, end - max(begin, reached))
            reached = max(reached, end)
        return total

    def collectives(self, rank):
        return sum(1 for op in self.ops if op.comm)

    def last_arrivals(self, rank):
        """Collectives of a step that this rank reaches last, of its own
        making: only the slow one makes any lateness of its own."""
        if rank != self.slow:
            return 0
        limit = 2e-3 * self.whole["T"]
        count = 0
        for i, op in enumerate(self.ops):
            if not op.comm:
                continue
            members = next(m for m in self.comms[op.lane] if rank in m)
            ready = [self.whole["times"][r][i][0] for r in members]
            late = max(ready) - median(ready)
            own = self.whole["times"][rank][i][0]
            count += late > limit and own == max(ready)
        return count

    def speed(self):
        """Work of a device's GEMMs, in GEMMs of the base size, per time."""
        work = sum(op.scale for op in self.ops if op.kind == "gemm")
        return work / self.compute["T"]

    def phase(self, rank, name):
        """Total time of the ops of a phase on their own lane."""
        times = self.whole["times"][rank]
        return sum(times[i][2] - times[i][1]
                   for i, op in enumerate(self.ops) if op.phase == name)


PHASES = ("forward", "backward", "dp_comm", "tp_comm", "optimizer")


def slower_of_middle(values):
    """Index of the median; of an even count the larger of the middle two."""
    order = sorted(range(len(values)), key=lambda i: values[i])
    return order[len(values) // 2]


class Point:
    """One size and mode: all its groups, side by side, from rank `first` on."""

    def __init__(self, shape, planted, world, slow, strong, first=0):
        self.shape = shape
        self.strong = strong
        self.first = first
        self.groups = []
        kinds = {}
        for at in range(first, world - shape.size + 1, shape.size):
            own = slow - at if 0 <= slow - at < shape.size else None
            if own not in kinds:
                kinds[own] = Group(shape, planted, own)
            self.groups.append(kinds[own])
        self.T = [g.whole["T"] for g in self.groups]
        self.median = slower_of_middle(self.T)

    @property
    def group(self):
        return self.groups[self.median]

    def mean(self, value):
        """Mean over the ranks of the median group."""
        n = self.shape.size
        return sum(value(r) for r in range(n)) / n

    def paired(self, base):
        """The base groups that hold the median group's own ranks."""
        own = self.shape.size // base.shape.size
        start = (self.first + self.median * self.shape.size) // base.shape.size
        return base.groups[start:start + own]

    def efficiency(self, base):
        """(E, E_devices, E_comm, T(n0)) of the median group."""
        own = self.shape.size // base.shape.size
        held = [g.whole["T"] for g in self.paired(base)]
        middle, worst = held[slower_of_middle(held)], max(held)
        ideal = 1.0 / own if self.strong else 1.0
        devices = middle / worst
        comm = ideal * worst / self.T[self.median]
        return devices * comm, devices, comm, middle

    def shape_efficiency(self, base):
        """Speed of computing alone, in work per time, over that of the base."""
        held = self.paired(base)
        alone = held[slower_of_middle([g.whole["T"] for g in held])]
        return self.group.speed() / alone.speed()

    def expected(self, base):
        """The numbers of the report, by the JSON's names."""
        group = self.group
        terms = [group.terms(r) for r in range(self.shape.size)]

        def mean(name):
            return self.mean(lambda r: terms[r][name])
        value, devices, comm, base_ms = self.efficiency(base)
        union, transfer = mean("union"), mean("transfer")
        assert abs(mean("rest")) < 1e-6
        return {
            "T": group.whole["T"], "min": min(self.T), "max": max(self.T),
            "E": value, "E_devices": devices, "E_comm": comm,
            "base_ms": base_ms,
            "parallel": group.compute["T"] / group.whole["T"],
            "shape": self.shape_efficiency(base),
            "compute_only": group.compute["T"],
            "comm_only": group.comm["T"],
            "exposed": self.mean(lambda r: group.whole["cadence"][r] -
                                 group.compute["cadence"][r]),
            "hidden": 1 - transfer / union if union else None,
            "busy": mean("busy"), "transfer": transfer, "dp": mean("dp"),
            "tp": mean("tp"), "waiting": mean("waiting"),
            "sampled": mean("step"),
            "phases": {p: self.mean(lambda r, p=p: group.phase(r, p))
                       for p in PHASES},
        }
