# SPDX-License-Identifier: Apache-2.0
"""Recomputes a report from the raw samples of its file, in another language
(h5py, numpy), and asks for agreement to the last printed digit: step times,
intervals, efficiencies, exposed time, hidden share, the accounting identity.
"""
import math
import sys

import h5py
import numpy as np

from common import main

WHOLE, COMPUTE, COMM = 0, 1, 2
MS = 1e-6
FEW = 12
TRANSFERS = ["transfer_%s_ns" % d for d in ("dp", "tp", "pp", "ep", "cp")]
PHASES = ("input", "forward", "backward", "dp_comm", "tp_comm", "pp_comm",
          "ep_comm", "cp_comm", "optimizer")
DIGITS = 10


def interval_ranks(n):
    """Order statistics (from 1) that hold the median with at least 95 %: the
    largest j with 2 P(Binomial(n, 1/2) < j) <= 5 %."""
    total, below, j = 2 ** n, 0, 0
    while 2 * (below + math.comb(n, j)) * 20 <= total:
        below += math.comb(n, j)
        j += 1
    return (j, n + 1 - j) if j else None


def lag1(v):
    if len(v) < 3:
        return 0.0
    d = v - v.mean()
    var = float((d * d).sum())
    return float((d[1:] * d[:-1]).sum()) / var if var > 0 else 0.0


class Estimate:
    """Median and 95 % interval of block medians in time order. Neighbours are
    merged in pairs (of an odd count the first is left out) while they are
    correlated and 12 remain."""

    def __init__(self, medians):
        v = np.array(medians, dtype=float)
        self.merged = False
        while len(v) // 2 >= FEW and \
                lag1(v) > max(0.2, 1 / math.sqrt(len(v))):
            self.merged = True
            v = v[len(v) % 2:]
            v = (v[0::2] + v[1::2]) / 2
        self.n = len(v)
        self.median = float(np.median(v)) if self.n else math.nan
        ranks = interval_ranks(self.n)
        v.sort()
        self.lo = float(v[ranks[0] - 1]) if ranks else math.nan
        self.hi = float(v[ranks[1] - 1]) if ranks else math.nan

    @property
    def half(self):
        return (self.hi - self.lo) / 2 / self.median


class Group:
    """One group of one point."""

    def __init__(self, point, members):
        self.members = members
        self.whole = Estimate(point.block_medians(members, WHOLE))
        self.compute = Estimate(point.block_medians(members, COMPUTE))
        self.comm = Estimate(point.block_medians(members, COMM))


