# SPDX-License-Identifier: Apache-2.0
"""groups.order: the order that was asked for is recorded, and the report and
the file say which MPI rank each logical rank is.
"""
import sys

import h5py

from common import main

RANKS = 4
OPTIONS = ["--engine", "null", "model.preset=mlp", "model.layers=1",
           "model.hidden=64", "model.tokens=1024", "scaling.min_tokens=16",
           "scaling.sizes=1,4", "scaling.modes=weak", "null.gemm_ms=1",
           "null.collective_ms=1", "measure.min_block=0ms",
           "out.format=none"]


def mapping(program, check, options):
    """MPI rank by logical rank, as the JSON and as the file have it."""
    path = program.run(RANKS, OPTIONS + options)
    report = program.report(path)
    with h5py.File(path, "r") as f:
        table = f["run"]["ranks"][:]
    stored = {int(r["rank"]): int(r["mpi_rank"]) for r in table}
    check.equal("logical ranks of the file", sorted(stored),
                list(range(RANKS)))
    for p in report["points"]:
        said = {r["rank"]: r["mpi_rank"] for r in p["ranks"]}
        check.equal("MPI ranks of size %d" % p["size"], said, stored)
        check.equal("nodes", len({r["node"] for r in p["ranks"]}), 1)
    return report, [stored[r] for r in range(RANKS)]


def body(program, check, _):
    for order in ("topology", "launcher"):
        check.case = order
        report, ranks = mapping(program, check, ["groups.order=" + order])
        check.equal("recorded order",
                    report["run"]["config"]["groups"]["order"], order)
        # one host, devices alike: topology is a tie, ordered by MPI rank
        check.equal("MPI ranks", ranks, list(range(RANKS)))
    shuffled = {}
    for seed in (1, 2, 3, 1):
        check.case = "random, seed %d" % seed
        report, ranks = mapping(program, check, [
            "groups.order=random", "measure.seed=%d" % seed])
        check.equal("recorded order",
                    report["run"]["config"]["groups"]["order"], "random")
        check.equal("each MPI rank once", sorted(ranks), list(range(RANKS)))
        check.equal("order of an equal seed", shuffled.get(seed, ranks),
                    ranks)
        shuffled[seed] = ranks
    check.case = "random"
    check.that(len({tuple(r) for r in shuffled.values()}) > 1,
               "three seeds gave one order: %r" % shuffled)
    slow_rank(program, check)


def slow_rank(program, check):
    """null.slow_rank and the culprit are logical ranks."""
    check.case = "slow rank in random order"
    report, ranks = mapping(program, check, [
        "groups.order=random", "measure.seed=2", "null.slow_rank=2",
        "null.slow_factor=1.5"])
    named = {f["culprit"]["rank"] for f in report["findings"]}
    check.equal("culprits", named, {2})
    slow = max(report["points"][-1]["ranks"], key=lambda r: r["excess_ms"])
    check.equal("slowest", (slow["rank"], slow["mpi_rank"]), (2, ranks[2]))


if __name__ == "__main__":
    sys.exit(main("order", body))
