# SPDX-License-Identifier: Apache-2.0
"""Planted costs and one slow rank must come back out of the report, over real
MPI ranks: `stepscale run --engine null` against the model in model.py.
"""
import sys

import h5py

from common import main
from model import Point, Shape, step_ops

HIDDEN = 64
TOKENS = 4096
BASE = {"model.preset": "mlp", "model.hidden": HIDDEN, "model.tokens": TOKENS,
        "scaling.min_tokens": 16, "measure.min_block": "0ms",
        "measure.sample_every": 4, "plan.bucket": "1G", "null.gemm_ms": 2,
        "null.elementwise_ms": 0.5, "null.optimizer_ms": 1.25,
        "null.collective_ms": 3, "out.format": "none"}
# Gradients of one layer on the wire: two Linears of h x 4h, bf16, per tp rank.
LAYER_BYTES = 2 * 4 * HIDDEN * HIDDEN * 2


class Case:
    """One mpirun: which sizes and modes, and what is planted."""

    def __init__(self, name, ranks, sizes, modes="weak,strong", layers=2,
                 tp=1, micro=1, buckets="one", collective=3.0, slow=None,
                 batch=0, axis="dp"):
        self.name = name
        self.ranks = ranks
        self.sizes = sizes
        self.modes = modes.split(",")
        self.layers = layers
        self.tp = tp
        self.micro = micro
        self.buckets = buckets
        self.collective = collective
        self.slow = slow
        self.batch = batch
        self.axis = axis

    def options(self):
        o = dict(BASE)
        o["model.layers"] = self.layers
        o["layout.tp"] = self.tp
        o["layout.micro_batches"] = self.micro
        o["scaling.sizes"] = ",".join(str(s) for s in self.sizes)
        o["scaling.modes"] = ",".join(self.modes)
        o["scaling.axis"] = self.axis
        o["null.collective_ms"] = self.collective
        if self.batch:
            o["scaling.global_batch"] = self.batch
        if self.buckets == "layer":
            o["plan.bucket"] = LAYER_BYTES // self.tp
        if self.slow is not None:
            o["null.slow_rank"] = self.slow
            o["null.slow_factor"] = 1.5
        return ["--engine", "null"] + ["%s=%s" % item for item in o.items()]

    def planted(self):
        return {"gemm": BASE["null.gemm_ms"],
                "elementwise": BASE["null.elementwise_ms"],
                "optimizer": BASE["null.optimizer_ms"],
                "collective": self.collective, "slow_factor": 1.5}

    def micro_batches(self, size, strong):
        """Strong: a rank's share above model.tokens is accumulated."""
        if not strong:
            return self.micro, 1.0
        dp = size // self.tp if self.axis == "dp" else 1
        share = self.global_batch() // dp
        micro = self.micro
        while share // micro > TOKENS:
            micro += 1
        return micro, share / micro

    def global_batch(self):
        return self.batch or max(TOKENS, TOKENS * self.sizes[-1] // 8)

    def rows(self):
        """Rows of the report: (size, mode, first rank); a second, shifted
        pass covers the ranks that groups of a size leave over."""
        for mode in self.modes:
            for size in self.sizes:
                yield size, mode, 0
                if self.ranks % size:
                    yield size, mode, self.ranks % size

    def point(self, size, strong, first=0):
        tp = self.tp if self.axis == "dp" else size
        dp = size // tp
        micro, rows = self.micro_batches(size, strong)
        scale = optimizer = 1.0
        if strong:
            _, base_rows = self.micro_batches(self.sizes[0], True)
            scale = rows / base_rows
            if self.axis == "tp":
                scale = optimizer = self.sizes[0] / size
        shape = Shape(dp, tp, self.layers, micro, self.buckets, scale,
                      optimizer)
        slow = -1 if self.slow is None else self.slow
        return Point(shape, self.planted(), self.ranks, slow, strong, first)


def cases():
    out = [
        Case("dp, unhidden", 4, (1, 2, 4)),
        # The backward pass of a layer takes 8.5 ms.
        Case("dp, hidden", 4, (1, 2, 4), layers=3, buckets="layer",
             collective=1.0),
        Case("dp, partly hidden", 4, (1, 2, 4), layers=3, buckets="layer",
             collective=12.0),
        Case("dp, micro-batches", 2, (1, 2), micro=2, buckets="layer"),
        Case("dp, accumulated", 4, (1, 2, 4), modes="strong",
             batch=4 * TOKENS, buckets="layer"),
        Case("tp", 2, (2,), tp=2, collective=1.0),
        Case("tp grows", 4, (1, 2, 4), modes="weak,strong", axis="tp",
             collective=0.25),
        Case("dp x tp", 4, (2, 4), tp=2, buckets="layer", collective=1.0),
        Case("dp x tp, micro-batches", 8, (2, 4, 8), tp=2, micro=2,
             modes="weak", buckets="layer", collective=1.0),
        Case("slow 0 of 2", 2, (1, 2), slow=0),
        Case("slow 1 of 2, hidden", 2, (1, 2), slow=1, buckets="layer",
             collective=1.0),
        Case("slow 1 of 3", 3, (1, 3), slow=1, batch=3072),
        Case("slow 2 of 3, left-over ranks", 3, (1, 2, 3), modes="weak",
             slow=2),
        Case("left-over ranks", 8, (1, 3, 8), modes="weak", collective=1.0),
        Case("slow 0 of 4", 4, (1, 2, 4), slow=0),
        Case("slow 3 of 4, hidden", 4, (1, 2, 4), slow=3, layers=3,
             buckets="layer", collective=1.0),
        Case("slow 2 of 4, partly hidden", 4, (1, 2, 4), slow=2, layers=3,
             buckets="layer", collective=12.0),
        Case("slow 1 of 2, tp", 2, (2,), slow=1, tp=2, collective=1.0),
        Case("slow 2 of 4, dp x tp", 4, (2, 4), slow=2, tp=2,
             buckets="layer", collective=1.0),
        Case("slow 7 of 8", 8, (1, 2, 4, 8), slow=7),
        Case("slow 3 of 8, dp x tp, micro-batches", 8, (2, 4, 8), slow=3,
             tp=2, micro=2, modes="weak", collective=1.0),
        Case("slow 17 of 32", 32, (1, 32), modes="weak", slow=17),
    ]
    return out


def compare(check, got, want):
    """One point of the report against the model."""
    near = check.near
    near("step_ms.median", got["step_ms"]["median"], want["T"])
    near("step_ms.min", got["step_ms"]["min"], want["min"])
    near("step_ms.max", got["step_ms"]["max"], want["max"])
    e = got["efficiency"]
    near("efficiency.value", e["value"], want["E"])
    near("efficiency.lo", e["lo"], want["E"])
    near("efficiency.hi", e["hi"], want["E"])
    near("efficiency.devices", e["devices"], want["E_devices"])
    near("efficiency.comm", e["comm"], want["E_comm"])
    near("efficiency.base_ms", e["base_ms"], want["base_ms"])
    near("parallel_efficiency", got["parallel_efficiency"], want["parallel"])
    near("shape_efficiency", got["shape_efficiency"], want["shape"])
    near("compute_only_ms", got["compute_only_ms"], want["compute_only"])
    # without communication there is nothing to expose and nothing to slow
    talks = want["hidden"] is not None
    near("exposed_ms", got["exposed_ms"], want["exposed"] if talks else None)
    near("hidden_share", got["hidden_share"], want["hidden"])
    near("interference_ms", got["interference_ms"], 0 if talks else None)
    near("sampled_ms", got["sampled_ms"], want["sampled"])
    near("busy_ms", got["busy_ms"], want["busy"])
    near("transfer_ms", got["transfer_ms"], want["transfer"])
    near("transfer_by.dp", got["transfer_by"]["dp"], want["dp"])
    near("transfer_by.tp", got["transfer_by"]["tp"], want["tp"])
    near("wait.persistent_ms", got["wait"]["persistent_ms"], want["waiting"])
    near("wait.jitter_ms", got["wait"]["jitter_ms"], 0)
    for name in ("unsplit_ms", "bubble_ms", "input_ms", "launch_ms",
                 "other_ms"):
        check.equal(name, got[name], 0)
    if want["hidden"] is not None:
        near("comm_only_ms", got["comm_only_ms"], want["comm_only"])


def compare_work(check, got, want, case, point):
    """Tokens, status, and the phases."""
    near = check.near
    per_step = (case.global_batch() if point.strong
                else TOKENS * point.shape.size)
    near("tokens_per_s", got["tokens_per_s"], per_step / want["T"] * 1e3)
    near("tokens_per_s_per_device", got["tokens_per_s_per_device"],
         per_step / want["T"] * 1e3 / point.shape.size)
    # model FLOPs: forward 1, backward 2, whatever ran
    flops = 6.0 * 2 * 4 * HIDDEN * HIDDEN * case.layers * per_step
    near("tflops_per_device", got["tflops_per_device"],
         flops / want["T"] / point.shape.size * 1e-9)
    check.equal("mfu", got["mfu"], None)
    check.equal("status", got["status"], "ok")
    communicates = any(op.comm for op in point.group.ops)
    check.equal("verified", got["verified"], True if communicates else None)
    for name, ms in want["phases"].items():
        near("phases_ms." + name, got["phases_ms"][name], ms)


def compare_ranks(check, got, case, point):
    """Who was last, how often, and by how much of its own making."""
    size = point.shape.size
    group = point.group
    for row in got["ranks"]:
        rank = row["rank"]
        member = (rank - point.first) % size
        own = point.groups[(rank - point.first) // size]
        who = "rank %d: " % rank
        per_step = own.collectives(member)
        steps = row["collectives"] // per_step if per_step else 0
        check.equal(who + "collectives", row["collectives"], steps * per_step)
        check.that(steps > 0 or per_step == 0, who + "no sampled steps")
        check.equal(who + "last_arrivals", row["last_arrivals"],
                    steps * own.last_arrivals(member))
        check.near(who + "step_ms", row["step_ms"],
                   own.whole["cadence"][member])
        check.near(who + "wait_ms", row["wait_ms"],
                   own.terms(member)["waiting"])
        if rank != case.slow:
            check.equal(who + "excess_ms", row["excess_ms"], 0)
        elif per_step:
            check.that(row["excess_ms"] > 0, who + "has no excess")
    if size >= 3 and group.slow is not None and case.tp == 1 \
            and case.axis == "dp" and case.buckets == "one":
        row = [r for r in got["ranks"] if r["rank"] == case.slow][0]
        check.near("excess_ms", row["excess_ms"],
                   group.compute["cadence"][group.slow] / 3)


def compare_findings(check, report, case):
    """The slow rank is named, and nobody else."""
    check.equal("shared cores on a clock that needs none",
                [f for f in report["findings"] if f["severity"] == "info"],
                [])
    named = {f["culprit"]["rank"] for f in report["findings"]}
    if case.slow is None:
        check.equal("findings", report["findings"], [])
        check.equal("verdict", report["verdict"]["exit_code"], 0)
        return
    check.equal("ranks in findings", named, {case.slow})
    f = report["findings"][0]
    check.equal("kind", f["kind"], "straggler_rank")
    check.equal("severity", f["severity"], "error")
    for name in ("factor", "factor_lo", "factor_hi"):
        check.near(name, f[name], 1.5)
    check.equal("confidence", f["confidence"], 1)
    check.equal("verdict", report["verdict"]["result"], "fail")
    check.equal("exit code", report["verdict"]["exit_code"], 10)


def compare_late_steps(check, path, case):
    """From the file: the slow rank is last in every sampled step in which it
    has a peer to be later than."""
    with h5py.File(path, "r") as f:
        for name in f["points"]:
            rows = f["points"][name]["ranks"][:]
            for row in rows:
                late = int(row["late_steps"])
                slow = row["rank"] == case.slow and row["collectives"] > 0
                check.equal("rank %d of %s: late_steps" % (row["rank"], name),
                            late, int(row["sampled_steps"]) if slow else 0)


def run_case(program, check, case):
    check.case = case.name
    path = program.run(case.ranks, case.options(), timeout=120)
    report = program.report(path)
    check.equal("complete", report["run"]["complete"], True)
    found = {(p["size"], p["mode"], min(r["rank"] for r in p["ranks"])): p
             for p in report["points"]}
    check.equal("points", set(found), set(case.rows()))
    for size, mode, first in set(found) & set(case.rows()):
        check.case = "%s: %s, size %d from %d" % (case.name, mode, size, first)
        strong = mode == "strong"
        got = found[size, mode, first]
        point = case.point(size, strong, first)
        want = point.expected(case.point(case.sizes[0], strong))
        compare(check, got, want)
        compare_work(check, got, want, case, point)
        compare_ranks(check, got, case, point)
    check.case = case.name
    compare_findings(check, report, case)
    compare_late_steps(check, path, case)


def compare_order(program, check):
    """The op list of the model against the one that `plan` prints, one layer
    so that nothing is folded."""
    for dp, tp in ((2, 1), (1, 2), (2, 2)):
        check.case = "plan, dp %d tp %d" % (dp, tp)
        text = program.text(
            "plan", "model.preset=mlp", "model.layers=1",
            "model.hidden=%d" % HIDDEN, "model.tokens=%d" % TOKENS,
            "layout.dp=%d" % dp, "layout.tp=%d" % tp, "plan.bucket=1G")
        at = -1
        for op in step_ops(Shape(dp, tp, 1, 1, "one")):
            word = op.name.split(" ")[0]
            next_at = text.find(word, at + 1)
            if not check.that(next_at > at, "%s is not where it was expected"
                              " in\n%s" % (word, text)):
                break
            at = next_at


def body(program, check, wanted):
    compare_order(program, check)
    for case in cases():
        if not wanted or any(w in case.name for w in wanted):
            run_case(program, check, case)


if __name__ == "__main__":
    sys.exit(main("planted", body))