class Point:
    """The raw samples of one point and what follows from them alone."""

    def __init__(self, group):
        self.meta = group["point"][0]
        self.ranks = group["ranks"][:]
        self.blocks = group["blocks"][:]
        self.block_rank = group["block_ranks"][:]
        self.steps = group["step_ns"][:].astype(np.int64)
        self.terms = group["terms"][:]
        of = self.ranks["group"]
        self.index = sorted(set(of[of >= 0].tolist()))
        self.groups = [Group(self, np.flatnonzero(of == g))
                       for g in self.index]

    def key(self):
        return (int(self.meta["size"]), self.meta["mode"].decode(),
                self.meta["load"].decode(), int(self.meta["pass"]))

    def chosen(self, variant, sampled=0):
        b = self.blocks
        return np.flatnonzero((b["variant"] == variant) &
                              (b["sampled"] == sampled) & (b["steps"] > 0))

    def columns(self, block):
        row = self.blocks[block]
        return slice(row["first"], row["first"] + row["steps"])

    def block_medians(self, members, variant):
        """Medians of T(k) = end(k) - end(k-1), end = the group's latest."""
        out = []
        for b in self.chosen(variant):
            mark0 = self.block_rank[b]["mark0_ns"][members]
            ends = mark0[:, None] + np.cumsum(
                self.steps[members, self.columns(b)], axis=1)
            last = np.concatenate(([mark0.max()], ends.max(axis=0)))
            out.append(float(np.median(np.diff(last))))
        return out

    def cadence(self, rank, variant):
        """Median of the block medians of a rank's own steps."""
        return float(np.median([np.median(self.steps[rank, self.columns(b)])
                                for b in self.chosen(variant)]))

    def median_group(self):
        """Of an even count the slower of the middle two."""
        order = sorted(range(len(self.groups)),
                       key=lambda g: self.groups[g].whole.median)
        return order[len(order) // 2]

    def rows(self, members, variant):
        variants = self.blocks["variant"][self.terms["block"]]
        return self.terms[(variants == variant) &
                          np.isin(self.terms["rank"], members)]


class Reader:
    """A result file."""

    def __init__(self, path):
        with h5py.File(path, "r") as f:
            self.points = [Point(f["points"][n]) for n in f["points"]]

    def base_groups(self, point, members):
        """The groups of the base size that hold only these ranks: those under
        the same load, or those under another where they cover more ranks."""
        same, other = [], []
        for q in self.points:
            if all(q.meta[k] == point.meta[k] for k in ("curve", "mode")) \
                    and q.meta["size"] == point.meta["base_size"]:
                alike = q.meta["load"] == point.meta["load"]
                (same if alike else other).extend(
                    g for g in q.groups
                    if np.isin(g.members, members).all())

        def covered(groups):
            return sum(len(g.members) for g in groups)
        lacks = covered(same) < len(members)
        return other if lacks and covered(other) > covered(same) else same


class Comparison:
    """One point of the JSON against its recomputation."""

    def __init__(self, check, reader, point, got):
        self.check = check
        self.reader = reader
        self.point = point
        self.got = got
        self.talks = max(r["collectives"] for r in point.ranks) > 0

    def digits(self, what, got, want):
        """Equal in every printed digit; half a unit of the last one more for
        a value that lies midway between two."""
        if got is None or math.isnan(want):
            self.check.that(got is None and math.isnan(want),
                            "%s is %r, recomputed %r" % (what, got, want))
            return
        unit = 0.0
        if want != 0:
            unit = 10.0 ** (math.floor(math.log10(abs(want))) + 1 - DIGITS)
        self.check.that(abs(got - want) <= unit * (0.5 + 1e-4) + 1e-12,
                        "%s is %.12g, recomputed %.12g" % (what, got, want))

    def times(self, group):
        got = self.got["step_ms"]
        self.digits("step_ms.median", got["median"], group.whole.median * MS)
        self.digits("step_ms.lo", got["lo"], group.whole.lo * MS)
        self.digits("step_ms.hi", got["hi"], group.whole.hi * MS)
        self.check.equal("step_ms.n", got["n"], group.whole.n)
        self.check.equal("flag autocorrelated",
                         "autocorrelated" in self.got["flags"],
                         group.whole.merged)
        every = [g.whole.median * MS for g in self.point.groups]
        self.digits("step_ms.min", got["min"], min(every))
        self.digits("step_ms.max", got["max"], max(every))
        self.digits("compute_only_ms", self.got["compute_only_ms"],
                    group.compute.median * MS)
        self.digits("comm_only_ms", self.got["comm_only_ms"],
                    group.comm.median * MS)
        self.digits("parallel_efficiency", self.got["parallel_efficiency"],
                    group.compute.median / group.whole.median)

    def efficiency(self, group):
        meta, got = self.point.meta, self.got["efficiency"]
        bases = self.reader.base_groups(self.point, group.members)
        bases.sort(key=lambda g: g.whole.median)
        middle, worst = bases[len(bases) // 2], bases[-1]
        ideal = 1.0
        if meta["mode"] == b"strong":
            ideal = float(meta["base_size"]) / float(meta["size"])
        value = ideal * middle.whole.median / group.whole.median
        half = math.hypot(middle.whole.half, group.whole.half)
        if meta["size"] == meta["base_size"]:
            value, half = 1.0, 0.0
        self.digits("efficiency.value", got["value"], value)
        self.digits("efficiency.lo", got["lo"], value * (1 - half))
        self.digits("efficiency.hi", got["hi"], value * (1 + half))
        self.digits("efficiency.base_ms", got["base_ms"],
                    middle.whole.median * MS)
        self.digits("efficiency.devices", got["devices"],
                    middle.whole.median / worst.whole.median)
        self.digits("efficiency.comm", got["comm"],
                    ideal * worst.whole.median / group.whole.median)

    def ranks(self, group):
        """Each rank on its own cadence; exposed is the mean over ranks."""
        exposed = []
        by_rank = {r["rank"]: r for r in self.got["ranks"]}
        for r in group.members.tolist():
            whole = self.point.cadence(r, WHOLE)
            exposed.append(whole - self.point.cadence(r, COMPUTE))
            row, stored = by_rank[r], self.point.ranks[r]
            self.digits("rank %d: step_ms" % r, row["step_ms"], whole * MS)
            mine = self.point.rows([r], WHOLE)["waiting_ns"]
            wait = float(mine.mean()) if len(mine) else math.nan
            self.digits("rank %d: wait_ms" % r, row["wait_ms"], wait * MS)
            self.check.equal("rank %d: last_arrivals" % r,
                             row["last_arrivals"], stored["last_arrivals"])
        self.digits("exposed_ms", self.got["exposed_ms"],
                    float(np.mean(exposed)) * MS if self.talks else math.nan)

    def terms(self, group):
        rows = self.point.rows(group.members, WHOLE)
        self.check.that(len(rows) > 0, "no sampled steps in the file")

        def mean(name):
            return float(rows[name].astype(float).mean())
        got = self.got
        transfer = sum(mean(t) for t in TRANSFERS)
        for name in ("busy", "unsplit", "bubble", "input", "launch", "other"):
            self.digits(name + "_ms", got[name + "_ms"],
                        mean(name + "_ns") * MS)
        self.digits("sampled_ms", got["sampled_ms"], mean("step_ns") * MS)
        self.digits("transfer_ms", got["transfer_ms"], transfer * MS)
        for t in TRANSFERS:
            dim = t.split("_")[1]
            self.digits("transfer_by." + dim, got["transfer_by"][dim],
                        mean(t) * MS)
        persistent = mean("wait_persistent_ns")
        self.digits("wait.persistent_ms", got["wait"]["persistent_ms"],
                    persistent * MS)
        self.digits("wait.jitter_ms", got["wait"]["jitter_ms"],
                    (mean("waiting_ns") - persistent) * MS)
        for p in PHASES:
            self.digits("phases_ms." + p, got["phases_ms"][p],
                        mean("phase_%s_ns" % p) * MS)
        union = mean("comm_union_ns")
        hidden = 1 - transfer / union if union else math.nan
        if "overlap_not_measurable" in got["flags"]:
            hidden = math.nan
        self.digits("hidden_share", got["hidden_share"], hidden)
        compute = self.point.rows(group.members, COMPUTE)["busy_ns"]
        if len(compute):
            apart = (mean("busy_ns") - float(compute.mean())) * MS
            self.digits("interference_ms", got["interference_ms"],
                        apart if self.talks else math.nan)

    def identity(self):
        """Every row of every rank, exactly, in ns."""
        t = self.point.terms
        total = sum(t[name] for name in TRANSFERS)
        for name in ("busy", "waiting", "unsplit", "bubble", "input",
                     "launch", "other"):
            total = total + t[name + "_ns"]
        self.check.equal("rows of which the identity does not hold",
                         int((total != t["step_ns"]).sum()), 0)
        part = t["wait_persistent_ns"]
        self.check.that(((part >= 0) & (part <= t["waiting_ns"])).all(),
                        "wait_persistent lies outside waiting")
        blocks = self.point.blocks
        self.check.that(blocks["sampled"][t["block"]].all(),
                        "a row of terms is of an unsampled block")
        column = blocks["first"][t["block"]] + t["step"]
        self.check.equal("terms whose T is not that of step_ns",
                         int((self.point.steps[t["rank"], column] !=
                              t["step_ns"]).sum()), 0)

    def all(self):
        group = self.point.groups[self.point.median_group()]
        self.times(group)
        self.efficiency(group)
        self.ranks(group)
        self.terms(group)
        self.identity()


def compare_file(program, check, name, path):
    check.case = name
    reader = Reader(path)
    points = [p for p in program.report(path)["points"]
              if p["status"] != "skipped"]
    print("%s: status %s, merged %s" % (
        name, sorted({p["status"] for p in points}),
        sum("autocorrelated" in p["flags"] for p in points)), flush=True)
    found = {p.key(): p for p in reader.points if p.groups}
    check.equal("measured points", len(points), len(found))
    seen = set()
    for got in points:
        first = (got["size"], got["mode"], got["groups"]["mode"])
        key = first + (1 if first in seen else 0,)
        seen.add(first)
        check.case = "%s: %s, size %d" % (name, got["mode"], got["size"])
        if check.that(key in found, "no samples of this point"):
            Comparison(check, reader, found[key], got).all()


def body(program, check, _):
    host = program.run(2, [
        "--engine", "host", "model.preset=mlp", "model.layers=2",
        "model.hidden=64", "model.tokens=128", "scaling.min_tokens=16",
        "scaling.sizes=1,2", "scaling.modes=weak,strong",
        "measure.budget=10s", "measure.min_block=10ms",
        "measure.min_blocks=32", "measure.sample_every=4", "out.format=none"])
    compare_file(program, check, "host, 2 ranks", host)
    noisy = ["--engine", "null", "model.preset=mlp", "model.layers=3",
             "model.hidden=64", "model.tokens=1024", "scaling.min_tokens=16",
             "measure.min_block=0ms", "measure.sample_every=4",
             "plan.bucket=64K", "null.gemm_ms=2", "null.elementwise_ms=0.5",
             "null.optimizer_ms=1", "null.collective_ms=1.5",
             "null.noise=0.05", "out.format=none"]
    path = program.run(4, noisy + ["scaling.sizes=1,2,4"])
    compare_file(program, check, "null, noise, 4 ranks", path)
    path = program.run(4, noisy + ["scaling.sizes=2,4", "layout.tp=2",
                                   "layout.sp=true", "null.slow_rank=1",
                                   "scaling.modes=weak"])
    compare_file(program, check, "null, tp and sp, slow rank", path)
    path = program.run(3, noisy + ["scaling.sizes=1,2,3",
                                   "scaling.modes=weak", "measure.seed=7"])
    compare_file(program, check, "null, left-over ranks", path)


if __name__ == "__main__":
    sys.exit(main("recompute", body))
